"""When one job runs next, on the monotonic clock, and who waits for that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from cortex_actors.clock import Clock
    from cortex_actors.schedule.jobs import Done, Job

    #: Starts a task that ends with the actor.
    Spawn = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]


class Timer:
    """One job's rest, which somebody who asks for the job may cut short."""

    def __init__(self, job: Job, clock: Clock) -> None:
        """Rest for ever."""
        self.job = job
        #: Monotonic seconds at which it is due, and at which the run in hand began.
        self.due: float | None = None
        self.since: float | None = None
        self._clock = clock
        self._nap: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._waiting: list[asyncio.Future[Done]] = []

    async def rest(self, seconds: float, spawn: Spawn) -> None:
        """Return after that many seconds, or when somebody asks for the job."""
        self.due = self._clock.monotonic() + seconds
        if not self._is_wanted:
            self._nap = spawn(self._clock.sleep(seconds))
            await asyncio.wait([self._nap])
        self._is_wanted = False

    def hurry(self) -> asyncio.Future[Done]:
        """Return what the next run will come to, or the one in hand, and begin it now."""
        answer: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        if self.since is None:
            self._is_wanted = True
            if self._nap is not None:
                self._nap.cancel()
        return answer

    def begin(self) -> None:
        """Note that the job is in hand."""
        self.since, self.due = self._clock.monotonic(), None

    def end(self, come_to: Done | Exception) -> None:
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
