"""The table of jobs as this life of the daemon knows it, and the way of its rows into the ledger.

A run that wrote nothing else writes no row: a ledger that nobody writes must stay as it is, or it
would be copied every hour for nothing. Such rows wait for the next run that writes anyway, which
one of the daily jobs does. A crash loses them: what is due by the older row is done once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND
from cortex_actors.storage.events import store
from cortex_actors.storage.ledger import retention
from cortex_actors.storage.ledger.retention import JobRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.schedule.jobs import Done, Job
    from cortex_actors.storage.ledger.actor import Connection, Records


class Diary:
    """Remembers when each job was done last, and how it ended."""

    def __init__(self, records: Records) -> None:
        """Know nothing yet."""
        self._records = records
        self._rows: dict[str, JobRow] = {}
        self._unwritten: set[str] = set()

    def row(self, name: str) -> JobRow | None:
        """Return what is known of a job; None for one that was never noted."""
        return self._rows.get(name)

    async def open(self, schedule: Iterable[Job], now: int) -> None:
        """Read what earlier lives wrote, and note the jobs that are new: they begin to rest now.

        Raises as `Records.read` does; then nothing is noted, because what is not known must not be
        written over what the ledger has.
        """
        self._rows = await self._records.read(retention.known)
        new = [job for job in schedule if job.name not in self._rows]
        for job in new:
            due = now + round(job.every * SECOND)
            self.keep(JobRow(job.name, job.every, job.jitter, due_at=due))
        if new:
            await self.write(None)

    def keep(self, row: JobRow) -> None:
        """Remember how a job stands; it is written with the next that is."""
        self._rows[row.name] = row
        self._unwritten.add(row.name)

    async def write(self, done: Done | None) -> list[Event[Payload]]:
        """Commit what a run wants done and says, with every row that waits; return what it said.

        All of it or nothing: raises as `Records.write` does, and then the rows wait on.
        """
        waiting = {name: self._rows[name] for name in sorted(self._unwritten)}

        def unit(connection: Connection) -> list[Event[Payload]]:
            if done is not None and done.work is not None:
                done.work(connection)
            retention.note(connection, waiting.values())
            return store(connection, done.say if done is not None else ())

        said = await self._records.write(unit)
        self._unwritten -= {name for name, row in waiting.items() if self._rows[name] is row}
        return said
