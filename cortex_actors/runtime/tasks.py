"""A task supervisor: tasks that are somebody's, limited in number, and gone when it has ended.

The idea, the words and the rules are those of Elixir's `Task.Supervisor`; the credit is theirs.
Three ways to start a task, by who hears of its failure: `async_` (its caller, at once),
`async_nolink` (whoever awaits it), `start_child` (nobody but the log; it may be restarted).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from cortex_actors.errors import ActorAway, NotFound, TooManyTasks
from cortex_actors.runtime import streams
from cortex_actors.runtime.future import AsyncioFuture
from cortex_actors.runtime.streams import (
    GRACE,
    SHUTDOWN,
    Flow,
    Stream,
    TaskHandle,
    TaskSpec,
    is_orderly,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable

    from cortex_actors.runtime.streams import Exited, Ok, Restart, Shutdown, StreamOptions, Work

I = TypeVar("I")  # noqa: E741 - the item, as R is the result
R = TypeVar("R")
T = TypeVar("T")

log = logging.getLogger("cortex.tasks")


class TaskSupervisor:
    """Starts tasks, knows them, and ends them when it ends; a `supervision.Handle` itself.

    At most `max_children` run at a time, those that clean up included. More than `intensity`
    restarts in `period` seconds are too many: it ends its tasks and itself with the reason
    "shutdown", and its own supervisor decides. Its tasks are lost with it. It lives on the loop it
    is made on, and everything here is called there.
    """

    def __init__(
        self,
        *,
        name: str,
        max_children: float = math.inf,
        intensity: int = 3,
        period: float = 5.0,
        grace: float = GRACE,
    ) -> None:
        self.name = name
        self.max_children = max_children
        self._intensity = intensity
        self._period = period
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._children: dict[TaskSpec[Any], TaskHandle[Any]] = {}
        #: When a child was restarted, in seconds of the loop's clock, the latest last.
        self._recent: deque[float] = deque()
        self._ended = self._failed = self._restarts = 0
        self._reason: str | None = None
        self._over: AsyncioFuture[object] = AsyncioFuture()

    @classmethod
    async def start(cls, *, name: str, max_children: float = math.inf) -> Self:
        """Make one: the start function of a `supervision.ChildSpec` of type "supervisor"."""
        return cls(name=name, max_children=max_children)

    # Tasks.

    def async_(
        self, work: Work[T], *, shutdown: Shutdown = SHUTDOWN, name: str | None = None
    ) -> TaskHandle[T]:
        """Start a task that is linked to its caller, who is expected to await it.

        If the caller ends, the task is shut down; if the task fails, so does its caller (links.py
        says how, for an actor and for an asyncio task). Raises TooManyTasks; ActorAway once the
        supervisor ends; InternalError in a callback, where nobody calls.
        """
        return self._linked(TaskSpec(work, name=name, shutdown=shutdown))

    def async_nolink(
        self, work: Work[T], *, shutdown: Shutdown = SHUTDOWN, name: str | None = None
    ) -> TaskHandle[T]:
        """Start a task whose failure is raised where it is awaited, and nowhere else.

        It goes on when its caller ends. Raises TooManyTasks, and ActorAway once the supervisor
        ends.
        """
        return self._launch(TaskSpec(work, name=name, shutdown=shutdown))

    def start_child(
        self,
        work: Work[T],
        *,
        restart: Restart = "temporary",
        shutdown: Shutdown = SHUTDOWN,
        name: str | None = None,
    ) -> TaskHandle[T]:
        """Start a task for its effects; its crash is logged, and restarts it if `restart` says so.

        The handle is of its first life; `which_children` has the others. Raises TooManyTasks, and
        ActorAway once the supervisor ends.
        """
        spec = TaskSpec(work, name=name, shutdown=shutdown, restart=restart, alone=True)
        return self._launch(spec)

    async def terminate_child(self, task: TaskHandle[Any]) -> None:
        """End a task, whichever of its lives that is, and wait until it has ended.

        It is not restarted, and it is killed if it has not ended after its `shutdown`. A caller
        who ends a task of its own is not struck by that. Raises NotFound if no such task runs.
        """
        now = self._children.get(task.spec)
        if now is None:
            raise NotFound(f"{task} is no task of {self.name} (any more): see which_children")
        task.spec.restart = "temporary"
        now.spare(streams.caller_here())
        now.shut_down()
        await now.exited()

    def which_children(self) -> list[TaskHandle[Any]]:
        """Return the tasks that run, the newest first."""
        return list(reversed(self._children.values()))

    def count_children(self) -> dict[str, int]:
        """Return how many there are, in the words of `supervision.Supervisor.count_children`."""
        count = len(self._children)
        return {"specs": count, "active": count, "supervisors": 0, "workers": count}

    # Streams.

    def async_stream(
        self,
        items: Iterable[I],
        work: Callable[[I], Coroutine[Any, Any, R]],
        *,
        trap_exit: bool = False,
        **options: Unpack[StreamOptions],
    ) -> AsyncGenerator[Ok[R] | Exited[I], None]:
        """Run a task for each item and give `Ok(value)` for each; nothing starts before its turn.

        The tasks are linked to whoever consumes the stream: when one fails, so does the consumer
        (an asyncio task gets the error from the stream). With `trap_exit` the consumer gets an
        `Exited` for that item instead. `StreamOptions` are the other options.

        However the stream ends, the tasks that are left are shut down and have ended before it
        does. Who leaves early says so: `async with contextlib.aclosing(stream)`. Raises
        InternalError at once for options that make no sense; TooManyTasks when it comes to it.
        """
        flow = Flow(**options)

        def start(item: I) -> TaskHandle[R]:
            each: Work[R] = partial(work, item)
            spec = TaskSpec(each, name=title_of(work), shutdown=flow.shutdown)
            return self._linked(spec, one_way=trap_exit)

        return Stream(items, start, flow, trap_exit=trap_exit).results()

    def async_stream_nolink(
        self,
        items: Iterable[I],
        work: Callable[[I], Coroutine[Any, Any, R]],
        **options: Unpack[StreamOptions],
    ) -> AsyncGenerator[Ok[R] | Exited[I], None]:
        """Run a task for each item as `async_stream` does; one that fails gives an `Exited`.

        A failure strikes nobody; the tasks still end with the stream, or with its consumer.
        """
        return self.async_stream(items, work, trap_exit=True, **options)

    # Its own life: the three methods of a Handle, and those of an owner in a Registry.

    async def stop(self, timeout: float | None = None) -> None:
        """Start nothing more, end all tasks at once, each with its `shutdown`; then end.

        Raises TimeoutError when that takes longer than `timeout` seconds; it goes on all the same.
        """
        caller = streams.caller_here()
        for task in self._children.values():
            task.spare(caller)
        self._end("shutdown")
        async with asyncio.timeout(None if timeout == math.inf else timeout):
            await self._over

    def kill(self) -> None:
        """Kill all tasks and end; `exited` then gives "killed"; harmless when it has ended."""
        if not self._over.done():
            self._reason = "killed"
            for task in self._children.values():
                task.kill()
            self._conclude()

    async def exited(self) -> object:
        """Wait until it and its tasks have ended, and return why: "shutdown" or "killed"."""
        return await self._over

    def is_alive(self) -> bool:
        """Return whether it starts tasks."""
        return self._reason is None

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call it when the supervisor and its tasks have ended; at once if they have."""
        self._over.add_done_callback(callback)

    def off_end(self, callback: Callable[[], None]) -> None:
        """Do not call it any more."""
        self._over.remove_done_callback(callback)

    def info(self) -> dict[str, object]:
        """Return what the live tree shows of it: tasks that run, have ended, failed, came back."""
        return {
            "tasks": len(self._children),
            "ended": self._ended,
            "failed": self._failed,
            "restarts": self._restarts,
        }

    def _linked(self, spec: TaskSpec[T], *, one_way: bool = False) -> TaskHandle[T]:
        caller = streams.demand_caller()
        task = self._launch(spec)
        task.tie(caller, one_way=one_way)
        return task

    def _launch(self, spec: TaskSpec[T]) -> TaskHandle[T]:
        if self._reason is not None:
            raise ActorAway(f"{self.name} has ended and starts no task: use its successor")
        if len(self._children) >= self.max_children:
            raise TooManyTasks(
                f"{self.name} has reached the maximum number of tasks, {self.max_children}: "
                "wait for one to end, or allow more"
            )
        task = TaskHandle(spec, grace=self._grace, on_end=self._on_end)
        self._children[spec] = task
        return task

    def _on_end(self, task: TaskHandle[Any]) -> None:
        del self._children[task.spec]
        self._ended += 1
        self._failed += not is_orderly(task.reason)
        if isinstance(task.reason, BaseException):
            level = logging.ERROR if task.spec.alone else logging.INFO
            log.log(level, "the task %s crashed", task.name, exc_info=task.reason)
        if self._reason is None and task.spec.lasts(task.reason):
            self._restart(task.spec)
        self._conclude()

    def _restart(self, spec: TaskSpec[Any]) -> None:
        now = self._loop.time()
        self._recent.append(now)
        while self._recent[0] < now - self._period:
            self._recent.popleft()
        if len(self._recent) > self._intensity:
            title = spec.name or title_of(spec.work)
            log.error("%s gives up: too many restarts, the last of %s", self.name, title)
            self._end("shutdown")
            return
        self._restarts += 1
        self._launch(spec)

    def _end(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
            for task in self._children.values():
                task.shut_down()
        self._conclude()

    def _conclude(self) -> None:
        if self._reason is not None and not self._children and not self._over.done():
            self._over.set(self._reason)
