"""How much a principle matters, from what is known about it now."""

from __future__ import annotations

import math
from typing import Final

#: Observations at which frequency counts fully: log(1 + f) / log(150) (Cerno).
FREQUENCY_SCALE: Final = 150

#: Links to other principles at which being connected counts fully (Cerno).
LINKS_SCALE: Final = 20

#: What each part counts: confidence, frequency, recency, source quality, links (Cerno).
WEIGHTS: Final = (0.35, 0.25, 0.20, 0.15, 0.05)


def rank(
    confidence: float, frequency: int, *, recency: float = 1.0, quality: float = 0.5, links: int = 0
) -> float:
    """Return a principle's rank, 0 to 1.

    `frequency` is its observations; confidence, recency and quality are shares from 0 to 1.
    """
    often = min(math.log1p(frequency) / math.log(FREQUENCY_SCALE), 1.0)
    linked = min(links / LINKS_SCALE, 1.0)
    parts = (confidence, often, recency, quality, linked)
    return math.fsum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True))
