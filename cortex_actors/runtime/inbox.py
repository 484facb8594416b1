"""A bounded mailbox: many threads put, one actor takes.

It is a deque rather than an asyncio.Queue: a bounded queue fed through run_coroutine_threadsafe
deadlocks when a handler waits for the thread that waits for room, and costs 1.45 times as much.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pykka import ActorDeadError
from pykka.messages import _ActorStop

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.future import AsyncioFuture, Fate
from cortex_actors.runtime.guards import loop_here

if TYPE_CHECKING:
    from pykka._envelope import Envelope


class Overflow(StrEnum):
    """What a full mailbox does with one more message."""

    #: Raise MailboxFull on the loop; on a thread without one, wait for room.
    RAISE = "raise"
    #: Refuse the newcomer; its asker gets MailboxFull.
    DROP_NEW = "drop_new"
    #: Refuse the one that waits longest; its asker gets MailboxFull.
    DROP_OLD = "drop_old"


class Shutdown:
    """Asks an actor to end for a reason, after the messages that came before this one."""

    __slots__ = ("reason",)

    def __init__(self, reason: object = "shutdown") -> None:
        """Name the reason that becomes the actor's exit reason."""
        self.reason = reason


#: Messages that end an actor; a mailbox never refuses them.
CONTROL = (_ActorStop, Shutdown)


class Inbox:
    """The messages that wait for one actor, oldest first.

    `limit` is the number of messages that may wait, 0 for no limit. A closed mailbox refuses at
    once what it is given, so that an ask that races a stop always gets a reply.
    """

    def __init__(self, limit: int = 0, overflow: Overflow = Overflow.RAISE) -> None:
        """Make an empty mailbox; `bind` gives it its loop."""
        self.limit = limit
        self.overflow = Overflow(overflow)
        #: Messages refused because the mailbox was full.
        self.dropped = 0
        self._owner = "actor"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[Envelope[Any]] = deque()
        self._taker: asyncio.Future[None] | None = None
        self._room: deque[asyncio.Future[None]] = deque()
        self._wake_due = False
        self._closed = False

    def __len__(self) -> int:
        """Return how many messages wait."""
        return len(self._waiting)

    def bind(self, loop: asyncio.AbstractEventLoop, owner: str) -> None:
        """Say on which loop the actor lives, and its name for errors."""
        self._loop = loop
        self._owner = owner

    def empty(self) -> bool:
        """Return whether no message waits."""
        return not self._waiting

    def full(self) -> bool:
        """Return whether as many messages wait as may."""
        return 0 < self.limit <= len(self._waiting)

    def put(self, envelope: Envelope[Any], /) -> None:
        """Add a message, from any thread.

        Raises MailboxFull on a loop when the policy is to raise; there a thread without a loop
        waits for room.
        """
        if loop_here() is self._loop:
            self._put_here(envelope)
        else:
            self._put_from_afar(envelope)

    async def put_patiently(self, envelope: Envelope[Any], /) -> bool:
        """Add a message when there is room; return False if the mailbox closed first."""
        while self.full() and not self._closed:
            room = asyncio.get_running_loop().create_future()
            self._room.append(room)
            try:
                await room
            except asyncio.CancelledError:
                if room.done() and not room.cancelled():
                    self._free()  # the room that was given to this one goes to the next
                raise
        if self._closed:
            refuse(envelope, self._dead())
            return False
        self._put_here(envelope)
        return True

    def get(self) -> Envelope[Any]:
        """Take the oldest message; only the actor does, after `arrival`."""
        envelope = self._waiting.popleft()
        if self._room:
            self._free()
        return envelope

    async def arrival(self) -> None:
        """Return once a message waits."""
        while not self._waiting:
            # A thread that puts one before it can see the taker has scheduled a wake-up as well.
            self._taker = taker = asyncio.get_running_loop().create_future()
            await taker

    def close(self) -> None:
        """Refuse what waits and whatever comes."""
        self._closed = True
        self._refuse_all()
        while self._room:
            self._free()

    def _put_here(self, envelope: Envelope[Any]) -> None:
        if self._closed:
            refuse(envelope, self._dead())
            return
        if self.limit and not self._admit(envelope):
            return
        self._waiting.append(envelope)
        if self._taker is not None:
            self._wake_taker()

    def _put_from_afar(self, envelope: Envelope[Any]) -> None:
        if self._must_wait(envelope):
            self._block_for_room(envelope)
            return
        if self._closed:
            refuse(envelope, self._dead())
            return
        if self.limit and not self._admit(envelope):
            return
        self._waiting.append(envelope)
        if not self._wake_due:
            self._wake_due = True
            self._call_home()
        self._recheck()

    def _recheck(self) -> None:
        if self._closed:  # closed between the look and the append
            self._refuse_all()

    def _must_wait(self, envelope: Envelope[Any]) -> bool:
        return (
            self.full()
            and self.overflow is Overflow.RAISE
            and not isinstance(envelope.message, CONTROL)
            and loop_here() is None
        )

    def _admit(self, envelope: Envelope[Any]) -> bool:
        if not self.full() or isinstance(envelope.message, CONTROL):
            return True
        error = MailboxFull(
            f"{self.limit} messages wait for {self._owner}, its limit; send later or send less"
        )
        if self.overflow is Overflow.RAISE:
            raise error
        self.dropped += 1
        if self.overflow is Overflow.DROP_OLD and self._drop_oldest(error):
            return True
        refuse(envelope, error, Fate.ANSWERED)
        return False

    def _drop_oldest(self, error: MailboxFull) -> bool:
        try:
            oldest = self._waiting.popleft()
        except IndexError:  # the actor was faster
            return True
        if isinstance(oldest.message, CONTROL):  # it ends the actor: what follows is refused anyway
            self._waiting.appendleft(oldest)
            return False
        refuse(oldest, error, Fate.ANSWERED)
        return True

    def _call_home(self) -> None:
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._on_wake)
        except RuntimeError:  # the loop is closed: no actor is left to take it
            self._closed = True

    def _on_wake(self) -> None:
        # First the flag, then the look: a thread that saw the flag set has appended before.
        self._wake_due = False
        if self._waiting and self._taker is not None:
            self._wake_taker()

    def _wake_taker(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None and not taker.done():
            taker.set_result(None)

    def _block_for_room(self, envelope: Envelope[Any]) -> None:
        patient = self.put_patiently(envelope)
        try:
            if self._loop is not None:
                asyncio.run_coroutine_threadsafe(patient, self._loop).result()
        except (RuntimeError, concurrent.futures.CancelledError):  # the loop has ended
            patient.close()
            refuse(envelope, self._dead())

    def _free(self) -> None:
        while self._room:
            room = self._room.popleft()
            if not room.done():
                room.set_result(None)
                return

    def _refuse_all(self) -> None:
        with suppress(IndexError):
            while True:
                refuse(self._waiting.popleft(), self._dead())

    def _dead(self) -> ActorDeadError:
        return ActorDeadError(f"{self._owner} stopped before handling the message")


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
