"""How the confidence of an insight comes about, step by step, for whoever asks why.

The steps are those of `rules/confidence.py`, which computes them at once; a test holds the last
value of these to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY
from cortex_actors.rules import confidence as weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.rules.confidence import Evidence


#: The least that is worth a step of its own: what two digits show.
SHOWN = 0.005


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it is about, what it does, and the value after it."""

    about: str
    does: str
    value: float


def steps(
    evidence: Evidence, now: int, *, stale_days: float = weights.STALE_DAYS
) -> tuple[Step, ...]:
    """Return the steps from the base to the confidence; what changes nothing is left out."""
    return tuple(_steps(evidence, now, stale_days))


def _steps(evidence: Evidence, now: int, stale_days: float) -> Iterator[Step]:
    """Yield the steps."""
    floor = weights.floor(evidence.observations)
    value = max(weights.BASE, floor)
    kept = weights.kept(evidence)
    is_long = kept >= SHOWN
    value += 0.0 if is_long else kept
    seen = f"seen {_times(evidence.observations)}"
    yield Step(seen, "base" if floor <= weights.BASE else "more than the base", value)
    if is_long:
        days = (evidence.last_seen - (evidence.first_seen or evidence.last_seen)) / DAY
        value += kept
        yield Step(f"kept for {days:.0f} days", f"+{kept:.2f}", value)
    if more := weights.PER_PROJECT * max(evidence.projects - 1, 0):
        value = min(value + more, 1.0)
        yield Step(f"said by {evidence.projects} projects", f"+{more:.2f}", value)
    value = min(value, 1.0)
    for holds, about, factor in _factors(evidence, now, stale_days):
        if holds:
            value *= factor
            yield Step(about, f"x {factor:g}", value)


def _factors(
    evidence: Evidence, now: int, stale_days: float
) -> tuple[tuple[bool, str, float], ...]:
    """Return what multiplies a confidence, and whether it does here."""
    days = (now - evidence.last_seen) / DAY
    return (
        (days > stale_days, f"not seen for {days:.0f} days", weights.STALE_FACTOR),
        (evidence.contradicted, "something speaks against it", weights.CONTRADICTED_FACTOR),
        (evidence.boilerplate, "boilerplate: tools write it", weights.BOILERPLATE_FACTOR),
    )


def _times(number: int) -> str:
    """Return how often, in words."""
    return "once" if number == 1 else f"{number} times"
