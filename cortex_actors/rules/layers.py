"""Layers: when a memory has earned a deeper one, and why it has not yet.

From sensory to working it takes accesses, or somebody who saves it; from working to long_term
accesses and age; into the cortex none of these leads, but several agents who say the same, or a
person. A number that is reached is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from cortex_actors.domain.memory import Layer
from cortex_actors.rules.attention import HOUR

if TYPE_CHECKING:
    from collections.abc import Mapping

#: From the first to the deepest.
ORDER: Final = tuple(Layer)

#: Tenths of an hour in one, by which an age is told.
_TENTHS = 10


class Step(NamedTuple):
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
    def steps(self) -> Mapping[Layer, Step]:
        """Layer -> what it takes to leave it by being read."""
        age = round(self.working_age_h * HOUR)
        return {
            Layer.SENSORY: Step(self.sensory_accesses),
            Layer.WORKING: Step(self.working_accesses, age),
        }


#: The document's.
DOCUMENT: Final = Earning()


class Judged(NamedTuple):
    """Which layer a memory has earned, None for the one it is in; and why."""

    to: Layer | None
    reason: str


def judge(layer: Layer, count: int, *, age_us: int, earning: Earning = DOCUMENT) -> Judged:
    """Return which layer a memory has earned that was read `count` times and said so long ago."""
    to = below(layer)
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


def below(layer: Layer) -> Layer | None:
    """Return the next deeper layer; None for the cortex."""
    place = ORDER.index(layer) + 1
    return ORDER[place] if place < len(ORDER) else None


def is_deeper(layer: Layer, than: Layer) -> bool:
    """Tell whether a layer lies deeper than another."""
    return ORDER.index(layer) > ORDER.index(than)


def ripe_at(layer: Layer, count: int, *, said_at: int, earning: Earning = DOCUMENT) -> int | None:
    """Return when a memory that was read often enough is old enough for the next layer.

    UTC microseconds, which may lie behind; None where age is not what it still takes.
    """
    step = earning.steps.get(layer)
    return None if step is None or count < step.accesses else said_at + step.age_us


def _earned(step: Step, count: int, age_us: int) -> str:
    """Return by what a memory has earned the next layer."""
    often = f"Access count {count} >= threshold {step.accesses}"
    if not step.age_us:
        return often
    return f"{often}, age {_hours(age_us):.1f}h >= minimum {step.age_us / HOUR:g}h"


def _hours(age_us: int) -> float:
    """Return an age in whole tenths of an hour: what is not reached is not rounded up to it."""
    return math.floor(age_us * _TENTHS / HOUR) / _TENTHS
