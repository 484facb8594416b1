"""Looking: one read of the ledger, for everything that a round of merging has to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.memory.whole import spoken
from cortex_actors.memory.wish import digest
from cortex_actors.rules.merging import Ruled, Verdict, neighbour_score, ruled
from cortex_actors.rules.sameness import cosine
from cortex_actors.storage import memory_records, memory_states, similar_memories

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from cortex_actors.domain.memory import Memory
    from cortex_actors.memory.ports import Rules
    from cortex_actors.rules.merging import Gates
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.search.dense import Asked
    from cortex_actors.storage.similar_memories import Neighbour, Scope, Vicinity


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory near a text, and what the rules say of the two.

    Attributes:
        leaves: the ids of what it was made of, itself where it was said as it is.
        vectors: its own and those of its leaves; what has none is left out.

    """

    memory: Memory
    cosine: float
    ruled: Ruled
    leaves: frozenset[str]
    vectors: tuple[Matrix, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look showed: what is known already, and the candidates, nearest first."""

    known: str | None
    candidates: tuple[Candidate, ...] = ()


class Looking:
    """Looks around a text, within its scope."""

    def __init__(self, around: Vicinity, *, gates: Gates, rules: Rules) -> None:
        """Look through `around`, and judge by the rules."""
        self._around = around
        self._gates = gates
        self._rules = rules

    async def ask(self, vector: Matrix, scope: Scope) -> Asked:
        """Ask the index before the ledger is read."""
        most = self._gates.nearest + self._gates.neighbours + self._gates.rounds
        return await self._around.ask(vector, scope, most=most)

    def candidates(
        self,
        connection: Connection,
        node: Memory,
        asked: Asked,
        *,
        made_of: Collection[str],
        but: Collection[str],
        is_new: bool,
    ) -> Seen:
        """Return what is near a text and what it may become one with.

        `made_of` are the leaves of the text so far, `but` the memories that are left out.
        """
        scope = similar_memories.Scope.of(node)
        known = (
            similar_memories.find_active(connection, scope, digest(node.text)) if is_new else None
        )
        if known is not None:
            return Seen(known)
        near = self._around.near(connection, asked, scope, most=self._gates.nearest, but=but)
        wanted = [each for each in near if each.cosine >= self._gates.never]
        rows = memory_records.by_id(connection, [each.memory_id for each in wanted])
        found: list[Candidate] = []
        for each in wanted:
            other = rows.get(each.memory_id)
            if other is None or other.pinned_at is not None:
                continue
            leaves = self._around.leaves(connection, other.id)
            if _parted(connection, leaves, made_of):
                continue
            said = self._ruled(node, other, each.cosine)
            vectors = tuple(_rows(leaves.values(), asked.vector))
            found.append(Candidate(other, each.cosine, said, frozenset(leaves), vectors))
        return Seen(None, tuple(found))

    def crowd(
        self,
        connection: Connection,
        merged: Memory,
        asked: Asked,
        *,
        but: Collection[str],
    ) -> str | None:
        """Return why a new text must not come to be among what is known; None where it may.

        Neighbours that it would take in next do not count: they are the same thing, and gone then.
        """
        gates, scope = self._gates, similar_memories.Scope.of(merged)
        said = similar_memories.says(connection, scope, digest(merged.text))
        if said is not None and said not in but:
            return f"{said} says that already"
        most = gates.neighbours + gates.nearest
        near = self._around.near(connection, asked, scope, most=most, but=but)
        if not near or near[0].cosine <= gates.crowded:
            return None
        counted = self._staying(connection, merged, near)
        score = neighbour_score(counted, gates.neighbours)
        return f"{score:.2f} from what is known" if score > gates.crowded else None

    def _staying(
        self, connection: Connection, merged: Memory, near: Sequence[Neighbour]
    ) -> list[float]:
        """Return the cosines of those neighbours that a text would not take in next."""
        rows = memory_records.by_id(connection, [each.memory_id for each in near])
        return [
            each.cosine
            for each in near
            if each.memory_id in rows
            and self._ruled(merged, rows[each.memory_id], each.cosine).verdict is not Verdict.MERGE
        ]

    def _ruled(self, node: Memory, other: Memory, cosine_: float) -> Ruled:
        """Return what the rules say of two memories."""
        thresholds, lexicon = self._rules()
        return ruled(
            spoken(node),
            spoken(other),
            cosine_,
            gates=self._gates,
            thresholds=thresholds,
            lexicon=lexicon,
        )


def least_cosine(vector: Matrix, others: Sequence[Matrix]) -> float:
    """Return the cosine of a text with what it has least in common with; 1 for nobody."""
    return min((cosine(vector, each) for each in others), default=1.0)


def _parted(connection: Connection, leaves: Collection[str], made_of: Collection[str]) -> bool:
    """Tell whether somebody parted what a merge would bring together."""
    kept = memory_states.of(connection, leaves)
    mine = set(made_of)
    return any(not mine.isdisjoint(others) for others in kept.values())


def _rows(blobs: Iterable[bytes | None], like: Matrix) -> Iterator[Matrix]:
    """Yield stored vectors; those that are missing or damaged are left out."""
    for blob in blobs:
        if blob is not None and len(blob) == like.nbytes:
            yield np.frombuffer(blob, np.float32)
