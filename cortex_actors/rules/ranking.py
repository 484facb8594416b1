"""How much a principle matters, from what is known about it now."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Final

#: Observations at which frequency counts fully: log(1 + f) / log(150) (Cerno).
FREQUENCY_SCALE: Final = 150

#: Links to other principles at which being connected counts fully (Cerno).
LINKS_SCALE: Final = 20


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part of a rank counts (Cerno's); only how they stand to each other matters."""

    confidence: float = 0.35
    frequency: float = 0.25
    recency: float = 0.20
    quality: float = 0.15
    links: float = 0.05


@dataclass(frozen=True, slots=True)
class Part:
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


DEFAULTS: Final = Weights()


def rank(
    confidence: float,
    frequency: int,
    *,
    recency: float = 1.0,
    quality: float = 0.5,
    links: int = 0,
    weights: Weights = DEFAULTS,
) -> float:
    """Return a principle's rank, 0 to 1.

    `frequency` is its observations; confidence, recency and quality are shares from 0 to 1.
    """
    found = parts(
        confidence, frequency, recency=recency, quality=quality, links=links, weights=weights
    )
    return min(math.fsum(each.points for each in found), 1.0)


def parts(
    confidence: float,
    frequency: int,
    *,
    recency: float = 1.0,
    quality: float = 0.5,
    links: int = 0,
    weights: Weights = DEFAULTS,
) -> tuple[Part, ...]:
    """Return what a rank is made of; the points of the parts make the rank.

    Weights that do not make 1 are divided by their sum, so that a rank stays a share. Raises
    `ZeroDivisionError` for weights of nothing, which the settings refuse.
    """
    often = min(math.log1p(frequency) / math.log(FREQUENCY_SCALE), 1.0)
    linked = min(links / LINKS_SCALE, 1.0)
    values = Weights(confidence, often, recency, quality, linked)
    whole = math.fsum(astuple(weights))
    return tuple(
        Part(name, value, weight / whole)
        for name, value, weight in zip(
            Weights.__slots__, astuple(values), astuple(weights), strict=True
        )
    )
