"""The program as a later version will be: with the next schema, and `v_next.py` that leads to it.

What holds for every migration is tested with this one, whichever the newest of ours is.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.storage.health import file
from cortex_actors.storage.ledger import connection, files, offline
from tests.storage.ledgers import template

if TYPE_CHECKING:
    from collections.abc import Callable

#: This version's schema, and the later one's.
OLD, NEW = files.SCHEMA_VERSION, files.SCHEMA_VERSION + 1

_REVISION = Path(__file__).with_name("v_next.py")


def become_later(folder: Path, put: Callable[[object, str, object], None] = setattr) -> None:
    """Have this process be the later version; `folder` takes its migrations."""
    template()  # kept from now on as this version makes it
    scripts = folder / "migrations"
    if not scripts.exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(connection._SCRIPTS, scripts, ignore=ignored)
        text = _REVISION.read_text("utf-8").replace("NEW", f"{NEW:04}").replace("OLD", f"{OLD:04}")
        (scripts / "versions" / f"v{NEW:04}.py").write_text(text, "utf-8")
    for each in (file, files, connection, offline):
        put(each, "SCHEMA_VERSION", NEW)
    put(connection, "_SCRIPTS", scripts)
