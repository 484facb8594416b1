"""Memories: what agents said, who may read it, and the passages by which it is found.

Every function takes the connection of a transaction it is part of. Only an active memory is found.
It is searched alone and with its predecessor: the last active memory of the same thread and realm
before it, if all readers of the memory may read that one, too. So no one finds a memory by words
that were kept from them.

The rows a memory consists of, and the memory they make.

Which memory comes before which in a thread, for as many memories at once as are asked about.

What comes before a memory is the last active one of the same thread and realm before it, if all
readers of the memory may read that one, too. Every function takes the connection of a transaction
of. The statements walk a thread from the memory on, whatever else its agent has said elsewhere:
the planner, left alone, takes the index of agents for some.

Beliefs: since when until when a memory was active, so that a date can be asked about.

A row is a stretch of time, the end of which belongs to what came after; an active memory has one
that is open, any other none. Stretches of no length are not kept: no question could fall within
them. Every function takes the connection of a transaction it is part of. Only this module writes
`beliefs`.

Realms: what an agent may read and change, checked before anything is done with a memory.

Every function takes the connection of a transaction it is part of. What an agent may not read does
not exist for it: the error is the one of an id that was never given. A memory that it may read and
that another agent wrote is read, and left as it is.
"""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Connection, exists, insert, or_, select

from cortex_actors.domain.memory import Memory, MemoryStatus, Realm
from cortex_actors.errors import Refused
from cortex_actors.storage import agent_records, passages
from cortex_actors.storage.realms import match_shared
from cortex_actors.storage.tables.columns import (
    as_row,
    count_by,
    decode_text,
    group_pairs,
    make_entity,
    put_rows,
    select_in,
)
from cortex_actors.storage.tables.dialect import execute, execute_for
from cortex_actors.storage.tables.schema import (
    beliefs,
    memories,
    memory_agents,
    memory_attention,
    memory_replies,
    memory_tags,
)
from cortex_actors.text.terms import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: Tables of which a memory has several rows -> its field for them, the column with what is linked.
_LINKS = {
    memory_tags: ("tags", "tag"),
    memory_agents: ("related", "agent_id"),
    memory_replies: ("replies_to", "replied_id"),
}


#: What the ledger has of a memory, in the columns' own names.
_HELD = tuple(
    each.name
    for each in fields(Memory)
    if each.name in memories.c or each.name in memory_attention.c
)


#: Run at each remember and recall: building them each time would cost more than running them.
_READ = (
    f"SELECT {', '.join(_HELD)} FROM memories"  # noqa: S608 - names of the schema
    " LEFT JOIN memory_attention ON memory_attention.memory_id = memories.id"
    " WHERE memories.id IN :ids"
)
_LINKED = {
    field: f"SELECT memory_id, {column} FROM {table.name}"  # noqa: S608 - names of the schema
    f" WHERE memory_id IN :ids ORDER BY {column}"
    for table, (field, column) in _LINKS.items()
}


