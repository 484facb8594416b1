"""Choosing: which principles a file gets, in which order, and which of them it contradicts.

Of the principles nearest to the file those with the best scores that it does not say already; of
two that contradict each other the higher ranked one. It is a function of the principles, of what a
human says in the file and of the settings: our own section has no part in it, so that the same
choice is made again after it was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Claim
from cortex_actors.pipeline.bench import Bench
from cortex_actors.rules.contradiction import judge
from cortex_actors.rules.promotion import RelevanceWeights, score, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_actors.domain.principle import Principle
    from cortex_actors.flowsections import ResolutionSettings
    from cortex_actors.pipeline.bench import Found
    from cortex_actors.pipeline.page import Placed
    from cortex_actors.rules.contradiction import Limits
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.text.lexicon import Lexicon


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Offer:
    """The principles that may be given to anybody.

    Attributes:
        rows: their vectors, zeros for one that has none.
        name: tells this offer from every other one.
        unapproved: those that no person has approved, with the one project that says each, or "".

    """

    principles: Sequence[Principle] = ()
    rows: Matrix | None = None
    name: str = ""
    unapproved: Mapping[str, str] = field(default_factory=dict)

    def may_write(self, principle_id: str, project_id: str) -> bool:
        """Tell whether a principle may be written into a project's files without a question.

        That is what a person approved, and what that project alone says.
        """
        return self.unapproved.get(principle_id, project_id) == project_id

    def parted(self, project_id: str) -> tuple[Offer, Offer]:
        """Return what may be written into a project's files, and what waits for a person."""
        may = [self.may_write(each.id, project_id) for each in self.principles]
        return self._some(may), self._some([not each for each in may])

    def _some(self, wanted: Sequence[bool]) -> Offer:
        """Return some of the principles as an offer of the same name."""
        if all(wanted):
            return self
        some = [each for each, is_wanted in zip(self.principles, wanted, strict=True) if is_wanted]
        rows = None if self.rows is None else self.rows[np.asarray(wanted)]
        return replace(self, principles=some, rows=rows)

    def row(self, number: int) -> Matrix | None:
        """Return a principle's vector; None where it has none."""
        if self.rows is None or not self.rows.shape[1] or not self.rows[number].any():
            return None
        row: Matrix = self.rows[number]
        return row


@dataclass(frozen=True, slots=True)
class Scored:
    """A principle, and how much it matters to the file."""

    principle: Principle
    row: Matrix | None
    score: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """A principle that the file gets; `found` says what the file has against it."""

    scored: Scored
    found: Found

    @property
    def principle(self) -> Principle:
        """The principle itself."""
        return self.scored.principle


@dataclass(frozen=True, slots=True)
class Choice:
    """What a file gets, the best first, those it contradicts behind all others.

    Attributes:
        already_said: how many were left out because the file says them.
        opposed: how many because a higher ranked one says the opposite.
        not_near: how many of the nearest because they scored less than the least.
        waiting: how many matter enough, too, and wait for a person to approve them.

    """

    chosen: tuple[Chosen, ...] = ()
    already_said: int = 0
    opposed: int = 0
    not_near: int = 0
    waiting: int = 0

    @property
    def conflicts(self) -> int:
        """How many of them the project contradicts."""
        return sum(each.found.against is not None for each in self.chosen)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses by the settings; `repeats` lets through what the file says already."""

    settings: ResolutionSettings
    limits: Limits
    lexicon: Lexicon | None = None
    repeats: bool = False

    def choose(self, offer: Offer, placed: Placed) -> Choice:
        """Return what a file gets. Blocks: some ms for each hundred of its statements."""
        bench = self._bench(placed)
        kept: list[Chosen] = []
        said = opposed = 0
        scored = self._scored(offer, placed)
        enough = [each for each in scored if each.score >= self.settings.least]
        for each in enough:
            if len(kept) >= self.settings.most:
                break
            found = bench.compare(each.principle, each.row)
            if found.said and not self.repeats:
                said += 1
            elif (rival := self._rival(each, kept)) is not None:
                opposed += 1
                if _stands_over(each.principle, rival.principle):
                    kept[kept.index(rival)] = Chosen(each, found)
            else:
                kept.append(Chosen(each, found))
        order = sorted(kept, key=lambda each: each.found.against is not None)
        return Choice(tuple(order), said, opposed, len(scored) - len(enough))

    def count(self, offer: Offer, placed: Placed) -> int:
        """Return how many matter enough that the file does not say already. Blocks as `choose`."""
        bench, least = self._bench(placed), self.settings.least
        near = [each for each in self._scored(offer, placed) if each.score >= least]
        return sum(self.repeats or not bench.compare(e.principle, e.row).said for e in near)

    def _bench(self, placed: Placed) -> Bench:
        """Return what compares principles with the file."""
        return Bench(
            placed,
            limits=self.limits,
            already_said=self.settings.already_said,
            lexicon=self.lexicon,
        )

    def _scored(self, offer: Offer, placed: Placed) -> list[Scored]:
        """Return the nearest principles, those that matter most first."""
        chosen = self.settings
        weights = RelevanceWeights(chosen.semantic, chosen.rank, chosen.domain)
        of_file = placed.page.domains
        found = [
            Scored(
                each,
                offer.row(number),
                score(cosine, each.rank, share=share(each.domains, of_file), weights=weights),
            )
            for number, each, cosine in self._nearest(offer, placed)
        ]
        return sorted(found, key=lambda each: (-each.score, each.principle.id))

    def _nearest(
        self, offer: Offer, placed: Placed
    ) -> Iterator[tuple[int, Principle, float | None]]:
        """Yield the principles nearest to the file; without vectors those of the highest rank.

        To a file that says nothing nothing is near: it must not get everything that ranks.
        """
        row = placed.row(placed.page.text)
        unknown = 0.0 if placed.page.is_silent else None
        cosines: list[float | None] = [unknown] * len(offer.principles)
        if row is not None and offer.rows is not None and offer.rows.shape[1] == len(row):
            near = np.einsum("ij,j->i", offer.rows.astype(np.float64), row.astype(np.float64))
            has = np.asarray(offer.rows.any(axis=1))
            cosines = [float(n) if h else None for n, h in zip(near, has, strict=True)]

        def order(number: int) -> tuple[float, float, str]:
            principle, cosine = offer.principles[number], cosines[number]
            return (-cosine if cosine is not None else 1.0, -principle.rank, principle.id)

        for number in sorted(range(len(cosines)), key=order)[: self.settings.nearest]:
            yield number, offer.principles[number], cosines[number]

    def _rival(self, one: Scored, kept: Iterable[Chosen]) -> Chosen | None:
        """Return the one that is kept already and cannot be followed together with another."""
        return next((each for each in kept if self._opposed(one, each.scored)), None)

    def _opposed(self, one: Scored, other: Scored) -> bool:
        """Tell whether two principles contradict each other, linked or not."""
        cosine = None
        if one.row is not None and other.row is not None:
            cosine = float(np.dot(one.row.astype(np.float64), other.row.astype(np.float64)))
        left, right = Claim(one.principle.content), Claim(other.principle.content)
        return judge(
            left, right, cosine=cosine, thresholds=self.limits.default, lexicon=self.lexicon
        ).contradicts


def _stands_over(one: Principle, other: Principle) -> bool:
    """Tell which of two principles that contradict each other is given: the higher ranked."""
    return (one.rank, other.id) > (other.rank, one.id)
