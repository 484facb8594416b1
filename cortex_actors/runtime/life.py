"""One life of an actor: its task, what it owns, who waits for it, and why it ended.

Kept apart from the actor, because refs and handles outlive the actor they point to and still have
to say how it ended.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import copy_context
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pykka import ActorDeadError

from cortex_actors.errors import InternalError
from cortex_actors.runtime.future import AsyncioFuture, Fate
from cortex_actors.runtime.guards import TURN, loop_here

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

logger = logging.getLogger("pykka")


class AskErrors(StrEnum):
    """What happens to an actor whose handler raises while an asker waits."""

    #: The asker gets the exception and the actor lives: Pykka's contract.
    REPLY = "reply"
    #: The asker gets the exception and the actor ends with it: OTP's.
    CRASH = "crash"


class Exit(Exception):  # OTP's word; it is a request, not an error
    """Raised in a handler or a spawned task to end the actor with a reason of its choice."""

    def __init__(self, reason: object = "normal") -> None:
        """Name the exit reason: "normal", "shutdown", ("shutdown", x), an exception, anything."""
        super().__init__(reason)
        self.reason = reason


class Life:
    """The state of one running actor that others need to see.

    `label` names the actor in errors, `turn` counts its asynchronous handlers (guards.py).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, label: str) -> None:
        """Prepare a life on a loop; `begin` starts it."""
        self.loop = loop
        self.label = label
        self.turn = 0
        #: Replies that the running handler waits for.
        self.waits: list[AsyncioFuture[Any]] = []
        #: Messages handled so far.
        self.handled = 0
        #: Answered when on_start is done; fails with what it raised.
        self.started: AsyncioFuture[None] = AsyncioFuture()
        #: Answered with the exit reason, after everything the actor owned has ended.
        self.ended: AsyncioFuture[object] = AsyncioFuture()
        #: Why it ended; None while it lives.
        self.reason: object = None
        #: What a spawned task raised, when that is what ends the actor.
        self.crash: BaseException | None = None
        #: Whether kill() is what ends it.
        self.killed = False
        self._over = False
        self._task: asyncio.Task[None] | None = None
        self._owned: set[asyncio.Task[Any]] = set()
        self._owed: dict[AsyncioFuture[Any], asyncio.Future[Any]] = {}

    def begin(
        self, run: Callable[[], Coroutine[Any, Any, None]], close: Callable[[], None]
    ) -> None:
        """Start the actor's task, from any thread; `close` runs when it ends, whatever happens."""

        def start() -> None:
            self._task = self.loop.create_task(run(), name=self.label)
            # A task that is killed before its first step never runs a line of its coroutine.
            self._task.add_done_callback(lambda _task: close())

        self._on_loop(start)

    @property
    def interrupted(self) -> bool:
        """Return whether the actor's task itself was told to end, by a kill or a crash."""
        return self._task is not None and self._task.cancelling() > 0

    def resume(self) -> None:
        """Let the actor's task go on after a crash cancelled it, to clean up."""
        if self._task is not None:
            self._task.uncancel()

    def kill(self) -> None:
        """End the actor now, from any thread; its exit reason is "killed"."""
        if not self.ended.done():
            self._on_loop(self._kill)

    def spawn(self, work: Coroutine[Any, Any, T], name: str | None) -> asyncio.Task[T]:
        """Start a task that ends with the actor."""
        if self._over:
            work.close()
            message = f"{self.label} has ended and can start no task"
            raise ActorDeadError(message)
        context = copy_context()
        context.run(TURN.set, None)
        title = f"{self.label}/{name or getattr(work, '__qualname__', 'task')}"
        task = self.loop.create_task(work, name=title, context=context)
        self._owned.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def owe(self, reply: AsyncioFuture[Any], work: asyncio.Future[Any]) -> None:
        """Answer later with what `work` gives; the asker hears of it if the actor ends first."""
        reply.target = None  # the mailbox goes on: this wait closes no ring
        self._owed[reply] = work
        work.add_done_callback(partial(self._pay, reply))

    async def wind_up(self) -> None:
        """Fail what is still owed, then cancel the owned tasks and wait until they have ended."""
        self._over = True
        self._default()
        while self._owned:
            for task in self._owned:
                task.cancel()
            await asyncio.wait(self._owned)

    def close(self) -> None:
        """Tell everyone that this life is over; a second call does nothing."""
        if self.ended.done():
            return
        self._over = True
        if self.killed or self.reason is None:
            self.reason = "killed"
        self._default()
        for task in self._owned:  # they refused to end
            task.cancel()
        self.started.fail(self.dead("ended before it had started"), Fate.DIED)
        self.ended.set(self.reason)

    def dead(self, when: str) -> ActorDeadError:
        """Return the error for somebody who waits for this actor."""
        return ActorDeadError(f"{self.label} {when}")

    def _default(self) -> None:
        owed, self._owed = self._owed, {}
        for reply in owed:
            reply.fail(self.dead("ended before it had the answer"), Fate.DIED)

    def _pay(self, reply: AsyncioFuture[Any], work: asyncio.Future[Any]) -> None:
        error = None if work.cancelled() else work.exception()
        if self._owed.pop(reply, None) is None:
            return
        if work.cancelled():
            lost = InternalError(f"the answer of {self.label} was cancelled; ask again")
            reply.fail(lost, Fate.DIED)
            return
        if error is None:
            reply.set(work.result())
        else:
            reply.set_exception((type(error), error, error.__traceback__))

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._owned.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None or task in self._owed.values():
            return
        if self.reason is not None or self._over:
            logger.warning("%s ended with %r after its actor", task.get_name(), error)
            return
        self.crash = self.crash or error
        if self._task is not None:
            self._task.cancel()

    def _kill(self) -> None:
        if self._task is not None and not self._task.done():
            self.killed = True
            self._task.cancel()

    def _on_loop(self, action: Callable[[], None]) -> None:
        if loop_here() is self.loop:
            action()
        else:
            self.loop.call_soon_threadsafe(action)
