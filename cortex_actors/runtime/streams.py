"""A stream of results: one task for each item, so many at a time, in order or as they come.

One task of a task supervisor: awaited, asked to end, killed, and why it ended.

It has the methods that `supervision.py` calls on a child; neither imports the other.

What it means that a task is linked to its caller: they live and die together.

The caller is the actor in whose handler the task was started, or else the asyncio task. When it
ends, the task is shut down. When the task ends in any way but "normal":

- an actor crashes with the task's error, whatever its handler is at (`AsyncioRef.fail`);
- an asyncio task gets the error where it awaits that task, as does whoever else awaits it. If
  nobody does, the caller is cancelled, which is all that asyncio lets us do to it, and the log
  says why; an `await_` of another task, or of a stream, that is cut short by this raises the error
  in place of the cancellation.

A one-way link ends the task with its caller and spares the caller the end of the task.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
)
from weakref import WeakKeyDictionary

from cortex_actors.errors import DeadlineExceeded, InternalError, TaskEnded
from cortex_actors.runtime.future import TURN, loop_here
from cortex_actors.runtime.life import Exit, Life, life_here

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sized


log = logging.getLogger("cortex.tasks")

#: Whoever starts a task.
Caller: TypeAlias = "Life | asyncio.Task[Any]"

#: Why we cancelled an asyncio task, until it has heard of it.
_CRASHES: WeakKeyDictionary[asyncio.Task[Any], Exception] = WeakKeyDictionary()


class Linked(Protocol):
    """A task, as far as its link is concerned."""

    #: What to call it where people read.
    name: str

    @property
    def reason(self) -> object:
        """Return why it ended; None while it runs."""

    @property
    def awaiting(self) -> Sized:
        """Return who gets its error anyway."""

    def error(self) -> Exception:
        """Return what went wrong, as somebody who awaits it gets it."""

    def shut_down(self) -> None:
        """Ask it to end."""


class Link:
    """One task and its caller, until either has ended."""

    def __init__(self, task: Linked, caller: Caller, *, one_way: bool = False) -> None:
        self.caller = caller
        self.one_way = one_way
        self._task = task
        if isinstance(caller, Life):
            caller.ended.add_done_callback(self._on_caller_end)
        else:
            caller.add_done_callback(self._on_caller_end)

    def cut(self) -> None:
        """Let either end without the other."""
        self.one_way = True
        if isinstance(self.caller, Life):
            self.caller.ended.remove_done_callback(self._on_caller_end)
        else:
            self.caller.remove_done_callback(self._on_caller_end)

    def settle(self) -> None:
        """Cut the link of a task that has ended, and strike the caller if it ended badly."""
        spared = self.one_way or self._task.reason == "normal"
        self.cut()
        if not spared:
            self._strike(self._task.reason)

    def _strike(self, reason: object) -> None:
        if isinstance(self.caller, Life):
            self.caller.fail(reason if isinstance(reason, Exception) else Exit(reason))
        elif not (self._task.awaiting or self.caller.done() or self.caller in _CRASHES):
            name = self.caller.get_name()
            log.error("%s is cancelled: its task %s ended: %r", name, self._task.name, reason)
            _CRASHES[self.caller] = self._task.error()
            self.caller.cancel(f"its task {self._task.name} ended: {reason!r}")

    def _on_caller_end(self, _caller: asyncio.Task[Any] | None = None) -> None:
        self._task.shut_down()


def caller_here() -> Caller | None:
    """Return the actor in whose own task this code runs, else the asyncio task, if it is in one."""
    return life_here() or (None if loop_here() is None else asyncio.current_task())


def demand_caller() -> Caller:
    """Return who calls; raises InternalError in a callback, which is nobody that could crash."""
    caller = caller_here()
    if caller is None:
        raise InternalError(
            "cannot link a task here: a callback has no life of its own; use start_child"
        )
    return caller


def surface() -> None:
    """Raise why this asyncio task was cancelled, if a link did it and nobody else as well."""
    here = asyncio.current_task()
    crash = None if here is None else _CRASHES.pop(here, None)
    if here is not None and crash is not None and here.uncancel() == 0:
        raise crash


T = TypeVar("T")

#: What a task does: a function without arguments, because a coroutine could not be started twice,
#: nor thrown away unstarted without a warning.
Work: TypeAlias = "Callable[[], Coroutine[Any, Any, T]]"

#: How a task is ended: seconds to clean up in after it was asked to, or killed without being asked.
Shutdown: TypeAlias = float | Literal["brutal_kill"]

#: When a task is started again: always, unless its end was orderly, never.
Restart: TypeAlias = Literal["permanent", "transient", "temporary"]

#: The `shutdown` of a task that is killed without being asked.
BRUTAL_KILL: Final = "brutal_kill"

#: Seconds a task has to clean up in before it is killed: OTP's default.
SHUTDOWN = 5.0

#: Seconds a killed task has to end in before it is abandoned: as long as the supervision engine.
GRACE = 5.0

#: Seconds until a killed task is cancelled again; each wait is twice the one before, so that a
#: clean-up is cut short at once and a loop that swallows cancellations does not spin.
FIRST_WAIT = 0.001

#: Seconds somebody waits for a result: Elixir's default.
AWAIT = 5.0


@dataclass(slots=True, eq=False)
class TaskSpec(Generic[T]):
    """How a task is started and ended, in all its lives; raises InternalError for nonsense."""

    work: Work[T]
    _: KW_ONLY
    #: What it is called where people read; None is what its function is called.
    name: str | None = None
    shutdown: Shutdown = SHUTDOWN
    restart: Restart = "temporary"
    #: Whether nobody awaits it.
    alone: bool = False

    def __post_init__(self) -> None:
        """Refuse what would be found out only when the task ends."""
        check_shutdown(self.shutdown)
        if self.restart not in get_args(Restart):
            text = f"restart is {self.restart!r}: give one of {', '.join(get_args(Restart))}"
            raise InternalError(text)

    def lasts(self, reason: object) -> bool:
        """Return whether it is started again after it has ended so."""
        orderly = is_orderly(reason)
        return self.restart == "permanent" or (self.restart == "transient" and not orderly)


class TaskHandle(Generic[T]):
    """One life of a task.

    Its exit reason is "normal" after a return, the exception that it raised, the reason of an
    `Exit` that it raised, "shutdown" when it was asked to end, or "killed". To ask is to cancel
    it: it may clean up for `shutdown` seconds. To kill is to cancel it until it ends, whatever it
    is at; what refuses for `grace` seconds is abandoned, and the log says so.
    """

    def __init__(
        self,
        spec: TaskSpec[T],
        *,
        grace: float = GRACE,
        on_end: Callable[[TaskHandle[T]], object] = lambda _: None,
    ) -> None:
        """Start the task; `on_end` is called with the handle when it has ended."""
        self.spec = spec
        self.name = spec.name or title_of(spec.work)
        #: Why it ended; None while it runs.
        self.reason: object = None
        #: Whether it ended by a return.
        self.returned = False
        #: Who awaits its result now.
        self.awaiting: list[object] = []
        self.link: Link | None = None
        self._grace = grace
        self._on_end = on_end
        self._asked = self._killed = False
        self._late: DeadlineExceeded | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._over: asyncio.Future[None] = self._loop.create_future()
        context = copy_context()
        context.run(TURN.set, None)  # a ring of waits is not followed through it (guards.py)
        self._task = self._loop.create_task(self._run(), name=self.name, context=context)
        self._task.add_done_callback(self._settle)

    def __repr__(self) -> str:
        """Return its name, and why it ended."""
        return f"<task {self.name}: {'runs' if self.reason is None else repr(self.reason)}>"

    async def await_(self, timeout: float | None = AWAIT) -> T:
        """Return what the task returned; raises what it raised.

        Raises TaskEnded if it ended otherwise, and DeadlineExceeded after `timeout` seconds: the
        task is then shut down, its caller is spared the end of it, and what it may still return
        is dropped. A waiter that is cancelled changes nothing.
        """
        await self._await(timeout)
        if not self._over.done():
            text = f"the task {self.name} did not end within {timeout} s, so it was shut down"
            self._late = self._late or DeadlineExceeded(text)
            self.untie()
            self.shut_down()
        return self.result()

    def done(self) -> bool:
        """Return whether it has ended, or was abandoned."""
        return self._over.done()

    def result(self) -> T:
        """Return what the task returned, which has ended; raises as `await_` does."""
        if self._late is not None:
            raise self._late
        if not self.returned:
            raise self.error()
        return self._task.result()

    def error(self) -> Exception:
        """Return what somebody gets who awaits this task, which has ended without a result."""
        if isinstance(self.reason, Exception):
            return self.reason
        text = f"the task {self.name} ended without a result: {self.reason!r}"
        return TaskEnded(text, self.reason)

    def shut_down(self) -> None:
        """Ask it to end, and kill it if it has not after `shutdown` seconds; returns at once."""
        if self.spec.shutdown == BRUTAL_KILL:
            self.kill()
        elif not (self._over.done() or self._asked or self._killed):
            self._asked = True
            self._task.cancel()
            if self.spec.shutdown != math.inf:
                self._timer = self._loop.call_later(float(self.spec.shutdown), self.kill)

    async def stop(self, timeout: float | None) -> None:
        """Ask it to end and wait until it has.

        Raises TimeoutError if that takes more than `timeout` seconds (None: wait for ever).
        """
        self.shut_down()
        await asyncio.wait({self._over}, timeout=None if timeout == math.inf else timeout)
        if not self._over.done():
            raise TimeoutError(f"the task {self.name} did not end within {timeout} s: kill it")

    def kill(self) -> None:
        """End it now; `exited` then gives "killed"; harmless when it has ended."""
        if self._over.done() or self._killed:
            return
        self._killed = True
        self._insist(FIRST_WAIT)

    async def exited(self) -> object:
        """Wait until it has ended and return why."""
        await asyncio.wait({self._over})
        return self.reason

    def on_over(self, callback: Callable[[], object]) -> None:
        """Call it soon after the task has ended."""
        self._over.add_done_callback(lambda _: callback())

    def tie(self, caller: Caller, *, one_way: bool = False) -> None:
        """Link it to its caller."""
        self.link = Link(self, caller, one_way=one_way)

    def untie(self) -> None:
        """Let it and its caller end without one another."""
        if self.link is not None:
            self.link.cut()

    def spare(self, caller: Caller | None) -> None:
        """Do not strike that caller with the end that it asked for itself."""
        if self.link is not None and self.link.caller is caller:
            self.link.one_way = True

    async def _run(self) -> T:
        try:
            return await self.spec.work()
        except asyncio.CancelledError as error:
            if self._task.cancelling():
                raise
            text = f"the task {self.name} waited for something that was cancelled"
            raise InternalError(text) from error

    async def _await(self, timeout: float | None) -> None:
        me = object()
        self.awaiting.append(me)
        try:
            await asyncio.wait({self._over}, timeout=timeout)
        except asyncio.CancelledError:
            surface()
            raise
        finally:
            self.awaiting.remove(me)

    def _settle(self, task: asyncio.Task[T]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._over.done():
            log.warning("the task %s, which was abandoned, ended: %r", self.name, error)
            return
        if isinstance(error, asyncio.CancelledError):
            asked = self._asked and not self._killed
            self._end("shutdown" if asked else "killed")
        elif isinstance(error, Exit):
            self._end(error.reason)
        else:
            self.returned = error is None
            self._end("normal" if error is None else error)

    def _insist(self, wait: float) -> None:
        """Cancel it again and again, since its clean-up must be cancelled, too; then abandon it."""
        self._task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        more = 2 * wait < self._grace
        then = partial(self._insist, 2 * wait) if more else self._abandon
        self._timer = self._loop.call_later(wait, then)

    def _abandon(self) -> None:
        log.error("the task %s survived being killed and is abandoned", self.name)
        self._end("killed")

    def _end(self, reason: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.reason = reason
        if self.link is not None:
            self.link.settle()
        self._over.set_result(None)
        self._on_end(self)


def check_shutdown(shutdown: object) -> None:
    """Raise InternalError for what is no way to end a task."""
    patient = isinstance(shutdown, int | float) and shutdown >= 0
    if not (patient or shutdown == BRUTAL_KILL):
        text = f"shutdown is {shutdown!r}: give seconds, math.inf or {BRUTAL_KILL!r}"
        raise InternalError(text)


def title_of(work: object) -> str:
    """Return what a task is called that was given no name: what its function is called."""
    while isinstance(work, partial):
        work = work.func
    return str(getattr(work, "__qualname__", type(work).__name__))


def is_orderly(reason: object) -> bool:
    """Return whether an exit reason is one of those that are no failure."""
    match reason:
        case "normal" | "shutdown" | ("shutdown", _):
            return True
    return False


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
            surface()
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
