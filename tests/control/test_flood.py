"""A client that publishes faster than an actor hears."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import Custom
from cortex_actors.gateways.control import Control
from cortex_actors.runtime.names import Names
from cortex_actors.testing import ManualClock, MemoryJournal, eventually
from tests.bus.hearing import TOPIC, Audience
from tests.control.wire import Wire, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.control.wire import Desk

#: Publishes of one flood, and the bytes of each: together far more than what a stream and the
#: sockets hold between them, some 3 MB.
FLOOD, WEIGHT = 1_500, 4_000


@pytest.fixture
async def audience(desk: Desk) -> AsyncIterator[Audience]:
    """Give a bus that is published to over a control socket of its own."""
    clock = ManualClock()
    audience = Audience(Bus(MemoryJournal(clock), clock), Names())

    def now(n: int) -> dict[str, Any] | None:
        said = audience.bus.publish_now(TOPIC, Custom({"n": n}), source="test")
        return None if said is None else {"n": n}

    async def publish(n: int) -> dict[str, Any]:
        payload = Custom({"n": n})
        await audience.bus.publish(TOPIC, payload, source="test", durable=False)
        return {"n": n}

    await desk.control.close()
    desk.control = Control(
        desk.home,
        verbs={"publish": publish},
        logs=desk.logs,
        shutdown=desk.stops.append,
        quick={"publish": now},
    )
    await desk.control.open()
    yield audience
    await audience.leave()


class TestFlood:
    async def test_slowed(self, desk: Desk, audience: Audience) -> None:
        """One line of a connection is in hand: a flood waits in the client, not in our memory."""
        await audience.join("slow", shut=True)
        audience.bus.deliver_to(TOPIC, audience.names, "slow")
        wire = await connect(desk)
        flood = asyncio.create_task(_flood(wire))
        await eventually(audience.names.known()["slow"].actor_inbox.full)
        answers = asyncio.create_task(_answers(wire))
        await asyncio.to_thread(lambda: None)

        assert not flood.done()
        assert not answers.done()
        audience.gates["slow"].set()
        async with asyncio.timeout(20):
            await flood
            assert list(range(FLOOD)) == await answers
        await eventually(lambda: list(range(FLOOD)) == audience.heard["slow"])
        wire.writer.close()

    async def test_others_go_on(self, desk: Desk, audience: Audience) -> None:
        """A connection whose receiver is slow keeps no other connection waiting."""
        await audience.join("slow", shut=True)
        subscription = audience.bus.deliver_to(TOPIC, audience.names, "slow")
        first = await connect(desk)
        flood = asyncio.create_task(_flood(first))
        await eventually(audience.names.known()["slow"].actor_inbox.full)
        subscription.cancel()
        second = await connect(desk)

        assert {"n": 7} == (await second.call("publish", n=7))["result"]
        flood.cancel()
        for wire in (first, second):
            wire.writer.close()


async def _flood(wire: Wire) -> None:
    """Publish without waiting for answers, as fast as the socket takes it."""
    wire.writer.transport.set_write_buffer_limits(high=1_000)
    for number in range(FLOOD):
        request = {"id": number, "method": "publish", "params": {"n": number}, "pad": "x" * WEIGHT}
        wire.writer.write(json.dumps(request).encode() + b"\n")
        await wire.writer.drain()


async def _answers(wire: Wire) -> list[int]:
    """Return the ids of all answers."""
    return [(await wire.hear())["id"] for _ in range(FLOOD)]
