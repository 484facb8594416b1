"""When an insight becomes a principle, and what it still lacks where it does not.

How far to believe an insight, from what is known about it now.

Recomputed from the evidence at each run and never from the value of the run before: adjustments on
a stored value compound, until two projects make certainty and three months make zero.

It is computed in steps, so that the result can be explained.

How good the sources of a principle are, from where its texts came.

Cerno gives every principle 0.5 for ever. Here it is what is known of its provenance now:

    0.5 * the best trust + 0.3 * min(independent voices / 4, 1) + 0.2 if a person approved it

A file that people keep in a project is trusted whole, what an agent wrote a little less, what was
read in from elsewhere little. What no file says any more has no sources, and so no quality.

How much a principle matters, from what is known about it now.

How much a principle matters to a file: nearness, rank and common domains (Cerno's retriever).

    score = .5 * max(cosine, 0) + .3 * rank + .2 * share of the principle's domains that are its

Where the file or the principle has no vector, the rest is scaled up:
(.3 * rank + .2 * share) / .5. The domains of a file are the three that most of its paragraphs are
about. The weights may be others; only their ratios count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cortex_actors.clock import DAY, count_days
from cortex_actors.domain.insight import Insight, InsightStatus
from cortex_actors.domain.project import Decision, StatementKind, Trust
from cortex_actors.rules.classification import classify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Need(StrEnum):
    """What promotion asks for, in the order in which it is explained."""

    ACTIVE = "active"
    CONFIDENCE = "confidence"
    OBSERVATIONS = "observations"
    AGE = "age"
    NO_CONTRADICTION = "no_contradiction"
    NO_DIFFERENCE = "no_difference"
    NOT_PROMOTED = "not_promoted"
    NOT_PRIVATE = "not_private"
    NOT_REJECTED = "not_rejected"
    A_CLAIM = "a_claim"
    PROJECTS = "projects"
    NOT_WARY = "not_wary"


#: What a person's approval replaces; an open contradiction is decided in its own place.
WAIVED = frozenset(
    {Need.CONFIDENCE, Need.OBSERVATIONS, Need.AGE, Need.NO_DIFFERENCE}
    | {Need.A_CLAIM, Need.PROJECTS, Need.NOT_WARY}
)

#: What only a person can give.
_A_PERSONS = frozenset({Need.NO_DIFFERENCE, Need.PROJECTS, Need.NOT_WARY})

#: What comes by itself with the days: nothing that a person has to wait for who looks at a text
#: which two independent projects say.
_IN_TIME = frozenset({Need.CONFIDENCE, Need.OBSERVATIONS, Need.AGE})

#: Kinds of statements that claim nothing about other projects: without this, commands that several
#: real ones had in common, such as `npm run build`, came into the files of all projects. What two
#: projects are is no rule for a third one, and three that say much the same of themselves claim
#: nothing together.
OF_ITSELF = {
    StatementKind.FACT: "it is a fact, and says how one project is",
    StatementKind.COMMAND: "it is a command, and says what one project runs",
    StatementKind.EXAMPLE: "it is an example of something else",
}


@dataclass(frozen=True, slots=True)
class PromotionThresholds:
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
class PromotionStanding:
    """What is known about an insight beside itself.

    Attributes:
        derivations: principles already derived from it.
        voices: independent projects that say it: two checkouts of one repository are one, and
            what was imported, or comes from elsewhere, is none. None: as many as it has projects.
        decision: what a person said about it.
        wary: why a person has to approve it, in any file; None for what needs no approval.
        is_private: only files of one person say it.
        differences: projects' choices that differ from it: no contradiction, but no agreement of
            all of them either.

    """

    open_contradictions: int = 0
    derivations: int = 0
    voices: int | None = None
    decision: Decision | None = None
    wary: str | None = None
    is_private: bool = False
    differences: int = 0


#: What automatic promotion asks for when nothing else is configured.
DEFAULTS = PromotionThresholds()


def find_unmet(
    insight: Insight,
    standing: PromotionStanding,
    *,
    now: int,
    thresholds: PromotionThresholds = DEFAULTS,
) -> tuple[Requirement, ...]:
    """Return what the insight still lacks; empty when it has earned its promotion."""
    checks = list_requirements(insight, standing, now=now, thresholds=thresholds)
    return tuple(check for check in checks if not check.met)


def awaits_person(checks: Iterable[Requirement]) -> bool:
    """Tell whether nothing is missing but what a person can give: there is something to decide."""
    missing = {check.need for check in checks if not check.met}
    return bool(missing) and missing <= _A_PERSONS


def is_offered(checks: Iterable[Requirement]) -> bool:
    """Tell whether a person is asked now: two projects say it, and only time or a word is missing.

    What one project says alone is asked about when the rest is there, too.
    """
    missing = {check.need for check in checks if not check.met}
    may_miss = _A_PERSONS if Need.PROJECTS in missing else _A_PERSONS | _IN_TIME
    return bool(missing) and missing <= may_miss


def combine_decisions(
    own: Decision | None, others: Collection[Decision], *, is_wary: bool
) -> Decision | None:
    """Return what a person has said of an insight, from what was said of it and of its wordings.

    Of what says the same, a rejection counts always; an approval does unless this wording needs one
    of its own: else an approved text would be spread in words that no person saw.
    """
    if own is not None or not others:
        return own
    if Decision.REJECTED in others:
        return Decision.REJECTED
    return None if is_wary else Decision.APPROVED


def list_requirements(
    insight: Insight,
    standing: PromotionStanding,
    *,
    now: int,
    thresholds: PromotionThresholds = DEFAULTS,
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
        _none(Need.NO_DIFFERENCE, standing.differences),
        _none(Need.NOT_PROMOTED, standing.derivations),
        _is(Need.NOT_PRIVATE, "only one person's file says it" if standing.is_private else None),
        _is(Need.NOT_REJECTED, "a person has said no" if rejected else None),
        _is(Need.A_CLAIM, None if insight.kind is None else OF_ITSELF.get(insight.kind)),
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


#: What a statement is believed that one file says once.
BASE = 0.5

#: Observations alone carry no further than this: one project repeating itself is one voice.
FLOOR_LIMIT = 0.6

#: Observations that would make certainty if `FLOOR_LIMIT` did not stop them before; sets the slope.
FLOOR_SCALE = 50

#: Added for each project beyond the first.
PER_PROJECT = 0.05

#: Added for having been kept: grows with the days between the first and the newest observation, up
#: to `KEPT_DAYS`. Two independent projects that say the same have 0.65 without it (0.6 and 0.05),
#: so that it takes them past what promotion asks for (0.7) within its week, though a machine was
#: off on three of its days: 8 observations, 0.56 + 0.09 + 0.05. One project alone must not get
#: there however long it keeps a rule, so this is less than 0.7 - `FLOOR_LIMIT`.
KEPT = 0.09
KEPT_DAYS = 6

#: What boilerplate multiplies: many files say it, and it says nothing.
BOILERPLATE_FACTOR = 0.2

#: Days without an observation after which an insight is stale, and what that multiplies.
STALE_DAYS = 90
STALE_FACTOR = 0.9

#: What an open contradiction multiplies.
CONTRADICTED_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for an insight and against it.

    Attributes:
        observations: days, of each project, on which it was seen to say it.
        projects: independent projects that say it: two checkouts of one repository are one.
        last_seen: UTC microseconds of the newest observation.
        contradicted: whether a contradiction is open, or was decided against it.
        first_seen: UTC microseconds of the oldest observation; None counts as the newest.
        boilerplate: whether it is what tools write into every file.

    """

    observations: int
    projects: int
    last_seen: int
    contradicted: bool = False
    first_seen: int | None = None
    boilerplate: bool = False