def digest(text: str) -> bytes:
    """Return the SHA-256 by which a text is known."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def write(connection: Connection, some: Sequence[Memory]) -> None:
    """Write the rows of new memories."""
    made = [
        as_row(
            memories,
            each,
            text_hash=digest(each.text),
            layer_since=each.layer_since or each.created_at,
            archived_at=each.created_at if each.status is MemoryStatus.ARCHIVED else None,
        )
        for each in some
    ]
    weighed = [
        as_row(memory_attention, each, memory_id=each.id, weighed_at=each.created_at)
        for each in some
    ]
    connection.execute(insert(memories), made)
    connection.execute(insert(memory_attention), weighed)
    for table, (field, column) in _LINKS.items():
        linked = ((each.id, one) for each in some for one in dict.fromkeys(getattr(each, field)))
        put_rows(connection, table, ({"memory_id": name, column: one} for name, one in linked))


def add_tags(connection: Connection, memory: Memory, tags: Sequence[str]) -> tuple[str, ...]:
    """Give a memory those tags that it has not, as many as one may have; return which."""
    new = [each for each in dict.fromkeys(tags) if each not in memory.tags]
    new = new[: max(MOST - len(memory.tags), 0)]
    put_rows(connection, memory_tags, ({"memory_id": memory.id, "tag": each} for each in new))
    return tuple(new)


def read(
    connection: Connection, ids: Iterable[str], states: Iterable[MemoryStatus]
) -> dict[str, Memory]:
    """Return those of the memories that are in one of those states."""
    kept, wanted = frozenset(states), sorted(set(ids))
    linked = {
        field: group_pairs(
            (name, decode_text(each)) for name, each in execute_for(connection, q, wanted)
        )
        for field, q in _LINKED.items()
    }
    found: dict[str, Memory] = {}
    for values in execute_for(connection, _READ, wanted):
        row: dict[str, Any] = dict(zip(_HELD, map(decode_text, values), strict=True))
        if row["status"] in kept:
            found[row["id"]] = make_entity(
                Memory,
                row,
                **{field: tuple(lists.get(row["id"], ())) for field, lists in linked.items()},
                attention=1.0 if row["attention"] is None else row["attention"],
                access_count=row["access_count"] or 0,
            )
    return found


#: All readers of `m` may read `b`, which is of the same realm.
_READ_ALIKE: Final = (
    "(m.realm = 'village' OR m.agent_id = b.agent_id OR (m.realm = 'bridge' AND EXISTS"
    " (SELECT 1 FROM memory_agents AS a WHERE a.memory_id = b.id AND a.agent_id = m.agent_id)))"
    " AND (m.realm <> 'bridge' OR NOT EXISTS"
    " (SELECT 1 FROM memory_agents AS r WHERE r.memory_id = m.id AND r.agent_id <> b.agent_id"
    " AND NOT EXISTS (SELECT 1 FROM memory_agents AS a"
    " WHERE a.memory_id = b.id AND a.agent_id = r.agent_id)))"
)
_BESIDE: Final = (
    "SELECT b.id FROM memories AS b INDEXED BY memories_by_thread"  # noqa: S608 - our own words
    f" WHERE b.thread = m.thread AND b.realm = m.realm AND b.status = 'active' AND {_READ_ALIKE}"
)
_EARLIER: Final = (
    f"{_BESIDE} AND (b.created_at, b.id) < (m.created_at, m.id)"
    " ORDER BY b.created_at DESC, b.id DESC"
)
_LATER: Final = (
    f"{_BESIDE} AND (b.created_at, b.id) > (m.created_at, m.id) ORDER BY b.created_at, b.id"
)
_BEFORE: Final = (
    f"SELECT m.id, ({_EARLIER} LIMIT 1)"  # noqa: S608 - as above
    " FROM memories AS m WHERE m.id IN :ids AND m.thread <> ''"
)
_AROUND: Final = (
    f"SELECT m.id, (SELECT group_concat(id) FROM ({_EARLIER} LIMIT ?2)),"  # noqa: S608 - as above
    f" (SELECT group_concat(id) FROM ({_LATER} LIMIT ?2))"
    " FROM memories AS m WHERE m.id IN :ids AND m.thread <> ''"
)
_NEXT: Final = (
    "SELECT (SELECT f.id FROM memories AS f INDEXED BY memories_by_thread"
    " WHERE f.thread = m.thread AND f.realm = m.realm AND f.status = 'active'"
    " AND (f.created_at, f.id) > (m.created_at, m.id)"
    " AND (m.realm = 'village' OR f.agent_id = m.agent_id)"
    " ORDER BY f.created_at, f.id LIMIT 1) AS following"
    " FROM memories AS m WHERE m.id IN :ids"
    " AND m.thread <> '' AND m.realm <> 'bridge'"
)
_SPOKEN: Final = (
    "SELECT id, text, coalesce(nullif(role, ''), agent_id), coalesce(said_from, created_at)"
    " FROM memories WHERE id IN :ids"
)
_PAIRS: Final = (
    "SELECT item_id, id, collection FROM passages WHERE item_id IN :ids AND place <> 'alone'"
)
_BRIDGES: Final = (
    "SELECT m.thread, min(m.created_at) FROM memories AS m"
    " WHERE m.id IN :ids AND m.thread <> '' AND m.realm = 'bridge'"
    " GROUP BY m.thread"
)
_ALONG: Final = (
    "SELECT f.id, f.status = 'active', (SELECT group_concat(one, ' ') FROM (SELECT a.agent_id"
    " AS one FROM memory_agents AS a WHERE a.memory_id = f.id UNION SELECT f.agent_id ORDER BY 1))"
    " FROM memories AS f INDEXED BY memories_by_thread"
    " WHERE f.thread = ? AND f.created_at >= ? AND f.realm = 'bridge'"
    " ORDER BY f.created_at, f.id"
)


def load_predecessors(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts that memories are found with: those of what comes before them."""
    leads = {each: first for each, first in execute_for(connection, _BEFORE, ids) if first}
    query = select(memories.c.id, memories.c.text)
    texts = {
        row.id: row.text for row in select_in(connection, query, memories.c.id, leads.values())
    }
    return {each: texts[first] for each, first in leads.items()}


