"""Neighbourhood: everything that may stand otherwise because some texts have changed.

It begins with the texts that changed and grows over whatever says nearly the same, until nothing
more is connected with it. What is outside cannot be concerned: who stands for whom and what is one
cluster depend on connected texts alone. So its cost is that of the change and of the texts that are
like it, not of all there are, but for one product of matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Relation
from cortex_actors.rules.clustering import pair
from cortex_actors.storage.search.matrix import cosine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.domain.insight import Judgement
    from cortex_actors.pipeline.relations import Relations
    from cortex_actors.rules.clustering import Pair
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.storage.search.matrix import Near


class Neighbourhood:
    """Texts, and what they are to each other, as far as anybody looked; it belongs to one run."""

    def __init__(self, relations: Relations, *, is_asking: bool = False) -> None:
        """Know nothing yet; `is_asking`: a model may be asked what the rules leave open."""
        self.relations = relations
        #: Texts that were looked at, or met by one that was.
        self.texts: dict[str, Spoken] = {}
        self.rows: dict[str, Matrix] = {}
        #: Ids that were compared with everything.
        self.visited: set[str] = set()
        #: Who says the same, both ways.
        self.same: dict[str, set[str]] = {}
        #: Cosines of insights that are neighbours and do not disagree, both ways.
        self.near: dict[str, dict[str, float]] = {}
        #: Pairs that cannot both hold, with the cosine.
        self.conflicts: dict[Pair, tuple[Judgement, float | None]] = {}
        #: Pairs that the rules leave open, until a model was asked.
        self.open: dict[Pair, float] = {}
        self._is_asking = is_asking

    def connected(self, ids: Iterable[str]) -> set[str]:
        """Return what stands next to those texts and was not visited."""
        found: set[str] = set()
        for each in ids:
            found.update(self.same.get(each, ()), self.near.get(each, ()))
        return found - self.visited

    def compare(self, ids: Sequence[str], near: Sequence[Sequence[Near]]) -> None:
        """Judge texts with their neighbours, each pair once (on a thread).

        Who is named may be one no more, or have had another vector: the ledger's vectors count.
        """
        some, least = set(ids), self.relations.least
        for one, found in zip(ids, near, strict=True):
            for other in {each.insight_id for each in found}:
                is_turn = one < other if other in some else other not in self.visited
                score = self.cosine(one, other) if is_turn and other in self.texts else None
                if score is not None and score >= least:
                    self.judge(one, other, score)
        self.visited |= some

    def disagree(self, sharing: Mapping[str, Iterable[str]], among: Collection[str]) -> None:
        """Judge insights with others that take a stand on what they do (on a thread).

        Those that are near were compared already; `among` are all whose turn it is some time.
        """
        least = self.relations.least
        for one, others in sharing.items():
            for other in others:
                score = self.cosine(one, other)
                is_turn = one < other or other not in among
                if is_turn and other in self.texts and (score is None or score < least):
                    self.judge(one, other, score, far=True)

    def judge(self, one: str, other: str, score: float | None, *, far: bool = False) -> None:
        """Judge two texts by the rules; of two that are far apart only a conflict counts."""
        edge = pair(one, other)
        left, right = self.texts[edge[0]], self.texts[edge[1]]
        found = self.relations.of(left, right, score)
        if far and not found.contradicts:
            return
        if self._is_asking and score is not None and self.relations.is_open(left, right, found):
            self.open[edge] = score
        self.note(edge, found, score)

    def answer(self, edge: Pair, found: Judgement) -> None:
        """Take a model's word for a pair that the rules left open."""
        left, right = self.texts[edge[0]], self.texts[edge[1]]
        self.note(edge, self.relations.answered(left, right, found), self.open[edge])

    def note(self, edge: Pair, found: Judgement, score: float | None) -> None:
        """Remember what two texts are to each other."""
        one, other = edge
        if found.contradicts:
            self.conflicts[edge] = (found, score)
            self.near.get(one, {}).pop(other, None)
            self.near.get(other, {}).pop(one, None)
            return
        if found.relation is Relation.SAME:
            self.same.setdefault(one, set()).add(other)
            self.same.setdefault(other, set()).add(one)
        if score is not None and self.relations.is_edge(self.texts[one], score):
            self.near.setdefault(one, {})[other] = score
            self.near.setdefault(other, {})[one] = score

    def cosine(self, one: str, other: str) -> float | None:
        """Return the cosine of two texts; None where one has no vector."""
        rows = self.rows
        return cosine(rows[one], rows[other]) if one in rows and other in rows else None
