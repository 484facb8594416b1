"""What the bus needs of whoever keeps durable events: a port, implemented by the storage branch.

The contract is that of docs/semantics.md: a handler's effects, the events it says and the
acknowledgement of what it heard commit in one transaction, or none of them does.

A subscription is one hearer of one pattern of topics, in a mailbox or by a plain call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from cortex_actors.domain.event import Event, Payload
from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown
from cortex_actors.runtime.future import waiter
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import AsyncioRef


#: Whom somebody asked was away or slow: no fault of the event's.
AWAY = (LedgerDown, ActorAway, DeadlineExceeded)

#: A unit of work: gets the ledger's connection inside the transaction; its value is dropped.
#: (`Any`, because the bus must not know which database library is behind the port.)
Work = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a handler wants done: its effects and the events it says, committed together."""

    work: Work | None = None
    say: Sequence[Event[Payload]] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one consumer; several waiting ones of a key are handed over as one."""

    consumer: str
    event: Event[Any]
    #: Every waiting event this one stands for, in order.
    seqs: tuple[int, ...]
    #: What its waiting repeats have in common; None when each is handled alone.
    key: str | None = None
    #: How often a handler has already crashed on it.
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Rest:
    """The consumer crashed not long ago: nothing is handed out for that many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """How a handler crashed."""

    traceback: str
    #: Seconds to rest before the next attempt.
    pause: float
    #: True when this was the last attempt: the event becomes a dead letter.
    final: bool = field(default=False)


class Journal(Protocol):
    """Durable events and who has still to handle them."""

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Store events with a delivery for each consumer; return them with their `seq`.

        Returns after the commit. An event whose id is already stored is not stored again.
        """

    async def append_once(self, event: Event[Payload], key: str) -> Event[Payload]:
        """Store an event as `append` does, unless one was said under that idempotency key.

        Then nothing is stored and the first one is returned, as a `duplicate`; of several at the
        same time, one is the first. A key is known as long as its event is kept. Raises `BadInput`
        when the first one has another topic or payload.
        """

    async def next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now; None when nothing waits.

        Neither what is `in_hand` is handed out nor a repeat of it: a repeat waits, and is then
        handled once more. Nor is a later event of a waiting repeat's project handed out, because
        a project's events are handled in their order. (Of repeats that are handled as one, the
        first counts: the others come with it.)
        """

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]] | None:
        """Commit effects, said events and acknowledgement; return the said events.

        Nothing is changed or said when any of it was settled before. None when that was a part of
        it: the rest comes again, and later events of its project have to wait for it.
        """

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash: try again after the pause, or set it aside as a dead letter."""


log = logging.getLogger("cortex.bus")


@dataclass(eq=False, slots=True, weakref_slot=True)
class Subscription:
    """One receiver's wish to hear topics of a pattern, until it is cancelled."""

    pattern: str
    deliver: Deliver
    forget: Callable[[Subscription], None] = field(repr=False)
    #: Its place among the subscriptions of the bus: who subscribed first hears first.
    number: int
    #: Where it delivers to, when that is an actor of some name: then publishers may wait for room.
    mailbox: Mailbox | None = None
    #: Deliveries that raised; the event still reached everybody else.
    failed: int = 0
    #: Events for which the receiver had no room.
    dropped: int = 0
    cancelled: bool = False

    def cancel(self) -> None:
        """Hear nothing more; cancelling twice is fine."""
        if not self.cancelled:
            self.cancelled = True
            self.forget(self)

    def end_with(self, ref: AsyncioRef[Any]) -> Self:
        """Cancel it when that actor ends, however it ends."""
        ref.on_end(self.cancel)
        return self

    def hurt(self, event: Event[Payload], error: Exception) -> None:
        """Note what a delivery raised; it stays here."""
        self.failed += 1
        log.error("a receiver of %s failed on %s", self.pattern, event.id, exc_info=error)

    def drop(self, event: Event[Payload]) -> None:
        """Count an event that found no room; the first one of all is logged."""
        self.dropped += 1
        if self.dropped == 1:
            log.warning("a receiver of %s has no room for %s", self.pattern, event.id)

    async def deliver_late(self, event: Event[Payload]) -> None:
        """Deliver an event that found no room, if the receiver wants its publishers to wait."""
        if self.cancelled:
            return
        if self.mailbox is None or not await self.mailbox.wait(event):
            self.drop(event)


#: Takes one event and returns at once.
Deliver = Callable[[Event[Payload]], None]


class Mailbox:
    """The mailbox of whoever has a name, looked up for each event.

    While nobody has the name, its events are missed: an actor that must miss none is a Consumer
    of a durable topic.
    """

    __slots__ = ("_name", "_names", "missed")

    def __init__(self, names: Names, name: str) -> None:
        """Deliver to that name; it may be free."""
        self._names = names
        self._name = name
        #: Events that came while nobody had the name.
        self.missed = 0

    def put(self, event: Event[Payload]) -> None:
        """Tell the event. Raises `MailboxFull` where the actor's policy says so."""
        if not self._names.tell(self._name, event):
            self.missed += 1

    def full(self) -> bool:
        """Return whether a publisher would have to wait for room."""
        ref = self._names.whereis(self._name)
        return ref is not None and _patient(ref) and ref.actor_inbox.full()

    async def wait(self, event: Event[Payload]) -> bool:
        """Tell the event when there is room; False when there was none within `PATIENCE` seconds.

        False at once where the actor's policy is to refuse, and for an actor that publishes what
        it hears itself: it would wait for its own next message. A receiver that ends frees those
        who wait for it.
        """
        ref = self._names.whereis(self._name)
        if ref is not None and (not _patient(ref) or waiter() is ref.life):
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                if not await self._names.tell_async(self._name, event):
                    self.missed += 1
        except TimeoutError:
            return False
        return True


#: Seconds a publisher waits for room in one receiver's mailbox: that one then goes without. As
#: long as an ask by name; a receiver that is stuck for longer is the watchdog's business.
PATIENCE = 30.0


def _patient(ref: AsyncioRef[Any]) -> bool:
    """Return whether an actor wants those who send to it to wait for room."""
    return ref.actor_inbox.overflow is Overflow.BACK_PRESSURE
