"""Worker threads for calls that block: named, few, and counted, so that `status` can show them.

Waiting for something, but not longer than a clock allows.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

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
        self._note(waiting=1)
        counted = _Counted(self._note, partial(call, *args, **kwargs))
        # The loop's own way to a thread, because a simulated loop has none.
        answer: asyncio.Future[R] = asyncio.get_running_loop().run_in_executor(self._pool, counted)
        answer.add_done_callback(counted.on_done)
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

    def _note(self, *, waiting: int = 0, running: int = 0) -> None:
        with self._count:
            self.waiting += waiting
            self.running += running


class _Counted:
    """A call that is counted as waiting until it begins, and then as running."""

    def __init__(self, note: Callable[..., None], call: Callable[[], Any]) -> None:
        self._note = note
        self._call = call
        self._queue, self._queued = threading.Lock(), 1

    def __call__(self) -> Any:  # noqa: ANN401 - whatever the call gives
        self._note(waiting=-self._leave_queue(), running=1)
        try:
            return self._call()
        finally:
            self._note(running=-1)

    def on_done(self, _answer: asyncio.Future[Any]) -> None:
        """Count a call no more that was dropped before it began: now it never will."""
        self._note(waiting=-self._leave_queue())

    def _leave_queue(self) -> int:
        """Return 1 once: a call may begin in its thread while the loop still thinks it waits."""
        with self._queue:
            left, self._queued = self._queued, 0
        return left


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
