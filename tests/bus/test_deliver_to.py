"""Actors that hear topics in their mailboxes, by name."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from cortex_actors.bus import delivery as module
from cortex_actors.domain.event import Custom
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.testing import eventually
from tests.bus.hearing import TOPIC, Audience, Refusing

if TYPE_CHECKING:
    import pytest


class TestByName:
    async def test_hears(self, audience: Audience) -> None:
        """An actor gets the events of a pattern, in order, in its mailbox."""
        await audience.join("a")
        audience.bus.deliver_to("custom:*", audience.names, "a")
        for number in range(10):
            await audience.say(number)

        await eventually(lambda: list(range(10)) == audience.heard["a"])

    async def test_successor(self, audience: Audience) -> None:
        """The next life of an actor hears what comes after it began; nobody subscribes again."""
        first = await audience.join("a")
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a")
        await audience.say(1)
        await eventually(lambda: [1] == audience.heard["a"])
        first.kill()
        await first.exited()
        await audience.say(2)
        await audience.join("a")
        await audience.say(3)

        await eventually(lambda: [1, 3] == audience.heard["a"])
        assert subscription.mailbox is not None
        assert 1 == subscription.mailbox.missed

    async def test_ends_with(self, audience: Audience) -> None:
        """A subscription that ends with its actor is gone when the actor has ended."""
        handle = await audience.join("a")
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a").end_with(handle.ref)
        handle.kill()
        await handle.exited()

        assert subscription.cancelled
        assert () == audience.bus._board.hearers(TOPIC)

    async def test_ends_with_the_dead(self, audience: Audience) -> None:
        """A subscription that should end with an actor that is dead already is gone at once."""
        handle = await audience.join("a")
        handle.kill()
        await handle.exited()

        assert audience.bus.deliver_to(TOPIC, audience.names, "a").end_with(handle.ref).cancelled


class TestPressure:
    async def test_publisher_waits(self, audience: Audience) -> None:
        """A publisher waits while a mailbox is full, and nothing is lost or out of order."""
        await audience.join("a", shut=True)
        audience.bus.deliver_to(TOPIC, audience.names, "a")
        said: list[int] = []

        async def flood() -> None:
            for number in range(50):
                await audience.say(number)
                said.append(number)

        flooding = asyncio.create_task(flood())
        await eventually(lambda: len(said) >= 3)
        for _ in range(20):
            await eventually(lambda: True)
        waiting = len(said)
        audience.gates["a"].set()
        await flooding

        assert waiting <= 4
        await eventually(lambda: list(range(50)) == audience.heard["a"])

    async def test_others_do_not(self, audience: Audience) -> None:
        """While a publisher waits for one receiver, the others have its event already."""
        await audience.join("slow", shut=True)
        await audience.join("quick")
        for name in ("slow", "quick"):
            audience.bus.deliver_to(TOPIC, audience.names, name)
        saying = asyncio.create_task(_say_all(audience, 5))
        await eventually(lambda: len(audience.heard["quick"]) >= 4)

        assert not saying.done()
        assert [] == audience.heard["slow"]
        audience.gates["slow"].set()
        await saying

    async def test_order_of_each(self, audience: Audience) -> None:
        """What one of several publishers says is heard in its order, however full the mailbox."""
        await audience.join("a")
        audience.bus.deliver_to(TOPIC, audience.names, "a")

        async def count(start: int) -> None:
            for number in range(start, start + 30):
                await audience.say(number)

        await asyncio.gather(*(count(start) for start in (0, 100, 200)))
        await eventually(lambda: 90 == len(audience.heard["a"]))

        for start in (0, 100, 200):
            mine = [n for n in audience.heard["a"] if start <= n < start + 100]
            assert list(range(start, start + 30)) == mine

    async def test_death_frees(self, audience: Audience) -> None:
        """A receiver that ends while it is waited for frees the publisher."""
        handle = await audience.join("a", shut=True)
        audience.bus.deliver_to(TOPIC, audience.names, "a")
        saying = asyncio.create_task(_say_all(audience, 10))
        await eventually(handle.ref.actor_inbox.full)
        handle.kill()
        async with asyncio.timeout(5):
            await saying

        assert [] == audience.heard["a"]

    async def test_patience_ends(
        self, audience: Audience, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A receiver that is stuck for long goes without, which is counted and logged once."""
        monkeypatch.setattr(module, "PATIENCE", 0.01)
        await audience.join("a", shut=True)
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a")
        async with asyncio.timeout(5):
            await _say_all(audience, 8)

        assert 4 == subscription.dropped
        assert 1 == caplog.text.count("has no room")

    async def test_leaving_publisher(self, audience: Audience) -> None:
        """What a publisher that ends while it waits has not delivered is counted as dropped."""
        handle = await audience.join("a", shut=True)
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a")
        pairs = [(TOPIC, Custom({"n": number})) for number in range(8)]
        saying = asyncio.create_task(audience.bus.publish_all(pairs, source="test"))
        await eventually(lambda: 1 == len(handle.ref.actor_inbox._room))
        saying.cancel()
        await asyncio.wait({saying})

        assert 4 == subscription.dropped

    async def test_refusing(self, audience: Audience) -> None:
        """A receiver whose policy is to refuse is not waited for."""
        await audience.join("a", Refusing, shut=True)
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a")
        async with asyncio.timeout(5):
            await _say_all(audience, 8)

        assert 4 == subscription.dropped

    async def test_announcing(self, audience: Audience) -> None:
        """Who only announces never waits: what finds no room is dropped and counted."""
        handle = await audience.join("a", shut=True)
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "a")
        event = audience.bus.event(TOPIC, Custom({"n": 1}), source="test")
        for _ in range(8):
            audience.bus.announce(event)

        assert handle.ref.actor_inbox.full()
        assert 5 == subscription.dropped

    async def test_now(self, audience: Audience) -> None:
        """What is said only if nobody has to be waited for reaches all or nobody."""
        await audience.join("a", shut=True)
        await audience.join("b")
        for name in ("b", "a"):
            audience.bus.deliver_to(TOPIC, audience.names, name)
        payload = Custom({"n": 1})
        events = [audience.bus.publish_now(TOPIC, payload, source="test") for _ in range(8)]
        await eventually(lambda: 3 == len(audience.heard["b"]))

        assert 3 == sum(event is not None for event in events)

    async def test_own_mailbox(self, audience: Audience) -> None:
        """An actor that publishes what it hears itself never waits for itself."""
        bus = audience.bus
        heard: list[object] = []

        class Echo(AsyncioActor):
            mailbox_limit = 2

            async def on_receive(self, message: object) -> None:
                heard.append(message)
                if len(heard) == 1:
                    for _ in range(5):
                        await bus.publish(TOPIC, Custom({}), source="echo", durable=False)

        ref = await Echo.start_async()
        audience.names.register("echo", ref)
        subscription = bus.deliver_to(TOPIC, audience.names, "echo")
        await bus.publish(TOPIC, Custom({}), source="test", durable=False)
        await eventually(lambda: 3 == len(heard))

        assert 3 == subscription.dropped
        await ref.stop(block=False)


class TestIsolation:
    async def test_raising(self, audience: Audience, caplog: pytest.LogCaptureFixture) -> None:
        """A receiver that raises costs no other its event."""
        caplog.set_level(logging.CRITICAL, logger="cortex.bus")

        def fail(_event: object) -> None:
            raise OSError("no")

        await audience.join("a")
        failing = audience.bus.subscribe("*", fail)
        audience.bus.deliver_to(TOPIC, audience.names, "a")
        await _say_all(audience, 3)

        await eventually(lambda: [0, 1, 2] == audience.heard["a"])
        assert 3 == failing.failed

    async def test_dying(self, audience: Audience) -> None:
        """A receiver that is killed in between costs no other its event."""
        await audience.join("b")
        doomed = await audience.join("a")
        for name in ("a", "b"):
            audience.bus.deliver_to(TOPIC, audience.names, name)
        await audience.say(0)
        doomed.kill()
        await _say_all(audience, 3, first=1)

        await eventually(lambda: [0, 1, 2, 3] == audience.heard["b"])


async def _say_all(audience: Audience, count: int, first: int = 0) -> None:
    """Say several numbers."""
    for number in range(first, first + count):
        await audience.say(number)
