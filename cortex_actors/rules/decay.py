"""How knowledge fades that is observed no more, and comes back when it is observed again.

The more often something was observed, the slower it fades (Cerno's document divides the rate of
decay by 1 + log f; its code divided the half-life, so that frequent knowledge faded faster).

Attention: how present a memory still is, by its layer, its age and how often it was read.

    attention = max(0.5 ^ (age / half-life) + min(0.1 * accesses, 0.5), floor)

The age counts from when it was last touched: said, read, or moved to a deeper layer. What lies in
the cortex or is pinned has 1. (Neo-Cortex's formula. Its second one, min(1 + 0.1 * accesses, 2) for
what was just read, is left out: two memories read equally often would differ by who looked last.)

It lies between 0 and 1.5, falls with age and never rises, so that a least attention is a greatest
age: `find_window` gives it, to the microsecond, and a search may ask the ledger for it.

Layers: when a memory has earned a deeper one, and why it has not yet.

From sensory to working it takes accesses, or a user who saves it; from working to long_term
accesses and age; into the cortex none of these leads, but several agents who say the same, or a
person. A number that is reached is enough.

Which backups are kept: many of today, few of last week, and never too few.

Times are UTC microseconds. Hours and days are those of UTC, and only ones that have a backup count:
a machine that was off for a month still has its last hours and days.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from cortex_actors.clock import DAY, SECOND
from cortex_actors.domain.memory import Layer, Memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


#: Statuses of a principle; nothing is deleted, and every way leads back to `active`.
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


class DecayStanding(NamedTuple):
    """The status of a principle, and how many runs in a row found it worth pruning."""

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


def decay_standing(
    now: DecayStanding, rank: float, *, days: float, fading: Fading = DEFAULTS
) -> DecayStanding:
    """Return a principle's status after one run of decay; `days` since its last observation.

    It goes down a step at most in a run, the last step only after `STRIKES` runs in a row, and
    back to `active` at once: a clock that is wrong for some days prunes nothing.
    """
    if now.status == PRUNED or not _is_worthless(rank, days, fading):
        return rank_standing(now, rank, days=days, fading=fading)
    strikes = now.strikes + 1
    return DecayStanding(PRUNED if strikes >= STRIKES else DECAYING, strikes)


def rank_standing(
    now: DecayStanding, rank: float, *, days: float, fading: Fading = DEFAULTS
) -> DecayStanding:
    """Return the status of a principle whose rank was computed again, outside a run of decay.

    Frequent organising must not count as many runs of decay: this gives no strike, and takes
    them back as soon as it is not worth pruning. What was pruned comes back only when it is
    observed, and not because a rank has moved.
    """
    if now.status == PRUNED:
        return DecayStanding() if days <= fading.decaying_days else now
    if _is_worthless(rank, days, fading):
        return DecayStanding(DECAYING, now.strikes)
    is_old = rank < fading.decaying_rank and days > fading.decaying_days
    return DecayStanding(DECAYING if is_old else ACTIVE)


def count_days(at: int, now: int) -> int:
    """Return the whole days from one time to another (UTC microseconds); 0 for one that lies ahead.

    Whole ones, so that nothing moves between two looks on one day.
    """
    return max(0, now - at) // DAY


def _is_worthless(rank: float, days: float, fading: Fading) -> bool:
    """Tell whether a principle should be pruned by what is known now."""
    return rank < fading.pruned_rank and days > fading.pruned_days


#: Microseconds of an hour.
HOUR: Final = 3_600_000_000

#: What an access adds, and what all of them add at most.
ACCESS, MOST_ACCESSES = 0.1, 0.5

#: Accesses from which on more of them add nothing.
COUNTED: Final = 5

#: How near to what it keeps for ever a memory's attention is when it has faded. The share that is
#: left halves on and on, so that it never quite gets there; smaller changes are not written down.
CLOSE: Final = 0.01

#: What never fades.
WHOLE: Final = 1.0

#: A window for what was touched at any time: longer than any time that a ledger holds.
EVER: Final = 2**62

#: Half-lives after which a double holds nothing of what was there.
_NOTHING_LEFT = 1_100


@dataclass(frozen=True, slots=True)
class Decay:
    """How the memories of one layer fade: hours until half, and what is left for ever."""

    half_life_h: float
    floor: float


#: The document's; the cortex does not fade.
DECAYS: Final[Mapping[Layer, Decay]] = MappingProxyType(
    {
        Layer.SENSORY: Decay(6.0, 0.1),
        Layer.WORKING: Decay(72.0, 0.2),
        Layer.LONG_TERM: Decay(720.0, 0.3),
    }
)


def attention(
    layer: Layer, age_us: int, count: int, decays: Mapping[Layer, Decay] = DECAYS
) -> float:
    """Return the attention of a memory touched so long ago that was read `count` times.

    A time that lies ahead is now. A layer without a row does not fade.
    """
    decay = decays.get(layer)
    if decay is None:
        return WHOLE
    fresh: float = 0.5 ** (max(age_us, 0) / (decay.half_life_h * HOUR))
    return max(fresh + compute_bonus(count), decay.floor)


def compute_attention(memory: Memory, now: int, decays: Mapping[Layer, Decay] = DECAYS) -> float:
    """Return the attention of a memory at a time (UTC microseconds)."""
    if memory.pinned_at is not None:
        return WHOLE
    return attention(memory.layer, now - find_touched(memory), memory.access_count, decays)


def find_touched(memory: Memory) -> int:
    """Return when a memory was last said, read or promoted: UTC microseconds."""
    return max(memory.created_at, memory.accessed_at or 0, memory.promoted_at or 0)


def find_window(
    layer: Layer, count: int, least: float, decays: Mapping[Layer, Decay] = DECAYS
) -> int | None:
    """Return the greatest age at which a memory read `count` times has that attention still.

    Microseconds; `EVER` for any age, None for none. It agrees with `attention` for every age,
    rounding and all: the age is searched for, not computed.
    """
    if attention(layer, 0, count, decays) < least:
        return None
    decay = decays.get(layer)
    if decay is None:
        return EVER
    near, far = 0, round(decay.half_life_h * HOUR * _NOTHING_LEFT) + 1
    if attention(layer, far, count, decays) >= least:
        return EVER
    while far - near > 1:
        middle = (near + far) // 2
        if attention(layer, middle, count, decays) >= least:
            near = middle
        else:
            far = middle
    return near


def find_floor(layer: Layer, count: int, decays: Mapping[Layer, Decay] = DECAYS) -> float:
    """Return what a memory keeps for ever: the floor, or more where it was read often."""
    decay = decays.get(layer)
    return WHOLE if decay is None else max(compute_bonus(count), decay.floor)


def find_fresh_age(layer: Layer, count: int, decays: Mapping[Layer, Decay] = DECAYS) -> int | None:
    """Return the greatest age at which a memory has not faded yet; as `find_window` does.

    It has faded when its attention is within `CLOSE` of what it keeps for ever.
    """
    if layer not in decays:
        return EVER
    faded = find_floor(layer, count, decays) + CLOSE
    return find_window(layer, count, math.nextafter(faded, math.inf), decays)


def compute_bonus(count: int) -> float:
    """Return what being read so often adds."""
    return MOST_ACCESSES if count >= COUNTED else max(count, 0) * ACCESS


#: From the first to the deepest.
ORDER: Final = tuple(Layer)

#: Tenths of an hour in one, in which an age is given.
_TENTHS = 10


class LayerStep(NamedTuple):
    """What a memory of a layer needs for the next: accesses, and microseconds since it was said."""

    accesses: int
    age_us: int = 0


@dataclass(frozen=True, slots=True)
class Earning:
    """How the steps are earned (the document's numbers)."""

    sensory_accesses: int = 2
    working_accesses: int = 5
    working_age_h: float = 24.0

    @property
    def steps(self) -> Mapping[Layer, LayerStep]:
        """Layer -> what it takes to leave it by being read."""
        age = round(self.working_age_h * HOUR)
        return {
            Layer.SENSORY: LayerStep(self.sensory_accesses),
            Layer.WORKING: LayerStep(self.working_accesses, age),
        }


#: The document's.
DOCUMENT: Final = Earning()


class Judged(NamedTuple):
    """Which layer a memory has earned, None for the one it is in; and why."""

    to: Layer | None
    reason: str


def judge(layer: Layer, count: int, *, age_us: int, earning: Earning = DOCUMENT) -> Judged:
    """Return which layer a memory has earned that was read `count` times and said so long ago."""
    to = find_next_layer(layer)
    if to is None:
        return Judged(None, "Already at cortex layer")
    step = earning.steps.get(layer)
    if step is None:
        return Judged(None, "Requires special promotion criteria")
    if count < step.accesses:
        return Judged(None, f"Access count {count} < threshold {step.accesses}")
    if age_us < step.age_us:
        least = step.age_us / HOUR
        return Judged(None, f"Age {_hours(age_us):.1f}h < minimum {least:g}h")
    return Judged(to, _earned(step, count, age_us))


def find_next_layer(layer: Layer) -> Layer | None:
    """Return the next deeper layer; None for the cortex."""
    place = ORDER.index(layer) + 1
    return ORDER[place] if place < len(ORDER) else None


def is_deeper(layer: Layer, than: Layer) -> bool:
    """Tell whether a layer lies deeper than another."""
    return ORDER.index(layer) > ORDER.index(than)


def find_ripe_time(
    layer: Layer, count: int, *, said_at: int, earning: Earning = DOCUMENT
) -> int | None:
    """Return when a memory that was read often enough is old enough for the next layer.

    UTC microseconds, which may lie behind; None where age is not what it still takes.
    """
    step = earning.steps.get(layer)
    return None if step is None or count < step.accesses else said_at + step.age_us


def _earned(step: LayerStep, count: int, age_us: int) -> str:
    """Return by what a memory has earned the next layer."""
    often = f"Access count {count} >= threshold {step.accesses}"
    if not step.age_us:
        return often
    return f"{often}, age {_hours(age_us):.1f}h >= minimum {step.age_us / HOUR:g}h"


def _hours(age_us: int) -> float:
    """Return an age in whole tenths of an hour: what is not reached is not rounded up to it."""
    return math.floor(age_us * _TENTHS / HOUR) / _TENTHS


#: Microseconds in one hour.
BACKUP_HOUR = 3_600 * SECOND


def choose_backups(
    times: Iterable[int], now: int, *, hourly: int = 24, daily: int = 7
) -> frozenset[int]:
    """Return the times of the backups to keep; the others may be deleted.

    Kept are the newest of each of the last `hourly` hours that have one, the newest of each of the
    last `daily` days that have one, and the newest of all. Times that lie ahead of `now` are kept:
    the wall clock has jumped, and which way it was wrong cannot be known here.
    """
    known = set(times)
    past = sorted((each for each in known if each <= now), reverse=True)
    ahead = {each for each in known if each > now}
    newest = set(past[:1])
    return frozenset(
        ahead | newest | _newest(past, BACKUP_HOUR, hourly) | _newest(past, DAY, daily)
    )


def _newest(times: Sequence[int], span: int, count: int) -> set[int]:
    """Return the newest time of each of the last spans that have one; newest comes first."""
    found: dict[int, int] = {}
    for each in times:
        found.setdefault(each // span, each)
    return set(list(found.values())[:count])
