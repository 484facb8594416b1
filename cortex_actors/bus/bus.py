"""The message bus: blinker decides who hears a topic, we decide how it reaches them.

Each receiver is called guarded, so one that raises costs no other its event; it only enqueues, so
it can neither block nor fail for long. What one publisher says, every receiver gets in that order.

Who hears which topic: blinker's signals, one for each name in use, in the order of subscribing.

blinker keeps receivers in a set, and its own `send` stops at the first that raises
(pallets-eco/blinker#10); so a signal is asked for its receivers once for each change, and the bus
calls them. Receivers are held strongly: with blinker's weak default a lambda would vanish at once.

A wish to hear topics: its pattern, whom it reaches, and what became of the deliveries.

A pattern is `noun:state` of lower-case letters, digits and hyphens, in which `*` is any
run of them (`file:changed`, `file:*`, `*:complete`), or `*` alone for every topic.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from blinker import Namespace

from cortex_actors import topics
from cortex_actors.bus import commits
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.event import Event, Payload
from cortex_actors.errors import BadInput, MailboxFull, UnknownTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import MethodType


log = logging.getLogger("cortex.bus")


#: What a pattern looks like.
_FORM = re.compile(r"\*|[a-z0-9*-]+:[a-z0-9*-]+")


def make_matcher(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a pattern covers a topic's name.

    Raises `BadInput` for what is no pattern, `UnknownTopic` for one that no topic can ever match.
    """
    if not _FORM.fullmatch(pattern):
        raise BadInput(
            f"cannot subscribe to {pattern!r}: a pattern is noun:state of a-z, 0-9 and -, where * "
            "is anything (file:*), or * alone"
        )
    matches = _matcher(pattern)
    if any(matches(topic.name) for topic in topics.TOPICS):
        return matches
    if _matcher(pattern.partition(":")[0])("custom"):
        return matches
    message = f"cannot subscribe to {pattern!r}: it covers no topic; listed by: cortex debug topics"
    raise UnknownTopic(message)


