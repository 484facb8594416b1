"""The program whose power is cut while the ledger's file is copied, migrated and exchanged.

`python restorer.py HOME FOLDER`: a ledger takes units of work, is migrated to a later version
(whose migrations lie in FOLDER), takes more, is backed up, takes more still, and the backup takes
its place. Each step is said on standard output when it is done.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.home import Home
from cortex_actors.storage.ledger import backups, connection, offline
from cortex_actors.storage.ledger.connection import migrate
from tests.power import workload
from tests.storage.later import become_later

if TYPE_CHECKING:
    from sqlalchemy import Engine

#: When all this happens: UTC microseconds.
AT = 1_790_000_000_000_000

#: Units of work before the migration, before the backup, and before the restoring.
OLD, SAVED, LAST = 4, 8, 12


def main(home: Home, folder: Path) -> None:
    """Do everything once."""
    home.create()
    engine = connection.open_writing(home.ledger)
    home.ledger.touch(mode=0o600)
    migrate(engine, home.ledger)
    _store(engine, range(OLD))
    become_later(folder)
    migrate(engine, home.ledger)
    _tell("migrated")
    _store(engine, range(OLD, SAVED))
    saved = backups.take_now(home.ledger, home.backups, at=AT)
    _tell("saved")
    _store(engine, range(SAVED, LAST))
    engine.dispose()
    offline.restore(home, offline.choose(home, saved.path.name), at=AT)
    _tell("restored")


def _store(engine: Engine, numbers: range) -> None:
    """Commit units of work, one after the other."""
    for number in numbers:
        with engine.begin() as opened:
            workload.store(opened, number)
        _tell(f"unit {number}")


def _tell(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    main(Home(Path(sys.argv[1])), Path(sys.argv[2]))
