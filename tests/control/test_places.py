"""Who has a place at the control socket when there are more clients than places."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cortex_actors.gateways import connection
from cortex_actors.gateways import control as module
from cortex_actors.testing import eventually
from tests.control.wire import Wire, connect, raw

if TYPE_CHECKING:
    from tests.control.wire import Desk

#: Callers at once: more than there are places, and than asyncio lets wait by itself.
CROWD = 300


@pytest.fixture
async def wires(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[Wire]:
    """Give clients that have taken all places, and were answered in this order."""
    monkeypatch.setattr(module, "CONNECTIONS", 3)
    monkeypatch.setattr(module, "RESERVED", 1)
    wires = [await connect(desk) for _ in range(3)]
    for wire in wires:
        await wire.call("status")
    return wires


async def works(desk: Desk, wires: list[Wire]) -> None:
    """Give each of these something to wait for."""
    for wire in wires:
        wire.writer.write(b'{"id": 1, "method": "wait"}\n')
    await eventually(lambda: len(desk.control._busy) == len(wires))


def leave(wires: list[Wire]) -> None:
    """Close them all."""
    for wire in wires:
        wire.writer.close()


class TestIdle:
    async def test_makes_room(self, desk: Desk, wires: list[Wire]) -> None:
        """A newcomer gets the place of the longest idle, which reads why; the others go on."""
        await wires[0].call("status")
        newcomer = await connect(desk)

        assert "result" in await newcomer.call("publish", topic="custom:later")
        error = (await wires[1].hear())["error"]
        assert ("TooManyConnections", 77) == (error["data"]["type"], error["data"]["exit_code"])
        assert "connect and ask again" in error["message"]
        assert await wires[1].ended()
        for wire in (wires[0], wires[2]):
            assert "result" in await wire.call("status")
        leave([*wires, newcomer])

    async def test_half_a_request(self, desk: Desk, wires: list[Wire]) -> None:
        """Half a line keeps no place, and is not done when its place is taken."""
        for wire in wires:
            wire.writer.write(b'{"method": "shutdown"}')
        newcomers = [await connect(desk) for _ in wires]
        for wire in newcomers:
            assert "result" in await wire.call("status")

        for wire in wires:
            assert "TooManyConnections" == (await wire.hear())["error"]["data"]["type"]
            assert await wire.ended()
        assert [] == desk.stops
        leave([*wires, *newcomers])

    async def test_at_work(self, desk: Desk, wires: list[Wire]) -> None:
        """Who waits for an answer, or follows the log, is not idle and keeps its place."""
        desk.logs.write("info", "old", actor="a")
        await works(desk, wires[:1])
        await wires[1].call("logs", follow=True)
        newcomer = await connect(desk)

        assert "result" in await newcomer.call("status")
        assert "TooManyConnections" == (await wires[2].hear())["error"]["data"]["type"]
        desk.gate.set()
        assert {"waited": True} == (await wires[0].hear())["result"]
        desk.logs.write("info", "new", actor="a")
        assert "new" == (await wires[1].hear())["params"]["text"]
        leave([*wires, newcomer])

    @pytest.mark.slow
    async def test_limit(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Time runs from the last whole request: bytes that drip in between win none."""
        monkeypatch.setattr(connection, "IDLE", 0.4)
        client = raw(desk)
        loop = asyncio.get_running_loop()
        await eventually(lambda: len(desk.control._connections) == 1)
        async with asyncio.timeout(20):
            while desk.control._connections:
                with suppress(OSError):
                    client.send(b"x")
                await loop.run_in_executor(None, int)

        assert b"no request came for 0.4 s" in await loop.sock_recv(client, 1_000)
        client.close()


class TestReserved:
    async def test_for_the_owner(self, desk: Desk, wires: list[Wire]) -> None:
        """While all places are at work, `status` and `shutdown` are answered, and nothing else."""
        await works(desk, wires)
        newcomer = await connect(desk)

        assert "result" in await newcomer.call("status")
        for asked in ("publish", "logs"):
            params = {"topic": "custom:later"} if asked == "publish" else {}
            error = (await newcomer.call(asked, **params))["error"]
            assert ("TooManyConnections", 77) == (error["data"]["type"], error["data"]["exit_code"])
        assert (await newcomer.call("shutdown"))["result"]["stopping"]
        assert [] == desk.said
        leave([*wires, newcomer])

    async def test_are_not_kept(self, desk: Desk, wires: list[Wire]) -> None:
        """A client that says nothing in a reserved place loses it to the next."""
        await works(desk, wires)
        silent = await connect(desk)
        await silent.call("status")
        newcomer = await connect(desk)

        assert "result" in await newcomer.call("status")
        assert "TooManyConnections" == (await silent.hear())["error"]["data"]["type"]
        leave([*wires, silent, newcomer])

    async def test_full(
        self, desk: Desk, wires: list[Wire], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where no place is left at all a newcomer reads so; the others go on."""
        monkeypatch.setattr(module, "RESERVED", 0)
        await works(desk, wires)
        newcomer = await connect(desk)

        assert 77 == (await newcomer.hear())["error"]["data"]["exit_code"]
        assert await newcomer.ended()
        desk.gate.set()
        assert {"waited": True} == (await wires[0].hear())["result"]
        leave([*wires, newcomer])


class TestCrowd:
    async def test_all_are_answered(self, desk: Desk) -> None:
        """Many more callers at once than there are places are let in one after the other."""
        callers = []
        for _ in range(CROWD):
            caller = raw(desk)
            caller.send(b'{"id": 1, "method": "publish", "params": {"topic": "custom:later"}}\n')
            callers.append(caller)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(20):
            answers = [json.loads(await loop.sock_recv(caller, 1000)) for caller in callers]
        for caller in callers:
            caller.close()

        assert CROWD == sum("result" in answer for answer in answers)


class TestUnread:
    async def test_answers(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client that asks, says that it is done and reads nothing is cut off."""
        monkeypatch.setattr(connection, "STUCK", 0.05)
        said = b'{"topic": "custom:later", "payload": "%s"}' % (b"x" * 10_000)
        client = raw(desk)
        await eventually(lambda: len(desk.control._connections) == 1)
        (served,) = desk.control._connections.values()
        ours = served.writer.transport
        while not ours.get_write_buffer_size():
            with suppress(BlockingIOError):
                client.send(b'{"id": 1, "method": "publish", "params": %s}\n' % said)
            await asyncio.get_running_loop().run_in_executor(None, int)
        client.shutdown(socket.SHUT_WR)

        await eventually(lambda: ours.get_extra_info("socket").fileno() == -1)
        client.close()
