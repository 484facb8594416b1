"""How knowledge fades that nobody observes any more, and comes back when somebody does.

The more often something was observed, the slower it fades (Cerno's document divides the rate of
decay by 1 + log f; its code divided the half-life, so that frequent knowledge faded faster).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cortex_actors.clock import DAY

#: How a principle stands; nothing is deleted, and every way leads back to `active`.
ACTIVE, DECAYING, PRUNED = "active", "decaying", "pruned"


@dataclass(frozen=True, slots=True)
class Fading:
    """When knowledge counts less (Cerno's defaults): days, and ranks from 0 to 1."""

    half_life_days: float = 90.0
    decaying_rank: float = 0.15
    decaying_days: float = 90.0
    pruned_rank: float = 0.10
    pruned_days: float = 180.0


DEFAULTS = Fading()


def recency(days: float, frequency: int, *, fading: Fading = DEFAULTS) -> float:
    """Return how fresh something is that was observed `frequency` times, the last `days` ago.

    1 when it was just observed, half of it after each half-life; that grows with 1 + ln f. A time
    that lies ahead is now.
    """
    half_life = fading.half_life_days * (1.0 + math.log(max(frequency, 1)))
    return math.pow(2.0, -max(days, 0.0) / half_life)


def next_status(status: str, rank: float, *, days: float, fading: Fading = DEFAULTS) -> str:
    """Return how a principle stands next: one step down at most, or back to `active` at once.

    One step a run, so that a clock which is wrong for an hour prunes nothing; `days` is the time
    since the last observation.
    """
    if rank < fading.pruned_rank and days > fading.pruned_days:
        return PRUNED if status in (DECAYING, PRUNED) else DECAYING
    if rank < fading.decaying_rank and days > fading.decaying_days:
        # What was pruned comes back only when it is observed, and not because a rank has moved.
        return PRUNED if status == PRUNED else DECAYING
    observed = days <= fading.decaying_days
    return ACTIVE if observed or status != PRUNED else PRUNED


def days_since(at: int, now: int) -> float:
    """Return the days from one time to another (UTC microseconds); 0 for one that lies ahead."""
    return max(0, now - at) / DAY
