"""Threads: what agents say to one another in the village and on bridges, in its order.

Every function takes the connection of a transaction it is part of. A thread is a name; whatever is
said under it in the village, or on a bridge that whoever asks may read, is part of it. `reader` is
who asks: None for the owner, who reads everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, and_, func, select

from cortex_actors.domain.memory import MemoryStatus, Realm
from cortex_actors.storage import memoryrows
from cortex_actors.storage.memories import by_id, readable
from cortex_actors.storage.schema import memories, memory_replies
from cortex_actors.storage.tables.columns import chunks
from cortex_actors.storage.tables.memory import MERGEABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.memory import Memory

#: Where agents speak to one another.
SPOKEN = (Realm.VILLAGE, Realm.BRIDGE)

_ROWS = memories.c


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation: its name, who took part, and from when to when (UTC microseconds)."""

    id: str
    posts: int
    agents: tuple[str, ...]
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """How much was said: by realm, by agent and by type."""

    realms: dict[str, int]
    agents: dict[str, int]
    types: dict[str, int]


def posts(
    connection: Connection, thread: str, *, reader: str | None, limit: int
) -> tuple[list[Memory], int]:
    """Return the newest posts of a thread, oldest first, and how many there are in all."""
    mine = and_(_ROWS.thread == thread, said(reader))
    newest = select(_ROWS.id).where(mine).order_by(_ROWS.created_at.desc(), _ROWS.id.desc())
    ids = list(connection.execute(newest.limit(limit)).scalars())[::-1]
    found = by_id(connection, ids)
    total = connection.execute(select(func.count()).select_from(memories).where(mine)).scalar_one()
    return [found[each] for each in ids], int(total)


def listed(
    connection: Connection, reader: str | None, *, limit: int, skip: int = 0
) -> tuple[list[Thread], int]:
    """Return the threads, the one spoken in last first, and how many there are in all."""
    mine = and_(_ROWS.thread != "", said(reader))
    last = func.max(_ROWS.created_at)
    query = select(_ROWS.thread, func.count(), func.min(_ROWS.created_at), last).where(mine)
    query = query.group_by(_ROWS.thread).order_by(last.desc(), _ROWS.thread)
    rows = connection.execute(query.limit(limit).offset(skip)).all()
    agents = _agents(connection, [name for name, *_ in rows], reader)
    total = select(func.count(func.distinct(_ROWS.thread))).where(mine)
    found = [Thread(name, n, agents[name], first, at) for name, n, first, at in rows]
    return found, int(connection.execute(total).scalar_one())


def answers(
    connection: Connection, ids: Iterable[str], *, reader: str | None
) -> dict[str, tuple[str, ...]]:
    """Return which posts answer each of those, in their order; only what may be read."""
    found: dict[str, tuple[str, ...]] = {}
    query = (
        select(memory_replies.c.replied_id, _ROWS.id)
        .join(memories, _ROWS.id == memory_replies.c.memory_id)
        .where(said(reader))
        .order_by(_ROWS.created_at, _ROWS.id)
    )
    for some in chunks(dict.fromkeys(ids)):
        for replied, answer in connection.execute(
            query.where(memory_replies.c.replied_id.in_(some))
        ):
            found[replied] = (*found.get(replied, ()), answer)
    return found


def joined(connection: Connection, ids: Iterable[str], *, beside: Memory) -> str:
    """Return the thread of the first of some memories that is in one, where another may join it.

    Empty without one: that of another realm, or of a bridge that not all may read who read the one
    `beside` it, is a name that others might not know.
    """
    wanted = list(dict.fromkeys(ids))
    known = memoryrows.read(connection, wanted, MemoryStatus)
    found = (known[each] for each in wanted if each in known)
    return next((each.thread for each in found if each.thread and _leads(each, beside)), "")


def _leads(known: Memory, beside: Memory) -> bool:
    """Whether all who may read a memory may read another one of its realm, too."""
    if known.realm is not beside.realm:
        return False
    return known.readers is None or (beside.readers or frozenset()) <= known.readers


def stated(connection: Connection, memory: Memory, text_hash: bytes) -> str | None:
    """Return the active memory with the same words in the same place; None without one."""
    query = select(_ROWS.id).where(
        _ROWS.text_hash == text_hash,
        _ROWS.realm == memory.realm,
        _ROWS.agent_id == memory.agent_id,
        _ROWS.thread == memory.thread,
        _ROWS.type.in_(MERGEABLE),
        _ROWS.status == MemoryStatus.ACTIVE,
    )
    return connection.execute(query.limit(1)).scalar()


def spoken(connection: Connection, reader: str | None) -> Spoken:
    """Return how much was said."""
    found = []
    for column in (_ROWS.realm, _ROWS.agent_id, _ROWS.type):
        query = select(column, func.count()).where(said(reader)).group_by(column).order_by(column)
        found.append({str(word): int(n) for word, n in connection.execute(query)})
    return Spoken(*found)


def said(reader: str | None) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that it is a post that may be read."""
    return and_(_ROWS.realm.in_(SPOKEN), _ROWS.status == MemoryStatus.ACTIVE, readable(reader))


def _agents(
    connection: Connection, names: list[str], reader: str | None
) -> dict[str, tuple[str, ...]]:
    """Return who took part in each of those threads, by id."""
    query = select(_ROWS.thread, _ROWS.agent_id).where(_ROWS.thread.in_(names), said(reader))
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, agent in connection.execute(query.distinct()):
        found[name].add(agent)
    return {name: tuple(sorted(some)) for name, some in found.items()}
