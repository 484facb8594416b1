"""The message bus: blinker decides who hears a topic, we decide how it reaches them.

blinker's own `send` stops at the first receiver that raises, and the rest never hear the event
(pallets-eco/blinker#10). So the bus asks a signal for its receivers and calls each one guarded; a
receiver only enqueues, so it can neither block nor fail for long. Receivers are held strongly: with
blinker's weak default a lambda would vanish at once.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from blinker import NamedSignal, Namespace

from cortex_actors import topics
from cortex_actors.clock import Clock, ulid
from cortex_actors.domain.event import Event
from cortex_actors.domain.payload import Payload, plain
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence

    from cortex_actors.bus.journal import Delivery, Journal, Outcome

log = logging.getLogger("cortex.bus")

T = TypeVar("T")

#: Custom topic names that may be alive at once: a name costs a signal, and ids belong in payloads.
CUSTOM_NAMES = 1_000

#: Events of one commit: others write, too, and wait for it.
AT_ONCE = 500

#: Takes one event and returns at once.
Deliver = Callable[[Event[Payload]], None]


@dataclass(eq=False, slots=True, weakref_slot=True)
class Subscription:
    """One receiver's wish to hear topics of a pattern, until it is cancelled."""

    pattern: str
    deliver: Deliver
    bus: Bus = field(repr=False)
    #: Deliveries that raised; the event still reached everybody else.
    failed: int = 0
    cancelled: bool = False

    def hears(self, topic: str) -> bool:
        """Tell whether the pattern covers a topic (`*` stands for anything)."""
        return fnmatch.fnmatchcase(topic, self.pattern)

    def cancel(self) -> None:
        """Hear nothing more; cancelling twice is fine."""
        self.bus.drop(self)

    def __call__(self, event: Event[Payload]) -> None:
        """Deliver one event; whatever the receiver raises stays here."""
        if self.cancelled:
            return
        try:
            self.deliver(event)
        except Exception:
            self.failed += 1
            log.exception("a receiver of %s failed on %s", self.pattern, event.id)


class Bus:
    """Says events to whoever hears their topic. Lives on the loop's thread."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        """Begin with no receivers; durable events go to the journal first."""
        self._journal = journal
        self._clock = clock
        self._signals = Namespace()
        self._subscriptions: list[Subscription] = []
        self._committing: set[asyncio.Task[Any]] = set()

    async def publish(
        self, topic: str, payload: Payload, *, source: str, durable: bool = True
    ) -> Event[Payload]:
        """Say an event; for a durable topic, return only once it is committed.

        `durable=False` says it to those who listen now and to nobody else. Raises `UnknownTopic`
        for a name outside the catalogue and `BadInput` for a payload that is too large.
        """
        found = topics.find(topic)
        self._admit(topic, payload)
        event = self.event(topic, payload, source=source)
        if not (durable and found.durable):
            self.announce(event)
            return event
        (stored,) = await self._shielded(self._store([event]))
        return stored

    async def publish_all(
        self, said: Iterable[tuple[str, Payload]], *, source: str
    ) -> list[Event[Payload]]:
        """Say many events in order, up to `AT_ONCE` in one commit; return once all are stored.

        Raises as `publish` does, before anything is stored. When a commit fails, or the caller
        ends, what was committed before is said all the same.
        """
        pairs = list(said)
        for topic, payload in pairs:
            topics.find(topic)
            self._admit(topic, payload)
        events = [self.event(topic, payload, source=source) for topic, payload in pairs]
        stored: list[Event[Payload]] = []
        for start in range(0, len(events), AT_ONCE):
            stored += await self._shielded(self._store(events[start : start + AT_ONCE]))
        return stored

    async def settle(self, delivery: Delivery, outcome: Outcome) -> None:
        """Commit what a handler wants done; return once what it says has been said."""
        await self._shielded(self._settle(delivery, outcome))

    def event(self, topic: str, payload: Payload, *, source: str) -> Event[Payload]:
        """Return a new event that has not been said yet."""
        at = self._clock.now()
        return Event(f"evt_{ulid(at)}", topic, payload, at, source)

    def announce(self, event: Event[Payload]) -> None:
        """Hand an event to every receiver of its topic, in the order they subscribed."""
        signal = self._signal(event.topic)
        # blinker keeps receivers in a set: the order is ours to make.
        heard = {id(receiver) for receiver in signal.receivers_for(event.topic)}
        for subscription in list(self._subscriptions):
            if id(subscription) in heard:
                subscription(event)

    def subscribe(self, pattern: str, deliver: Deliver) -> Subscription:
        """Hear every topic a pattern covers (`file:changed`, `file:*`, `*`), old and new."""
        subscription = Subscription(pattern, deliver, self)
        self._subscriptions.append(subscription)
        for name, signal in self._signals.items():
            if subscription.hears(name):
                signal.connect(subscription, weak=False)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        subscription.cancelled = True
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            for signal in self._signals.values():
                signal.disconnect(subscription)

    async def _shielded(self, work: Coroutine[None, None, T]) -> T:
        """Finish a commit and its signals, whatever becomes of the caller.

        A caller that ends between the two must not leave a stored event nobody is told about.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._committing.add(task)
        task.add_done_callback(self._on_committed)
        return await asyncio.shield(task)

    def _on_committed(self, task: asyncio.Task[Any]) -> None:
        """Let a commit go; one that failed after its caller had gone has nobody to tell."""
        self._committing.discard(task)
        if not task.cancelled():
            task.exception()

    async def _settle(self, delivery: Delivery, outcome: Outcome) -> None:
        """Commit an outcome, then tell those who hear what it says."""
        for event in await self._journal.settle(delivery, outcome):
            self.announce(event)

    async def _store(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Commit events together, then tell those who hear them; transient ones are only told."""
        durable = [event for event in events if topics.find(event.topic).durable]
        written = await self._journal.append(durable) if durable else []
        stored = {event.id: event for event in written}
        told = [stored.get(event.id, event) for event in events]
        for event in told:
            self.announce(event)
        return told

    def _signal(self, topic: str) -> NamedSignal:
        """Return a topic's signal; a new one is connected to every pattern that covers it."""
        signal = self._signals.get(topic)
        if signal is None:
            signal = self._signals.signal(topic)
            for subscription in self._subscriptions:
                if subscription.hears(topic):
                    signal.connect(subscription, weak=False)
        return signal

    def _admit(self, topic: str, payload: Payload) -> None:
        """Raise `BadInput` for a payload that is too large or one custom name too many."""
        size = len(json.dumps(plain(payload)))
        if size > topics.PAYLOAD_LIMIT:
            message = (
                f"cannot publish {topic}: its payload has {size} bytes of JSON, "
                f"the limit is {topics.PAYLOAD_LIMIT}; send an id or a path instead"
            )
            raise BadInput(message)
        if topic in self._signals or not topics.CUSTOM_NAME.fullmatch(topic):
            return
        if sum(name.startswith("custom:") for name in self._signals) >= CUSTOM_NAMES:
            message = (
                f"cannot publish {topic}: {CUSTOM_NAMES} custom topics are in use already; "
                "put what differs into the payload"
            )
            raise BadInput(message)
        self._signal(topic)