def _matcher(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a text matches."""
    if "*" not in pattern:
        return pattern.__eq__
    return re.compile(".*".join(map(re.escape, pattern.split("*")))).fullmatch


@dataclass(eq=False, slots=True, weakref_slot=True)
class Subscription:
    """One receiver's wish to hear topics of a pattern, until it is cancelled."""

    pattern: str
    deliver: Deliver
    forget: Callable[[Subscription], None] = field(repr=False)
    #: Events for which the receiver had no room.
    dropped: int = 0
    cancelled: bool = False

    def cancel(self) -> None:
        """Hear nothing more; cancelling twice is fine."""
        if not self.cancelled:
            self.cancelled = True
            self.forget(self)

    def drop(self, event: Event[Payload]) -> None:
        """Count an event that found no room; the first one of all is logged."""
        self.dropped += 1
        if self.dropped == 1:
            log.warning("a receiver of %s has no room for %s", self.pattern, event.id)


#: Takes one event and returns at once.
Deliver: TypeAlias = "Callable[[Event[Payload]], None]"


class Switchboard:
    """Keeps the subscriptions, and the topics in use with those that hear them."""

    def __init__(self) -> None:
        """Begin without receivers."""
        self._signals = Namespace()
        #: In the order of subscribing: who subscribed first hears first.
        self._covers: dict[Subscription, Callable[[str], object]] = {}
        #: What `find_receivers` has found since the last change.
        self._found: dict[str, tuple[Subscription, ...]] = {}

    def connect(self, pattern: str, deliver: Deliver) -> Subscription:
        """Subscribe to every topic a pattern covers, old and new; raises as `make_matcher` does."""
        matches = make_matcher(pattern)
        subscription = Subscription(pattern, deliver, self._forget)
        self._covers[subscription] = matches
        self._changed()
        return subscription

    def find_receivers(self, topic: str) -> tuple[Subscription, ...]:
        """Return who hears a topic, in the order they subscribed.

        A signal is asked for its receivers once, and the answer is kept until the next subscription
        comes or goes. A new signal is connected to every pattern that covers it. Nothing is kept of
        a custom name: other processes make these up, and there is no end of them.
        """
        if (known := self._found.get(topic)) is not None:
            return known
        if topic.startswith("custom:"):
            return tuple(each for each, matches in self._covers.items() if matches(topic))
        if (signal := self._signals.get(topic)) is None:
            signal = self._signals.signal(topic)
            for subscription, matches in self._covers.items():
                if matches(topic):
                    signal.connect(subscription.drop, weak=False)
        heard = {cast("MethodType", each).__self__ for each in signal.receivers_for(topic)}
        found = self._found[topic] = tuple(each for each in self._covers if each in heard)
        return found

    def _forget(self, subscription: Subscription) -> None:
        """Disconnect a subscription."""
        if self._covers.pop(subscription, None) is not None:
            self._changed()

    def _changed(self) -> None:
        """Forget who hears what: each signal is made again, with its receivers, when it is used."""
        self._signals.clear()
        self._found.clear()


class Bus:
    """Says events to the receivers of their topic; lives on one loop's thread."""

    def __init__(self, journal: commits.Journal, clock: Clock) -> None:
        """Begin with no receivers; durable events go to the journal first."""
        self._journal = journal
        self._clock = clock
        self._board = Switchboard()
        self._commits = commits.Commits(journal, self.announce)

    async def publish(
        self,
        topic: str,
        payload: Payload,
        *,
        source: str,
        durable: bool = True,
        idempotency_key: str | None = None,
    ) -> Event[Payload]:
        """Say an event; for a durable topic, return only once it is committed.

        `durable=False` says it only to those who listen now. What is said again under
        an idempotency key is not said: the first event comes back, as a `duplicate`. Raises
        `UnknownTopic` for a name outside the catalogue, `BadInput` for a payload that is too large
        and for a key that cannot be used or belongs to another topic or payload.
        """
        found = topics.find(topic)
        commits.refuse_too_large(topic, payload)
        if idempotency_key is not None:
            commits.refuse_key(topic, idempotency_key, durable=durable and found.durable)
        event = self.make_event(topic, payload, source=source)
        if idempotency_key is not None:
            return await self._commits.add_once(event, idempotency_key)
        if durable and found.durable:
            return (await self._commits.add([event]))[0]
        self.announce(event)
        return event

    def publish_now(self, topic: str, payload: Payload, *, source: str) -> Event[Payload]:
        """Say an event only to those who listen now; raises as `publish` does."""
        topics.find(topic)
        commits.refuse_too_large(topic, payload)
        event = self.make_event(topic, payload, source=source)
        self.announce(event)
        return event

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
            commits.refuse_too_large(topic, payload)
        events = [self.make_event(topic, payload, source=source) for topic, payload in pairs]
        stored: list[Event[Payload]] = []
        for start in range(0, len(events), commits.AT_ONCE):
            stored += await self._commits.add(events[start : start + commits.AT_ONCE])
        return stored

    async def settle(self, delivery: commits.Delivery, outcome: commits.Outcome) -> bool:
        """Commit what a handler wants done; return once what it says has been said.

        False when nothing was committed, because an earlier life had settled a part of it.
        """
        return await asyncio.shield(self._commits.running.begin(self._settle(delivery, outcome)))

    def make_event(self, topic: str, payload: Payload, *, source: str) -> Event[Payload]:
        """Return a new event that has not been said yet."""
        at = self._clock.now()
        return Event(f"evt_{make_ulid(at)}", topic, payload, at, source)

    def announce(self, event: Event[Payload]) -> None:
        """Hand an event to every receiver of its topic, in the order they subscribed.

        Does not wait: a receiver whose mailbox is full goes without, which is counted.
        """
        for subscription in self._board.find_receivers(event.topic):
            if subscription.cancelled:
                continue
            try:
                subscription.deliver(event)
            except MailboxFull:
                subscription.drop(event)
            except Exception:  # whatever it is, the others hear the event
                log.exception("a receiver of %s failed on %s", subscription.pattern, event.id)

    def subscribe(self, pattern: str, deliver: Deliver) -> Subscription:
        """Hear every topic a pattern covers (`file:changed`, `file:*`, `*`), old and new.

        Raises `BadInput` for what is no pattern and `UnknownTopic` for one that covers no topic.
        """
        return self._board.connect(pattern, deliver)

    async def _settle(self, delivery: commits.Delivery, outcome: commits.Outcome) -> bool:
        """Commit an outcome, then tell those who hear what it says; see `settle`."""
        said = await self._journal.settle(delivery, outcome)
        for event in said or ():
            self.announce(event)
        return said is not None
