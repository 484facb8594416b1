"""A way into the ledger for checks: read-only, on connections of its own, ended at any moment.

The daemon's two reading connections stay free for those who wait for an answer, and its writer is
never asked.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import DeadlineExceeded, LedgerDown
from cortex_actors.storage.ledger import connection, faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.clock import Clock
    from cortex_actors.storage.ledger.files import Halt

T = TypeVar("T")

#: Seconds one check may take: a hundred thousand passages take less than five.
LIMIT = 30.0

#: The same when the user wants everything looked at: a day.
NO_LIMIT = 86_400.0


class Reader:
    """Runs queries on a ledger's file; each sees one moment of it. Blocks: for a thread."""

    def __init__(self, path: Path, clock: Clock, halt: Halt) -> None:
        """Open nothing yet; `halt` breaks off what runs."""
        self._path = path
        self._clock = clock
        self._halt = halt
        self._engine = connection.reading(path, self._is_over)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._engine.dispose()

    def ask(self, query: Callable[[Connection], T], *, within: float = LIMIT) -> T:
        """Return what a query finds.

        Raises `DeadlineExceeded` after so many seconds, `DiskFault` for a damaged file, else
        `LedgerDown`.
        """
        self._halt.check()
        try:
            with self._engine.begin() as opened:
                opened.info["until"] = self._clock.monotonic() + within
                opened.info["over"] = partial(self._is_over, opened.info)
                return query(opened)
        except (DBAPIError, sqlite3.Error) as error:
            self._halt.check()
            if faults.name_of(error) == "SQLITE_INTERRUPT":
                raise DeadlineExceeded(f"it was broken off after {within:g} s") from error
            found = faults.of(error, self._path, doing="read")
            if found is not None:
                raise found from error
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise LedgerDown(f"cannot read the ledger {self._path}: {cause}") from error

    def _is_over(self, info: dict[str, Any]) -> bool:
        """Tell whether the query that runs must end."""
        return self._halt.asked or self._clock.monotonic() > info.get("until", 0.0)
