"""A stream of results: one task for each item, so many at a time, in order or as they come."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypedDict, TypeVar

from cortex_actors.errors import DeadlineExceeded, InternalError
from cortex_actors.runtime import links
from cortex_actors.runtime.task_handle import AWAIT, SHUTDOWN, Shutdown, TaskHandle, check_shutdown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

I = TypeVar("I")  # noqa: E741 - the item, as R is the result
R = TypeVar("R")

#: Tasks of one stream at a time: they wait for others more than they compute, so more than cores.
CONCURRENCY = 8

#: The reason of a task that was killed because it took too long.
TIMEOUT: Final = "timeout"


@dataclass(frozen=True, slots=True)
class Ok(Generic[R]):
    """What a task of a stream returned."""

    value: R


@dataclass(frozen=True, slots=True)
class Exited(Generic[I]):
    """Why a task of a stream ended without a result, and for which item, if that was asked for."""

    reason: object
    item: I | None = None


class StreamOptions(TypedDict, total=False):
    """How a stream flows; the defaults are those of `Flow`."""

    #: Items under way at a time, with those whose results wait for their turn (`ordered`).
    max_concurrency: int
    #: Whether the results come in the order of the items; else they come as they are ready.
    ordered: bool
    #: Seconds each task may take, None for ever. One that takes longer is killed.
    timeout: float | None
    #: That ends the stream with DeadlineExceeded ("exit"), or gives `Exited("timeout")`.
    on_timeout: Literal["exit", "kill_task"]
    #: Whether an `Exited` carries its item.
    zip_input_on_exit: bool
    #: How the tasks are ended that are left when the stream ends.
    shutdown: Shutdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The options of one stream; raises InternalError when they make no sense."""

    max_concurrency: int = CONCURRENCY
    ordered: bool = True
    timeout: float | None = AWAIT
    on_timeout: Literal["exit", "kill_task"] = "exit"
    zip_input_on_exit: bool = False
    shutdown: Shutdown = SHUTDOWN

    def __post_init__(self) -> None:
        """Refuse what would never give a result."""
        check_shutdown(self.shutdown)
        if self.max_concurrency < 1:
            text = f"a stream cannot run {self.max_concurrency} tasks at a time: give 1 or more"
            raise InternalError(text)
        if self.on_timeout not in ("exit", "kill_task"):
            text = f"on_timeout is {self.on_timeout!r}: give 'exit' or 'kill_task'"
            raise InternalError(text)


@dataclass(slots=True, eq=False)
class _Running(Generic[I, R]):
    """An item and the task at it."""

    item: I
    task: TaskHandle[R]
    timer: asyncio.TimerHandle | None = None
    late: bool = False


class Stream(Generic[I, R]):
    """The tasks of one stream that are started and whose results are not given yet."""

    def __init__(
        self,
        items: Iterable[I],
        start: Callable[[I], TaskHandle[R]],
        flow: Flow,
        *,
        trap_exit: bool,
    ) -> None:
        """Start nothing yet; with `trap_exit` the failure of a task is a result."""
        self._trap_exit = trap_exit
        self._items = iter(items)
        self._start = start
        self._flow = flow
        self._window: deque[_Running[I, R]] = deque()
        #: Those that have ended, until somebody has looked.
        self._news: dict[_Running[I, R], None] = {}
        self._bell = asyncio.Event()

    async def results(self) -> AsyncGenerator[Ok[R] | Exited[I], None]:
        """Give the results; whatever ends this ends the tasks that are left."""
        try:
            while self._fill():
                running = await self._next()
                self._window.remove(running)
                yield self._result(running)
        finally:
            await self._close()

    def _fill(self) -> bool:
        """Start as many tasks as may be under way; return whether any is."""
        while len(self._window) < self._flow.max_concurrency:
            try:
                item = next(self._items)
            except StopIteration:
                break
            self._begin(item)
        return bool(self._window)

    def _begin(self, item: I) -> None:
        running = _Running(item, self._start(item))
        self._window.append(running)
        running.task.awaiting.append(self)
        running.task.on_over(lambda: self._on_over(running))
        if self._flow.timeout is not None:
            loop = asyncio.get_running_loop()
            running.timer = loop.call_later(self._flow.timeout, self._on_late, running)

    def _on_over(self, running: _Running[I, R]) -> None:
        if running in self._window:  # else its result was given before word of its end came
            self._news[running] = None
            self._bell.set()

    def _on_late(self, running: _Running[I, R]) -> None:
        running.late = not running.task.done()
        if running.late:
            running.task.untie()
            running.task.kill()

    async def _next(self) -> _Running[I, R]:
        """Return the next one whose result is due; raise for one that fails the stream."""
        while True:
            if self._flow.ordered and self._window[0].task.done():
                self._news.pop(self._window[0], None)
                return self._window[0]
            if not self._news:
                await self._hear()
            running = next(iter(self._news))
            del self._news[running]
            self._judge(running)
            if not self._flow.ordered:
                return running

    async def _hear(self) -> None:
        self._bell.clear()
        try:
            await self._bell.wait()
        except asyncio.CancelledError:
            links.surface()
            raise

    def _judge(self, running: _Running[I, R]) -> None:
        if running.late:
            if self._flow.on_timeout == "exit":
                raise DeadlineExceeded(
                    f"{running.task.name} of a stream did not end within {self._flow.timeout} s; "
                    "the stream is ended"
                )
        elif running.task.reason != "normal" and not self._trap_exit:
            raise running.task.error()

    def _result(self, running: _Running[I, R]) -> Ok[R] | Exited[I]:
        if running.timer is not None:
            running.timer.cancel()
        self._judge(running)
        if running.task.returned and not running.late:
            return Ok(running.task.result())
        reason = TIMEOUT if running.late else running.task.reason
        return Exited(reason, running.item if self._flow.zip_input_on_exit else None)

    async def _close(self) -> None:
        """End what is left; a second cancellation leaves that to the tasks' own timers."""
        for running in self._window:
            if running.timer is not None:
                running.timer.cancel()
            running.task.untie()
            running.task.shut_down()
        for running in self._window:
            await running.task.exited()
