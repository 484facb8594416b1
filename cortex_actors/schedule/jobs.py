"""What is done by the clock: a row says how often, since when it is due, and what it does.

When one job runs next, on the monotonic clock, and who waits for that.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND, Clock
from cortex_actors.storage.ledger.backups import DONE, JobRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection

    #: Starts a task that ends with the actor.
    Spawn = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]

#: Seconds after the start in which nothing is done: a start has enough to do, and many daemons do
#: not live longer.
SOON = 30.0

#: Seconds after which a job that failed is tried again, unless it is due before.
RETRY = 300.0

#: Share of its interval by which a run may come later: one that is wanted often stays often.
LATE = 0.1


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a run came to: what the log is to say ("" for nothing), and what is still to commit.

    Effects and events commit together with the job's row, so a run that is noted has published its
    events, and one that a kill cuts off is done again.
    """

    said: str = ""
    work: Callable[[Connection], object] | None = None
    say: Sequence[Event[Payload]] = ()
    #: Whether it wrote into the ledger on its own way.
    wrote: bool = False
    #: Seconds after which it is wanted again, where that is before its interval is over.
    rest: float = math.inf

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
    run: Callable[[], Awaitable[JobResult]]
    #: Seconds by which chance may put a run off.
    jitter: float = 0.0
    #: Gives the seconds since the last run of any life, as the disk has it; None without one. A job
    #: without this goes by its row in the ledger.
    age: Callable[[], float | None] | None = None


def compute_delay(every: float, most: float) -> float:
    """Return the seconds by which a job of that interval may come later."""
    return min(most, every * LATE)


def compute_first(job: Job, age: float | None) -> float:
    """Return the seconds from the start to the first run.

    Never more than between two others: what was written while the wall clock was ahead would else
    put it off until the clock has caught up.
    """
    soon = min(SOON, job.every)
    return soon if age is None else min(job.every, max(soon, job.every - max(0.0, age)))


def compute_retry(job: Job) -> float:
    """Return the seconds from a run that failed to the next."""
    return min(job.every, RETRY)


def compute_age(row: JobRow | None, now: int) -> float | None:
    """Return since when a job rests, by its row: seconds; None for one that is to be done soon.

    A job without a row begins its first interval now: what a start does itself needs no
    job. One that was noted and never done rests since it was noted; one that failed is due.
    """
    if row is None:
        return 0.0
    if row.finished_at is not None:
        return (now - row.finished_at) / SECOND if row.state == DONE else None
    return None if row.due_at is None else row.every_s + (now - row.due_at) / SECOND


class Timer:
    """One job's rest, which a request for the job may cut short."""

    def __init__(self, job: Job, clock: Clock) -> None:
        """Rest for ever."""
        self.job = job
        #: Monotonic seconds at which it is due, and at which the present run began.
        self.due: float | None = None
        self.since: float | None = None
        self._clock = clock
        self._nap: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._waiting: list[asyncio.Future[JobResult]] = []

    async def rest(self, seconds: float, spawn: Spawn) -> None:
        """Return after that many seconds, or when the job is asked for."""
        self.due = self._clock.monotonic() + seconds
        if not self._is_wanted:
            self._nap = spawn(self._clock.sleep(seconds))
            await asyncio.wait([self._nap])
        self._is_wanted = False

    def hurry(self) -> asyncio.Future[JobResult]:
        """Return the result of the present run, or of the next one, which begins now."""
        answer: asyncio.Future[JobResult] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        if self.since is None:
            self._is_wanted = True
            if self._nap is not None:
                self._nap.cancel()
        return answer

    def begin(self) -> None:
        """Note that the job is running."""
        self.since, self.due = self._clock.monotonic(), None

    def end(self, come_to: JobResult | Exception) -> None:
        """Tell those who wait what a run came to."""
        self.since = None
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            if answer.done():
                continue
            if isinstance(come_to, Exception):
                answer.set_exception(come_to)
            else:
                answer.set_result(come_to)
