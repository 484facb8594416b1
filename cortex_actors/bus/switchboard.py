"""Who hears which topic: blinker's signals, one for each name in use, in the order of subscribing.

blinker keeps receivers in a set, and its own `send` stops at the first that raises
(pallets-eco/blinker#10); so a signal is asked for its receivers once for each change, and the bus
calls them. Receivers are held strongly: with blinker's weak default a lambda would vanish at once.
"""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from blinker import NamedSignal, Namespace

from cortex_actors.bus.subscription import Deliver, Subscription, covers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import MethodType

#: Custom topic names that are kept at once: a name costs a signal. One more takes the place of the
#: one that was said longest ago; refusing it would let one process silence all others.
CUSTOM_NAMES = 1_000


class Switchboard:
    """Keeps the subscriptions, and the topics in use with those that hear them."""

    def __init__(self) -> None:
        """Connect nobody."""
        self._signals = Namespace()
        self._numbers = itertools.count()
        self._covers: dict[Subscription, Callable[[str], object]] = {}
        #: What `hearers` has found since the last change.
        self._found: dict[str, tuple[Subscription, ...]] = {}
        #: The custom names that are kept; the one that was said longest ago comes first.
        self._said: dict[str, None] = {}

    def __len__(self) -> int:
        """Return how many topics are in use."""
        return len(self._signals)

    def connect(self, pattern: str, deliver: Deliver) -> Subscription:
        """Subscribe to every topic a pattern covers, old and new; raises as `covers` does."""
        matches = covers(pattern)
        subscription = Subscription(pattern, deliver, self._forget, next(self._numbers))
        self._covers[subscription] = matches
        for name, signal in self._signals.items():
            if matches(name):
                signal.connect(subscription.drop, weak=False)
        self._found.clear()
        return subscription

    def hearers(self, topic: str) -> tuple[Subscription, ...]:
        """Return who hears a topic, in the order they subscribed."""
        found = self._found.get(topic)
        return self._look_up(topic) if found is None else found

    def admit(self, name: str) -> None:
        """Note that a custom name is said now; another one may have to go for it."""
        if name in self._said:
            del self._said[name]
        elif len(self._said) >= CUSTOM_NAMES:
            self._make_room()
        self._said[name] = None

    def _look_up(self, topic: str) -> tuple[Subscription, ...]:
        """Ask a topic's signal for its receivers, and keep the answer until somebody subscribes.

        Nothing is kept of a custom name that was not admitted.
        """
        if topic.startswith("custom:") and topic not in self._said:
            return tuple(each for each, matches in self._covers.items() if matches(topic))
        receivers = self._signal(topic).receivers_for(topic)
        subscriptions: list[Any] = [cast("MethodType", each).__self__ for each in receivers]
        found = self._found[topic] = tuple(sorted(subscriptions, key=attrgetter("number")))
        return found

    def _make_room(self) -> None:
        """Let go of the name that was said longest ago, of those that nobody asks for by name.

        Its receivers hear it all the same when it comes back: they are looked up anew.
        """
        wanted = {subscription.pattern for subscription in self._covers}
        old = next((each for each in self._said if each not in wanted), next(iter(self._said)))
        del self._said[old]
        self._signals.pop(old, None)
        self._found.pop(old, None)

    def _signal(self, topic: str) -> NamedSignal:
        """Return a topic's signal; a new one is connected to every pattern that covers it."""
        signal = self._signals.get(topic)
        if signal is None:
            signal = self._signals.signal(topic)
            for subscription, matches in self._covers.items():
                if matches(topic):
                    signal.connect(subscription.drop, weak=False)
        return signal

    def _forget(self, subscription: Subscription) -> None:
        """Disconnect a subscription."""
        if self._covers.pop(subscription, None) is not None:
            for signal in self._signals.values():
                signal.disconnect(subscription.drop)
            self._found.clear()
