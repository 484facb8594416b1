"""Memories: what agents said, who may read it, and the passages by which it is found.

Every function takes the connection of a transaction it is part of. Only an active memory is found.
It is searched alone and with its predecessor: the last active memory of the same thread and realm
before it that whoever may read it may read, too. So nobody finds a memory by words that were kept
from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select

from cortex_actors.domain.memory import PROBE, Memory, MemoryStatus, Realm
from cortex_actors.storage import agents, beliefs, memoryrows, passages, precedence
from cortex_actors.storage.schema import memories, memory_agents
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.memory import Passage

#: Realm -> the collection of the vector index that its memories lie in.
COLLECTIONS = {
    Realm.PRIVATE: "cortex_private",
    Realm.VILLAGE: "cortex_village",
    Realm.BRIDGE: "cortex_bridges",
}


def save(connection: Connection, some: Sequence[Memory], at: int | None = None) -> None:
    """Write memories with their passages; agents that are not known yet become so.

    What follows them in their threads is paired with them from now on. The active ones are believed
    since `at`, without it since each was said.
    """
    if not some:
        return
    for each in some:
        agents.know(connection, (each.agent_id, *each.related), at=each.created_at)
    memoryrows.write(connection, some)
    for each in some:
        if each.status is MemoryStatus.ACTIVE:
            beliefs.begin(connection, [each.id], each.created_at if at is None else at)
    settle(connection, [each.id for each in some])


def settle(connection: Connection, ids: Sequence[str]) -> None:
    """Make the passages of those memories, and of what follows them, agree with their rows.

    Whoever changes a memory's status, text, realm or thread calls this in the same transaction.
    """
    remake(connection, [*ids, *followers(connection, ids)])


def followers(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Return the active memories that are, or may be, found with one of those in front of them."""
    return precedence.following(connection, ids)


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of memories from their rows; return how many of them may be found."""
    wanted = list(dict.fromkeys(ids))
    live = by_id(connection, wanted)
    before = precedence.before(connection, live)
    for some in chunks(wanted):
        mine = [live[each] for each in some if each in live]
        for realm, collection in COLLECTIONS.items():
            of_realm = [each for each in mine if each.realm is realm]
            made = [one for each in of_realm for one in _passages(each, before.get(each.id))]
            passages.replace(connection, collection, some, made)
    return len(live)


def active_ids(connection: Connection) -> list[str]:
    """Return the ids of all memories that may be found, oldest first."""
    query = select(memories.c.id).where(memories.c.status == MemoryStatus.ACTIVE)
    return list(connection.execute(query.order_by(memories.c.created_at, memories.c.id)).scalars())


def count(connection: Connection, realm: Realm | None = None) -> int:
    """Return how many memories are active, in all or in a realm."""
    query = select(func.count()).where(memories.c.status == MemoryStatus.ACTIVE)
    if realm is not None:
        query = query.where(memories.c.realm == realm)
    return int(connection.execute(query).scalar_one())


def count_shared(connection: Connection) -> dict[str, int]:
    """Return how many active memories everybody may read, by layer."""
    query = select(memories.c.layer, func.count()).where(
        memories.c.status == MemoryStatus.ACTIVE, shared()
    )
    return {
        str(row[0]): int(row[1]) for row in connection.execute(query.group_by(memories.c.layer))
    }


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the active memories among those ids."""
    return memoryrows.read(connection, ids, (MemoryStatus.ACTIVE,))


def readable(reader: str | None) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that an agent may read it; None is the owner.

    The owner reads everything but what the daemon tries itself with.
    """
    if reader is None:
        return memories.c.agent_id != PROBE
    named = exists().where(
        memory_agents.c.memory_id == memories.c.id, memory_agents.c.agent_id == reader
    )
    return or_(
        memories.c.realm == Realm.VILLAGE,
        memories.c.agent_id == reader,
        and_(memories.c.realm == Realm.BRIDGE, named),
    )


def shared() -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that every agent may read it."""
    return and_(memories.c.realm == Realm.VILLAGE, memories.c.agent_id != PROBE)


def _passages(memory: Memory, before: str | None) -> list[Passage]:
    """Return the texts by which a memory is found; `before` is its predecessor's text."""
    return passages.of_item(
        memory.text, collection=COLLECTIONS[memory.realm], item_id=memory.id, before=before
    )
