"""Attention: how present a memory still is, by its layer, its age and how often it was read.

    attention = max(0.5 ^ (age / half-life) + min(0.1 * accesses, 0.5), floor)

The age counts from when it was last touched: said, read, or moved to a deeper layer. What lies in
the cortex or is pinned has 1. (Neo-Cortex's formula. Its second one, min(1 + 0.1 * accesses, 2) for
what was just read, is left out: two memories read equally often would differ by who looked last.)

It lies between 0 and 1.5, falls with age and never rises, so that a least attention is a greatest
age: `window` gives it, to the microsecond, and a search may ask the ledger for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.memory import Layer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.memory import Memory

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
    return max(fresh + bonus(count), decay.floor)


def of(memory: Memory, now: int, decays: Mapping[Layer, Decay] = DECAYS) -> float:
    """Return the attention of a memory at a time (UTC microseconds)."""
    if memory.pinned_at is not None:
        return WHOLE
    return attention(memory.layer, now - touched_at(memory), memory.access_count, decays)


def touched_at(memory: Memory) -> int:
    """Return when a memory was last said, read or promoted: UTC microseconds."""
    return max(memory.created_at, memory.accessed_at or 0, memory.promoted_at or 0)


def window(
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


def kept(layer: Layer, count: int, decays: Mapping[Layer, Decay] = DECAYS) -> float:
    """Return what a memory keeps for ever: the floor, or more where it was read often."""
    decay = decays.get(layer)
    return WHOLE if decay is None else max(bonus(count), decay.floor)


def fresh_for(layer: Layer, count: int, decays: Mapping[Layer, Decay] = DECAYS) -> int | None:
    """Return the greatest age at which a memory has not faded yet; as `window` does.

    It has faded when its attention is within `CLOSE` of what it keeps for ever.
    """
    if layer not in decays:
        return EVER
    faded = kept(layer, count, decays) + CLOSE
    return window(layer, count, math.nextafter(faded, math.inf), decays)


def bonus(count: int) -> float:
    """Return what being read so often adds."""
    return MOST_ACCESSES if count >= COUNTED else max(count, 0) * ACCESS
