from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.commits import Delivery, Outcome
from cortex_actors.domain.event import ActorLife, Custom, Payload
from cortex_actors.errors import BadInput, LedgerDown, UnknownTopic
from tests.bus.gated import CHANGE, Gated, change

if TYPE_CHECKING:
    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.event import Event


class TestPublish:
    async def test_returns_after_commit(self, bus: Bus, journal: Gated) -> None:
        """A durable event is neither returned nor heard before it is stored."""
        heard: list[Event[Payload]] = []
        bus.subscribe("*", heard.append)
        journal.gate.clear()
        task = asyncio.create_task(change(bus))
        await journal.asked.wait()
        before = (task.done(), list(heard))
        journal.gate.set()
        event = await task

        assert (False, []) == before
        assert [event] == heard == journal.events
        assert 1 == event.seq

    async def test_failed_commit(self, bus: Bus, journal: Gated) -> None:
        """What could not be stored is nobody's news, and its publisher hears why."""
        heard: list[Event[Payload]] = []
        bus.subscribe("*", heard.append)
        journal.error = LedgerDown("no disk")
        with pytest.raises(LedgerDown, match="no disk"):
            await change(bus)

        assert [] == heard

    async def test_cancelled_publisher(self, bus: Bus, journal: Gated) -> None:
        """An event whose publisher gave up during the commit is heard all the same."""
        heard = asyncio.Event()
        bus.subscribe(topics.FILE_CHANGED, lambda _event: heard.set())
        journal.gate.clear()
        task = asyncio.create_task(change(bus))
        await journal.asked.wait()
        task.cancel()
        await asyncio.wait({task})
        journal.gate.set()
        async with asyncio.timeout(5):
            await heard.wait()

        assert task.cancelled()
        assert 1 == len(journal.events)

    async def test_cancelled_consumer(self, bus: Bus, journal: Gated) -> None:
        """What an outcome says is heard although its handler was ended during the commit."""
        heard = asyncio.Event()
        await change(bus)
        delivery = await journal.find_next("accumulator")
        assert isinstance(delivery, Delivery)
        bus.subscribe(topics.PROJECT_ADDED, lambda _event: heard.set())
        said = bus.make_event(topics.PROJECT_ADDED, CHANGE, source="test")
        journal.gate.clear()
        journal.asked.clear()
        task = asyncio.create_task(bus.settle(delivery, Outcome(say=[said])))
        await journal.asked.wait()
        task.cancel()
        await asyncio.wait({task})
        journal.gate.set()
        async with asyncio.timeout(5):
            await heard.wait()

        assert 0 == journal.waiting("accumulator")

    async def test_not_durable(self, bus: Bus, journal: Gated) -> None:
        """An event about the program's own life is heard and not stored."""
        heard: list[Event[Payload]] = []
        bus.subscribe("actor:*", heard.append)
        event = await bus.publish(topics.ACTOR_STARTED, ActorLife("ledger"), source="storage")

        assert [event] == heard
        assert event.seq is None
        assert [] == journal.events

    async def test_durable_as_asked(self, bus: Bus, journal: Gated) -> None:
        """A durable topic's event is not stored when its publisher says so."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test", durable=False)

        assert [] == journal.events

    async def test_unknown_topic(self, bus: Bus) -> None:
        """A topic that nobody could hear is refused."""
        with pytest.raises(UnknownTopic):
            await bus.publish("file:chnaged", CHANGE, source="test")


class TestLimits:
    @pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
    async def test_payload(self, bus: Bus, *, more: int, refused: bool) -> None:
        """A payload has at most 64 KiB of JSON, to the byte."""
        text = "x" * (topics.PAYLOAD_LIMIT - len('{"a": ""}') + more)
        sent = bus.publish("custom:a", Custom({"a": text}), source="test")
        if refused:
            with pytest.raises(BadInput, match="has 65537 bytes .* the limit is 65536"):
                await sent
        else:
            assert 1 == (await sent).seq

    async def test_custom_names(self, bus: Bus) -> None:
        """However many custom names one process says, others are stored and heard, too."""
        heard: list[str] = []
        bus.subscribe("custom:*", lambda event: heard.append(event.topic))
        names = [f"custom:t-{n}" for n in range(1_009)]
        await asyncio.gather(*(bus.publish(name, Custom({}), source="test") for name in names))
        for name in ("custom:one-more", "custom:t-0"):
            await bus.publish(name, Custom({}), source="test")

        assert [*names, "custom:one-more", "custom:t-0"] == heard
        assert len(names) + 3 == (await change(bus)).seq


class TestSubscribe:
    async def test_later(self, bus: Bus) -> None:
        """Who subscribes after a topic was used hears its next event, once, in order."""
        heard: list[str] = []
        await change(bus)
        for name, pattern in (("b", "*"), ("a", "file:*"), ("c", topics.FILE_CHANGED)):
            bus.subscribe(pattern, lambda _event, name=name: heard.append(name))  # type: ignore[misc]
        await change(bus)

        assert ["b", "a", "c"] == heard

    async def test_raising(self, bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
        """A receiver that raises costs no other its event, and is logged."""
        heard: list[Event[Payload]] = []

        def bad(event: Event[Payload]) -> None:
            raise OSError(event.topic)

        bus.subscribe("*", heard.append)
        bus.subscribe("*", bad)
        bus.subscribe("*", heard.append)
        event = await change(bus)

        assert [event, event] == heard
        assert "a receiver of * failed" in caplog.text

    async def test_cancel(self, bus: Bus) -> None:
        """A cancelled subscription hears nothing, and cancelling twice is fine."""
        heard: list[Event[Payload]] = []
        subscription = bus.subscribe("*", heard.append)
        subscription.cancel()
        subscription.cancel()
        await change(bus)

        assert [] == heard

    async def test_cancel_meanwhile(self, bus: Bus) -> None:
        """Who is cancelled by an earlier receiver does not hear that event any more."""
        heard: list[Event[Payload]] = []
        bus.subscribe("*", lambda _event: second.cancel())
        second = bus.subscribe("*", heard.append)
        bus.subscribe("*", heard.append)
        await change(bus)

        assert 1 == len(heard)

    async def test_subscribe_meanwhile(self, bus: Bus) -> None:
        """A receiver may subscribe another while it hears; that one hears the next event."""
        heard: list[Event[Payload]] = []

        def greet(_event: Event[Payload]) -> None:
            bus.subscribe("*", heard.append)

        bus.subscribe("*", greet)
        await change(bus)
        await change(bus)

        assert 1 == len(heard)
