"""One task of a task supervisor: awaited, asked to end, killed, and why it ended.

It has the methods that `supervision.py` calls on a child; neither imports the other.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from cortex_actors.errors import DeadlineExceeded, InternalError, TaskEnded
from cortex_actors.runtime import links
from cortex_actors.runtime.guards import TURN
from cortex_actors.runtime.life import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

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

log = logging.getLogger("cortex.tasks")


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
        self.link: links.Link | None = None
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

    def tie(self, caller: links.Caller, *, one_way: bool = False) -> None:
        """Link it to its caller."""
        self.link = links.Link(self, caller, one_way=one_way)

    def untie(self) -> None:
        """Let it and its caller end without one another."""
        if self.link is not None:
            self.link.cut()

    def spare(self, caller: links.Caller | None) -> None:
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
            links.surface()
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
