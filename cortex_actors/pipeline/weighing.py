"""Weighing: how far insights are to be believed, and which of them have earned becoming principles.

Each weight is made of the evidence as it is now: revisions of files that still say it, projects,
time, contradictions. Nothing of the weight before goes into it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Category, Insight, InsightStatus
from cortex_actors.rules import promotion
from cortex_actors.rules.boilerplate import is_boilerplate
from cortex_actors.rules.confidence import Evidence, confidence
from cortex_actors.rules.promotion import Need, Standing, Thresholds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.rules.promotion import Requirement
    from cortex_actors.storage.spoken import Spoken

#: A weight that differs by less is the same: far below any digit that is shown.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Weighed:
    """What weighing found: how many were looked at, and who weighs otherwise or has earned it."""

    looked_at: int = 0
    changed: tuple[tuple[str, float], ...] = ()
    #: Insights that may become principles without a person.
    candidates: tuple[str, ...] = ()
    #: Insights that only lack a second project: a person may decide.
    waiting: tuple[str, ...] = ()

    def __add__(self, other: Weighed) -> Weighed:
        """Return what two found together."""
        return Weighed(
            self.looked_at + other.looked_at,
            self.changed + other.changed,
            self.candidates + other.candidates,
            self.waiting + other.waiting,
        )


@dataclass(frozen=True, slots=True)
class Scales:
    """What a weight depends on beside the texts."""

    now: int
    thresholds: Thresholds
    #: Insights that something speaks against.
    contradicted: Collection[str]
    #: Insights that are principles already.
    promoted: Collection[str]


def weigh(said: Mapping[str, Sequence[Spoken]], scales: Scales) -> Weighed:
    """Return what insights weigh, each with the texts that count for it, itself the first."""
    changed: list[tuple[str, float]] = []
    candidates: list[str] = []
    waiting: list[str] = []
    for insight_id, texts in sorted(said.items()):
        insight = _insight(insight_id, texts, scales)
        if abs(texts[0].confidence - insight.confidence) > _ROUNDING:
            changed.append((insight_id, insight.confidence))
        if is_boilerplate(texts[0].content) or all(each.is_private for each in texts):
            continue
        lacking = unmet(insight, scales)
        if not lacking:
            candidates.append(insight_id)
        elif [each.need for each in lacking] == [Need.PROJECTS]:
            waiting.append(insight_id)
    return Weighed(len(said), tuple(changed), tuple(candidates), tuple(waiting))


def unmet(insight: Insight, scales: Scales) -> tuple[Requirement, ...]:
    """Return what an insight lacks for becoming a principle without a person."""
    standing = Standing(int(insight.id in scales.contradicted), int(insight.id in scales.promoted))
    return promotion.unmet(insight, standing, now=scales.now, thresholds=scales.thresholds)


def evidence(texts: Iterable[Spoken], *, contradicted: bool) -> Evidence:
    """Return what speaks for texts that say the same.

    An observation is a revision of a file that says one of them still, whatever it said of them
    when that revision was read.
    """
    some = list(texts)
    paths = set[str]().union(*(each.paths for each in some))
    seen = [
        (revision, times)
        for each in some
        for revision, times in each.revisions.items()
        if revision[0] in paths
    ]
    newest = max((last for _, (_, last) in seen), default=0)
    return Evidence(
        observations=len({revision for revision, _ in seen}),
        projects=len(set[str]().union(*(each.projects for each in some))),
        last_seen=newest,
        contradicted=contradicted,
        first_seen=min((first for _, (first, _) in seen), default=newest),
        boilerplate=is_boilerplate(some[0].content),
    )


def _insight(insight_id: str, texts: Sequence[Spoken], scales: Scales) -> Insight:
    """Return an insight as promotion looks at it."""
    against = insight_id in scales.contradicted
    found = evidence(texts, contradicted=against)
    first = texts[0]
    made = Insight(
        id=insight_id,
        content=first.content,
        content_hash="",
        category=Category(first.category),
        tags=(),
        domain=first.domain,
        confidence=0.0,
        status=InsightStatus.CONTRADICTED if against else InsightStatus.ACTIVE,
        observation_count=found.observations,
        first_seen=found.last_seen if found.first_seen is None else found.first_seen,
        last_seen=found.last_seen,
        projects=tuple(sorted(set[str]().union(*(each.projects for each in texts)))),
    )
    return replace(made, confidence=confidence(found, scales.now))
