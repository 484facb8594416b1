"""Durable events in memory: what tests and benchmarks of the bus have in place of a ledger."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from cortex_actors import sections, topics
from cortex_actors.bus.commits import Delivery, Failure, Outcome, Rest, refuse_other
from cortex_actors.bus.consumer import find_project_id
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.domain.event import Payload, dump_payload, merge_payloads

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.testing import ManualClock


class MemoryJournal:
    """Durable events as long as the object lives: the contract of the ledger's journal.

    Effects (`Outcome.work`) are called with None in place of a connection.
    """

    def __init__(self, clock: ManualClock | SystemClock) -> None:
        """Hold nothing."""
        self._clock = clock
        self._seq = itertools.count(1)
        self._waiting: dict[str, list[Event[Payload]]] = defaultdict(list)
        self._attempts: dict[tuple[str, int], int] = {}
        self._due: dict[tuple[str, int], int] = {}
        self._keys: dict[str, Event[Payload]] = {}
        self.events: list[Event[Payload]] = []
        self.dead: list[tuple[str, Event[Payload], str]] = []

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Store events with a delivery for each consumer; return them with their `seq`."""
        return [self._store(event) for event in events]

    async def append_once(self, event: Event[Payload], key: str) -> Event[Payload]:
        """Store an event, or return the first one that was said under that idempotency key."""
        if first := self._keys.get(key):
            refuse_other(event, key, topic=first.topic, payload=dump_payload(first.payload))
            return replace(first, duplicate=True)
        self._keys[key] = self._store(event)
        return self._keys[key]

    async def find_next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now, a rest, or None when nothing waits."""
        busy = {(d.event.topic, d.key) for d in in_hand if d.key is not None}
        taken = {seq for delivery in in_hand for seq in delivery.seqs}
        free = [
            event
            for event in self._waiting[consumer]
            if event.seq not in taken and (event.topic, _key(event)) not in busy
        ]
        waiting = self._waiting[consumer]
        held = [e for e in waiting if e.seq not in taken and (e.topic, _key(e)) in busy]
        first = next((e for e in free if not _withheld(e, held)), None)
        if first is None:
            return None
        ahead = max(self._due.get((consumer, e.seq or 0), 0) for e in self._waiting[consumer])
        if 0 < (rest := (ahead - self._clock.now()) / SECOND) <= sections.LONGEST_REST:
            return Rest(rest)
        return self._delivery(consumer, first, free)

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]] | None:
        """Apply effects, acknowledge, store the said events; nothing if any is settled already."""
        if (left := len(self._left(delivery))) < len(delivery.seqs):
            return None if left else []
        if outcome.work is not None:
            outcome.work(None)
        self._drop(delivery)
        return [self._store(event) for event in outcome.say]

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash."""
        left = self._left(delivery)
        for event in left:
            place = (delivery.consumer, event.seq or 0)
            self._attempts[place] = delivery.attempts + 1
            self._due[place] = self._clock.now() + round(failure.pause * SECOND)
        if failure.final:
            self._drop(delivery)
            self.dead += [(delivery.consumer, event, failure.traceback) for event in left]

    def waiting(self, consumer: str) -> int:
        """Return how many events a consumer has not handled."""
        return len(self._waiting[consumer])

    def _store(self, event: Event[Payload]) -> Event[Payload]:
        """Keep one event for its consumers; one whose id is known is not kept again."""
        for known in self.events:
            if known.id == event.id:
                return known
        stored = replace(event, seq=next(self._seq))
        self.events.append(stored)
        for consumer in topics.find(event.topic).heard_by:
            self._waiting[consumer].append(stored)
        return stored

    def _delivery(
        self, consumer: str, first: Event[Payload], free: list[Event[Payload]]
    ) -> Delivery:
        """Make one delivery of the first event and its waiting repeats."""
        key = _key(first)
        alike = [e for e in free if key is not None and (e.topic, _key(e)) == (first.topic, key)]
        if topics.find(first.topic).key != topics.ONE_KEY:
            project = find_project_id(first.payload)
            alike = list(takewhile(lambda e: find_project_id(e.payload) == project, alike))
        group = alike or [first]
        event = replace(group[-1], payload=merge_payloads([each.payload for each in group]))
        seqs = tuple(each.seq or 0 for each in group)
        attempts = max(self._attempts.get((consumer, seq), 0) for seq in seqs)
        return Delivery(consumer, event, seqs, key, attempts)

    def _left(self, delivery: Delivery) -> list[Event[Payload]]:
        """Return which of a delivery's events still wait."""
        return [e for e in self._waiting[delivery.consumer] if e.seq in delivery.seqs]

    def _drop(self, delivery: Delivery) -> None:
        """Forget what was handled or set aside."""
        left = [e for e in self._waiting[delivery.consumer] if e.seq not in delivery.seqs]
        self._waiting[delivery.consumer] = left


def _withheld(event: Event[Payload], held: list[Event[Payload]]) -> bool:
    """Tell whether an event must not go past what is held, to which it is added then."""
    found = any(_goes_past(event, each) for each in held)
    if found:
        held.append(event)
    return found


def _goes_past(event: Event[Payload], held: Event[Payload]) -> bool:
    """Tell whether an event is a later one of a withheld one's project, or a repeat of it."""
    project, key = find_project_id(held.payload), _key(held)
    of_one = project is not None and project == find_project_id(event.payload)
    repeat = key is not None and (held.topic, key) == (event.topic, _key(event))
    return (of_one or repeat) and (event.seq or 0) > (held.seq or 0)


def _key(event: Event[Payload]) -> str | None:
    """Return what makes two waiting events one."""
    return topics.compute_key(event.topic, event.payload)
