"""Convergences: what agents were found to say alike, and which posts have still to be compared.

Every function takes the connection of a transaction it is part of. A group is announced once, for
ever, for all callers: events are pruned after a while, these rows are not.

Threads: what agents say to one another in the village and on bridges, in its order.

Every function takes the connection of a transaction it is part of. A thread is a name; whatever is
said under it in the village, or on a bridge that the reader may read, is part of it. `reader` is
an agent's name; None is the owner, who reads everything.

Near posts: what agents said that is nearest to a vector, with the vectors it is compared by.

A search by meaning alone, through the matrix that every search shares: what one may not read is
left out before anything is ranked, and nothing is counted as read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from cortex_actors.domain.memory import (
    MERGEABLE,
    ConvergenceLevel,
    Memory,
    MemoryStatus,
    Realm,
    SearchPlace,
)
from cortex_actors.errors import IndexDown
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.realms import match_readable
from cortex_actors.storage.search.dense import Dense, DenseQuestion
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.schema import (
    convergence_memories,
    convergences,
    memories,
    memory_replies,
    passages,
    posts_due,
    vectors,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.matrix import VectorMatrix


#: Memories that make a group.
FEWEST = 2

_MEMBERS = convergence_memories.c


def note_due(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Let posts be compared with what other agents say as soon as that can be done."""
    columns.put_rows(connection, posts_due, ({"memory_id": each} for each in ids), change=())


def list_ready(connection: sa.Connection, model: str, *, limit: int) -> list[str]:
    """Return posts that can be compared in the vectors of a model, oldest first.

    Among them are those that are found no more: there is nothing left to wait for.
    """
    query = _waiting(model)
    query = query.where(
        sa.or_(memories.c.status != MemoryStatus.ACTIVE, vectors.c.seq.is_not(None))
    )
    query = query.order_by(memories.c.created_at, memories.c.id).limit(limit)
    return list(connection.execute(query).scalars())


def lack_vectors(connection: sa.Connection, model: str) -> bool:
    """Tell whether an active post that was not compared yet has no vector of a model."""
    lacking = (memories.c.status == MemoryStatus.ACTIVE, vectors.c.seq.is_(None))
    return connection.execute(_waiting(model).where(*lacking).limit(1)).first() is not None


def _waiting(model: str) -> sa.Select[Any]:
    """Return the query for posts that have still to be compared, with their vectors of a model."""
    own = embeddings.match_text(memories, model)
    return sa.select(posts_due.c.memory_id).join(memories).outerjoin(vectors, own)


def count_waiting(connection: sa.Connection) -> int:
    """Return how many posts have still to be compared."""
    return columns.count_rows(connection, posts_due)


