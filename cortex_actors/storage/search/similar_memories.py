"""Vicinity: the memories of one scope that are nearest to a vector, and which it already has.

Only what one agent said in one realm, one conversation and one role is ever compared, and of a
bridge only what the same agents may read: nothing that is merged reaches a new reader. A scope of
few memories is compared as a whole; of a large one the planned search names more than are wanted,
and what lies in the scope is taken. It is compared as a whole where these are too few, so that the
answer never depends on the way.

Conflicts: pairs of memories that cannot both hold.

A conflict is open while both memories are active and no user has kept both: it ends by itself when
one of them is superseded, archived or merged, and is open again when that one comes back. So no
change of a state has to be written to this table. Every function takes the connection of a
transaction it is part of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, select, update

from cortex_actors.domain.insight import Decider  # noqa: TC001 - read by `entity`
from cortex_actors.domain.memory import MERGEABLE, Memory, MemoryStatus, Realm, SearchPlace
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.realms import match_readable
from cortex_actors.storage.search.dense import LISTS, Dense, DenseNeighbours, DenseQuestion
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute, execute_for
from cortex_actors.storage.tables.schema import memories, memory_agents, memory_conflicts, passages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.matrix import VectorMatrix


#: Memories of a scope up to which it is compared as a whole: gathering them takes 2 ms.
SMALL = 1_000

#: Neighbours that the planned search names beyond those wanted: others' are among them.
_SPARE = 32

#: The list of memories' own texts.
_ALONE = next(iter(LISTS))

_LEAVES = (
    f"{memory_history.DOWN} SELECT m.id, v.vector FROM down JOIN memories AS m ON m.id = down.id"  # noqa: S608 - ours
    " LEFT JOIN vectors AS v ON v.text_hash = m.text_hash AND v.model = ?2"
    " WHERE NOT EXISTS (SELECT 1 FROM memories AS p WHERE p.merged_into = m.id) ORDER BY m.id"
)

#: Where memories lie. The conditions of a scope are compared afterwards: with them SQLite goes
#: through all of the scope and looks for each in the list.
_PLACES = (
    "SELECT m.id, m.type, m.status, m.realm, m.agent_id, m.thread, m.role, m.project_id"
    " FROM :each(?1) AS wanted CROSS JOIN memories AS m ON m.id = wanted.value"
)

#: What has a text; by the hash alone, because SQLite prefers the index of the agent, and goes
#: through all of the scope there.
_SAYING = (
    "SELECT id, type, status, realm, agent_id, thread, project_id FROM memories"
    " INDEXED BY memories_by_text WHERE text_hash = ? ORDER BY status, id"
)

#: The rows of a scope, but of a bridge: those alone, and not all without a thread, or all that an
#: agent ever said. With the words written out, because SQLite takes the index for no others.
_KINDS = ", ".join(f"'{each}'" for each in MERGEABLE)
_SCOPE = (
    "FROM memories AS m INDEXED BY memories_said_once {join}"
    " WHERE m.realm = ?1 AND m.agent_id = ?2 AND m.thread = ?3 AND m.role = ?4"
    " AND m.project_id = ?5"
    f" AND m.status = 'active' AND m.type IN ({_KINDS}) AND m.realm <> 'bridge'"
)
_COUNT = f"SELECT count(*) FROM (SELECT 1 {_SCOPE.format(join='')} LIMIT {SMALL + 1})"  # noqa: S608 - ours
_WHOLE = (
    "SELECT p.id "
    f"{_SCOPE.format(join='CROSS JOIN passages AS p ON p.item_id = m.id')}"
    " AND p.collection = ?6 AND p.place <> 'paired'"
)


@dataclass(frozen=True, slots=True)
class MergeScope:
    """Within which memories are one when they say the same.

    Attributes:
        named: of a bridge, who may read it beside its agent; empty otherwise.

    """

    realm: Realm
    agent_id: str
    thread: str
    role: str
    project_id: str = ""
    named: frozenset[str] = frozenset()

    @property
    def place(self) -> tuple[str, ...]:
        """Where its memories lie: what they have in common, but for their readers."""
        return self.realm, self.agent_id, self.thread, self.role, self.project_id

    @classmethod
    def from_memory(cls, memory: Memory) -> MergeScope:
        """Return the scope of a memory."""
        named = frozenset(memory.related) if memory.realm is Realm.BRIDGE else frozenset[str]()
        named -= {memory.agent_id}
        where = (memory.agent_id, memory.thread, memory.role, memory.project_id)
        return cls(memory.realm, *where, named)


class Neighbour(NamedTuple):
    """A memory near a vector."""

    memory_id: str
    cosine: float


class Vicinity:
    """Finds what is near in the vectors of one model, through the matrix that searches use."""

    def __init__(self, query: DenseNeighbours, *, model: str, matrix: VectorMatrix) -> None:
        """Ask the index through `query` where that is quicker."""
        self._dense = Dense(query, model=model, matrix=matrix)
        self._model = model
        #: Scopes that were found to be large: counting them again would cost what it saves.
        self._large: set[MergeScope] = set()

    async def ask(self, vector: Matrix, scope: MergeScope, *, most: int) -> DenseQuestion:
        """Ask the index where it is worth it; return what `find_near` needs. Never fails."""
        depth, names = most + _SPARE, (memory_records.COLLECTIONS[scope.realm],)
        if scope not in self._large:
            return DenseQuestion(vector.reshape(-1), self._model, depth, names)
        return await self._dense.ask(vector, model=self._model, depth=depth, collections=names)

    def find_near(
        self,
        connection: Connection,
        asked: DenseQuestion,
        scope: MergeScope,
        *,
        most: int,
        but: Collection[str] = (),
    ) -> list[Neighbour]:
        """Return the nearest active memories of a scope, best first, ties by id.

        `but` are left out. In a read transaction, on its thread.
        """
        wanted = most + len(but)
        if self._is_large(connection, scope):
            found = self._dense.find_nearest(connection, asked, None).lists[_ALONE]
            mine = _within(connection, scope, [each.item_id for each in found])
            kept = [Neighbour(n.item_id, n.score) for n in found if n.item_id in mine]
            if len(kept) >= wanted or len(found) < asked.depth:
                return [each for each in kept if each.memory_id not in but][:most]
        whole = self._dense.find_nearest(connection, asked, _whole(connection, scope)).lists[_ALONE]
        mine = _within(connection, scope, [each.item_id for each in whole])
        return [
            Neighbour(each.item_id, each.score)
            for each in whole
            if each.item_id in mine and each.item_id not in but
        ][:most]

    def load_leaves(self, connection: Connection, memory_id: str) -> dict[str, bytes | None]:
        """Return everything that was said in the end of what a memory says, with its vector."""
        return dict(execute_for(connection, _LEAVES, [memory_id], self._model))

    def _is_large(self, connection: Connection, scope: MergeScope) -> bool:
        """Tell whether a scope has more memories than are compared as a whole."""
        if scope not in self._large and _count(connection, scope) > SMALL:
            self._large.add(scope)
        return scope in self._large


def find_active(connection: Connection, scope: MergeScope, text_hash: bytes) -> str | None:
    """Return the active memory of a scope that has a text, or that has become of one that had."""
    states = (MemoryStatus.ACTIVE, MemoryStatus.MERGED)
    ids = _of_readers(connection, scope, _saying(connection, scope, text_hash, states=states))
    now = memory_history.find_current(connection, ids)
    return next((now[each] for each in ids if now[each] is not None), None)


def find_text(connection: Connection, scope: MergeScope, text_hash: bytes) -> str | None:
    """Return the active memory of a scope that has exactly a text."""
    states = (MemoryStatus.ACTIVE,)
    ids = _saying(connection, scope, text_hash, states=states)
    return next(iter(_of_readers(connection, scope, ids)), None)


def _saying(
    connection: Connection, scope: MergeScope, text_hash: bytes, *, states: tuple[MemoryStatus, ...]
) -> list[str]:
    """Return the memories of a scope that have exactly a text, ordered by their state and id.

    Whatever their role, which is part of the text.
    """
    here = (scope.realm, scope.agent_id, scope.thread, scope.project_id)
    found = execute(connection, _SAYING, text_hash)
    return [
        name
        for name, kind, status, *place in found
        if status in states and kind in MERGEABLE and tuple(place) == here
    ]


def _within(connection: Connection, scope: MergeScope, ids: Collection[str]) -> set[str]:
    """Return which of those memories are active and lie in a scope."""
    found = execute_for(connection, _PLACES, ids)
    here = (MemoryStatus.ACTIVE, *scope.place)
    mine = [name for name, kind, *place in found if tuple(place) == here and kind in MERGEABLE]
    return set(_of_readers(connection, scope, mine))


def _of_readers(connection: Connection, scope: MergeScope, ids: Iterable[str]) -> list[str]:
    """Return, of a bridge's memories, those that the same agents may read."""
    some = list(ids)
    if scope.realm is not Realm.BRIDGE or not some:
        return some
    found = memory_records.read(connection, some, MemoryStatus)
    return [
        each
        for each in some
        if each in found and MergeScope.from_memory(found[each]).named == scope.named
    ]


