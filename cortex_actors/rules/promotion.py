"""When an insight becomes a principle, and what it still lacks where it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import InsightStatus
from cortex_actors.domain.project import Decision, StatementKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from cortex_actors.domain.insight import Insight


class Need(StrEnum):
    """What promotion asks for, in the order in which it is explained."""

    ACTIVE = "active"
    CONFIDENCE = "confidence"
    OBSERVATIONS = "observations"
    AGE = "age"
    NO_CONTRADICTION = "no_contradiction"
    NOT_PROMOTED = "not_promoted"
    NOT_PRIVATE = "not_private"
    NOT_REJECTED = "not_rejected"
    A_CLAIM = "a_claim"
    PROJECTS = "projects"
    NOT_WARY = "not_wary"


#: What a person's approval stands for; an open contradiction is decided where it stands.
WAIVED = frozenset(
    {Need.CONFIDENCE, Need.OBSERVATIONS, Need.AGE, Need.A_CLAIM, Need.PROJECTS, Need.NOT_WARY}
)

#: What only a person can give.
_A_PERSONS = frozenset({Need.PROJECTS, Need.NOT_WARY})

#: Kinds of statements that claim nothing about other projects: without this, commands that several
#: real ones had in common, such as `npm run build`, came into everybody's files.
_OF_ITSELF = {
    StatementKind.COMMAND: "it is a command, and says what one project runs",
    StatementKind.EXAMPLE: "it is an example of something else",
}


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
    #: Whether it counts as met because a person has approved the insight.
    waived: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about an insight beside itself.

    Attributes:
        derivations: principles already derived from it.
        voices: independent projects that say it: two checkouts of one repository are one, and
            what was imported, or comes from elsewhere, is none. None: as many as it has projects.
        decision: what a person said about it.
        wary: why a person has to approve it, whoever says it; None for what needs nobody.
        is_private: only files of one person say it.

    """

    open_contradictions: int = 0
    derivations: int = 0
    voices: int | None = None
    decision: Decision | None = None
    wary: str | None = None
    is_private: bool = False


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
    """Return what the insight still lacks; empty when it has earned its promotion."""
    checks = requirements(insight, standing, now=now, thresholds=thresholds)
    return tuple(check for check in checks if not check.met)


def awaits_person(checks: Iterable[Requirement]) -> bool:
    """Tell whether nothing is missing but what a person can give: there is something to decide."""
    missing = {check.need for check in checks if not check.met}
    return bool(missing) and missing <= _A_PERSONS


def decided(
    own: Decision | None, others: Collection[Decision], *, is_wary: bool
) -> Decision | None:
    """Return what a person has said of an insight, from what was said of it and of its wordings.

    Of what says the same, a rejection counts always; an approval does unless this wording needs one
    of its own: else an approved text would be spread in words that nobody saw.
    """
    if own is not None or not others:
        return own
    if Decision.REJECTED in others:
        return Decision.REJECTED
    return None if is_wary else Decision.APPROVED


def requirements(
    insight: Insight, standing: Standing, *, now: int, thresholds: Thresholds = DEFAULTS
) -> tuple[Requirement, ...]:
    """Return every check in the order of `Need`; `now` is in UTC microseconds."""
    active = insight.status is InsightStatus.ACTIVE
    voices = len(insight.projects) if standing.voices is None else standing.voices
    rejected = standing.decision is Decision.REJECTED
    found = (
        Requirement(Need.ACTIVE, insight.status.value, InsightStatus.ACTIVE.value, active),
        _at_least(Need.CONFIDENCE, insight.confidence, thresholds.confidence),
        _at_least(Need.OBSERVATIONS, insight.observation_count, thresholds.observations),
        _at_least(Need.AGE, max(0, now - insight.first_seen) / DAY, thresholds.age),
        _none(Need.NO_CONTRADICTION, standing.open_contradictions),
        _none(Need.NOT_PROMOTED, standing.derivations),
        _is(Need.NOT_PRIVATE, "only one person's file says it" if standing.is_private else None),
        _is(Need.NOT_REJECTED, "a person has said no" if rejected else None),
        _is(Need.A_CLAIM, None if insight.kind is None else _OF_ITSELF.get(insight.kind)),
        _at_least(Need.PROJECTS, voices, thresholds.projects),
        _is(Need.NOT_WARY, standing.wary),
    )
    if standing.decision is not Decision.APPROVED:
        return found
    return tuple(
        replace(check, met=True, waived=True) if not check.met and check.need in WAIVED else check
        for check in found
    )


def _at_least(need: Need, actual: float, required: float) -> Requirement:
    """Return the check that there is enough."""
    return Requirement(need, actual, required, actual >= required)


def _none(need: Need, actual: int) -> Requirement:
    """Return the check that there is nothing."""
    return Requirement(need, actual, 0, actual == 0)


def _is(need: Need, trouble: str | None) -> Requirement:
    """Return the check that nothing is wrong; what is wrong is said in words."""
    return Requirement(need, trouble or "no", "no", trouble is None)