def compute_confidence(evidence: Evidence, now: int, *, stale_days: float = STALE_DAYS) -> float:
    """Return how far to believe it, 0 to 1.

    Starts at the base or the floor, whichever is higher; projects and having been kept add to that;
    staleness, contradiction and boilerplate then multiply it. They come last so that no number of
    observations makes up for them. `now` is in UTC microseconds.
    """
    return list_steps(evidence, now, stale_days=stale_days)[-1].value


def compute_floor(observations: int) -> float:
    """Return what the number of observations alone is worth: min(ln(1 + n) / ln 50, 0.6)."""
    return min(math.log1p(max(observations, 0)) / math.log(FLOOR_SCALE), FLOOR_LIMIT)


def compute_kept(evidence: Evidence) -> float:
    """Return what it adds that observations lie apart: 0.09 x min(days / 6, 1)."""
    first = evidence.last_seen if evidence.first_seen is None else evidence.first_seen
    days = max(evidence.last_seen - first, 0) / DAY
    return KEPT * min(days / KEPT_DAYS, 1.0)


#: The least that is worth a step of its own: what two digits show.
SHOWN = 0.005


@dataclass(frozen=True, slots=True)
class RankStep:
    """One step: what it is about, what it does, and the value after it."""

    about: str
    does: str
    value: float


def list_steps(
    evidence: Evidence, now: int, *, stale_days: float = STALE_DAYS
) -> tuple[RankStep, ...]:
    """Return the steps from the base to the confidence; what changes nothing is left out."""
    floor, kept = compute_floor(evidence.observations), compute_kept(evidence)
    is_long = kept >= SHOWN
    value = max(BASE, floor) + (0.0 if is_long else kept)
    times = "once" if evidence.observations == 1 else f"{evidence.observations} times"
    found = [RankStep(f"seen {times}", "base" if floor <= BASE else "more than the base", value)]
    if is_long:
        days = (evidence.last_seen - (evidence.first_seen or evidence.last_seen)) / DAY
        value += kept
        found.append(RankStep(f"kept for {count_days(round(days))}", f"+{kept:.2f}", value))
    if more := PER_PROJECT * max(evidence.projects - 1, 0):
        value = min(value + more, 1.0)
        found.append(RankStep(f"said by {evidence.projects} projects", f"+{more:.2f}", value))
    value = min(value, 1.0)
    days = (now - evidence.last_seen) / DAY
    for holds, about, factor in (
        (days > stale_days, f"not seen for {count_days(round(days))}", STALE_FACTOR),
        (evidence.contradicted, "something speaks against it", CONTRADICTED_FACTOR),
        (evidence.boilerplate, "boilerplate: tools write it", BOILERPLATE_FACTOR),
    ):
        if holds:
            value *= factor
            found.append(RankStep(about, f"x {factor:g}", value))
    return tuple(found)


