"""Shipped test doubles: a clock one turns by hand, a journal in memory, a whole Cortex in a folder.

For our own tests and for those of programs built on this one. Nothing here sleeps: tests wait for
conditions, with a limit that only a broken program reaches.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import tempfile
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors import sections, settings, topics
from cortex_actors.bus.commits import Delivery, Failure, Outcome, Rest, refuse_other
from cortex_actors.bus.consumer import project_of
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.domain.event import Payload, merged, plain
from cortex_actors.errors import CortexError
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.storage import embeddings, events
from cortex_actors.storage.index import pending
from cortex_actors.tree import Tree, grow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.storage.ledger.actor import Connection

#: Where a clock's time begins unless told otherwise: some day in 2026, in UTC microseconds.
EPOCH = 1_767_225_600 * SECOND

#: Seconds after which a condition that has not come true is a failed test.
PATIENCE = 20.0

__all__ = [
    "EPOCH",
    "PATIENCE",
    "ManualClock",
    "MemoryJournal",
    "eventually",
    "settled",
    "temporary_cortex",
]


class ManualClock:
    """A clock that stands still until `advance`; sleepers wake in the order of their times."""

    def __init__(self, at: int = EPOCH) -> None:
        """Stand at a wall-clock time in UTC microseconds."""
        self._start = at
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return self._start + round(self._elapsed * SECOND)

    def monotonic(self) -> float:
        """Return seconds since the clock was made."""
        return self._elapsed

    def jump(self, seconds: float) -> None:
        """Set the wall clock by so much, as a person or NTP would; nobody wakes."""
        self._start += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has been advanced so far."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    @property
    def sleepers(self) -> int:
        """How many wait for a time to come."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    @property
    def due(self) -> float:
        """Seconds until the next sleeper wakes; 0 when nobody sleeps."""
        times = [at for at, _, woken in self._sleepers if not woken.done()]
        return min(times) - self._elapsed if times else 0.0

    def advance(self, seconds: float) -> None:
        """Move the hands, waking everybody whose time has come."""
        self._elapsed += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)


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
            refuse_other(event, key, topic=first.topic, payload=plain(first.payload))
            return replace(first, duplicate=True)
        self._keys[key] = self._store(event)
        return self._keys[key]

    async def next(
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
            project = project_of(first.payload)
            alike = list(takewhile(lambda e: project_of(e.payload) == project, alike))
        group = alike or [first]
        event = replace(group[-1], payload=merged([each.payload for each in group]))
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


async def eventually(
    condition: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float = PATIENCE
) -> None:
    """Return once a condition holds, looking again each time the loop has had a turn.

    Raises `TimeoutError` when it does not hold within so many seconds.
    """
    async with asyncio.timeout(within):
        while True:
            held = condition()
            if (held if isinstance(held, bool) else await held) is True:
                return
            await asyncio.sleep(0.005)


async def settled(tree: Tree, within: float = PATIENCE) -> None:
    """Return once every event is handled and every text embedded and indexed.

    It looks hundreds of times, and `status` would cost more than what it waits for.
    """

    async def is_settled() -> bool:
        with suppress(CortexError):  # while the ledger is away nobody knows
            return await tree.parts.records.read(partial(_is_idle, model=tree.parts.model))
        return False

    await eventually(is_settled, within)


def _is_idle(connection: Connection, *, model: str) -> bool:
    """Tell whether nothing waits to be handled, indexed or embedded."""
    waits = events.waiting(connection) or pending.pending(connection)
    return not (waits or embeddings.count_unembedded(connection, model))


@asynccontextmanager
async def temporary_cortex(**sections: object) -> AsyncIterator[Tree]:
    """Run a whole tree in a temporary home with the hashing embedder; stop and remove it after.

    `sections` are settings sections as mappings, e.g. `watching={"sweep_s": 0.1}`.
    """
    with tempfile.TemporaryDirectory(prefix="cortex-", ignore_cleanup_errors=True) as folder:
        home = Home.of(Path(folder) / "home", {})
        home.create()
        clock = SystemClock()
        logs = LogStream(home.logs / "cortex.ndjson", clock)
        quick = {"embedding": {"provider": "hashing", "batch_ms": 20}, "storage": {"index_ms": 20}}
        chosen = settings.Settings.model_validate({**quick, **sections})
        tree = grow(home, chosen, clock, logs)
        await tree.start()
        try:
            yield tree
        finally:
            await tree.stop(8)
            logs.close()


def _withheld(event: Event[Payload], held: list[Event[Payload]]) -> bool:
    """Tell whether an event must not go past what is held, to which it is added then."""
    found = any(_goes_past(event, each) for each in held)
    if found:
        held.append(event)
    return found


def _goes_past(event: Event[Payload], held: Event[Payload]) -> bool:
    """Tell whether an event is a later one of a withheld one's project, or a repeat of it."""
    project, key = project_of(held.payload), _key(held)
    of_one = project is not None and project == project_of(event.payload)
    repeat = key is not None and (held.topic, key) == (event.topic, _key(event))
    return (of_one or repeat) and (event.seq or 0) > (held.seq or 0)


def _key(event: Event[Payload]) -> str | None:
    """Return what makes two waiting events one."""
    return topics.key_of(event.topic, event.payload)
