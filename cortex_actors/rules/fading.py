"""How knowledge fades that nobody observes any more, and comes back when somebody does.

The more often something was observed, the slower it fades (Cerno's document divides the rate of
decay by 1 + log f; its code divided the half-life, so that frequent knowledge faded faster).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from cortex_actors.clock import DAY

#: How a principle stands; nothing is deleted, and every way leads back to `active`.
ACTIVE, DECAYING, PRUNED = "active", "decaying", "pruned"

#: Runs of decay in a row that must find a principle worth pruning before it is pruned: with one a
#: day that is a week, in which a clock that is wrong is noticed and files are read again.
STRIKES: Final = 7


@dataclass(frozen=True, slots=True)
class Fading:
    """When knowledge counts less (Cerno's defaults): days, and ranks from 0 to 1."""

    half_life_days: float = 90.0
    decaying_rank: float = 0.15
    decaying_days: float = 90.0
    pruned_rank: float = 0.10
    pruned_days: float = 180.0


class Standing(NamedTuple):
    """How a principle stands, and how many runs in a row found it worth pruning."""

    status: str = ACTIVE
    strikes: int = 0


DEFAULTS: Final = Fading()


def recency(days: float, frequency: int, *, fading: Fading = DEFAULTS) -> float:
    """Return how fresh something is that was observed `frequency` times, the last `days` ago.

    1 when it was just observed, half of it after each half-life; that grows with 1 + ln f. A time
    that lies ahead is now.
    """
    return math.pow(2.0, -max(days, 0.0) / half_life(frequency, fading=fading))


def half_life(frequency: int, *, fading: Fading = DEFAULTS) -> float:
    """Return the days after which what was observed `frequency` times counts half as recent."""
    return fading.half_life_days * (1.0 + math.log(max(frequency, 1)))


def faded(now: Standing, rank: float, *, days: float, fading: Fading = DEFAULTS) -> Standing:
    """Return how a principle stands after one run of decay; `days` since its last observation.

    It goes down a step at most in a run, the last step only after `STRIKES` runs in a row, and
    back to `active` at once: a clock that is wrong for some days prunes nothing.
    """
    if now.status == PRUNED or not _is_worthless(rank, days, fading):
        return ranked(now, rank, days=days, fading=fading)
    strikes = now.strikes + 1
    return Standing(PRUNED if strikes >= STRIKES else DECAYING, strikes)


def ranked(now: Standing, rank: float, *, days: float, fading: Fading = DEFAULTS) -> Standing:
    """Return how a principle stands whose rank was counted anew, outside a run of decay.

    Whoever organises often must not count as many runs of decay: this gives no strike, and takes
    them back as soon as it is not worth pruning. What was pruned comes back only when it is
    observed, and not because a rank has moved.
    """
    if now.status == PRUNED:
        return Standing() if days <= fading.decaying_days else now
    if _is_worthless(rank, days, fading):
        return Standing(DECAYING, now.strikes)
    is_old = rank < fading.decaying_rank and days > fading.decaying_days
    return Standing(DECAYING if is_old else ACTIVE)


def days_since(at: int, now: int) -> int:
    """Return the whole days from one time to another (UTC microseconds); 0 for one that lies ahead.

    Whole ones, so that nothing moves between two looks on one day.
    """
    return max(0, now - at) // DAY


def _is_worthless(rank: float, days: float, fading: Fading) -> bool:
    """Tell whether a principle should be pruned by what is known now."""
    return rank < fading.pruned_rank and days > fading.pruned_days