def mark_compared(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Note that posts were compared."""
    columns.drop_in(connection, posts_due.c.memory_id, ids)


def note_group(
    connection: sa.Connection,
    ids: Collection[str],
    *,
    kind: ConvergenceLevel,
    likeness: float,
    at: int,
) -> bool:
    """Write down that posts say alike; False when that is known, or one of them is no more.

    A part of a larger group counts as known; a group that grows is announced again.
    """
    wanted, row = set(ids), memories.c
    there = (row.id.in_(wanted), row.status == MemoryStatus.ACTIVE)
    active = columns.count_rows(connection, memories, *there)
    group = sa.select(_MEMBERS.convergence_id).where(_MEMBERS.memory_id.in_(wanted))
    group = group.group_by(_MEMBERS.convergence_id).having(sa.func.count() == len(wanted)).limit(1)
    if not FEWEST <= len(wanted) == active or connection.execute(group).first() is not None:
        return False
    told = {"kind": kind, "likeness": min(1.0, likeness), "found_at": at}
    (number,) = connection.execute(sa.insert(convergences), told).inserted_primary_key or (0,)
    rows = [{"convergence_id": number, "memory_id": each} for each in sorted(wanted)]
    connection.execute(sa.insert(convergence_memories), rows)
    return True


def list_groups(
    connection: sa.Connection, reader: str | None, *, limit: int
) -> list[dict[str, Any]]:
    """Return the newest announced groups, newest first, of which the reader may read every post.

    Of each its posts, how many agents they are by, how alike, and since when.
    """
    query = sa.select(convergences).where(_readable(reader)).order_by(convergences.c.id.desc())
    rows = connection.execute(query.limit(limit)).all()
    of = sa.select(_MEMBERS.convergence_id, _MEMBERS.memory_id).order_by(_MEMBERS.memory_id)
    posts = columns.select_in(connection, of, _MEMBERS.convergence_id, (row.id for row in rows))
    members = columns.group_pairs((number, memory_id) for number, memory_id in posts)
    return [{**columns.as_dict(row), "memory_ids": members[row.id]} for row in rows]


def count_groups(connection: sa.Connection, reader: str | None) -> dict[str, int]:
    """Return how many groups of each kind the reader may see."""
    found = columns.count_by(connection, convergences.c.kind, _readable(reader))
    return {kind: found.get(kind, 0) for kind in ConvergenceLevel}


def forget(connection: sa.Connection, ids: Sequence[str]) -> None:
    """Leave memories out that are forgotten; a group of which one is left is none any more."""
    mark_compared(connection, ids)
    columns.drop_in(connection, _MEMBERS.memory_id, ids)
    left = sa.select(sa.func.count()).where(_MEMBERS.convergence_id == convergences.c.id)
    gone = sa.select(convergences.c.id).where(left.scalar_subquery() < FEWEST)
    numbers = list(connection.execute(gone).scalars())
    columns.drop_in(connection, _MEMBERS.convergence_id, numbers)
    columns.drop_in(connection, convergences.c.id, numbers)


def _readable(reader: str | None) -> Any:
    """Return the condition that the reader may read every post of a group."""
    kept = sa.exists().where(
        _MEMBERS.convergence_id == convergences.c.id,
        memories.c.id == _MEMBERS.memory_id,
        ~match_readable(reader),
    )
    return ~kept


#: Where agents speak to one another.
SPOKEN = (Realm.VILLAGE, Realm.BRIDGE)

_ROWS = memories.c


def list_posts(
    connection: sa.Connection, thread: str, *, reader: str | None, limit: int
) -> tuple[list[Memory], int]:
    """Return the newest posts of a thread, oldest first, and how many there are in all."""
    mine = sa.and_(_ROWS.thread == thread, may_read_post(reader))
    newest = sa.select(_ROWS.id).where(mine).order_by(_ROWS.created_at.desc(), _ROWS.id.desc())
    rows, total = columns.load_page(connection, newest, limit=limit)
    found = memory_records.load_active(connection, (name for (name,) in rows))
    return [found[name] for (name,) in rows][::-1], total


def list_threads(
    connection: sa.Connection, reader: str | None, *, limit: int, skip: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Return the threads, the one spoken in last first, and how many there are in all.

    Of each its posts, who took part, and when it began and ended (UTC microseconds).
    """
    mine = sa.and_(_ROWS.thread != "", may_read_post(reader))
    last = sa.func.max(_ROWS.created_at)
    first = sa.func.min(_ROWS.created_at).label("first_at")
    count = sa.func.count().label("posts")
    query = sa.select(_ROWS.thread, count, first, last.label("last_at"))
    query = query.where(mine).group_by(_ROWS.thread).order_by(last.desc(), _ROWS.thread)
    rows, total = columns.load_page(connection, query, limit=limit, skip=skip)
    spoke = sa.select(_ROWS.thread, _ROWS.agent_id).where(may_read_post(reader)).distinct()
    spoke = spoke.order_by(_ROWS.agent_id)
    voices = columns.select_in(connection, spoke, _ROWS.thread, (row.thread for row in rows))
    agents = columns.group_pairs((name, agent) for name, agent in voices)
    return [{**columns.as_dict(row), "agents": agents[row.thread]} for row in rows], total


def list_answers(
    connection: sa.Connection, ids: Iterable[str], *, reader: str | None
) -> dict[str, tuple[str, ...]]:
    """Return which posts answer each of those, in their order; only what may be read."""
    query = (
        sa.select(memory_replies.c.replied_id, _ROWS.id)
        .join(memories, _ROWS.id == memory_replies.c.memory_id)
        .where(may_read_post(reader))
        .order_by(_ROWS.created_at, _ROWS.id)
    )
    rows = columns.select_in(connection, query, memory_replies.c.replied_id, ids)
    found = columns.group_pairs((replied, answer) for replied, answer in rows)
    return {replied: tuple(some) for replied, some in found.items()}


def find_thread(connection: sa.Connection, ids: Iterable[str], *, beside: Memory) -> str:
    """Return the thread of the first of some memories that is in one, where another may join it.

    Empty without one: that of another realm, or of a bridge that not all may read who read the one
    `beside` it, is a name that others might not know.
    """
    wanted = list(dict.fromkeys(ids))
    known = memory_records.read(connection, wanted, MemoryStatus)
    for each in (known[name] for name in wanted if name in known):
        # All who may read the one must be able to read the other.
        is_open = each.readers is None or (beside.readers or frozenset()) <= each.readers
        if each.thread and each.realm is beside.realm and is_open:
            return each.thread
    return ""


def find_stated(connection: sa.Connection, memory: Memory, text_hash: bytes) -> str | None:
    """Return the active memory with the same words in the same place; None without one."""
    names = ("realm", "agent_id", "thread", "project_id")
    place = [_ROWS[name] == getattr(memory, name) for name in names]
    mine = (_ROWS.type.in_(MERGEABLE), _ROWS.status == MemoryStatus.ACTIVE)
    query = sa.select(_ROWS.id).where(_ROWS.text_hash == text_hash, *place, *mine)
    return connection.execute(query.limit(1)).scalar()


def count_spoken(connection: sa.Connection, reader: str | None) -> dict[str, dict[str, int]]:
    """Return how much was said: by realm, by agent and by type."""
    words = {"by_realm": _ROWS.realm, "by_agent": _ROWS.agent_id, "by_type": _ROWS.type}
    return {by: columns.count_by(connection, it, may_read_post(reader)) for by, it in words.items()}


def may_read_post(reader: str | None) -> sa.ColumnElement[bool]:
    """Return the condition on a row of `memories` that it is a post that may be read."""
    return sa.and_(
        _ROWS.realm.in_(SPOKEN), _ROWS.status == MemoryStatus.ACTIVE, match_readable(reader)
    )


#: The list of a search by an item's own text alone.
_ALONE = "dense_alone"


@dataclass(frozen=True, slots=True, eq=False)
class Post:
    """A post, its vector, and its cosine with what it was looked for by."""

    memory: Memory
    row: Matrix
    cosine: float = 1.0


class NearPosts:
    """Finds posts in the vectors of one model."""

    def __init__(self, matrix: VectorMatrix) -> None:
        """Look into that matrix."""
        self.model = matrix.model
        self._dense = Dense(_no_index, model=matrix.model, matrix=matrix)

    def find_nearest(
        self,
        connection: sa.Connection,
        row: Matrix,
        *,
        reader: str | None,
        most: int,
        floor: float,
        but: str | None = None,
    ) -> list[Post]:
        """Return the nearest posts that the reader may read, best first; none below `floor`.

        `but` is an agent whose own posts are left out. In a read transaction, on its thread.
        """
        allowed = (
            sa.select(passages.c.id)
            .join(memories, memories.c.id == passages.c.item_id)
            .where(
                passages.c.collection.in_([memory_records.COLLECTIONS[realm] for realm in SPOKEN]),
                passages.c.place != SearchPlace.PAIRED,
                may_read_post(reader),
            )
        )
        if but is not None:
            allowed = allowed.where(memories.c.agent_id != but)
        flat = np.ascontiguousarray(row, np.float32).reshape(-1)
        answer = self._dense.find_nearest(
            connection, DenseQuestion(flat, self.model, most), allowed
        )
        found = {each.item_id: each.score for each in answer.lists[_ALONE] if each.score >= floor}
        known = {each.memory.id: each for each in self.load_posts(connection, list(found))}
        return [
            Post(known[name].memory, known[name].row, score)
            for name, score in found.items()
            if name in known
        ]

    def load_posts(self, connection: sa.Connection, ids: Sequence[str]) -> list[Post]:
        """Return those of some memories that may be found and have a vector, in that order."""
        live = memory_records.load_active(connection, ids)
        hashes = {name: memory_records.digest(each.text) for name, each in live.items()}
        rows = embeddings.load_vectors(connection, self.model, list(hashes.values()))
        return [Post(live[each], rows[hashes[each]]) for each in ids if hashes.get(each) in rows]


async def _no_index(
    collections: Sequence[str], vector: Matrix, limit: int
) -> dict[str, list[tuple[str, float]]]:
    """Be an index that is not asked: what may be read is few, and compared as it is."""
    raise IndexDown(f"{collections} are not asked for {limit} of {vector.size}")
