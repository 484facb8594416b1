"""Dead letters: events that a consumer failed on too often, until somebody decides about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, delete, insert, select, tuple_

from cortex_actors import topics
from cortex_actors.errors import CortexError, NotFound
from cortex_actors.storage.events import RAW, decoded, numbers
from cortex_actors.storage.schema import dead_letters, deliveries, events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

#: Dead letters of one unit of work: others write, too, and wait for it.
AT_ONCE = 500


def replay(
    connection: Connection, names: Sequence[str] | None, *, behind: Sequence[tuple[int, str]] = ()
) -> list[tuple[int, str]]:
    """Put dead letters back as if they had never been tried; return their numbers and consumers.

    Those of the events named, by id or number, or the oldest `AT_ONCE` of all, `behind` one if
    that is given. Raises `NotFound`, and nothing is changed, for an event that is not known or is
    no dead letter.
    """
    query = select(dead_letters.c.consumer, dead_letters.c.seq, events.c.topic, RAW).join(events)
    rows = _taken(connection, query, names, behind)
    if rows:
        back = [
            {"consumer": row.consumer, "seq": row.seq, "key": _key(row.topic, row.payload)}
            for row in rows
        ]
        connection.execute(insert(deliveries), back)
    return [(row.seq, row.consumer) for row in rows]


def discard(
    connection: Connection, names: Sequence[str] | None, *, behind: Sequence[tuple[int, str]] = ()
) -> list[tuple[int, str]]:
    """Drop dead letters for good; arguments, result and errors are those of `replay`.

    Their events stay until they are old; what they say is not read.
    """
    query = select(dead_letters.c.consumer, dead_letters.c.seq)
    return [(row.seq, row.consumer) for row in _taken(connection, query, names, behind)]


def _taken(
    connection: Connection,
    query: Select[Any],
    names: Sequence[str] | None,
    behind: Sequence[tuple[int, str]],
) -> Sequence[Any]:
    """Remove dead letters and return what the query has of them."""
    query = query.order_by(dead_letters.c.seq, dead_letters.c.consumer)
    for last in behind:
        query = query.where(tuple_(dead_letters.c.seq, dead_letters.c.consumer) > last)
    if names is None:
        rows = connection.execute(query.limit(AT_ONCE)).all()
    else:
        wanted = numbers(connection, names)
        rows = connection.execute(query.where(dead_letters.c.seq.in_(wanted))).all()
        _refuse_others(wanted, {row.seq for row in rows})
    for row in rows:
        mine = and_(dead_letters.c.seq == row.seq, dead_letters.c.consumer == row.consumer)
        connection.execute(delete(dead_letters).where(mine))
    return rows


def _key(topic: str, raw: str) -> str | None:
    """Return what an event's repeats have in common; None for one that cannot be read.

    That one dies again by itself, and keeps no other from being put back.
    """
    try:
        return topics.key_of(topic, topics.parse(topic, decoded(raw)))
    except (CortexError, TypeError, ValueError, AttributeError):
        return None


def _refuse_others(wanted: Sequence[int], dead: set[int]) -> None:
    """Raise `NotFound` for an event that is no dead letter."""
    for seq in wanted:
        if seq not in dead:
            message = f"the event {seq} is no dead letter; see those that are: cortex events --dead"
            raise NotFound(message)
