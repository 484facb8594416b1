"""The rows a memory consists of, and the memory they make."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Table, insert

from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import (
    memories,
    memory_agents,
    memory_attention,
    memory_replies,
    memory_tags,
)
from cortex_actors.storage.tables.columns import chunks, given_text
from cortex_actors.text.terms import MOST

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

#: Tables of which a memory has several rows -> the column with what is linked.
_LINKS = {memory_tags: "tag", memory_agents: "agent_id", memory_replies: "replied_id"}


class _Row(NamedTuple):
    """What the ledger has of a memory, in the columns' own names."""

    id: str
    realm: str
    agent_id: str
    thread: str
    layer: str
    type: str
    text: str
    abstract: str
    summary: str
    status: str
    created_at: int
    layer_since: int
    role: str
    saved_by: str
    trust: str
    said_from: int | None
    said_until: int | None
    promoted_at: int | None
    pinned_at: int | None
    replaced_by: str | None
    merge_due: int
    attention: float | None
    access_count: int | None
    accessed_at: int | None


#: Whoever remembers or asks runs these: building them each time would cost more than they do.
_READ = (
    f"SELECT {', '.join(_Row._fields)} FROM memories"  # noqa: S608 - names of the schema
    " LEFT JOIN memory_attention ON memory_attention.memory_id = memories.id"
    " WHERE memories.id IN (SELECT value FROM json_each(?))"
)
_LINKED = {
    table: (
        f"SELECT memory_id, {column} FROM {table.name}"  # noqa: S608 - names of the schema
        f" WHERE memory_id IN (SELECT value FROM json_each(?)) ORDER BY {column}"
    )
    for table, column in _LINKS.items()
}


def write(connection: Connection, some: Sequence[Memory]) -> None:
    """Write the rows of new memories."""
    connection.execute(insert(memories), [_row(each) for each in some])
    connection.execute(insert(memory_attention), [_attention(each) for each in some])
    _link(connection, memory_tags, {each.id: each.tags for each in some})
    _link(connection, memory_agents, {each.id: each.related for each in some})
    _link(connection, memory_replies, {each.id: each.replies_to for each in some})


def tagged(connection: Connection, memory: Memory, tags: Sequence[str]) -> tuple[str, ...]:
    """Give a memory those tags that it has not, as many as one may have; return which."""
    new = [each for each in dict.fromkeys(tags) if each not in memory.tags]
    new = new[: max(MOST - len(memory.tags), 0)]
    if new:
        rows = [{"memory_id": memory.id, "tag": each} for each in new]
        connection.execute(insert(memory_tags), rows)
    return tuple(new)


def read(
    connection: Connection, ids: Iterable[str], states: Iterable[MemoryStatus]
) -> dict[str, Memory]:
    """Return those of the memories that are in one of those states."""
    kept, driver = frozenset(states), driver_of(connection)
    found: dict[str, Memory] = {}
    for some in chunks(dict.fromkeys(ids)):
        wanted = json.dumps(some)
        links = {table: _linked(driver, table, wanted) for table in _LINKS}
        for values in driver.execute(_READ, (wanted,)):
            row = _Row._make([given_text(e) if isinstance(e, bytes) else e for e in values])
            if row.status in kept:
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
        "role": memory.role,
        "saved_by": memory.saved_by,
        "trust": memory.trust,
        "said_from": memory.said_from,
        "said_until": memory.said_until,
        "promoted_at": memory.promoted_at,
        "pinned_at": memory.pinned_at,
        "merge_due": int(memory.merge_due),
        "archived_at": memory.created_at if memory.status is MemoryStatus.ARCHIVED else None,
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


def _linked(driver: sqlite3.Connection, table: Table, ids: str) -> dict[str, tuple[str, ...]]:
    """Return what memories are linked with, in order."""
    found: dict[str, tuple[str, ...]] = {}
    for memory_id, each in driver.execute(_LINKED[table], (ids,)):
        found[memory_id] = (*found.get(memory_id, ()), given_text(each) or "")
    return found


def _memory(row: _Row, links: Mapping[Table, Mapping[str, tuple[str, ...]]]) -> Memory:
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
        role=row.role,
        saved_by=row.saved_by,
        trust=Trust(row.trust),
        said_from=row.said_from,
        said_until=row.said_until,
        promoted_at=row.promoted_at,
        pinned_at=row.pinned_at,
        replaced_by=row.replaced_by,
        merge_due=bool(row.merge_due),
    )
