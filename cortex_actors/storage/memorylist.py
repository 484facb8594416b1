"""Lists of memories, and the short names by which one is asked for.

What somebody may not read is in no list and has no name: it does not exist for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select

from cortex_actors.domain.agent import shown
from cortex_actors.domain.insight import MemorySort
from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.rules.decay import DECAYS
from cortex_actors.storage import memoryrows
from cortex_actors.storage.memories import readable
from cortex_actors.storage.realms import unknown
from cortex_actors.storage.schema import memories, memory_attention, memory_conflicts
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import memory_conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cortex_actors.domain.memory import Layer, Memory
    from cortex_actors.rules.decay import Decay

#: What ids of memories begin with.
_PREFIX = "mem_"

#: Characters that the beginning of an id has at least: fewer are a slip of the finger.
LEAST = 8

#: Ids that an error names where the beginning of one means several.
_MOST = 4

_ORDERS: Mapping[MemorySort, tuple[Any, ...]] = {
    MemorySort.NEWEST: (memories.c.created_at.desc(), memories.c.id.desc()),
    MemorySort.OLDEST: (memories.c.created_at, memories.c.id),
    MemorySort.READ: (
        memory_attention.c.access_count.desc(),
        memories.c.created_at.desc(),
        memories.c.id.desc(),
    ),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list is of.

    Attributes:
        where: the conditions of a search, whose reader counts here, too.
        states: in which states; empty for all.
        pinned: only those that are pinned.
        conflicts: only those that are in a conflict which stands.

    """

    where: Where = field(default_factory=Where)
    states: Collection[MemoryStatus] = (MemoryStatus.ACTIVE,)
    pinned: bool = False
    conflicts: bool = False
    sort: MemorySort = MemorySort.NEWEST
    limit: int = 20
    skip: int = 0


def listed(
    connection: Connection,
    wanted: Wanted,
    *,
    now: int,
    decays: Mapping[Layer, Decay] = DECAYS,
) -> tuple[list[Memory], int]:
    """Return a page of memories, those that are pinned first, and how many there are in all.

    `now` (UTC microseconds) and `decays` say how much attention each has.
    """
    query = _narrowed(select(memories.c.id), wanted, now, decays)
    query = query.outerjoin(memory_attention, memory_attention.c.memory_id == memories.c.id)
    first = memories.c.pinned_at.is_(None)
    page = query.order_by(first, *_ORDERS[wanted.sort]).limit(wanted.limit).offset(wanted.skip)
    ids = list(connection.execute(page).scalars())
    found = memoryrows.read(connection, ids, MemoryStatus)
    counted = _narrowed(select(func.count()).select_from(memories), wanted, now, decays)
    return [found[each] for each in ids], int(connection.execute(counted).scalar_one())


def find(connection: Connection, name: str, *, reader: str | None) -> str:
    """Return the id that a name means: the id, or its beginning, with or without a # before it.

    Raises `NotFound` for what there is not, or is not for this reader, and `BadInput` for a
    beginning that means several.
    """
    given = name.strip().removeprefix("#")
    wanted = _PREFIX + given[given.lower().startswith(_PREFIX) and len(_PREFIX) :].upper()
    found: list[str] = []
    if len(given) >= LEAST:
        # Behind every character of an id comes the tilde.
        here = memories.c.id.between(wanted, f"{wanted}~")
        query = select(memories.c.id).where(here, readable(reader)).order_by(memories.c.id)
        found = list(connection.execute(query.limit(_MOST)).scalars())
    if not found:
        raise unknown(given) if len(given) >= LEAST else _short(given)
    if len(found) > 1:
        message = f"{name} means several memories: {', '.join(found)}; give more of the id"
        raise BadInput(message)
    return found[0]


def _short(given: str) -> NotFound:
    """Return the error of a beginning that is too short to mean one."""
    return NotFound(
        f"no memory is called {shown(given)}: give {LEAST} characters or more of its id; list "
        "them with: cortex memory list"
    )


def one(connection: Connection, memory_id: str) -> Memory:
    """Return a memory, whatever its state; raises `NotFound`."""
    found = memoryrows.read(connection, [memory_id], MemoryStatus)
    if memory_id not in found:
        raise unknown(memory_id)
    return found[memory_id]


def _narrowed(
    query: Select[Any], wanted: Wanted, now: int, decays: Mapping[Layer, Decay]
) -> Select[Any]:
    """Return a query for the memories that a list is of."""
    query = query.where(*memory_conditions(wanted.where, now, decays))
    if wanted.states:
        query = query.where(memories.c.status.in_(sorted(wanted.states)))
    if wanted.pinned:
        query = query.where(memories.c.pinned_at.is_not(None))
    return query.where(_disputed()) if wanted.conflicts else query


def _disputed() -> ColumnElement[bool]:
    """Return the condition that a memory is in a conflict which stands."""
    pairs, other = memory_conflicts.c, memories.alias()
    between = or_(
        and_(pairs.left_id == memories.c.id, pairs.right_id == other.c.id),
        and_(pairs.right_id == memories.c.id, pairs.left_id == other.c.id),
    )
    both = (memories.c.status == MemoryStatus.ACTIVE, other.c.status == MemoryStatus.ACTIVE)
    return exists().where(between, pairs.ended_at.is_(None), *both)
