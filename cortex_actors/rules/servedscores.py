"""Scores of what is served to other programs, in the measure of the stores that they know.

What is near counts 1 / (1 + distance); the store of memories weighs that by how deep a memory lies
and how often it was said, the store of facts has 1 for an exact key alone. Neither depends on how
rare a word is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.storefusion import base_relevance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Distance of what was not measured: as far as what has nothing in common.
UNMEASURED: Final = 1.0

#: What a tier counts (SerenMemory: what is fresh stands before what was distilled once).
TIERS: Final[Mapping[str, float]] = {"short": 1.0, "near": 0.9, "long": 0.8}

#: What a distilled memory gains with each e-fold of what it was made of (SerenMemory).
EVIDENCE: Final = 0.15

#: What an exact key counts, and the most that anything else does (SerenLoci).
EXACT, BELOW = 1.0, 0.99

#: Most hits of one answer.
MOST: Final = 200

#: Digits behind the point that travel.
DIGITS: Final = 6


def distance(cosine: float | None) -> float:
    """Return how far a text is by its cosine, rounded as it travels."""
    return UNMEASURED if cosine is None else round(max(1.0 - cosine, 0.0), DIGITS)


def of_memory(far: float, tier: str, *, evidence: int = 1) -> float:
    """Return what a memory counts at a distance, in its tier."""
    boost = 1.0 + math.log(max(evidence, 1)) * EVIDENCE if tier == "long" else 1.0
    return base_relevance(far) * TIERS[tier] * boost


def of_fact(far: float) -> float:
    """Return what a fact counts at a distance that was not asked for by its key."""
    return min(base_relevance(far), BELOW)


def descending(scores: Sequence[float]) -> list[float]:
    """Return scores that agree with their order, rounded as they travel.

    The order is the search's own, which looks at words as well. What stands before something counts
    at least as much, so each is raised to the most that comes behind it.
    """
    found: list[float] = []
    least = 0.0
    for score in reversed(scores):
        least = max(least, score)
        found.append(round(least, DIGITS))
    return found[::-1]
