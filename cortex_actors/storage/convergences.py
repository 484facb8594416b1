"""Convergences: what agents were found to say alike, and which posts have still to be compared.

Every function takes the connection of a transaction it is part of. A group is told of once, for
ever, whoever asks and however often: events are pruned after a while, these rows are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, delete, exists, func, insert, or_, select
from sqlalchemy.dialects.sqlite import insert as insert_new

from cortex_actors.domain.memory import Convergence, MemoryStatus
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.memories import readable
from cortex_actors.storage.schema import (
    convergence_memories,
    convergences,
    memories,
    posts_due,
    vectors,
)
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

#: Memories that make a group.
FEWEST = 2

_MEMBERS = convergence_memories.c


@dataclass(frozen=True, slots=True)
class Told:
    """A group that was told of: its posts, how many agents they are by, how alike, and when."""

    id: int
    kind: Convergence
    likeness: float
    found_at: int
    memory_ids: tuple[str, ...]


def wait(connection: Connection, ids: Iterable[str]) -> None:
    """Let posts be compared with what other agents say as soon as that can be done."""
    rows = [{"memory_id": each} for each in ids]
    if rows:
        connection.execute(insert_new(posts_due).on_conflict_do_nothing(), rows)


def ready(connection: Connection, model: str, *, limit: int) -> list[str]:
    """Return posts that can be compared in the vectors of a model, oldest first.

    Among them are those that are found no more: there is nothing left to wait for.
    """
    own = and_(vectors.c.text_hash == memories.c.text_hash, vectors.c.model == model)
    query = select(posts_due.c.memory_id).join(memories).outerjoin(vectors, own)
    query = query.where(or_(memories.c.status != MemoryStatus.ACTIVE, vectors.c.seq.is_not(None)))
    query = query.order_by(memories.c.created_at, memories.c.id).limit(limit)
    return list(connection.execute(query).scalars())


def count_waiting(connection: Connection) -> int:
    """Return how many posts have still to be compared."""
    found = driver_of(connection).execute("SELECT count(*) FROM posts_due").fetchone()
    return int(found[0])


def compared(connection: Connection, ids: Iterable[str]) -> None:
    """Note that posts were compared."""
    for some in chunks(list(ids)):
        connection.execute(delete(posts_due).where(posts_due.c.memory_id.in_(some)))


def tell(
    connection: Connection,
    ids: Collection[str],
    *,
    kind: Convergence,
    likeness: float,
    at: int,
) -> bool:
    """Write down that posts say alike; False when that is known, or one of them is no more.

    What is part of a larger group is known; a group that grows is told of again.
    """
    if not _are_active(connection, ids) or is_known(connection, ids):
        return False
    row = {"kind": kind, "likeness": min(1.0, likeness), "found_at": at}
    (number,) = connection.execute(insert(convergences), row).inserted_primary_key or (0,)
    connection.execute(
        insert(convergence_memories),
        [{"convergence_id": number, "memory_id": each} for each in sorted(set(ids))],
    )
    return True


def is_known(connection: Connection, ids: Collection[str]) -> bool:
    """Tell whether a group was told of that all those posts are in."""
    wanted = set(ids)
    query = (
        select(_MEMBERS.convergence_id)
        .where(_MEMBERS.memory_id.in_(wanted))
        .group_by(_MEMBERS.convergence_id)
        .having(func.count() == len(wanted))
        .limit(1)
    )
    return connection.execute(query).first() is not None


def listed(connection: Connection, reader: str | None, *, limit: int) -> list[Told]:
    """Return the groups told of last, newest first: those whose every post somebody may read."""
    query = select(convergences).where(_readable(reader)).order_by(convergences.c.id.desc())
    rows = connection.execute(query.limit(limit)).all()
    members = _members(connection, [row.id for row in rows])
    return [
        Told(row.id, Convergence(row.kind), row.likeness, row.found_at, members[row.id])
        for row in rows
    ]


def counts(connection: Connection, reader: str | None) -> dict[str, int]:
    """Return how many groups of each kind somebody may know of."""
    query = select(convergences.c.kind, func.count()).where(_readable(reader))
    rows = connection.execute(query.group_by(convergences.c.kind))
    found = {str(kind): int(count) for kind, count in rows}
    return {kind: found.get(kind, 0) for kind in Convergence}


def forget(connection: Connection, ids: Sequence[str]) -> None:
    """Leave memories out that are forgotten; a group of which one is left is none any more."""
    compared(connection, ids)
    for some in chunks(list(ids)):
        connection.execute(delete(convergence_memories).where(_MEMBERS.memory_id.in_(some)))
    left = select(func.count()).where(_MEMBERS.convergence_id == convergences.c.id)
    gone = select(convergences.c.id).where(left.scalar_subquery() < FEWEST)
    numbers = list(connection.execute(gone).scalars())
    for part in chunks(numbers):
        connection.execute(delete(convergence_memories).where(_MEMBERS.convergence_id.in_(part)))
        connection.execute(delete(convergences).where(convergences.c.id.in_(part)))


def _are_active(connection: Connection, ids: Collection[str]) -> bool:
    """Tell whether all those memories are found, and make a group."""
    wanted = set(ids)
    query = select(func.count()).where(
        memories.c.id.in_(wanted), memories.c.status == MemoryStatus.ACTIVE
    )
    return len(wanted) >= FEWEST and len(wanted) == connection.execute(query).scalar_one()


def _readable(reader: str | None) -> Any:
    """Return the condition that somebody may read every post of a group."""
    kept = exists().where(
        _MEMBERS.convergence_id == convergences.c.id,
        memories.c.id == _MEMBERS.memory_id,
        ~readable(reader),
    )
    return ~kept


def _members(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the posts of each group, by id."""
    query = select(_MEMBERS.convergence_id, _MEMBERS.memory_id).order_by(_MEMBERS.memory_id)
    found: dict[int, list[str]] = {number: [] for number in numbers}
    for number, memory_id in connection.execute(query.where(_MEMBERS.convergence_id.in_(numbers))):
        found[number].append(memory_id)
    return {number: tuple(some) for number, some in found.items()}
