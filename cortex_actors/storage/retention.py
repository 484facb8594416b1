"""What was handled long ago is deleted, in small units of work.

Events that somebody has still to handle are kept however old they are, and so are dead letters:
only a person lets go of one. Of the runs, the last of each kind and path is kept: it says how
things are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, exists, func, select

from cortex_actors.clock import DAY, moment
from cortex_actors.storage.schema import dead_letters, deliveries, events, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection

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
