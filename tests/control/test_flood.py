"""A client that publishes faster than an actor hears."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.gateways.control import Control
from tests.control.wire import Wire, connect

if TYPE_CHECKING:
    from tests.control.wire import Desk

#: Publishes of one flood, and the bytes of each: together far more than what a stream and the
#: sockets hold between them, some 3 MB.
FLOOD, WEIGHT = 1_500, 4_000


class Receiver:
    """Hears what is published, one at a time, each when the gate is open."""

    def __init__(self) -> None:
        """Begin with a gate that is shut."""
        self.gate = asyncio.Event()
        self.heard: list[int] = []
        self.begun = asyncio.Event()
        #: Whether nobody has to be waited for.
        self.is_quick = False

    def now(self, n: int) -> dict[str, Any] | None:
        """Take a number at once, where that can be."""
        return {"n": n} if self.is_quick else None

    async def publish(self, n: int) -> dict[str, Any]:
        """Take a number."""
        self.begun.set()
        await self.gate.wait()
        self.heard.append(n)
        return {"n": n}


@pytest.fixture
async def receiver(desk: Desk) -> Receiver:
    """Give a slow receiver that is published to over a control socket of its own."""
    receiver = Receiver()
    await desk.control.close()
    desk.control = Control(
        desk.home,
        verbs={"publish": receiver.publish},
        logs=desk.logs,
        shutdown=desk.stops.append,
        quick={"publish": receiver.now},
    )
    await desk.control.open()
    return receiver


class TestFlood:
    async def test_slowed(self, desk: Desk, receiver: Receiver) -> None:
        """One line of a connection is in hand: a flood waits in the client, not in our memory."""
        wire = await connect(desk)
        flood = asyncio.create_task(_flood(wire))
        await receiver.begun.wait()
        answers = asyncio.create_task(_answers(wire))
        await asyncio.to_thread(lambda: None)

        assert not flood.done()
        assert not answers.done()
        receiver.gate.set()
        async with asyncio.timeout(20):
            await flood
            assert list(range(FLOOD)) == await answers
        assert list(range(FLOOD)) == receiver.heard
        wire.writer.close()

    async def test_others_go_on(self, desk: Desk, receiver: Receiver) -> None:
        """A connection whose receiver is slow keeps no other connection waiting."""
        first = await connect(desk)
        flood = asyncio.create_task(_flood(first))
        await receiver.begun.wait()
        receiver.is_quick = True
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