def _count(connection: Connection, scope: MergeScope) -> int:
    """Return how many memories a scope has, as far as that is of interest."""
    if scope.realm is Realm.BRIDGE:
        some = select(memories.c.id).where(*_conditions(scope)).limit(SMALL + 1).subquery()
        return columns.count_rows(connection, some)
    place = map(columns.encode_text, scope.place)
    return int(execute(connection, _COUNT, *place).fetchone()[0])


def _whole(connection: Connection, scope: MergeScope) -> NDArray[np.int64]:
    """Return the numbers of the passages of a scope's memories."""
    if scope.realm is Realm.BRIDGE:
        here = passages.c.collection == memory_records.COLLECTIONS[scope.realm]
        query = select(passages.c.id).join(memories, memories.c.id == passages.c.item_id)
        query = query.where(here, passages.c.place != SearchPlace.PAIRED, *_conditions(scope))
        for agent in sorted(scope.named):
            reads = select(memory_agents.c.memory_id).where(memory_agents.c.agent_id == agent)
            query = query.where(memories.c.id.in_(reads))
        return np.array(connection.execute(query).scalars().all(), np.int64)
    place = (*scope.place, memory_records.COLLECTIONS[scope.realm])
    rows = execute(connection, _WHOLE, *map(columns.encode_text, place)).fetchall()
    return np.array([number for (number,) in rows], np.int64)


