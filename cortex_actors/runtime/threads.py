"""Worker threads for calls that block: named, few, and counted, so that `status` can show them.

Waiting for something, but not longer than a clock allows. Reading a file without blocking the loop.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import aiofiles

from cortex_actors.errors import BadInput, InternalError
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
        self.pool = ThreadPoolExecutor(limit, thread_name_prefix=name)
        self._count = threading.Lock()
        #: How many calls are in a thread now.
        self.running = 0
        #: How many calls wait for a thread.
        self.waiting = 0
        self._closed = False

    async def read(self, path: str, *, limit: int) -> tuple[bytes, int]:
        """Read a file on these threads; see `read_file`. Raises InternalError after `close`."""
        if self._closed:
            raise InternalError(f"the threads {self.name!r} are closed and can read nothing more")
        return await read_file(path, limit=limit, executor=self.pool)

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
        answer: asyncio.Future[R] = asyncio.get_running_loop().run_in_executor(self.pool, counted)
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
        self.pool.shutdown(wait=wait, cancel_futures=True)


async def wait_within(
    clock: Clock, seconds: float | None, wait: Coroutine[None, None, object]
) -> bool:
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


async def read_file(
    path: str, *, limit: int, executor: Executor | None = None
) -> tuple[bytes, int]:
    """Return the bytes of a regular file, `limit` and one at most, and how many it has.

    Raises `BadInput` for what is no regular file, `OSError`, and `ValueError` for what is no path.
    A reader that is cancelled leaves no file open: what was begun goes on to its end.
    """
    reading = asyncio.ensure_future(_read(path, limit=limit, executor=executor))
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(reading)


async def _read(path: str, *, limit: int, executor: Executor | None) -> tuple[bytes, int]:
    """Open, read and close a file; each is a call on a thread."""
    async with aiofiles.open(path, "rb", opener=_open_regular, executor=executor) as file:
        data = await file.read(limit + 1)
        return data, len(data) if len(data) <= limit else await file.seek(0, os.SEEK_END)


def _open_regular(path: str, flags: int) -> int:
    """Open what is a regular file, without waiting for the other end of what is a pipe."""
    opened = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise BadInput(f"cannot read {path}: it is not a regular file; put a text file there")
    return opened
