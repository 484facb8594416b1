"""A bounded mailbox: many threads put, one actor takes.

It is a deque rather than an asyncio.Queue: a bounded queue fed through run_coroutine_threadsafe
deadlocks when a handler waits for the thread that waits for room, and costs 1.45 times as much.

What can be said of any mailbox: what it does when it is full, and what it has seen.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pykka import ActorDeadError

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.future import CONTROL, Fate, find_loop, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykka._envelope import Envelope


class Overflow(StrEnum):
    """What a full mailbox does with one more message; control messages always find room."""

    #: Asks, tell_async and threads wait for room; a plain tell on a loop raises MailboxFull.
    BACK_PRESSURE = "back-pressure"
    #: No sender waits: it gets MailboxFull at once.
    REFUSE = "refuse"
    #: The newcomer is dropped; its asker gets MailboxFull.
    DROP_NEW = "drop-new"


@dataclass(frozen=True, slots=True)
class MailboxStats:
    """The state of a mailbox, and its counters since the actor started."""

    #: Messages that wait now, and the most that ever did.
    depth: int
    high: int
    #: Messages that may wait, 0 for no limit, and what happens to one more.
    limit: int
    overflow: Overflow
    #: Messages that found no room: dropped, or refused to their sender.
    dropped: int
    #: Milliseconds that the last timed message waited, and the longest one. One is timed at a
    #: time, because two looks at a clock cost a quarter of what a tell does.
    waited_ms: float
    longest_ms: float


Loop: TypeAlias = asyncio.AbstractEventLoop

#: Milliseconds in a second of the loop's clock.
_MS: Final = 1_000.0


class Inbox:
    """The messages that wait for one actor, oldest first.

    `limit` is the number of messages that may wait, 0 for no limit; threads that put at the same
    instant may pass it by one message each. A closed mailbox refuses at once what it is given, so
    that an ask that races a stop always gets a reply.
    """

    def __init__(self, limit: int = 0, overflow: Overflow = Overflow.BACK_PRESSURE) -> None:
        """Make an empty mailbox; `bind` gives it its loop."""
        self.limit = limit
        self.overflow = Overflow(overflow)
        #: Messages that found no room.
        self.dropped = 0
        self._owner = "actor"
        self._loop: Loop | None = None
        #: The thread on which that loop runs, as far as is known.
        self._thread: int | None = None
        self._waiting: deque[Envelope[Any]] = deque()
        #: Messages that may wait, less the rooms promised to those who waited for one; nothing
        #: once it is closed. One number, because every put looks at it.
        self._cap: float = limit or math.inf
        self._closed = False
        self._taker: asyncio.Future[None] | None = None
        self._room: deque[asyncio.Future[None]] = deque()
        self._wake_due = False
        self._high = 0
        #: The message that is being timed, and the loop's time when it came.
        self._timed: Envelope[Any] | None = None
        self._since = self._waited = self._longest = 0.0
        self._now: Callable[[], float] = float

    def __len__(self) -> int:
        """Return how many messages wait."""
        return len(self._waiting)

    def bind(self, loop: Loop, owner: str) -> None:
        """Say on which loop the actor lives, and its name for errors; again from that loop."""
        self._loop = loop
        self._owner = owner
        self._now = loop.time
        if find_loop() is loop:
            self._thread = get_ident()

    def empty(self) -> bool:
        """Return whether no message waits."""
        return not self._waiting

    def full(self) -> bool:
        """Return whether there is no room for one more message, or no actor to take it."""
        return len(self._waiting) >= self._cap

    def stats(self) -> MailboxStats:
        """Return the counters, from any thread; a timed message that still waits counts."""
        now = self._since if self._timed is None else self._now()
        return MailboxStats(
            depth=len(self._waiting),
            high=max(self._high, len(self._waiting)),
            limit=self.limit,
            overflow=self.overflow,
            dropped=self.dropped,
            waited_ms=self._waited * _MS,
            longest_ms=max(self._longest, now - self._since) * _MS,
        )

    def put(self, envelope: Envelope[Any], /) -> None:
        """Add a message, from any thread, or do what the policy says if there is no room.

        Under back-pressure a thread without a loop waits for room. Raises MailboxFull on a loop
        then, and everywhere when the policy is to refuse.
        """
        # By its thread, because asking for the running loop costs a system call on Python 3.11.
        if get_ident() != self._thread:
            self._put_from_afar(envelope)
        elif len(self._waiting) < self._cap or self._admit(envelope):
            self._append(envelope)

    async def put_patiently(self, envelope: Envelope[Any], /) -> bool:
        """Add a message, under back-pressure when there is room; False if the mailbox has closed.

        Those who wait get room in the order in which they came. Other policies: as `put`.
        """
        if get_ident() != self._thread:
            there = asyncio.wrap_future(self._put_there(envelope))
            try:
                await asyncio.wait({there})
            finally:
                there.cancel()
            return not there.cancelled() and there.result()
        return await self._put_when_room(envelope)

    def get(self) -> Envelope[Any]:
        """Take the oldest message; only the actor does, after `arrival`."""
        waiting = self._waiting
        if len(waiting) > self._high:  # noqa: PLR1730  # a call for each message
            self._high = len(waiting)
        envelope = waiting.popleft()
        if envelope is self._timed:
            self._waited = waited = self._now() - self._since
            self._timed = None
            if waited > self._longest:  # noqa: PLR1730  # likewise
                self._longest = waited
        if self._room:
            self._promise_room()
        return envelope

    def arrival(self) -> asyncio.Future[None]:
        """Return what is done once a message may be waiting; only the actor asks, when none is."""
        # A thread that put one before it could see the taker has scheduled a wake-up as well.
        self._taker = taker = cast("Loop", self._loop).create_future()
        return taker

    def close(self) -> None:
        """Refuse what waits and whatever comes."""
        self._closed, self._cap = True, -1
        self._refuse_all()
        for room in self._room:
            if not room.done():
                room.set_result(None)
        self._room.clear()

    def _append(self, envelope: Envelope[Any]) -> None:
        if self._timed is None:
            self._since = self._now()
            self._timed = envelope
        self._waiting.append(envelope)
        if self._taker is not None:
            self._wake_taker()

    async def _put_when_room(self, envelope: Envelope[Any]) -> bool:
        if self.full() and not self._closed and self.overflow is Overflow.BACK_PRESSURE:
            await self._promised_room()
            if not self._closed:
                self._cap += 1
                self._append(envelope)
                return True
        if self._closed:
            refuse(envelope, self._dead())
            return False
        self.put(envelope)
        return True

    def _put_from_afar(self, envelope: Envelope[Any]) -> None:
        if len(self._waiting) >= self._cap:
            if (
                self.overflow is Overflow.BACK_PRESSURE
                and not self._closed
                and not isinstance(envelope.message, CONTROL)
                and find_loop() is None
            ):
                with suppress(concurrent.futures.CancelledError):  # its loop has ended
                    self._put_there(envelope).result()
                return
            if not self._admit(envelope):
                return
        if self._timed is None:
            self._since = self._now()
            self._timed = envelope
        self._waiting.append(envelope)
        if not self._wake_due:
            self._wake_due = True
            try:
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(self._on_wake)
            except RuntimeError:  # the loop is closed: no actor is left to take it
                self._closed, self._cap = True, -1
        if self._closed:  # closed between the look and the append
            self._refuse_all()

    def _admit(self, envelope: Envelope[Any]) -> bool:
        """Decide about a message for which there is no room."""
        if self._closed:
            refuse(envelope, self._dead())
            return False
        if isinstance(envelope.message, CONTROL):
            return True
        self.dropped += 1
        error = MailboxFull(
            f"{self.limit} messages wait for {self._owner}, its limit; send later or send less"
        )
        if self.overflow is not Overflow.DROP_NEW:
            raise error
        refuse(envelope, error, Fate.ANSWERED)
        return False

    def _on_wake(self) -> None:
        # First the flag, then the look: a thread that saw the flag set has appended before.
        self._wake_due = False
        if self._waiting and self._taker is not None:
            self._wake_taker()

    def _wake_taker(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None and not taker.done():
            taker.set_result(None)

    def _put_there(self, envelope: Envelope[Any]) -> concurrent.futures.Future[bool]:
        """Have the actor's own loop put a message patiently; cancelled if that loop has ended."""
        patient = self._put_when_room(envelope)
        try:
            there = asyncio.run_coroutine_threadsafe(patient, cast("Loop", self._loop))
        except RuntimeError:  # the loop is closed
            patient.close()
            there = concurrent.futures.Future()
            there.cancel()

        def refuse_lost(ended: concurrent.futures.Future[bool]) -> None:
            if ended.cancelled():
                refuse(envelope, self._dead())

        there.add_done_callback(refuse_lost)
        return there

    async def _promised_room(self) -> None:
        """Return when this sender may add one message, or the mailbox has closed."""
        room = asyncio.get_running_loop().create_future()
        self._room.append(room)
        try:
            await room
        except asyncio.CancelledError:
            if room.done() and not room.cancelled() and not self._closed:
                self._cap += 1  # the room that was given to this one goes to the next
                self._promise_room()
            raise

    def _promise_room(self) -> None:
        while self._room and len(self._waiting) < self._cap:
            room = self._room.popleft()
            if not room.done():
                self._cap -= 1
                room.set_result(None)

    def _refuse_all(self) -> None:
        with suppress(IndexError):
            while True:
                refuse(self._waiting.popleft(), self._dead())

    def _dead(self) -> ActorDeadError:
        return ActorDeadError(f"{self._owner} stopped before handling the message")
