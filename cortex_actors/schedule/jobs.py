"""What is done by the clock: a row says how often, since when it is due, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND
from cortex_actors.storage.ledger.retention import DONE, JobRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection

#: Seconds after the start in which nothing is done: a start has enough to do, and many daemons do
#: not live longer.
SOON = 30.0

#: Seconds after which a job that failed is tried again, unless it is due before.
RETRY = 300.0

#: Share of its interval by which a run may come later: one that is wanted often stays often.
LATE = 0.1


@dataclass(frozen=True, slots=True)
class Done:
    """What a run came to: what the log is to say ("" for nothing), and what is still to commit.

    Effects and events commit together with the job's row, so that a run which is noted has told
    everybody, and one that a kill cuts off is done again.
    """

    said: str = ""
    work: Callable[[Connection], object] | None = None
    say: Sequence[Event[Payload]] = ()
    #: Whether it wrote into the ledger on its own way.
    wrote: bool = False

    @property
    def is_written(self) -> bool:
        """Whether the ledger is written anyway, so that the job's row costs no write."""
        return self.wrote or self.work is not None or bool(self.say)


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the schedule."""

    name: str
    #: Seconds between two runs.
    every: float
    #: Does it.
    run: Callable[[], Awaitable[Done]]
    #: Seconds by which chance may put a run off.
    jitter: float = 0.0
    #: Gives the seconds since the last run of any life, as the disk has it; None without one. A job
    #: without this goes by its row in the ledger.
    age: Callable[[], float | None] | None = None


def late(every: float, most: float) -> float:
    """Return the seconds by which a job of that interval may come later."""
    return min(most, every * LATE)


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


def age_of(row: JobRow | None, now: int) -> float | None:
    """Return since when a job rests, by its row: seconds; None for one that is to be done soon.

    A job that nobody has noted begins its first interval now: what a start does itself needs no
    job. One that was noted and never done rests since it was noted; one that failed is due.
    """
    if row is None:
        return 0.0
    if row.finished_at is not None:
        return (now - row.finished_at) / SECOND if row.state == DONE else None
    return None if row.due_at is None else row.every_s + (now - row.due_at) / SECOND
