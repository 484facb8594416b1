"""Memories: what agents said, who may read it, and the passages by which it is found.

Every function takes the connection of a transaction it is part of. Only an active memory is found.
It is searched alone and with its predecessor: the last active memory of the same thread and realm
before it that whoever may read it may read, too. So nobody finds a memory by words that were kept
from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, tuple_, update

from cortex_actors.domain.memory import Memory, MemoryStatus, Realm
from cortex_actors.storage import agents, memoryrows, passages
from cortex_actors.storage.chunks import chunks
from cortex_actors.storage.schema import memories, memory_agents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.domain.passage import Passage

#: Realm -> the collection of the vector index that its memories lie in.
COLLECTIONS = {
    Realm.PRIVATE: "cortex_private",
    Realm.VILLAGE: "cortex_village",
    Realm.BRIDGE: "cortex_bridges",
}


def save(connection: Connection, some: Sequence[Memory]) -> None:
    """Write memories with their passages; agents that are not known yet become so.

    What follows them in their threads is paired with them from now on.
    """
    if not some:
        return
    for each in some:
        agents.know(connection, (each.agent_id, *each.related), at=each.created_at)
    memoryrows.write(connection, some)
    settle(connection, [each.id for each in some])


def archive(connection: Connection, ids: Sequence[str]) -> None:
    """Take active memories out of what is found; their rows stay, so that they can come back."""
    _move(connection, ids, MemoryStatus.ACTIVE, MemoryStatus.ARCHIVED)


def bring_back(connection: Connection, ids: Sequence[str]) -> None:
    """Let archived memories be found again."""
    _move(connection, ids, MemoryStatus.ARCHIVED, MemoryStatus.ACTIVE)


def settle(connection: Connection, ids: Sequence[str]) -> None:
    """Make the passages of those memories, and of what follows them, agree with their rows.

    Whoever changes a memory's status, text, realm or thread calls this in the same transaction.
    """
    changed = memoryrows.read(connection, ids, MemoryStatus)
    followers = [each for memory in _earliest(changed) for each in _after(connection, memory)]
    remake(connection, [*ids, *followers])


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of memories from their rows; return how many of them may be found."""
    wanted = list(dict.fromkeys(ids))
    live = by_id(connection, wanted)
    for some in chunks(wanted):
        mine = [live[each] for each in some if each in live]
        for realm, collection in COLLECTIONS.items():
            of_realm = [each for each in mine if each.realm is realm]
            made = [passage for each in of_realm for passage in _passages(connection, each)]
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


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the active memories among those ids."""
    return memoryrows.read(connection, ids, (MemoryStatus.ACTIVE,))


def readable(reader: str) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that an agent may read it."""
    named = exists().where(
        memory_agents.c.memory_id == memories.c.id, memory_agents.c.agent_id == reader
    )
    return or_(
        memories.c.realm == Realm.VILLAGE,
        memories.c.agent_id == reader,
        and_(memories.c.realm == Realm.BRIDGE, named),
    )


def _passages(connection: Connection, memory: Memory) -> list[Passage]:
    """Return the texts by which a memory is found."""
    return passages.of_item(
        memory.text,
        collection=COLLECTIONS[memory.realm],
        item_id=memory.id,
        before=_before(connection, memory),
    )


def _before(connection: Connection, memory: Memory) -> str | None:
    """Return the text of a memory's predecessor; None without one."""
    if not memory.thread:
        return None
    query = (
        select(memories.c.text)
        .where(_beside(memory), _moment() < tuple_(memory.created_at, memory.id))
        .where(*(readable(reader) for reader in sorted(memory.readers or ())))
        .order_by(memories.c.created_at.desc(), memories.c.id.desc())
        .limit(1)
    )
    return connection.execute(query).scalar()


def _after(connection: Connection, memory: Memory) -> list[str]:
    """Return the active memories whose predecessor a memory may be, or have been.

    On a bridge that can be any later one: which memory comes before another depends on who may
    read it.
    """
    if not memory.thread:
        return []
    query = (
        select(memories.c.id)
        .where(_beside(memory), _moment() > tuple_(memory.created_at, memory.id))
        .order_by(memories.c.created_at, memories.c.id)
    )
    if memory.realm is Realm.PRIVATE:
        query = query.where(memories.c.agent_id == memory.agent_id)
    if memory.realm is not Realm.BRIDGE:
        query = query.limit(1)
    return list(connection.execute(query).scalars())


def _moment() -> Any:
    """Return when a memory was said: several may share a microsecond, and their ids decide."""
    return tuple_(memories.c.created_at, memories.c.id)


def _beside(memory: Memory) -> ColumnElement[bool]:
    """Return the condition that a memory is active in the same thread and realm."""
    return and_(
        memories.c.thread == memory.thread,
        memories.c.realm == memory.realm,
        memories.c.status == MemoryStatus.ACTIVE,
    )


def _earliest(changed: Mapping[str, Memory]) -> list[Memory]:
    """Return the memories whose followers are looked for: of each bridge only the first."""
    found: dict[tuple[str, ...], Memory] = {}
    for each in sorted(changed.values(), key=lambda memory: (memory.created_at, memory.id)):
        bridge = each.realm is Realm.BRIDGE
        found.setdefault((each.thread,) if bridge else (each.thread, each.id), each)
    return list(found.values())


def _move(
    connection: Connection, ids: Sequence[str], before: MemoryStatus, after: MemoryStatus
) -> None:
    """Change the status of memories that have one, and what is found with it."""
    for some in chunks(ids):
        statement = update(memories).where(memories.c.id.in_(some), memories.c.status == before)
        connection.execute(statement.values({"status": after}))
    settle(connection, ids)
