"""One reason for which two statements cannot both be followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Conflict


@dataclass(frozen=True, slots=True)
class Clash:
    """One reason for which two statements contradict each other.

    Attributes:
        least: the cosine from which on it counts; None where it counts whatever the cosine.

    """

    reason: str
    conflict: Conflict
    least: float | None
    confidence: float
