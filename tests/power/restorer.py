"""The program whose power is cut while the ledger's file is copied, migrated and exchanged.

`python restorer.py HOME`: a ledger of version 1 takes units of work, is migrated, takes more, is
backed up, takes more still, and the backup takes its place. Each step is said on standard output
when it is done.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

from cortex_actors.home import Home
from cortex_actors.storage import migrations
from cortex_actors.storage.ledger import backups, connection, offline
from cortex_actors.storage.ledger.migrate import migrate
from tests.power import workload

if TYPE_CHECKING:
    from sqlalchemy import Engine

#: When all this happens: UTC microseconds.
AT = 1_790_000_000_000_000

#: Units of work before the migration, before the backup, and before the restoring.
OLD, SAVED, LAST = 4, 8, 12


def main(home: Home) -> None:
    """Do everything once."""
    home.create()
    engine = connection.writing(home.ledger)
    home.ledger.touch(mode=0o600)
    _first_version(engine)
    _store(engine, range(OLD))
    migrate(engine, home.ledger)
    _tell("migrated")
    _store(engine, range(OLD, SAVED))
    saved = backups.take_now(home.ledger, home.backups, at=AT)
    _tell("saved")
    _store(engine, range(SAVED, LAST))
    engine.dispose()
    offline.restore(home, offline.choose(home, saved.path.name), at=AT)
    _tell("restored")


def _first_version(engine: Engine) -> None:
    """Make the tables that the first version of the program made."""
    config = Config()
    config.set_main_option("script_location", migrations.__path__[0])
    config.set_main_option("path_separator", "os")
    with engine.begin() as opened:
        config.attributes["connection"] = opened
        command.upgrade(config, "0001")
        opened.exec_driver_sql("PRAGMA user_version = 1")


def _store(engine: Engine, numbers: range) -> None:
    """Commit units of work, one after the other."""
    for number in numbers:
        with engine.begin() as opened:
            workload.store(opened, number)
        _tell(f"unit {number}")


def _tell(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    main(Home(Path(sys.argv[1])))