#: How far a text is trusted by where it came from, 0 to 1.
TRUSTED: Final = {Trust.FILE: 1.0, Trust.AGENT: 0.6, Trust.IMPORT: 0.3, Trust.REMOTE: 0.2}

#: What each part counts: trust, independent voices, a person's word.
TRUST, VOICES, PERSON = 0.5, 0.3, 0.2

#: Independent voices from which on more of them make nothing better.
MANY = 4


def compute_quality(trusts: Collection[str], voices: int, *, is_approved: bool = False) -> float:
    """Return how good sources are, 0 to 1; 0 where there are none."""
    if not trusts:
        return 0.0
    best = max(TRUSTED[Trust(each)] for each in trusts)
    return TRUST * best + VOICES * min(voices / MANY, 1.0) + PERSON * is_approved


#: Observations at which frequency counts fully: log(1 + f) / log(150) (Cerno).
FREQUENCY_SCALE: Final = 150

#: Links to other principles at which being connected counts fully (Cerno).
LINKS_SCALE: Final = 20


@dataclass(frozen=True, slots=True)
class RankWeights:
    """What each part of a rank counts (Cerno's); only the ratios matter."""

    confidence: float = 0.35
    frequency: float = 0.25
    recency: float = 0.20
    quality: float = 0.15
    links: float = 0.05


@dataclass(frozen=True, slots=True)
class RankPart:
    """One part of a rank: how much of it there is, and how much of the whole it may make."""

    name: str
    #: 0 to 1.
    value: float
    #: 0 to 1; the weights of all parts make 1.
    weight: float

    @property
    def points(self) -> float:
        """What it adds to the rank."""
        return self.value * self.weight


RANK_DEFAULTS: Final = RankWeights()


def compute_rank(found: Iterable[RankPart]) -> float:
    """Return the rank that parts make, 0 to 1."""
    return min(math.fsum(each.points for each in found), 1.0)


def list_parts(
    confidence: float,
    frequency: int,
    *,
    recency: float = 1.0,
    quality: float = 0.5,
    links: int = 0,
    weights: RankWeights = RANK_DEFAULTS,
) -> tuple[RankPart, ...]:
    """Return what a rank is made of; the points of the parts make the rank.

    Weights that do not make 1 are divided by their sum, so that a rank stays a share. Raises
    `ZeroDivisionError` for weights of nothing, which the settings refuse.
    """
    often = min(math.log1p(frequency) / math.log(FREQUENCY_SCALE), 1.0)
    linked = min(links / LINKS_SCALE, 1.0)
    values = RankWeights(confidence, often, recency, quality, linked)
    whole = math.fsum(astuple(weights))
    return tuple(
        RankPart(name, value, weight / whole)
        for name, value, weight in zip(
            RankWeights.__slots__, astuple(values), astuple(weights), strict=True
        )
    )


#: Characters of a file that represent all of it in vector space (Cerno).
FILE_CHARACTERS: Final = 8_000

#: Domains that a file is of, at most (Cerno).
FILE_DOMAINS: Final = 3

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class RelevanceWeights:
    """What counts how much; not all of rank and domain are 0, for without a model they are all."""

    semantic: float = 0.5
    rank: float = 0.3
    domain: float = 0.2


#: The document's.
DOCUMENT: Final = RelevanceWeights()


def compute_score(
    cosine: float | None, rank: float, *, share: float, weights: RelevanceWeights = DOCUMENT
) -> float:
    """Return how much a principle matters to a file, 0 to 1; `cosine` is None without vectors.

    A principle that points away from the file is worth no less than one that has nothing to do
    with it.
    """
    known = weights.rank * rank + weights.domain * share
    if cosine is None:
        return known / (weights.rank + weights.domain)
    whole = weights.semantic + weights.rank + weights.domain
    return (weights.semantic * max(cosine, 0.0) + known) / whole


def compute_share(of_principle: Collection[str], of_file: Collection[str]) -> float:
    """Return the share of a principle's domains that are the file's; of none it is 0."""
    return len({*of_principle} & {*of_file}) / max(len({*of_principle}), 1)


def find_file_domains(text: str) -> tuple[str, ...]:
    """Return the domains that most paragraphs of a file are about, ties by the alphabet."""
    found = Counter(
        domain for each in split_paragraphs(text) if (domain := classify(each).domain) is not None
    )
    order = sorted(found, key=lambda domain: (-found[domain], domain))
    return tuple(order[:FILE_DOMAINS])


def split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text: the parts between blank lines."""
    return [each for each in _BLANK.split(text.strip()) if each]
