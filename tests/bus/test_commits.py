"""Publishes of one turn of the loop, which share a commit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import AT_ONCE
from cortex_actors.domain.event import Custom
from cortex_actors.errors import BadInput, LedgerDown
from cortex_actors.testing import ManualClock
from tests.bus.gated import Gated
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.event import Event, Payload

TOPIC = "custom:test"


class Picky(MemoryJournal):
    """A journal that counts commits, refuses some events, and may be away."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.sizes: list[int] = []
        self.away = False

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Store all or none."""
        self.sizes.append(len(events))
        if self.away:
            raise LedgerDown("it is away")
        if any(event.payload == said("bad") for event in events):
            raise BadInput("not this one")
        return await super().append(events)


@pytest.fixture
def journal() -> Picky:
    """Give a journal that is there."""
    return Picky()


@pytest.fixture
def bus(journal: Picky) -> Bus:
    """Give a bus on that journal."""
    return Bus(journal, ManualClock())


def said(what: object) -> Custom:
    """Return a payload."""
    return Custom({"what": what})


async def publish(bus: Bus, *words: object) -> list[Event[Payload] | BaseException]:
    """Publish so many events at once, each by a publisher of its own."""
    work = (bus.publish(TOPIC, said(word), source="test") for word in words)
    return await asyncio.gather(*work, return_exceptions=True)


class TestTogether:
    async def test_one_commit(self, bus: Bus, journal: Picky) -> None:
        """What is published in one turn is stored in one commit, and heard in its order."""
        heard: list[Event[Payload]] = []
        bus.subscribe(TOPIC, heard.append)
        stored = await publish(bus, *range(64))

        assert [64] == journal.sizes
        assert [said(number) for number in range(64)] == [event.payload for event in heard]
        assert stored == heard == journal.events

    async def test_limit(self, bus: Bus, journal: Picky) -> None:
        """No commit holds more than so many events; the order stays."""
        bodies = [(TOPIC, said(number)) for number in range(AT_ONCE - 1)]
        others = (bus.publish(TOPIC, said(word), source="test") for word in ("a", "b", "c"))
        await asyncio.gather(bus.publish_all(bodies, source="test"), *others)

        assert [AT_ONCE, 2] == journal.sizes
        assert ["a", "b", "c"] == [_what(event) for event in journal.events[-3:]]

    async def test_next_turn(self, bus: Bus, journal: Picky) -> None:
        """Who publishes again once it was answered needs a further commit."""
        await publish(bus, "a")
        await publish(bus, "b")

        assert [1, 1] == journal.sizes


class TestFailure:
    async def test_alone(self, bus: Bus, journal: Picky) -> None:
        """An event that cannot be stored fails alone; those that shared its commit are stored."""
        heard: list[Event[Payload]] = []
        bus.subscribe(TOPIC, heard.append)
        first, bad, last = await publish(bus, "a", "bad", "c")

        assert isinstance(bad, BadInput)
        assert [first, last] == heard == journal.events

    async def test_away(self, bus: Bus, journal: Picky) -> None:
        """When the ledger is away everybody hears of it, and nobody waits for it one by one."""
        journal.away = True
        errors = await publish(bus, "a", "b", "c")

        assert [LedgerDown] * 3 == [type(error) for error in errors]
        assert [3] == journal.sizes

    async def test_cancelled(self) -> None:
        """A publisher that gave up takes no other's event with it."""
        gated = Gated(ManualClock())
        bus = Bus(gated, ManualClock())
        gone = asyncio.create_task(bus.publish(TOPIC, said("gone"), source="test"))
        stays = asyncio.create_task(bus.publish(TOPIC, said("stays"), source="test"))
        await gated.asked.wait()
        gone.cancel()
        gated.gate.set()

        assert said("stays") == (await stays).payload
        assert gone.cancelled()
        assert 2 == len(gated.events)


def _what(event: Event[Payload]) -> object:
    """Return what an event of these tests says."""
    assert isinstance(event.payload, Custom)
    return event.payload.body["what"]
