"""Work that outlives one message: each piece is a task below the `tasks` node of the tree.

An import, a backup, the compilation of a model: a caller waits for the result, and until then the
work is a child of the tree. It is shown there, counted against a limit, reported when it crashes,
and stopped with the tree.
"""

from __future__ import annotations

import asyncio
import math
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from cortex_actors.errors import CortexError, TaskEnded
from cortex_actors.runtime.future import TURN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

T = TypeVar("T")

#: What a task does: a function without arguments, because a coroutine that is never started warns.
Work: TypeAlias = "Callable[[], Coroutine[Any, Any, T]]"

#: Tasks at once. Each reads or writes the disk at length: more would only wait for one another.
MAX_TASKS: Final = 20


class Background(set[asyncio.Task[Any]]):
    """Tasks that go on whatever becomes of who began them, held until they end.

    The error of one has no other reader where its asker has gone, and is no news to anybody.
    """

    def begin(self, work: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        """Begin a task on the running loop."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self.discard(task)
        if not task.cancelled():
            task.exception()


class Task(Generic[T]):
    """One piece of work; a `supervision.Handle` once it is started.

    Its exit reason is "normal" when it returned or raised a `CortexError` (an answer for the
    caller, no crash), any other exception that it raised, "shutdown" when it was asked to end, or
    "killed".
    """

    def __init__(self, name: str, work: Work[T]) -> None:
        """Start nothing yet; `name` is what the tree shows."""
        self.name = name
        self._work = work
        self._context = copy_context()
        # The task is in no actor's turn: a check for asks in a ring ends here.
        self._context.run(TURN.set, None)
        self._ending = ""
        self._begun = asyncio.get_running_loop().time()
        self._task: asyncio.Task[T] | None = None

    async def start(self) -> Task[T]:
        """Start it; a task that was asked to end before ends without a step."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._work(), name=self.name, context=self._context)
        if self._ending:
            self._task.cancel()
        return self

    async def result(self) -> T:
        """Wait until it has ended and return its result; raises what it raised.

        Raises `TaskEnded` if it was stopped. Cancelling the caller leaves the task alone.
        """
        assert self._task is not None  # noqa: S101 - asked for once it is started
        await asyncio.wait({self._task})
        if self._task.cancelled():
            raise TaskEnded(f"{self.name} was stopped before it was done: ask again", self._ending)
        return self._task.result()

    def shut_down(self) -> None:
        """Ask it to end; it may clean up."""
        if not self._ending:
            self._ending = "shutdown"
            if self._task is not None:
                self._task.cancel()

    async def stop(self, timeout: float | None) -> None:
        """Ask it to end and wait until it has; raises TimeoutError after `timeout` seconds."""
        self.shut_down()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=None if timeout == math.inf else timeout)
            if not self._task.done():
                raise TimeoutError(f"the task {self.name} did not end within {timeout} s")

    def kill(self) -> None:
        """End it now, its clean-up as well."""
        if self._task is not None and not self._task.done():
            self._ending = "killed"
            self._task.cancel()

    async def exited(self) -> object:
        """Wait until it has ended and return why."""
        assert self._task is not None  # noqa: S101 - as above
        await asyncio.wait({self._task})
        if self._task.cancelled():
            return self._ending or "killed"
        error = self._task.exception()
        return "normal" if error is None or isinstance(error, CortexError) else error

    def info(self) -> dict[str, object]:
        """Return for how many seconds it has run, and whether it was asked to end or killed."""
        return {
            "seconds": round(asyncio.get_running_loop().time() - self._begun, 3),
            "ending": self._ending or None,
        }


class TaskSupervisor:
    """Starts work below the `tasks` node; without a tree, as tasks that nothing supervises."""

    def __init__(self, start: Callable[[Task[Any]], Awaitable[object]] | None = None) -> None:
        """Start tasks with `start`, which returns once a task runs."""
        self._start = start

    async def start(self, name: str, work: Work[T]) -> Task[T]:
        """Start work; raises `TooManyTasks` if 20 tasks run already.

        A caller that is cancelled meanwhile ends the task and waits until it has ended.
        """
        task = Task(name, work)
        try:
            await (task.start() if self._start is None else self._start(task))
        except asyncio.CancelledError:
            await task.stop(None)
            raise
        return task

    async def run(self, name: str, work: Work[T]) -> T:
        """Start work and return its result; raises what the work raised.

        Raises `TooManyTasks` as `start` does, and `TaskEnded` if the task is stopped before it is
        done. A caller that is cancelled ends the task and waits until it has ended.
        """
        task = await self.start(name, work)
        try:
            return await task.result()
        except asyncio.CancelledError:
            await task.stop(None)
            raise


#: For a part that is not in a tree.
ALONE: Final = TaskSupervisor()