def _conditions(scope: MergeScope) -> list[ColumnElement[bool]]:
    """Return the conditions that a memory is active and lies in a scope, for any reader."""
    same = ("realm", "agent_id", "thread", "role", "project_id")
    place = {name: getattr(scope, name) for name in same}
    return [
        *columns.match_columns(memories, status=MemoryStatus.ACTIVE, **place),
        memories.c.type.in_(MERGEABLE),
    ]


_LEFT, _RIGHT = memory_conflicts.c.left_id, memory_conflicts.c.right_id

#: Every search runs it: building it each time would cost more than it does.
_STANDING = (
    "SELECT left_id, right_id, reason FROM memory_conflicts AS c WHERE ended_at IS NULL"
    " AND (left_id IN :ids"
    " OR right_id IN :ids)"
    " AND EXISTS (SELECT 1 FROM memories WHERE status = 'active' AND id = c.left_id)"
    " AND EXISTS (SELECT 1 FROM memories WHERE status = 'active' AND id = c.right_id)"
    " ORDER BY left_id, right_id"
)


@dataclass(frozen=True, slots=True)
class MemoryConflict:
    """Two memories that cannot both hold, `left` being the lesser id.

    Attributes:
        decided_by: the layer that says so.
        ended_at: UTC microseconds when a user kept both; None until then.

    """

    left: str
    right: str
    decided_by: Decider
    reason: str
    found_at: int
    ended_at: int | None = None


def note_conflict(
    connection: Connection, left: str, right: str, *, by: Decider, reason: str, at: int
) -> bool:
    """Write down that two memories cannot both hold; False where that was known, or decided."""
    one, other = sorted((left, right))
    row = {"left_id": one, "right_id": other, "decided_by": by, "reason": reason, "found_at": at}
    return columns.put_rows(connection, memory_conflicts, [row], change=()) > 0


def keep_both(connection: Connection, left: str, right: str, at: int) -> bool:
    """End a conflict for good: both hold; False where there is none between them."""
    ends = memory_conflicts.c.ended_at
    statement = update(memory_conflicts).where(*_between(left, right), ends.is_(None))
    return connection.execute(statement.values(ended_at=at)).rowcount > 0


def is_kept(connection: Connection, left: str, right: str) -> bool:
    """Tell whether a user has kept two memories that were found to conflict."""
    ends = memory_conflicts.c.ended_at
    query = select(ends).where(*_between(left, right), ends.is_not(None))
    return connection.execute(query).first() is not None


def _between(left: str, right: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the row of a pair."""
    row, (one, other) = memory_conflicts.c, sorted((left, right))
    return row.left_id == one, row.right_id == other


def load_conflicts(connection: Connection, ids: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (the other memory, why) for each that is in an open conflict."""
    wanted = set(ids)
    return columns.group_pairs(
        (mine, (other, columns.decode_text(why) or ""))
        for left, right, why in execute_for(connection, _STANDING, wanted)
        for mine, other in ((left, right), (right, left))
        if mine in wanted
    )


def list_conflicts(
    connection: Connection, *, reader: str | None = None, limit: int = 50, skip: int = 0
) -> tuple[list[MemoryConflict], int]:
    """Return the open conflicts, newest first, and how many there are in all.

    With a reader, those of which it may read both memories.
    """
    there = select(memories.c.id).where(
        memories.c.status == MemoryStatus.ACTIVE, match_readable(reader)
    )
    both = [there.where(memories.c.id == side).exists() for side in (_LEFT, _RIGHT)]
    query = select(memory_conflicts).where(memory_conflicts.c.ended_at.is_(None), *both)
    query = query.order_by(memory_conflicts.c.found_at.desc(), _LEFT, _RIGHT)
    rows, total = columns.load_page(connection, query, limit=limit, skip=skip)
    return [
        columns.make_entity(MemoryConflict, e, left=e.left_id, right=e.right_id) for e in rows
    ], total
