"""What is written of how memories are read: accesses, attention, and when one is ripe.

The attention that is stored is what the formula gave when it was weighed last; it serves lists and
tells what has changed since. Whoever decides by it asks the formula now (`search/presence.py` is
that as SQL).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from cortex_actors.domain.memory import PROBE, Layer, MemoryStatus
from cortex_actors.rules.decay import WHOLE, attention
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import memories, memory_attention
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.rules.decay import Decay

_READ = (
    "UPDATE memory_attention SET access_count = ?, accessed_at = ?, attention = ?, weighed_at = ?"
    " WHERE memory_id = ?"
)
_WEIGHED = "UPDATE memory_attention SET attention = ?, weighed_at = ? WHERE memory_id = ?"
_DUE = "UPDATE memory_attention SET due_at = ? WHERE memory_id = ?"


@dataclass(frozen=True, slots=True)
class Reading:
    """How often a memory was read, and when last (UTC microseconds)."""

    count: int
    at: int

    def with_another(self, count: int, at: int) -> Reading:
        """Return this and another one together."""
        return Reading(self.count + count, max(self.at, at))


class Held(NamedTuple):
    """What attention depends on, of one active memory."""

    id: str
    layer: Layer
    created_at: int
    promoted_at: int | None
    pinned_at: int | None
    access_count: int
    accessed_at: int | None
    attention: float

    @property
    def touched_at(self) -> int:
        """When it was last said, read or promoted."""
        return max(self.created_at, self.accessed_at or 0, self.promoted_at or 0)

    def now(self, at: int, decays: Mapping[Layer, Decay]) -> float:
        """Return its attention at a time; see `rules.attention.of`."""
        if self.pinned_at is not None:
            return WHOLE
        return attention(self.layer, at - self.touched_at, self.access_count, decays)


def held(connection: Connection, ids: Iterable[str]) -> dict[str, Held]:
    """Return what attention depends on, of those of the memories that are active."""
    found: dict[str, Held] = {}
    for some in chunks(dict.fromkeys(ids)):
        query = rows().where(memories.c.id.in_(some))
        found |= {row.id: row for row in map(as_held, connection.execute(query))}
    return found


def page(connection: Connection, after: str, limit: int, *where: ColumnElement[bool]) -> list[Held]:
    """Return the next active memories behind an id that meet conditions, by their ids."""
    query = rows().where(memories.c.id > after, *where).order_by(memories.c.id).limit(limit)
    return [as_held(row) for row in connection.execute(query)]


def count(connection: Connection, *where: ColumnElement[bool]) -> int:
    """Return how many active memories meet conditions."""
    query = select(func.count()).select_from(rows().where(*where).subquery())
    return int(connection.execute(query).scalar_one())


def ripe(connection: Connection, now: int, limit: int) -> list[Held]:
    """Return memories that waited for their age and are old enough; the longest wait first."""
    query = rows().where(memory_attention.c.due_at <= now)
    query = query.order_by(memory_attention.c.due_at, memories.c.id).limit(limit)
    return [as_held(row) for row in connection.execute(query)]


def rows() -> Any:
    """Return the query for what attention depends on, of active memories; probes are none."""
    return (
        select(
            memories.c.id,
            memories.c.layer,
            memories.c.created_at,
            memories.c.promoted_at,
            memories.c.pinned_at,
            memory_attention.c.access_count,
            memory_attention.c.accessed_at,
            memory_attention.c.attention,
        )
        .join_from(memories, memory_attention)
        .where(memories.c.status == MemoryStatus.ACTIVE, memories.c.agent_id != PROBE)
    )


def read(
    connection: Connection,
    readings: Mapping[str, Reading],
    *,
    now: int,
    decays: Mapping[Layer, Decay],
) -> list[Held]:
    """Write down that memories were read; return how the active ones among them are now."""
    found = [
        each._replace(
            access_count=each.access_count + readings[each.id].count,
            accessed_at=max(each.accessed_at or 0, readings[each.id].at),
        )
        for each in held(connection, readings).values()
    ]
    weighed = [each._replace(attention=each.now(now, decays)) for each in found]
    bound = [
        (each.access_count, each.accessed_at, each.attention, now, each.id) for each in weighed
    ]
    driver_of(connection).executemany(_READ, bound)
    return weighed


def weigh(connection: Connection, some: Mapping[str, float], now: int) -> None:
    """Write the attention of memories, as the formula gave it."""
    bound = [(attention, now, memory_id) for memory_id, attention in some.items()]
    driver_of(connection).executemany(_WEIGHED, bound)


def wait(connection: Connection, until: Mapping[str, int | None]) -> None:
    """Note when memories are old enough for their next layer; None where they wait for nothing."""
    bound = [(at, memory_id) for memory_id, at in until.items()]
    driver_of(connection).executemany(_DUE, bound)


def as_held(row: Sequence[Any]) -> Held:
    """Return a row of `rows` as what attention depends on."""
    return Held(row[0], Layer(row[1]), *row[2:])
