"""The rows a memory consists of, and the memory they make."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Table, insert, select

from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, MemoryType, Realm
from cortex_actors.storage.chunks import chunks
from cortex_actors.storage.schema import (
    memories,
    memory_agents,
    memory_attention,
    memory_replies,
    memory_tags,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Tables of which a memory has several rows -> the column with what is linked.
_LINKS = {memory_tags: "tag", memory_agents: "agent_id", memory_replies: "replied_id"}


def write(connection: Connection, some: Sequence[Memory]) -> None:
    """Write the rows of new memories."""
    connection.execute(insert(memories), [_row(each) for each in some])
    connection.execute(insert(memory_attention), [_attention(each) for each in some])
    _link(connection, memory_tags, {each.id: each.tags for each in some})
    _link(connection, memory_agents, {each.id: each.related for each in some})
    _link(connection, memory_replies, {each.id: each.replies_to for each in some})


def read(
    connection: Connection, ids: Iterable[str], states: Iterable[MemoryStatus]
) -> dict[str, Memory]:
    """Return those of the memories that are in one of those states."""
    kept = list(states)
    query = select(memories, memory_attention).outerjoin(memory_attention)
    query = query.where(memories.c.status.in_(kept))
    found: dict[str, Memory] = {}
    for some in chunks(dict.fromkeys(ids)):
        links = {table: _linked(connection, table, some) for table in _LINKS}
        for row in connection.execute(query.where(memories.c.id.in_(some))):
            found[row.id] = _memory(row, links)
    return found


def _row(memory: Memory) -> dict[str, Any]:
    """Return a memory as a row."""
    return {
        "id": memory.id,
        "realm": memory.realm,
        "agent_id": memory.agent_id,
        "thread": memory.thread,
        "layer": memory.layer,
        "type": memory.type,
        "text": memory.text,
        "abstract": memory.abstract,
        "summary": memory.summary,
        "text_hash": sha256(memory.text.encode()).digest(),
        "status": memory.status,
        "created_at": memory.created_at,
        "layer_since": memory.layer_since or memory.created_at,
    }


def _attention(memory: Memory) -> dict[str, Any]:
    """Return the row of what changes when a memory is read."""
    return {
        "memory_id": memory.id,
        "access_count": memory.access_count,
        "accessed_at": memory.accessed_at,
        "attention": memory.attention,
        "weighed_at": memory.created_at,
    }


def _link(connection: Connection, table: Table, linked: Mapping[str, Iterable[str]]) -> None:
    """Write what memories are linked with, each once."""
    column = _LINKS[table]
    rows = [
        {"memory_id": memory_id, column: each}
        for memory_id, some in linked.items()
        for each in dict.fromkeys(some)
    ]
    if rows:
        connection.execute(insert(table), rows)


def _linked(connection: Connection, table: Table, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what memories are linked with, in order."""
    column = table.c[_LINKS[table]]
    query = select(table.c.memory_id, column).where(table.c.memory_id.in_(ids)).order_by(column)
    found: dict[str, tuple[str, ...]] = {}
    for memory_id, each in connection.execute(query):
        found[memory_id] = (*found.get(memory_id, ()), each)
    return found


def _memory(row: Row[Any], links: Mapping[Table, Mapping[str, tuple[str, ...]]]) -> Memory:
    """Return a row and what is linked with it as a memory."""
    return Memory(
        id=row.id,
        realm=Realm(row.realm),
        agent_id=row.agent_id,
        text=row.text,
        created_at=row.created_at,
        thread=row.thread,
        layer=Layer(row.layer),
        type=MemoryType(row.type),
        abstract=row.abstract,
        summary=row.summary,
        tags=links[memory_tags].get(row.id, ()),
        related=links[memory_agents].get(row.id, ()),
        replies_to=links[memory_replies].get(row.id, ()),
        status=MemoryStatus(row.status),
        layer_since=row.layer_since,
        attention=1.0 if row.attention is None else row.attention,
        access_count=row.access_count or 0,
        accessed_at=row.accessed_at,
    )
