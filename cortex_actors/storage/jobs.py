"""What is done by the clock, as the ledger knows it: when each job was done last, and how it ended.

A row outlives the daemon, so that what was missed while none ran is done once, and soon.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.schema import jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How a run ended.
DONE, FAILED = "done", "failed"


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job; times are UTC microseconds."""

    name: str
    #: Seconds between two runs, and by how many of them one may come later.
    every_s: float
    jitter_s: float = 0.0
    #: The last run; None before the first.
    started_at: int | None = None
    finished_at: int | None = None
    #: When the next one is to be; the wall clock may have jumped since.
    due_at: int | None = None
    #: `done`, `failed`, or None before the first run.
    state: str | None = None
    #: What the last run said, or why it failed.
    said: str | None = None


def known(connection: Connection) -> dict[str, JobRow]:
    """Return the jobs that were noted, by name."""
    return {row.name: JobRow(*row) for row in connection.execute(select(jobs))}


def note(connection: Connection, rows: Iterable[JobRow]) -> None:
    """Write how jobs stand, over what was written of them before."""
    for row in rows:
        values = asdict(row)
        statement = insert(jobs).values(values)
        connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))
