"""How a store has been doing, as a value: what was asked of it, how long it took, what went wrong.

Only questions that reached it count. What was not asked of it (the breaker is open, a condition it
does not know) says nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

#: What the newest answer counts in the mean of the times: a fifth (the document's).
NEWEST = 0.2

#: Characters of a reason that are kept.
SHOWN = 120

#: Share of answers from which on a store is healthy, or only degraded (the document's).
HEALTHY, DEGRADED = 0.9, 0.7

#: Failures in a row with which a store is unhealthy, however it did before (the document's).
IN_A_ROW = 3


class Standing(StrEnum):
    """How far a store can be relied on."""

    #: It was never asked.
    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How one store has been doing since the daemon started.

    Attributes:
        mean_s: seconds an answer takes, the newer the more it counts; it begins with the first
            one. (To begin with 0 understates it for the first dozen answers.)
        reason: why the last ask failed; empty when it was answered.
        last_error: why the last ask that failed did, whatever came after it.
        asked_at: when it was asked last (UTC microseconds); None if it never was.
        answered_at: when it answered last, likewise.

    """

    name: str
    answered: int = 0
    failed: int = 0
    in_a_row: int = 0
    mean_s: float = 0.0
    last_s: float = 0.0
    longest_s: float = 0.0
    reason: str = ""
    last_error: str = ""
    asked_at: int | None = None
    answered_at: int | None = None

    @property
    def rate(self) -> float:
        """The share of questions that it answered; 0 for one that was never asked."""
        asked = self.answered + self.failed
        return self.answered / asked if asked else 0.0

    @property
    def standing(self) -> Standing:
        """How far it can be relied on."""
        if not self.answered + self.failed:
            return Standing.UNKNOWN
        if self.rate >= HEALTHY and not self.in_a_row:
            return Standing.HEALTHY
        if self.rate >= DEGRADED and self.in_a_row < IN_A_ROW:
            return Standing.DEGRADED
        return Standing.UNHEALTHY

    def after(self, seconds: float, reason: str, *, at: int | None = None) -> StoreHealth:
        """Return how it stands after an ask at that time; `reason` is empty when it was answered.

        The times are those of answers: how long a store did not answer is our own patience.
        """
        if reason:
            why = reason[:SHOWN]
            failed, in_a_row = self.failed + 1, self.in_a_row + 1
            return replace(
                self, failed=failed, in_a_row=in_a_row, reason=why, last_error=why, asked_at=at
            )
        mean = seconds
        if self.answered:
            mean = self.mean_s + NEWEST * (seconds - self.mean_s)
        return replace(
            self,
            answered=self.answered + 1,
            in_a_row=0,
            mean_s=mean,
            last_s=seconds,
            longest_s=max(self.longest_s, seconds),
            reason="",
            asked_at=at,
            answered_at=at,
        )

    def told(self) -> dict[str, Any]:
        """Return it as clients get it; times in milliseconds."""
        return {
            "name": self.name,
            "status": str(self.standing),
            "up": not self.reason,
            "total": self.answered + self.failed,
            "succeeded": self.answered,
            "failed": self.failed,
            "success_rate": round(self.rate, 4),
            "latency_ms": round(self.mean_s * 1_000, 3),
            "last_latency_ms": round(self.last_s * 1_000, 3),
            "max_latency_ms": round(self.longest_s * 1_000, 3),
            "last_error": self.last_error,
            "consecutive_failures": self.in_a_row,
            "asked_at": self.asked_at,
            "answered_at": self.answered_at,
        }
