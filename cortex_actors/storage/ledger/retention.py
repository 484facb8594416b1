"""What was handled long ago is deleted, in small units of work.

Events that somebody has still to handle are kept however old they are, and so are dead letters:
only a person lets go of one. Of the runs, the last of each kind and path is kept: it says how
things are.

What is done by the clock, as the ledger knows it: when each job was done last, and how it ended.

A row outlives the daemon, so that what was missed while none ran is done once, and soon.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, and_, delete, exists, func, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.clock import DAY, moment
from cortex_actors.storage.schema import dead_letters, deliveries, events, jobs, runs

if TYPE_CHECKING:
    from collections.abc import Iterable


#: Events that must have been said under a clock before it is believed.
BELIEVED = 100


def horizon(connection: Connection, now: int, keep_days: float) -> int:
    """Return the time before which things are old: so many days before `now`.

    And so many before the time of the last `BELIEVED` events: a clock that is years ahead for a
    while (a machine that starts without the network) must not make everything old at once, which no
    later correction of the clock would bring back. Times are UTC microseconds.
    """
    last = select(events.c.at).order_by(events.c.seq.desc()).limit(BELIEVED).subquery()
    said = connection.execute(select(func.min(last.c.at))).scalar()
    return min(now, now if said is None else said) - round(keep_days * DAY)


def prune(connection: Connection, before: int, limit: int) -> int:
    """Delete at most so many rows that are older than a time; return how many went.

    0 when nothing is old any more. Reads little more than it deletes: beside that only old rows
    that are kept, in the order of their ids, which begin with their time.
    """
    gone = _prune_events(connection, before, limit)
    return gone + _prune_runs(connection, before, limit - gone)


def _prune_events(connection: Connection, before: int, limit: int) -> int:
    """Delete old events that nobody has still to handle or to decide about."""
    kept = [select(table.c.seq).where(table.c.seq == events.c.seq) for table in _KEEPING]
    old = (
        select(events.c.seq)
        .where(events.c.id < f"evt_{moment(before)}", events.c.at < before)
        .where(*(~exists(each) for each in kept))
        .order_by(events.c.id)
        .limit(limit)
    )
    return connection.execute(delete(events).where(events.c.seq.in_(old))).rowcount


def _prune_runs(connection: Connection, before: int, limit: int) -> int:
    """Delete old runs that have a later one of their kind and path."""
    later = runs.alias("later")
    same = and_(later.c.kind == runs.c.kind, later.c.path.is_not_distinct_from(runs.c.path))
    old = (
        select(runs.c.id)
        .where(runs.c.id < f"run_{moment(before)}", runs.c.finished_at < before)
        .where(exists(select(later.c.id).where(same, later.c.finished_at > runs.c.finished_at)))
        .order_by(runs.c.id)
        .limit(limit)
    )
    return connection.execute(delete(runs).where(runs.c.id.in_(old))).rowcount


#: What keeps an event.
_KEEPING = (deliveries, dead_letters)


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
