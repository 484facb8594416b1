"""Which thresholds fit the pairs that are decided, measured before anything is changed.

Each pair is judged by the rules themselves, once for every pair of thresholds that is tried. What
is wanted, in this order: nothing merged that contradicts; merges that are right (`PRECISION`); as
many of the right ones found as can be; contradictions found; and, where all that is equal, the
thresholds as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.rules.contradiction import ConflictThresholds, find_slots, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.text.lexicon import Lexicon

#: Pairs that are needed before anything is suggested, and of those that are one claim and those
#: that are not: with fewer, one pair more would turn the figures over.
LEAST_PAIRS = 20
LEAST_OF_EACH = 5

#: Share of the merges that has to be right.
PRECISION = 0.95

#: Why nothing is suggested although there are enough pairs.
AS_GOOD = "nothing fits these pairs better"

#: Thresholds that are tried: from where on two texts are one, and from where on they are compared.
CLUSTER = tuple(step / 100 for step in range(80, 100, 2))
JUDGED = tuple(step / 100 for step in range(30, 75, 5))


class Label(StrEnum):
    """What two texts were decided to be."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    #: Neither one claim nor a contradiction.
    DISTINCT = "distinct"
    #: No contradiction, and it is open whether they are one claim.
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class Decided:
    """Two claims with what they were decided to be; `domain` where both are of the same."""

    left: Claim
    right: Claim
    cosine: float
    label: Label
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """How many were said to be something, how many of those rightly, and how many there are."""

    said: int = 0
    right: int = 0
    wanted: int = 0

    @property
    def precision(self) -> float | None:
        """The share of what was said that is right; None where nothing was said."""
        return self.right / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """The share of what there is that was said; None where there is nothing."""
        return self.right / self.wanted if self.wanted else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two; None where one of them is."""
        both = self.said + self.wanted
        return 2 * self.right / both if self.said and self.wanted else None if not both else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What some thresholds make of decided pairs; `merged` are contradictions that became one."""

    merges: Score
    contradictions: Score
    merged: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What is suggested for one domain (None: for all).

    Attributes:
        counts: how many pairs of each label there are.
        reason: why nothing is suggested; empty where something is.
        now: what the thresholds of now make of the pairs.
        then: what the suggested ones would.

    """

    domain: str | None
    counts: dict[str, int]
    thresholds: ConflictThresholds
    now: Figures
    suggested: ConflictThresholds
    then: Figures
    reason: str = ""


def suggest(
    pairs: Sequence[Decided],
    thresholds: ConflictThresholds,
    *,
    domain: str | None = None,
    lexicon: Lexicon | None = None,
) -> Suggestion:
    """Return the thresholds that fit those pairs best, with the figures of now and then.

    A second or so for a thousand pairs: run it on a thread.
    """
    counts = {str(label): sum(each.label is label for each in pairs) for label in Label}
    trial = _ThresholdTrial(pairs, lexicon)
    now = trial.figures(thresholds)
    reason = _too_few(counts)
    best, then = thresholds, now
    if not reason:
        best = max(
            _tried(thresholds), key=lambda each: _worth(trial.figures(each), each, thresholds)
        )
        then = trial.figures(best)
        reason = AS_GOOD if best == thresholds else ""
    return Suggestion(domain, counts, thresholds, now, best, then, reason)


class _ThresholdTrial:
    """Judges the same pairs by many thresholds, each pair again only where that may matter.

    A judgement depends on thresholds only by which of them the pair's cosine reaches.
    """

    def __init__(self, pairs: Iterable[Decided], lexicon: Lexicon | None) -> None:
        self._lexicon = lexicon
        # Whether two claims share a slot, so that any likeness will do.
        topics = partial(find_slots, lexicon=lexicon)
        self._pairs = [(each, bool(topics(each.left) & topics(each.right))) for each in pairs]
        self._known: dict[tuple[int, bool, bool], Relation] = {}

    def figures(self, thresholds: ConflictThresholds) -> Figures:
        """Return what thresholds make of the pairs."""
        found = []
        for number, (each, related) in enumerate(self._pairs):
            near, alike = each.cosine >= thresholds.judged, each.cosine >= thresholds.cluster
            key = number, near, alike
            if key not in self._known:
                is_compared = near or related
                self._known[key] = (
                    self._judged(each, thresholds, near=near) if is_compared else Relation.UNRELATED
                )
            found.append((each.label, self._known[key]))
        known = [(label, what) for label, what in found if label is not Label.HARMLESS]
        return Figures(
            merges=_score(known, Label.DUPLICATE, Relation.SAME),
            contradictions=_score(found, Label.CONTRADICTION, Relation.CONTRADICTION),
            merged=found.count((Label.CONTRADICTION, Relation.SAME)),
        )

    def _judged(self, each: Decided, thresholds: ConflictThresholds, *, near: bool) -> Relation:
        """Return what the rules find; what is not near is never one claim for the reconciler."""
        found = judge(
            each.left, each.right, cosine=each.cosine, thresholds=thresholds, lexicon=self._lexicon
        ).relation
        return Relation.RELATED if found is Relation.SAME and not near else found


def _score(found: Sequence[tuple[Label, Relation]], label: Label, what: Relation) -> Score:
    """Return how well one relation was found."""
    return Score(
        said=sum(each is what for _, each in found),
        right=found.count((label, what)),
        wanted=sum(each is label for each, _ in found),
    )


def _too_few(counts: dict[str, int]) -> str:
    """Return why nothing can be said; empty where something can."""
    total, same = sum(counts.values()), counts[Label.DUPLICATE]
    other = total - same - counts[Label.HARMLESS]
    if total < LEAST_PAIRS:
        return f"{total} of {LEAST_PAIRS} decided pairs are there"
    if same < LEAST_OF_EACH:
        return f"{same} of {LEAST_OF_EACH} pairs that are one claim are there"
    if other < LEAST_OF_EACH:
        return f"{other} of {LEAST_OF_EACH} pairs that are not one claim are there"
    return ""


def _tried(thresholds: ConflictThresholds) -> list[ConflictThresholds]:
    """Return the thresholds that are tried: those of now, and a grid."""
    grid = [
        replace(thresholds, merge=cluster, cluster=cluster, judged=judged)
        for cluster, judged in product(CLUSTER, JUDGED)
    ]
    return [thresholds, *grid]


def _worth(
    figures: Figures, each: ConflictThresholds, now: ConflictThresholds
) -> tuple[float, ...]:
    """Return what thresholds are worth, the most important first."""
    merges, conflicts = figures.merges, figures.contradictions
    precision = 1.0 if merges.precision is None else merges.precision
    distance = abs(each.cluster - now.cluster) + abs(each.judged - now.judged)
    return (
        -figures.merged,
        min(precision, PRECISION),
        merges.recall or 0.0,
        conflicts.f1 or 0.0,
        precision,
        -distance,
    )
