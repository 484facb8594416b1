"""Lists of memories, and the short names by which one is asked for.

A memory that the reader may not read is in no list and has no short name: it does not exist.

Idleness: memories that were not read for long, and how the memories of a realm are.

Both look at every active memory there is: they are asked by people, now and then.

Duplicates: pairs of memories whose texts are nearly the same, by their stored vectors.

Every memory is compared with every other: exact, and the cost grows with the square of their
number (docs/memory.md says what that comes to). Products of matrices in single precision pick
the pairs, which are compared once more in double precision, so that a pair's cosine depends on
nothing but its two texts. It is done a block at a time, so that it can be cancelled between two of
them.

Episodes: what memories that every agent may read were made of, and what they replaced.

Only what every agent may read itself is returned. Every function takes a connection and only reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select

from cortex_actors.domain.agent import format_given
from cortex_actors.domain.insight import MemorySort
from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, Realm
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.rules.decay import DECAYS, Decay, Earning
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.memory import memory_attention as attending
from cortex_actors.storage.memory_history import PARTS, SAID
from cortex_actors.storage.realms import make_unknown, match_readable
from cortex_actors.storage.search.matrix import MARGIN, compute_pairs
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import match_memories
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.columns import decode_text, group_pairs
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import (
    memories,
    memory_apart,
    memory_attention,
    memory_conflicts,
    vectors,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


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
class MemoryFilter:
    """What a list is of.

    Attributes:
        where: the conditions of a search, whose reader counts here, too.
        states: in which states; empty for all.
        pinned: only those that are pinned.
        conflicts: only those that are in an unresolved conflict.

    """

    where: Where = field(default_factory=Where)
    states: Collection[MemoryStatus] = (MemoryStatus.ACTIVE,)
    pinned: bool = False
    conflicts: bool = False
    sort: MemorySort = MemorySort.NEWEST
    limit: int = 20
    skip: int = 0


def list_memories(
    connection: Connection,
    wanted: MemoryFilter,
    *,
    now: int,
    decays: Mapping[Layer, Decay] = DECAYS,
) -> tuple[list[Memory], int]:
    """Return a page of memories, those that are pinned first, and how many there are in all.

    `now` (UTC microseconds) and `decays` say how much attention each has.
    """
    row = memories.c
    where = match_memories(wanted.where, now, decays)
    if wanted.states:
        where.append(row.status.in_(sorted(wanted.states)))
    if wanted.pinned:
        where.append(row.pinned_at.is_not(None))
    if wanted.conflicts:
        pairs, other = memory_conflicts.c, memories.alias()
        between = or_(
            and_(pairs.left_id == row.id, pairs.right_id == other.c.id),
            and_(pairs.right_id == row.id, pairs.left_id == other.c.id),
        )
        both = (row.status == MemoryStatus.ACTIVE, other.c.status == MemoryStatus.ACTIVE)
        where.append(exists().where(between, pairs.ended_at.is_(None), *both))
    query = select(row.id).outerjoin(memory_attention, memory_attention.c.memory_id == row.id)
    query = query.where(*where).order_by(row.pinned_at.is_(None), *_ORDERS[wanted.sort])
    rows, total = columns.load_page(connection, query, limit=wanted.limit, skip=wanted.skip)
    found = memory_records.read(connection, (name for (name,) in rows), MemoryStatus)
    return [found[name] for (name,) in rows], total


def find_id(connection: Connection, name: str, *, reader: str | None) -> str:
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
        query = select(memories.c.id).where(here, match_readable(reader)).order_by(memories.c.id)
        found = list(connection.execute(query.limit(_MOST)).scalars())
    if not found:
        if len(given) >= LEAST:
            raise make_unknown(given)
        raise NotFound(
            f"no memory is called {format_given(given)}: give {LEAST} characters or more of its "
            "id; list "
            "them with: cortex memory list"
        )
    if len(found) > 1:
        raise BadInput(f"{name} means several memories: {', '.join(found)}; give more of the id")
    return found[0]


def load_memory(connection: Connection, memory_id: str) -> Memory:
    """Return a memory, whatever its state; raises `NotFound`."""
    found = memory_records.read(connection, [memory_id], MemoryStatus)
    if memory_id not in found:
        raise make_unknown(memory_id)
    return found[memory_id]


#: Decimals of a mean attention (the document's).
_DECIMALS = 3


class Idle(NamedTuple):
    """A memory that was not read for long; its text is only as long as it was asked for."""

    id: str
    text: str
    realm: Realm
    agent_id: str
    last_at: int
    held: attending.AttentionInputs


@dataclass(slots=True)
class RealmHealth:
    """How the memories of one realm are."""

    total: int = 0
    by_layer: dict[Layer, int] = field(default_factory=lambda: dict.fromkeys(Layer, 0))
    avg_attention: float = 0.0
    stale_count: int = 0
    promotion_candidates: int = 0


def list_idle(
    connection: Connection, *where: ColumnElement[bool], before: int, limit: int, letters: int
) -> tuple[list[Idle], int]:
    """Return memories that were last read, or said, before a time, and how many there are.

    The longest idle first, and of that order the first `limit`; `letters` is how much of each text
    is returned.
    """
    row = memories.c
    there = attending.select_inputs().where(_last() < before, *where)
    query = there.add_columns(
        func.substr(row.text, 1, letters).label("text"), row.realm, row.agent_id, _last()
    )
    some, total = columns.load_page(connection, query.order_by(_last(), row.id), limit=limit)
    found = [
        Idle(each.id, text, Realm(realm), agent_id, last, attending.to_inputs(held))
        for each in some
        for *held, text, realm, agent_id, last in (each,)
    ]
    return found, total


def count_health(
    connection: Connection, *where: ColumnElement[bool], before: int, now: int, earning: Earning
) -> dict[Realm, RealmHealth]:
    """Return how the memories of each realm are; those count as stale that `list_idle` would name.

    The mean attention is that of when they were weighed last.
    """
    row, found = memories.c, {realm: RealmHealth() for realm in Realm}
    sums: dict[Realm, float] = dict.fromkeys(Realm, 0.0)
    query = (
        select(
            row.realm,
            row.layer,
            func.count(),
            func.sum(memory_attention.c.attention),
            func.sum(case((_last() < before, 1), else_=0)),
        )
        .join_from(memories, memory_attention)
        .where(row.status == MemoryStatus.ACTIVE, *where)
        .group_by(row.realm, row.layer)
    )
    for realm, layer, count, attention, stale in connection.execute(query):
        here = found[Realm(realm)]
        here.total += count
        here.by_layer[Layer(layer)] = count
        here.stale_count += stale
        sums[Realm(realm)] += attention
    for realm, here in found.items():
        here.avg_attention = round(sums[realm] / here.total, _DECIMALS) if here.total else 0.0
        earned = attending.list_earned(
            connection, row.realm == realm, *where, now=now, earning=earning
        )
        here.promotion_candidates = len(earned)
    return found


def _last() -> ColumnElement[int]:
    """Return when a memory was read last, or else said."""
    return func.coalesce(memory_attention.c.accessed_at, memories.c.created_at)


#: Memories that are compared at most, the newest: 150 MB of vectors of 384 numbers.
MOST = 100_000

#: Vectors read at once: 3 MB.
READ = 2_000

#: Rows of the two sides that are multiplied at once: 8 MB of cosines.
_ROWS, _BLOCK = 512, 4_096


#: A memory's id, its vector as it is stored, and its project.
Row: TypeAlias = "tuple[str, bytes, str]"


class Pair(NamedTuple):
    """Two memories, the lesser id first, and the cosine of their texts."""

    left: str
    right: str
    cosine: float


@dataclass(slots=True)
class ComparedMemories:
    """The memories that are compared, in the order of their ids; `projects` is one for each."""

    ids: list[str] = field(default_factory=list)
    rows: embeddings.Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    projects: list[str] = field(default_factory=list)


def read_vectors(
    connection: Connection, model: str, *, before: str | None, where: Iterable[ColumnElement[bool]]
) -> list[Row]:
    """Return the next memories before an id that have a vector, newest first, with these."""
    row = memories.c
    query = (
        select(row.id, vectors.c.vector, row.project_id)
        .join(vectors, embeddings.match_text(memories, model))
        .where(row.status == MemoryStatus.ACTIVE, *where)
        .order_by(row.id.desc())
        .limit(READ)
    )
    if before is not None:
        query = query.where(row.id < before)
    return [(name, vector, project) for name, vector, project in connection.execute(query)]


def sort_vectors(some: Sequence[Row]) -> ComparedMemories:
    """Return memories with their vectors, in the order of their ids; damaged ones do not count."""
    ids, stored, projects = zip(*sorted(some), strict=True) if some else ((), (), ())
    rows, sound = embeddings.to_rows(stored, embeddings.find_usual_length(stored[:READ]))
    good = np.flatnonzero(sound).tolist()
    return ComparedMemories(
        [ids[each] for each in good], rows[good], [projects[each] for each in good]
    )


def list_apart(connection: Connection) -> frozenset[tuple[str, str]]:
    """Return the pairs that a user has taken apart: they are no duplicates."""
    rows = connection.execute(select(memory_apart.c.left_id, memory_apart.c.right_id))
    return frozenset((left, right) for left, right in rows)


class PairSearch:
    """Finds the nearest pairs among some texts, a step at a time."""

    def __init__(
        self,
        some: ComparedMemories,
        *,
        threshold: float,
        limit: int,
        apart: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Look for pairs at least as near as `threshold`; keep the best `limit` of them.

        Two of different projects are no pair: neither can replace the other.
        """
        self._ids, self._rows = some.ids, some.rows
        self._projects = np.unique(some.projects, return_inverse=True)[1]
        self._threshold = threshold
        self._limit = limit
        places = {each: place for place, each in enumerate(some.ids)}
        known = [pair for pair in apart if places.keys() >= set(pair)]
        #: Pairs that do not count, each as one number.
        numbers = [places[left] * len(places) + places[right] for left, right in known]
        self._apart = np.array(numbers, np.intp)
        self._best = np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float64)
        self._total = 0

    def list_steps(self) -> Iterator[int]:
        """Yield where each step begins."""
        return iter(range(0, len(self._ids), _ROWS))

    def step(self, start: int) -> None:
        """Compare some memories with themselves and all behind them; on a thread."""
        asked = self._rows[start : start + _ROWS]
        for first in range(start, len(self._ids), _BLOCK):
            block = self._rows[first : first + _BLOCK]
            left, right = np.nonzero(asked @ block.T >= self._threshold - MARGIN)
            left, right = left + start, right + first
            mine = (left < right) & (self._projects[left] == self._projects[right])
            self._keep(left[mine], right[mine])

    def list_pairs(self) -> tuple[list[Pair], int]:
        """Return the best pairs, the nearest first, ties by id; and how many there are in all."""
        columns = (column.tolist() for column in self._best)
        pairs = [
            Pair(self._ids[left], self._ids[right], min(cosine, 1.0))
            for left, right, cosine in zip(*columns, strict=True)
        ]
        return pairs, self._total

    def _keep(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> None:
        """Count pairs that are near enough, and keep the best of them and of those before."""
        for start in range(0, len(left), _BLOCK):
            one, other = left[start : start + _BLOCK], right[start : start + _BLOCK]
            cosines: Any = compute_pairs(self._rows[one], self._rows[other])
            near = cosines >= self._threshold
            near &= ~np.isin(one * len(self._ids) + other, self._apart)
            self._total += int(near.sum())
            some = (one[near], other[near], cosines[near])
            both = tuple(map(np.concatenate, zip(self._best, some, strict=True)))
            order = np.lexsort((both[1], both[0], -both[2]))[: self._limit]
            self._best = (both[0][order], both[1][order], both[2][order])


#: The originals of each whole, the newest first.
_ORIGINALS = (
    f"{PARTS} SELECT below.whole, m.id, m.text, m.created_at FROM below"  # noqa: S608 - ours
    f" JOIN memories AS m ON m.id = below.id WHERE m.realm = 'village' AND {SAID}"
    " ORDER BY m.created_at DESC, m.id DESC"
)

#: What each replaced, the newest last.
_REPLACED = (
    "SELECT replaced_by, id, text, created_at FROM memories"
    " WHERE replaced_by IN :ids AND realm = 'village'"
    " ORDER BY created_at, id"
)


def list_originals(connection: Connection, ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return what each memory was made of, the newest first; those that were said are left out."""
    return group_pairs(_episodes(connection, _ORIGINALS, ids))


def list_replaced(connection: Connection, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what each memory replaced, where it replaced one; of several, the newest."""
    return dict(_episodes(connection, _REPLACED, ids))


def _episodes(
    connection: Connection, query: str, ids: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield memories that were said, each with the one by which it is asked for."""
    for of, name, text, at in execute_for(connection, query, ids):
        yield of, {"id": name, "text": decode_text(text) or "", "created_at": at}
