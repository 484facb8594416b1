"""How far to believe an insight, from what is known about it now.

Recomputed from the evidence at each run and never from the value of the run before: adjustments on
a stored value compound, until two projects make certainty and three months make zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cortex_actors.clock import DAY

#: What a statement is believed that one file says once.
BASE = 0.5

#: Observations alone carry no further than this: one project repeating itself is one voice.
FLOOR_LIMIT = 0.6

#: Observations that would make certainty if `FLOOR_LIMIT` did not stop them before; sets the slope.
FLOOR_SCALE = 50

#: Added for each project beyond the first.
PER_PROJECT = 0.05

#: Added for having been kept: grows with the days between the first and the newest observation, up
#: to `KEPT_DAYS`. So a rule that one project keeps for two months reaches what promotion asks for
#: (0.7), and then waits for a person; repeating it often in one week does not.
KEPT = 0.2
KEPT_DAYS = 60

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
        observations: distinct file revisions and sources that say it.
        projects: distinct projects that say it; two folders of one name are two.
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


def confidence(evidence: Evidence, now: int, *, stale_days: float = STALE_DAYS) -> float:
    """Return how far to believe it, 0 to 1.

    Starts at the base or the floor, whichever is higher; projects and having been kept add to that;
    staleness, contradiction and boilerplate then multiply it. They come last so that no number of
    observations makes up for them. `now` is in UTC microseconds.
    """
    value = max(BASE, floor(evidence.observations)) + kept(evidence)
    value = min(value + PER_PROJECT * max(evidence.projects - 1, 0), 1.0)
    if now - evidence.last_seen > stale_days * DAY:
        value *= STALE_FACTOR
    if evidence.contradicted:
        value *= CONTRADICTED_FACTOR
    if evidence.boilerplate:
        value *= BOILERPLATE_FACTOR
    return min(max(value, 0.0), 1.0)


def floor(observations: int) -> float:
    """Return what the number of observations alone is worth: min(ln(1 + n) / ln 50, 0.6)."""
    return min(math.log1p(max(observations, 0)) / math.log(FLOOR_SCALE), FLOOR_LIMIT)


def kept(evidence: Evidence) -> float:
    """Return what it adds that observations lie apart: 0.2 x min(days / 60, 1)."""
    first = evidence.last_seen if evidence.first_seen is None else evidence.first_seen
    days = max(evidence.last_seen - first, 0) / DAY
    return KEPT * min(days / KEPT_DAYS, 1.0)