def list_neighbours(
    connection: Connection, ids: Iterable[str], *, most: int
) -> dict[str, tuple[list[str], list[str]]]:
    """Return the memories before and after each memory in its thread, the nearest first.

    At most so many on either side, each of which all who may read the memory may read. What is in
    no thread is left out.
    """
    return {
        each: (before.split(",") if before else [], after.split(",") if after else [])
        for each, before, after in execute_for(connection, _AROUND, ids, most)
    }


def load_spoken(connection: Connection, ids: Iterable[str]) -> list[tuple[str, str, str, int]]:
    """Return id, text, speaker and moment (UTC microseconds) of memories, in no order.

    Who speaks is the role, or else the agent.
    """
    rows = execute_for(connection, _SPOKEN, ids)
    return [(each, decode_text(text) or "", who, at) for each, text, who, at in rows]


def list_pairs(connection: Connection, ids: Iterable[str]) -> list[tuple[str, int, str]]:
    """Return id, passage and collection of memories: the passage with what came before each."""
    return execute_for(connection, _PAIRS, ids).fetchall()


def list_following(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Return the active memories that one of those comes, or may have come, before.

    On a bridge these are, behind each, the next one of every circle of readers: what the same
    readers see later has that one before it.
    """
    found = [each for (each,) in execute_for(connection, _NEXT, ids) if each is not None]
    changed = set(ids)
    for bridge in execute_for(connection, _BRIDGES, ids).fetchall():
        # The place of the last one that changed, and the last one of each circle of readers.
        last, seen = -2, dict[str, int]()
        for place, (each, active, readers) in enumerate(execute(connection, _ALONG, *bridge)):
            if active:
                if seen.get(readers, -1) <= last:
                    found.append(each)
                seen[readers] = place
            if each in changed:
                last = place
    return list(dict.fromkeys(found))


#: Run at each remember: building them each time would cost more than running them.
_REOPEN = (
    "UPDATE beliefs SET ended_at = NULL WHERE memory_id IN :ids"
    " AND ended_at >= ?2 AND began_at ="
    " (SELECT max(o.began_at) FROM beliefs AS o WHERE o.memory_id = beliefs.memory_id)"
)
_OPEN = (
    "INSERT INTO beliefs (memory_id, began_at) SELECT value, ?2 FROM :each(?1) AS wanted"
    " WHERE NOT EXISTS (SELECT 1 FROM beliefs WHERE memory_id = value AND ended_at IS NULL)"
)
_CLOSE = (
    "UPDATE beliefs SET ended_at = CASE WHEN began_at > ?2 THEN began_at ELSE ?2 END"
    " WHERE ended_at IS NULL AND memory_id IN :ids"
)
_SWEEP = "DELETE FROM beliefs WHERE ended_at = began_at AND ended_at <= ?2 AND memory_id IN :ids"


def begin_beliefs(connection: Connection, ids: Sequence[str], at: int) -> None:
    """Note that memories are active since a moment; one that is so already stays as it is.

    Where the last stretch of a memory ends at that moment (or later, because the clock was set
    back), it goes on instead.
    """
    execute_for(connection, _REOPEN, ids, at)
    execute_for(connection, _OPEN, ids, at)


def end_beliefs(connection: Connection, ids: Sequence[str], at: int) -> None:
    """Note that memories are active until a moment, and not from it on."""
    execute_for(connection, _CLOSE, ids, at)
    execute_for(connection, _SWEEP, ids, at)


def match_held_at(moment: int) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that it was active at a moment."""
    return exists().where(
        beliefs.c.memory_id == memories.c.id,
        beliefs.c.began_at <= moment,
        or_(beliefs.c.ended_at.is_(None), beliefs.c.ended_at > moment),
    )


def list_beliefs(connection: Connection, memory_id: str) -> list[tuple[int, int | None]]:
    """Return when a memory was active, first things first; None is the end of what goes on."""
    query = "SELECT began_at, ended_at FROM beliefs WHERE memory_id = ? ORDER BY began_at"
    return execute(connection, query, memory_id).fetchall()


#: Realm -> the collection of the vector index that its memories lie in.
COLLECTIONS = {
    Realm.PRIVATE: "cortex_private",
    Realm.VILLAGE: "cortex_village",
    Realm.BRIDGE: "cortex_bridges",
}


def save(connection: Connection, some: Sequence[Memory]) -> None:
    """Write memories with their passages; agents that are not known yet become so.

    What follows them in their threads is paired with them from now on. The active ones are believed
    since `at`, without it since each was said.
    """
    if not some:
        return
    met: set[str] = set()
    for each in some:
        if new := [name for name in (each.agent_id, *each.related) if name not in met]:
            agent_records.add_agents(connection, new, at=each.created_at)
            met.update(new)
    write(connection, some)
    active = (each for each in some if each.status is MemoryStatus.ACTIVE)
    spans = ({"memory_id": each.id, "began_at": each.created_at} for each in active)
    put_rows(connection, beliefs, spans)
    settle(connection, [each.id for each in some])


def settle(connection: Connection, ids: Sequence[str]) -> None:
    """Make the passages of those memories, and of what follows them, agree with their rows.

    Call it in each transaction that changes a memory's status, text, realm or thread.
    """
    remake(connection, [*ids, *list_following(connection, ids)])


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of memories from their rows; return how many of them may be found."""
    wanted = list(dict.fromkeys(ids))
    live = load_active(connection, wanted)
    before = load_predecessors(connection, live)
    for realm, collection in COLLECTIONS.items():
        texts = {name: each.text for name, each in live.items() if each.realm is realm}
        passages.put(connection, collection, items=wanted, texts=texts, before=before)
    return len(live)


def count_shared(connection: Connection) -> dict[str, int]:
    """Return how many active memories every agent may read, by layer."""
    active = memories.c.status == MemoryStatus.ACTIVE
    return count_by(connection, memories.c.layer, active, match_shared())


def load_active(connection: Connection, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the active memories among those ids."""
    return read(connection, ids, (MemoryStatus.ACTIVE,))


def require_said_by(connection: Connection, ids: Sequence[str], agent: str) -> None:
    """Raise `Refused` for a memory that is to be replaced by one of another agent."""
    query = select(memories.c.id, memories.c.agent_id).where(memories.c.agent_id != agent)
    for row in select_in(connection, query, memories.c.id, ids):
        raise Refused(
            f"cannot supersede #{row.id} by what {agent} says: {row.agent_id} said it; "
            f"say it as that agent (--agent {row.agent_id}), or archive it: "
            f"cortex memory archive {row.id}"
        )
