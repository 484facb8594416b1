"""Checkpoints: when the write-ahead log goes into the ledger's file, and how long it may grow.

SQLite's own automatic checkpoint runs inside a commit and swallows what fails in it. Here it runs
after the commit was answered, and a disk that fails in it is heard of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.storage.connection import raw

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

#: Pages in the log before a checkpoint (SQLite's own default: 4 MiB).
PAGES = 1_000

#: Commits before the first look, when nothing is known of their size.
FIRST = 64

#: Pages in the log before readers are waited for, because they keep it from beginning anew: 16 MiB.
CROWDED = 4_000

#: Bytes of the log's file that are kept when it begins anew: writing over what is there needs no
#: new room and half the time of growing.
KEPT = 16 * 1_048_576

#: Commits between two looks at the file: each lets go of Python's lock, and whoever was answered
#: then takes turns with this thread (a third of a lone publish's time on two virtual cores).
LOOK = 8

#: Bytes that a file may have grown before a look at the log, whatever was estimated.
GROWN = 8 * 1_048_576

#: Milliseconds a checkpoint waits for readers and for other processes.
PATIENCE = 500


class Checkpoints:
    """Empties the log of the one connection that writes; used on its thread alone.

    How many pages a commit adds is not told, so it is estimated from what the last checkpoint
    found; a burst is seen by the size of the file.
    """

    def __init__(self, engine: Engine, path: Path, *, busy_ms: int) -> None:
        """Take over from SQLite; `busy_ms` is what else waits for a lock on that connection."""
        self._raw = raw(engine)
        self._log = path.with_name(f"{path.name}-wal")
        self._busy_ms = busy_ms
        self._commits = 0
        self._due = FIRST
        self._crowded = CROWDED
        self._size = self._length()
        self._raw.execute("PRAGMA wal_autocheckpoint = 0")
        self._raw.execute(f"PRAGMA journal_size_limit = {KEPT}")

    def after_commit(self) -> None:
        """Empty the log if it is time; raises what SQLite raises."""
        self._commits += 1
        if self._commits < self._due and (
            self._commits % LOOK or self._length() < self._size + GROWN
        ):
            return
        pages, _ = self._run("PASSIVE")
        if pages >= self._crowded:
            _, busy = self._run("RESTART")
            self._crowded = 2 * pages if busy else CROWDED
        self._due = min(PAGES, max(1, PAGES * self._commits // max(1, pages)))
        self._commits = 0
        self._size = self._length()

    def finish(self) -> None:
        """Empty the log and its file, for the last time; raises what SQLite raises."""
        self._run("TRUNCATE")

    def _run(self, mode: str) -> tuple[int, bool]:
        """Run a checkpoint; return the pages that were in the log, and whether others hindered."""
        self._raw.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        try:
            busy, pages, _done = self._raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        finally:
            self._raw.execute(f"PRAGMA busy_timeout = {self._busy_ms}")
        return int(pages), bool(busy)

    def _length(self) -> int:
        """Return the bytes of the log's file."""
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0
