"""One hearer of one pattern of topics, in a mailbox or by a plain call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from cortex_actors.domain.event import Event, Payload
from cortex_actors.runtime.future import waiter

if TYPE_CHECKING:
    from cortex_actors.runtime.names import Names

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef

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
