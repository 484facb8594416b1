"""What is done by the clock: a row says how often, since when it is due, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Seconds after the start in which nothing is done: a start has enough to do, and many daemons do
#: not live longer.
SOON = 30.0

#: Seconds after which a job that failed is tried again, unless it is due before.
RETRY = 300.0


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the schedule."""

    name: str
    #: Seconds between two runs.
    every: float
    #: Gives the seconds since the last run of any life, as the disk has it; None without one.
    age: Callable[[], float | None]
    #: Does it; returns what the log is to say, "" for nothing.
    run: Callable[[], Awaitable[str]]


def first(job: Job, age: float | None) -> float:
    """Return the seconds from the start to the first run.

    Never more than between two others: what was written while the wall clock was ahead would else
    put it off until the clock has caught up.
    """
    soon = min(SOON, job.every)
    if age is None:
        return soon
    return min(job.every, max(soon, job.every - max(0.0, age)))


def again(job: Job) -> float:
    """Return the seconds from a run that failed to the next."""
    return min(job.every, RETRY)
