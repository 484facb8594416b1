"""Opens a ledger that was cut short as the daemon would, and asks SQLite whether it is sound."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


class Reopened:
    """The ledger at a path, whatever file lies there now; opened anew each time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # One engine for all: it keeps the statements that it compiled.
        self._engine = connection.open_writing(path)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Recover and migrate what is there, and give a transaction; close it afterwards."""
        self.path.touch()
        try:
            connection.settle(self._engine, self.path)
            migrate(self._engine, self.path)
            with self._engine.begin() as opened:
                yield opened
        finally:
            self._engine.dispose()


def unsound(opened: Connection) -> list[str]:
    """Return what SQLite says against a ledger."""
    found = [row[0] for row in opened.exec_driver_sql("PRAGMA integrity_check")]
    found += [str(row) for row in opened.exec_driver_sql("PRAGMA foreign_key_check")]
    return [each for each in found if each != "ok"]
