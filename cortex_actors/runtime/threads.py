"""Worker threads for calls that block: named, few, and counted, so that `status` can show them.

Waiting for something, but not longer than a clock allows.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cortex_actors.errors import InternalError
from cortex_actors.runtime.future import refuse_to_block

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from cortex_actors.clock import Clock


P = ParamSpec("P")
R = TypeVar("R")


class Threads:
    """At most `limit` threads that run blocking calls for the loop they are used from.

    A call whose awaiting task is cancelled is not begun if it still waits; one that runs goes on
    to its end (a thread cannot be stopped) and its result is dropped.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix=name)
        self._count = threading.Lock()
        #: How many calls are in a thread now.
        self.running = 0
        #: How many calls wait for a thread.
        self.waiting = 0
        self._closed = False

    async def run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a blocking call in a thread and return its result; raises what it raised.

        Raises InternalError after `close`.
        """
        if self._closed:
            raise InternalError(f"the threads {self.name!r} are closed and can run nothing more")
        queued = 1

        def note(running: int) -> None:
            """Count it as waiting no more, once: it may begin while the loop thinks it waits."""
            nonlocal queued
            with self._count:
                self.waiting -= queued
                self.running += running
                queued = 0

        def counted() -> R:
            note(1)
            try:
                return call(*args, **kwargs)
            finally:
                note(-1)

        with self._count:
            self.waiting += 1
        # The loop's own way to a thread, because a simulated loop has none.
        answer: asyncio.Future[R] = asyncio.get_running_loop().run_in_executor(self._pool, counted)
        # One that was dropped before it began now never will.
        answer.add_done_callback(lambda _answer: note(0))
        return await answer

    def close(self, *, wait: bool = False) -> None:
        """Take no more calls and drop those that wait, whose awaiters get CancelledError.

        With `wait`, return once the running calls have ended; that raises BlockingInLoopError on
        a thread that runs a loop.
        """
        if wait:
            refuse_to_block(f"closing the threads {self.name!r}", "`close(wait=False)`")
        self._closed = True
        self._pool.shutdown(wait=wait, cancel_futures=True)


async def within(clock: Clock, seconds: float | None, wait: Coroutine[None, None, object]) -> bool:
    """Return True once `wait` is over, or False after that many seconds; None is for ever.

    `asyncio.timeout` was not taken because it asks the loop for the time, not the clock. What has
    not ended by then is cancelled.
    """
    waited = asyncio.ensure_future(wait)
    alarm = None if seconds is None else asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait(
            {waited} if alarm is None else {waited, alarm}, return_when=asyncio.FIRST_COMPLETED
        )
        return waited.done()
    finally:
        waited.cancel()
        if alarm is not None:
            alarm.cancel()
