"""One life of an actor: its task, what it owns, who waits for it, and why it ended.

Kept apart from the actor, because refs and handles outlive the actor they point to and still have
to say how it ended.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pykka import ActorDeadError

from cortex_actors.errors import InternalError
from cortex_actors.runtime.future import TURN, AsyncioFuture, Fate, find_loop, name_message

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from pykka._envelope import Envelope


T = TypeVar("T")

logger = logging.getLogger("pykka")


@dataclass(frozen=True, slots=True)
class InHand:
    """Something an actor is at, and how long it may be."""

    title: str
    #: Seconds of the loop's clock at which it began; for a synchronous handler, at which it was
    #: first seen to run.
    since: float
    #: Seconds it may take, 0 for ever.
    limit: float
    #: What runs it, for a look at its stack.
    task: asyncio.Task[Any] | None


class Life:
    """The state of one running actor that others need to see.

    `label` names the actor in errors, `turn` counts its asynchronous handlers (guards.py).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, label: str, *, limit: float) -> None:
        """Prepare a life on a loop; `begin` starts it. A message may take `limit` seconds."""
        self.loop = loop
        self.label = label
        #: When it was made, in seconds of the loop's clock.
        self.born = loop.time()
        #: The message that is being handled; the last one, while the next is not begun.
        self.hand: Envelope[Any] | None = None
        self.turn = 0
        #: Replies that the running handler waits for.
        self.waits: list[AsyncioFuture[Any]] = []
        #: Messages handled so far, and what else is shown beside that.
        self.handled = 0
        self.counters: Mapping[str, object] = {}
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
        #: Seconds that replies which are owed may take once it is asked to end: 0 but for who is
        #: ended to be started again, as the successor of who crashed must not be kept waiting.
        self.patience = 0.0
        self._over = False
        self._task: asyncio.Task[None] | None = None
        self._give_up: Callable[[], None] | None = None
        self._limit = limit
        self._owned: set[asyncio.Task[Any]] = set()
        self._owed: dict[AsyncioFuture[Any], asyncio.Future[Any]] = {}
        #: What is done beside the message: spawned tasks, and whatever a reply waits for.
        self._beside: dict[asyncio.Future[Any], InHand] = {}
        #: When a message began, and how many had been handled with it.
        self._stamp = (0.0, 0)

    @property
    def begun(self) -> bool:
        """Return whether it was started."""
        return self._give_up is not None or self.ended.done()

    def begin(
        self, run: Callable[[], Coroutine[Any, Any, None]], close: Callable[[], None]
    ) -> None:
        """Start the actor's task, from any thread; `close` runs when it ends, whatever happens."""
        self._give_up = close

        def start() -> None:
            self._task = self.loop.create_task(run(), name=self.label)
            # A task that is killed before its first step never runs a line of its coroutine.
            self._task.add_done_callback(lambda _task: close())

        self.on_loop(start)

    @property
    def cancelling(self) -> Callable[[], int]:
        """Return what says whether the actor's own task is to end: by a kill, a crash."""
        return (lambda: 0) if self._task is None else self._task.cancelling

    @property
    def interrupted(self) -> bool:
        """Return whether the actor's own task is to end."""
        return self.cancelling() > 0

    def resume(self) -> None:
        """Let the actor's task go on after crashes (there may be several) cancelled it."""
        while self._task is not None and self._task.uncancel():
            pass

    def kill(self) -> None:
        """End the actor now, from any thread; its exit reason is "killed"."""
        if not self.ended.done():
            self.on_loop(self._kill)

    def fail(self, error: BaseException) -> None:
        """Crash the actor, from any thread; nothing once it is ending for another reason."""
        if not self.ended.done():
            self.on_loop(partial(self._fail, error))

    def abandon(self) -> None:
        """Give up an actor that survives `kill`, from any thread: for all others it has ended.

        Its task may go on unseen, and what it still does has effect; its name is free at once.
        """
        if self._give_up is not None:
            self.on_loop(self._give_up)

    def stamp(self) -> None:
        """Note the time at which the present message began."""
        self._stamp = (self.loop.time(), self.handled)

    def list_work(self) -> list[InHand]:
        """Return the message being handled, the deferred replies and the spawned tasks.

        From any thread, since what a loop hangs in can be seen only from another.
        """
        hand, found = self.hand, []
        if hand is not None:
            if self._stamp[1] != self.handled:
                self.stamp()
            found.append(
                InHand(name_message(hand.message), self._stamp[0], self._limit, self._task)
            )
        return [*found, *list(self._beside.values())]

    def spawn(
        self, work: Coroutine[Any, Any, T], name: str | None, limit: float = 0.0
    ) -> asyncio.Task[T]:
        """Start a task that ends with the actor."""
        if self._over:
            work.close()
            raise ActorDeadError(f"{self.label} has ended and can start no task")
        context = copy_context()
        context.run(TURN.set, None)
        titled = str(name or getattr(work, "__qualname__", "task"))
        task = self.loop.create_task(work, name=f"{self.label}/{titled}", context=context)
        self._owned.add(task)
        self._beside[task] = InHand(titled, self.loop.time(), limit, task)
        task.add_done_callback(self._on_task_done)
        return task

    def owe(self, reply: AsyncioFuture[Any], work: asyncio.Future[Any]) -> None:
        """Answer later with what `work` gives; the asker hears of it if the actor ends first."""
        reply.target = None  # the mailbox goes on: this wait closes no ring
        self._owed[reply] = work
        known = self._beside.get(work)
        # A deferred reply is seen like the message that it answers.
        if known is None:
            task = work if isinstance(work, asyncio.Task) else None
            self._beside[work] = InHand("deferred reply", self.loop.time(), self._limit, task)
        elif not known.limit:
            self._beside[work] = replace(known, limit=self._limit, since=self.loop.time())
        work.add_done_callback(partial(self._pay, reply))

    async def settle(self) -> None:
        """Wait for the replies that are owed, for as long as `patience` says."""
        if self._owed and self.patience:
            await asyncio.wait(self._owed.values(), timeout=self.patience)

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
            # Its task may have ended before a line of it ran.
            self.reason = "killed" if self.killed else self.crash or "killed"
        self._default()
        self._give_up = None  # or the actor would be kept as long as a ref to it
        for task in self._owned:  # they refused to end
            task.cancel()
        self.started.fail(self.make_dead_error("ended before it had started"), Fate.DIED)
        self.ended.set(self.reason)

    def on_loop(self, action: Callable[[], object]) -> None:
        """Have something done on the actor's loop: now, on its own thread."""
        if find_loop() is self.loop:
            action()
        else:
            self.loop.call_soon_threadsafe(action)

    def make_dead_error(self, when: str) -> ActorDeadError:
        """Return the error for an asker that waits for this actor."""
        return ActorDeadError(f"{self.label} {when}")

    def _default(self) -> None:
        owed, self._owed = self._owed, {}
        for reply in owed:
            reply.fail(self.make_dead_error("ended before it had the answer"), Fate.DIED)

    def _pay(self, reply: AsyncioFuture[Any], work: asyncio.Future[Any]) -> None:
        self._beside.pop(work, None)
        error = None if work.cancelled() else work.exception()
        if self._owed.pop(reply, None) is None:
            return
        if work.cancelled():
            lost = InternalError(f"the answer of {self.label} was cancelled; ask again")
            reply.fail(lost, Fate.DIED)
        elif error is None:
            reply.set(work.result())
        else:
            reply.set_exception((type(error), error, error.__traceback__))

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._owned.discard(task)
        self._beside.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is None or task in self._owed.values():
            return
        if not self._fail(error):
            logger.warning("%s ended with %r after its actor", task.get_name(), error)

    def _fail(self, error: BaseException) -> bool:
        if self.reason is not None or self._over:
            return False
        self.crash = self.crash or error
        if self._task is not None:
            self._task.cancel()
        return True

    def _kill(self) -> None:
        if self._task is not None and not self._task.done():
            self.killed = True
            self._task.cancel()
