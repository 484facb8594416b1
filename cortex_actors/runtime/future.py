"""A Pykka future that can be awaited without blocking its loop.

Pykka's own `await future` yields once and then blocks the thread. This one parks the awaiting
task and is woken by whichever thread brings the answer.

What keeps a loop from waiting for itself: the blocking guard and the call-cycle guard.

A blocking wait on the thread that runs the loop can never be answered, because the answer would
come from that loop. A ring of actors that await one another is the same mistake with more people.
Both raise before anything is sent. Not seen: a ring that passes through a spawned task or another
thread; those end by their timeout.

What the runtime itself sends through a mailbox: an end that is asked for. No mailbox refuses or
drops these, however full it is; like any other message they wait their turn.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sys
import threading
from contextlib import suppress
from contextvars import ContextVar
from enum import StrEnum
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast

import pykka
from pykka._future import _Unset
from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr, _ActorStop

from cortex_actors.errors import BlockingInLoopError, CallCycleError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from pykka._envelope import Envelope
    from pykka._types import OptExcInfo


class Waiter(Protocol):
    """An actor, as far as waiting is concerned."""

    #: What to call it in an error.
    label: str

    #: The number of the handler that runs now; a number that has passed is never used again.
    turn: int

    #: The replies that the running handler waits for.
    waits: list[AsyncioFuture[Any]]


#: The actor whose handler this code runs in and the number of that turn; None outside handlers.
#: A task started by a handler inherits it, and is taken for detached once the turn is over.
TURN: ContextVar[tuple[Waiter, int] | None] = ContextVar("TURN", default=None)


def find_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def refuse_to_block(call: str, instead: str) -> None:
    """Raise BlockingInLoopError if this thread runs an event loop."""
    if find_loop() is not None:
        message = f"{call} would freeze the event loop of this thread; use {instead}"
        raise BlockingInLoopError(message)


def find_waiter() -> Waiter | None:
    """Return the actor that cannot take its next message before this code has gone on."""
    turn = TURN.get()
    return turn[0] if turn is not None and turn[0].turn == turn[1] else None


def refuse_cycle(me: Waiter, target: Waiter) -> None:
    """Raise CallCycleError if `target` waits for `me`, directly or through others."""
    if (path := _path(target, me, [])) is not None:
        ring = " -> ".join(actor.label for actor in (me, *path))
        raise CallCycleError(f"the ask would never be answered: {ring} wait for one another")


def _path(start: Waiter, goal: Waiter, seen: list[Waiter]) -> list[Waiter] | None:
    if start is goal:
        return [start]
    if any(start is one for one in seen):
        return None
    seen.append(start)
    for asked in start.waits:
        rest = None if asked.target is None else _path(asked.target, goal, seen)
        if rest is not None:
            return [start, *rest]
    return None


T = TypeVar("T")
J = TypeVar("J")
M = TypeVar("M")
R = TypeVar("R")


class Fate(StrEnum):
    """What became of the message that a future is the reply to."""

    #: Nothing is known yet, or the handler answered (a value or its exception).
    ANSWERED = "answered"
    #: No handler ever saw it, so it is safe to send it again.
    UNHANDLED = "unhandled"
    #: The actor ended while it had the message: it may or may not have taken effect.
    DIED = "died"
    #: The asker stopped waiting; a late answer is dropped.
    EXPIRED = "expired"


class AsyncioFuture(pykka.Future[T]):
    """An answer that comes later, to a task or to a thread.

    `await` it on a loop, `get()` it on a thread without one: `get()` on a loop's own thread raises
    BlockingInLoopError unless the answer is already here. May be set from any thread, once.
    """

    #: One lock for all futures: it is held for a few instructions, and one lock per future would
    #: be a third of the cost of an ask.
    _lock: ClassVar[threading.Lock] = threading.Lock()

    #: What became of the message.
    fate: Fate = Fate.ANSWERED

    #: Who has to answer, for the call-cycle guard; None once its mailbox goes on without it.
    target: Waiter | None = None

    # Defaults live on the class because an ask makes one of these objects.
    _get_hook: Callable[[float | None], T] | None = None
    _get_hook_result: T | _Unset = _Unset()
    _done: bool = False
    _value: T | None = None
    _error: BaseException | None = None
    _traceback: TracebackType | None = None
    _callbacks: list[Callable[[], None]] | None = None
    _parked: asyncio.Future[None] | None = None  # the first task that awaits
    _thread: int = 0  # where it does

    if not TYPE_CHECKING:
        # Nothing to do, and Pykka's would do it: a call into Python saved for each ask.
        __init__ = object.__init__

    def done(self) -> bool:
        """Return whether the answer, or an exception in its place, is here."""
        return self._done

    def set(self, value: T | None = None) -> None:
        """Give the answer; raises queue.Full if there is one (Pykka's contract)."""
        self._settle(value, None, None)

    def set_exception(self, exc_info: OptExcInfo | None = None) -> None:
        """Give an exception in place of the answer: the one being handled, if none is named."""
        kind, error, traceback = exc_info or sys.exc_info()
        if error is None and kind is not None:
            error = kind()
        self._settle(None, error, traceback)

    def fail(self, error: BaseException, fate: Fate) -> None:
        """Give an exception and say what became of the message; nothing if already answered."""
        with suppress(queue.Full):
            self._settle(None, error, None, fate)

    def set_get_hook(self, func: Callable[[float | None], T]) -> None:
        """Compute the answer when it is asked for; raises queue.Full if there is one."""
        with self._lock:
            if self._done:
                raise queue.Full
            self._get_hook = func

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Call it when the answer is here, on the thread that brings it; at once if it is."""
        with self._lock:
            if not self._done:
                self._callbacks = [*(self._callbacks or ()), callback]
                return
        callback()

    def get(self, *, timeout: float | None = None) -> T:
        """Wait for the answer, blocking this thread.

        Raises BlockingInLoopError on a thread that runs a loop, pykka.Timeout after `timeout`
        seconds, and the exception that was given in place of an answer.
        """
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if not self._done:
            self._block(timeout)
        return self._result()

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for the answer without blocking the loop; raises CallCycleError for a ring.

        What Pykka computes of other answers (`map`, `join` ...) is computed on a thread.
        """
        if self._get_hook is not None:
            return (yield from asyncio.to_thread(self.get).__await__())
        if not self._done:
            me = None if self.target is None else find_waiter()
            if me is None:
                parked = asyncio.get_running_loop().create_future()
                if self._park(parked):
                    yield from parked
            else:
                yield from self._park_within(me)
        if self._error is None:
            return cast("T", self._value)
        return self._result()

    __iter__ = __await__

    def _settle(
        self,
        value: T | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        fate: Fate = Fate.ANSWERED,
    ) -> None:
        with self._lock:
            if self._done or self._get_hook is not None or self.fate is Fate.EXPIRED:
                self._refuse_second()
                return
            self._value, self._error, self._traceback = value, error, traceback
            if fate is not Fate.ANSWERED:
                self.fate = fate
            self._done = True
        if self._parked is not None:
            _wake(self._parked, self._thread)
        if (callbacks := self._callbacks) is not None:
            self._callbacks = None
            for callback in callbacks:
                try:
                    callback()
                except Exception:  # the others have to hear of it all the same
                    logging.getLogger("pykka").exception("a receiver of an answer failed")

    def _refuse_second(self) -> None:
        if self.fate is not Fate.EXPIRED:
            raise queue.Full

    def _result(self) -> T:
        if self._error is None:
            return cast("T", self._value)
        if self._error.__traceback__ is not self._traceback:
            raise self._error.with_traceback(self._traceback)
        raise self._error

    def _block(self, timeout: float | None) -> None:
        if timeout is None or timeout > 0:
            refuse_to_block("waiting for a reply with get()", "`await`")
            arrived = threading.Event()
            self.add_done_callback(arrived.set)
            if arrived.wait(timeout):
                return
        raise pykka.Timeout(f"{timeout} seconds")

    def _park(self, parked: asyncio.Future[None]) -> bool:
        """Have a task woken by the answer; False if that is here already."""
        with self._lock:
            if self._done:
                return False
            if self._parked is None or self._parked.cancelled():
                self._parked, self._thread = parked, get_ident()
            else:
                self._callbacks = [*(self._callbacks or ()), partial(_wake, parked, get_ident())]
        return True

    def _park_within(self, me: Waiter) -> Generator[Any, None, None]:
        if self.target is not None:
            refuse_cycle(me, self.target)
        me.waits.append(self)
        try:
            parked = asyncio.get_running_loop().create_future()
            if self._park(parked):
                yield from parked
        finally:
            me.waits.remove(self)


def _wake(parked: asyncio.Future[None], thread: int) -> None:
    try:
        if thread != get_ident():
            parked.get_loop().call_soon_threadsafe(_release, parked)
        elif not parked.done():
            parked.set_result(None)
    except RuntimeError:  # the loop is closed: no task is left to wake
        return


def _release(parked: asyncio.Future[None]) -> None:
    if not parked.done():
        parked.set_result(None)


class Shutdown:
    """Asks an actor to end for a reason, after the messages that came before this one."""

    __slots__ = ("reason",)

    def __init__(self, reason: object = "shutdown") -> None:
        """Name the reason that becomes the actor's exit reason."""
        self.reason = reason


#: Messages that a mailbox takes when it is full, and never drops for another one.
CONTROL: Final = (_ActorStop, Shutdown)


def name_message(message: object) -> str:
    """Return what a message is called where people read: the method's name, or the type's."""
    if isinstance(message, ProxyCall | ProxyGetAttr | ProxySetAttr):
        return ".".join(message.attr_path)
    return type(message).__name__


def refuse(envelope: Envelope[Any], error: BaseException, fate: Fate = Fate.UNHANDLED) -> None:
    """Tell the asker, if there is one, that no answer will come; a stop is simply done."""
    reply = envelope.reply_to
    if reply is None:
        return
    if isinstance(envelope.message, _ActorStop):
        reply.set(None)
    elif isinstance(reply, AsyncioFuture):
        reply.fail(error, fate)
    else:
        reply.set_exception((type(error), error, None))
