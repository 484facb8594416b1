"""The program as a later version will be: with a schema 8, and `v0008.py` that leads to it.

What holds for every migration is tested with this one, because there is no other after the
baseline yet.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.storage.health import file
from cortex_actors.storage.ledger import faults, files, migrate, offline, recovery
from tests.storage.ledgers import template

if TYPE_CHECKING:
    from collections.abc import Callable

#: This version's schema, and the later one's.
OLD, NEW = files.SCHEMA_VERSION, 8

_REVISION = Path(__file__).with_name("v0008.py")


def become_later(folder: Path, put: Callable[[object, str, object], None] = setattr) -> None:
    """Have this process be the later version; `folder` takes its migrations."""
    template()  # kept from now on as this version makes it
    scripts = folder / "migrations"
    if not scripts.exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(migrate._SCRIPTS, scripts, ignore=ignored)
        shutil.copy(_REVISION, scripts / "versions")
    for each in (file, faults, files, migrate, offline, recovery):
        put(each, "SCHEMA_VERSION", NEW)
    put(migrate, "_SCRIPTS", scripts)
