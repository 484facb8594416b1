"""Weighing: how far insights are to be believed, and which of them have earned becoming principles.

Each weight is made of the evidence as it is now: revisions of files that still say it, projects,
time, contradictions. Nothing of the weight before goes into it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Category, Insight, InsightStatus
from cortex_actors.rules import promotion
from cortex_actors.rules.promotion import (
    Evidence,
    Need,
    PromotionStanding,
    PromotionThresholds,
    compute_confidence,
)
from cortex_actors.text.hazards import find_caution, is_boilerplate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.domain.project import Decision
    from cortex_actors.rules.promotion import Requirement
    from cortex_actors.storage.pipeline.insight_evidence import SpokenText

#: A weight that differs by less is the same: far below any digit that is shown.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class WeighedInsights:
    """What weighing found: how many were looked at, and who weighs otherwise or has earned it."""

    looked_at: int = 0
    changed: tuple[tuple[str, float], ...] = ()
    #: Insights that may become principles without a person.
    candidates: tuple[str, ...] = ()
    #: Insights that lack only what a person can give.
    waiting: tuple[str, ...] = ()

    def __add__(self, other: WeighedInsights) -> WeighedInsights:
        """Return what two found together."""
        return WeighedInsights(*map(add, astuple(self), astuple(other)))

    def add_candidates(self, others: Iterable[str]) -> WeighedInsights:
        """Return it with insights that may become principles for other reasons."""
        more = set(others) - set(self.candidates)
        return replace(self, candidates=(*self.candidates, *sorted(more)))


@dataclass(frozen=True, slots=True)
class Scales:
    """What a weight depends on beside the texts."""

    now: int
    thresholds: PromotionThresholds
    #: Insights that something speaks against.
    contradicted: Collection[str]
    #: Insights that are principles already.
    promoted: Collection[str]
    #: Insights from which another project's choice differs.
    differing: Collection[str] = ()
    #: What persons said, by text.
    decisions: Mapping[str, Decision] = field(default_factory=dict)


def weigh(said: Mapping[str, Sequence[SpokenText]], scales: Scales) -> WeighedInsights:
    """Return what insights weigh, each with the texts that count for it, itself the first."""
    changed: list[tuple[str, float]] = []
    candidates: list[str] = []
    waiting: list[str] = []
    for insight_id, texts in sorted(said.items()):
        insight = _insight(insight_id, texts, scales)
        if abs(texts[0].confidence - insight.confidence) > _ROUNDING:
            changed.append((insight_id, insight.confidence))
        if is_boilerplate(texts[0].content):
            continue
        lacking = find_unmet(insight, texts, scales)
        if not lacking:
            candidates.append(insight_id)
        elif promotion.awaits_person(lacking):
            waiting.append(insight_id)
    return WeighedInsights(len(said), tuple(changed), tuple(candidates), tuple(waiting))


def has_earned(texts: Sequence[SpokenText], scales: Scales) -> bool:
    """Tell whether an insight may be a principle; `texts` are those that count, itself the first.

    Whether it is one already does not matter. What no file says is none, even with an approval.
    """
    if not texts[0].is_live or is_boilerplate(texts[0].content):
        return False
    lacking = find_unmet(_insight(texts[0].id, texts, scales), texts, scales)
    return all(check.need is Need.NOT_PROMOTED for check in lacking)


def find_unmet(
    insight: Insight, texts: Sequence[SpokenText], scales: Scales
) -> tuple[Requirement, ...]:
    """Return what an insight lacks for becoming a principle without a person."""
    first = texts[0]
    standing = PromotionStanding(
        open_contradictions=int(first.id in scales.contradicted),
        derivations=int(first.id in scales.promoted),
        voices=len(set[str]().union(*(each.voices for each in texts))),
        decision=get_decision(texts, scales.decisions),
        wary=find_caution(first.content),
        is_private=all(each.is_private for each in texts),
        differences=int(first.id in scales.differing),
    )
    return promotion.find_unmet(insight, standing, now=scales.now, thresholds=scales.thresholds)


def get_decision(texts: Sequence[SpokenText], decisions: Mapping[str, Decision]) -> Decision | None:
    """Return what a person said of an insight, or of what says the same."""
    first, *others = texts
    said = [decisions[each.id] for each in others if each.id in decisions]
    is_wary = find_caution(first.content) is not None
    return promotion.combine_decisions(decisions.get(first.id), said, is_wary=is_wary)


def gather_evidence(texts: Iterable[SpokenText], *, contradicted: bool) -> Evidence:
    """Return what speaks for texts that say the same.

    An observation is a day on which a project was seen to say one of them: by a scan, as long as it
    says it, or by a revision of a file that says one of them still.
    """
    some = list(texts)
    paths = set[str]().union(*(each.paths for each in some))
    seen = [
        (project, day, times)
        for each in some
        for (path, project, day), times in each.revisions.items()
        if path in paths
    ]
    scanned = _scanned(some)
    others = {(p, day) for p, day, _ in seen if not _is_among(day, scanned.get(p, ()))}
    newest = max(
        [*(last for _, _, (_, last) in seen), *(times[-1] for times in scanned.values() if times)],
        default=0,
    )
    return Evidence(
        observations=len(others) + sum(map(len, scanned.values())),
        projects=len(set[str]().union(*(each.voices for each in some))),
        last_seen=newest,
        contradicted=contradicted,
        first_seen=min((first for _, _, (first, _) in seen), default=newest),
        boilerplate=is_boilerplate(some[0].content),
    )


def _scanned(texts: Sequence[SpokenText]) -> dict[str, Sequence[int]]:
    """Return when each project was scanned since it says one of the texts, by whole days."""
    since: dict[str, int] = {}
    for each in texts:
        for project, at in each.since.items():
            since[project] = min(at, since.get(project, at))
    found = {}
    for project, at in since.items():
        times = next((each.scans[project] for each in texts if project in each.scans), ())
        found[project] = times[bisect_left(times, at // DAY * DAY) :]
    return found


def _is_among(day: int, times: Sequence[int]) -> bool:
    """Tell whether one of some times, in order, is on a day."""
    place = bisect_left(times, day * DAY)
    return place < len(times) and times[place] // DAY == day


def _insight(insight_id: str, texts: Sequence[SpokenText], scales: Scales) -> Insight:
    """Return an insight as promotion looks at it."""
    against = insight_id in scales.contradicted
    found = gather_evidence(texts, contradicted=against)
    first = texts[0]
    return Insight(
        id=insight_id,
        content=first.content,
        content_hash="",
        category=Category(first.category),
        tags=(),
        domain=first.domain,
        confidence=compute_confidence(found, scales.now),
        status=InsightStatus.CONTRADICTED if against else InsightStatus.ACTIVE,
        observation_count=found.observations,
        first_seen=found.last_seen if found.first_seen is None else found.first_seen,
        last_seen=found.last_seen,
        projects=tuple(sorted(set[str]().union(*(each.projects for each in texts)))),
        kind=first.kind,
    )
