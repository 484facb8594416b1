"""When an insight becomes a principle, and what it still lacks where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import InsightStatus

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Insight


class Need(StrEnum):
    """What promotion asks for, in the order in which it is explained."""

    ACTIVE = "active"
    CONFIDENCE = "confidence"
    OBSERVATIONS = "observations"
    AGE = "age"
    NO_CONTRADICTION = "no_contradiction"
    NOT_PROMOTED = "not_promoted"
    PROJECTS = "projects"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How much of everything promotion asks for; each is enough when it is reached."""

    confidence: float = 0.7
    observations: int = 3
    #: Days since the insight was first seen.
    age: float = 7.0
    #: One project's habit is not a principle: below two, a human decides.
    projects: int = 2


@dataclass(frozen=True, slots=True)
class Requirement:
    """One check: what there is and what is asked for. Ages are in days."""

    need: Need
    actual: float | str
    required: float | str
    met: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about an insight beside itself."""

    open_contradictions: int = 0
    #: Principles already derived from it.
    derivations: int = 0


#: What automatic promotion asks for when nothing else is configured.
DEFAULTS = Thresholds()


def earned(
    insight: Insight, standing: Standing, *, now: int, thresholds: Thresholds = DEFAULTS
) -> bool:
    """Whether the insight is promoted without asking a human."""
    return not unmet(insight, standing, now=now, thresholds=thresholds)


def unmet(
    insight: Insight, standing: Standing, *, now: int, thresholds: Thresholds = DEFAULTS
) -> tuple[Requirement, ...]:
    """Return what the insight still lacks; empty when it has earned its promotion.

    When `Need.PROJECTS` is all that is left, one project has kept it long enough for a review.
    """
    checks = requirements(insight, standing, now=now, thresholds=thresholds)
    return tuple(check for check in checks if not check.met)


def requirements(
    insight: Insight, standing: Standing, *, now: int, thresholds: Thresholds = DEFAULTS
) -> tuple[Requirement, ...]:
    """Return every check in the order of `Need`; `now` is in UTC microseconds."""
    active = insight.status is InsightStatus.ACTIVE
    return (
        Requirement(Need.ACTIVE, insight.status.value, InsightStatus.ACTIVE.value, active),
        _at_least(Need.CONFIDENCE, insight.confidence, thresholds.confidence),
        _at_least(Need.OBSERVATIONS, insight.observation_count, thresholds.observations),
        _at_least(Need.AGE, max(0, now - insight.first_seen) / DAY, thresholds.age),
        _none(Need.NO_CONTRADICTION, standing.open_contradictions),
        _none(Need.NOT_PROMOTED, standing.derivations),
        _at_least(Need.PROJECTS, len(insight.projects), thresholds.projects),
    )


def _at_least(need: Need, actual: float, required: float) -> Requirement:
    """Return the check that there is enough."""
    return Requirement(need, actual, required, actual >= required)


def _none(need: Need, actual: int) -> Requirement:
    """Return the check that there is nothing."""
    return Requirement(need, actual, 0, actual == 0)
