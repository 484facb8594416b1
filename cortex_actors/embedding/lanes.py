"""Threads that take the most urgent work first, and nothing that nobody waits for any more.

`runtime.threads.Threads` was not taken because its queue knows no order but that of arrival.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import threading
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.errors import EmbedderDown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cortex_actors.clock import Clock

log = logging.getLogger("cortex.embedder")

R = TypeVar("R")


class Lanes:
    """At most `limit` threads, all of one loop.

    Urgent calls overtake those that wait, and never one that runs; of equal urgency the first to
    come is the first to go. Calls should be short, because that is how long an urgent one waits.
    """

    def __init__(self, name: str, limit: int, *, clock: Clock) -> None:
        self.name = name
        self.limit = limit
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._heap: list[_Job] = []
        self._numbers: Iterator[int] = count()
        self._running = 0
        self._closed = False
        self._ended = asyncio.Event()
        self._alive = limit
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}")
            for number in range(1, limit + 1)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> int:
        """Return how many calls are in a thread now."""
        return self._running

    @property
    def waiting(self) -> int:
        """Return how many calls wait for a thread."""
        return len(self._heap)

    async def run(
        self,
        calls: Sequence[Callable[[], R]],
        *,
        urgent: bool,
        waited: Callable[[float], None] | None = None,
    ) -> list[R]:
        """Run blocking calls in the threads and return their results in order.

        Once one of them fails, or the awaiting task is cancelled, those that have not begun never
        will; those that run go on to their end, and their results are dropped. Raises what the
        first one raised that failed, and `EmbedderDown` after `close`. `waited` is told how many
        seconds each call stood in the queue.
        """
        jobs = [
            _Job(not urgent, next(self._numbers), call, self._loop.create_future(), waited)
            for call in calls
        ]
        self._put(jobs)
        try:
            # A list of futures and no `gather` of tasks: cancelling must not reach into a thread.
            return [await job.answer for job in jobs]
        finally:
            self._drop(jobs)

    async def close(self, deadline: float) -> bool:
        """Take no more calls, fail those that wait, and return whether all threads ended in time.

        A thread that is still in a call after `deadline` seconds ends when that call does.
        """
        with self._changed:
            self._closed = True
            dropped, self._heap = self._heap, []
            self._changed.notify_all()
        for job in dropped:
            _settle(job.answer, None, self._refusal())
        try:
            async with asyncio.timeout(deadline):
                await self._ended.wait()
        except TimeoutError:
            log.warning(
                "%d of %d threads %r still work after %g s and end when they are done",
                *(self._alive, self.limit, self.name, deadline),
            )
            return False
        for thread in self._threads:
            thread.join()  # they have said good-bye: microseconds
        return True

    def _put(self, jobs: Sequence[_Job]) -> None:
        with self._changed:
            if self._closed:
                raise self._refusal()
            now = self._clock.monotonic()
            for job in jobs:
                job.at = now
                heapq.heappush(self._heap, job)
            self._changed.notify(len(jobs))

    def _drop(self, jobs: Sequence[_Job]) -> None:
        """Forget the jobs that have not begun, and the results of those that have."""
        for job in jobs:
            if job.answer.done() and not job.answer.cancelled():
                job.answer.exception()  # looked at: the first failure stands for all
            job.answer.cancel()
        if any(job.answer.cancelled() for job in jobs):
            gone = {job.number for job in jobs}
            with self._changed:
                self._heap = [job for job in self._heap if job.number not in gone]
                heapq.heapify(self._heap)

    def _work(self) -> None:
        """Run one call after the other, in a thread, until closed."""
        while (job := self._take()) is not None:
            result: Any = None
            error: Exception | None = None
            if job.waited is not None:
                self._tell(job.waited, self._clock.monotonic() - job.at)
            try:
                result = job.call()
            except Exception as raised:  # noqa: BLE001 - the asker's, whatever it is
                error = raised
            except BaseException as raised:  # noqa: BLE001 - a panic of a library in Rust is one
                error = EmbedderDown(f"the embedding model broke off: {raised}")
                error.__cause__ = raised
            with self._changed:
                self._running -= 1
            self._tell(_settle, job.answer, result, error)
            del job, result, error  # an idle thread must keep nothing alive
        self._tell(self._one_ended)

    def _take(self) -> _Job | None:
        """Return the next job, once there is one; None when there will be none."""
        with self._changed:
            while not self._heap and not self._closed:
                self._changed.wait()
            if not self._heap:
                return None
            self._running += 1
            return heapq.heappop(self._heap)

    def _tell(self, call: Callable[..., None], *values: Any) -> None:  # noqa: ANN401 - of any call
        # A loop that has ended has nobody who would want to know.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *values)

    def _one_ended(self) -> None:
        self._alive -= 1
        if not self._alive:
            self._ended.set()

    def _refusal(self) -> EmbedderDown:
        return EmbedderDown("the embedding model was let go of; ask again when it is back")


@dataclass(order=True, slots=True)
class _Job:
    """A call in the queue: urgent ones (False sorts first), then by number."""

    patient: bool
    number: int
    call: Callable[[], Any] = field(compare=False)
    answer: asyncio.Future[Any] = field(compare=False)
    waited: Callable[[float], None] | None = field(compare=False, default=None)
    #: When it was put into the queue.
    at: float = field(compare=False, default=0.0)


def _settle(answer: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    """Give the asker what became of its call, if it still waits."""
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
