"""Requests that are answered without a task, because nobody has to be waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.gateways import connection
from cortex_actors.process.logfile import Filter
from tests.control.wire import connect

if TYPE_CHECKING:
    from tests.control.wire import Desk, Wire

NOW = b'{"id": 1, "method": "publish", "params": {"topic": "custom:now"}}'
LATER = b'{"id": 2, "method": "publish", "params": {"topic": "custom:later"}}'


class TestAtOnce:
    async def test_answers(self, desk: Desk, wire: Wire) -> None:
        """What can be answered at once is done once and answered under its id."""
        answer = await wire.ask(NOW)

        assert (1, True) == (answer["id"], answer["result"]["now"])
        assert ["custom:now"] == desk.said

    async def test_otherwise(self, desk: Desk, wire: Wire) -> None:
        """What cannot be answered at once is done once by the verb itself."""
        answer = await wire.ask(LATER)

        assert {"topic": "custom:later", "payload": None} == answer["result"]
        assert ["custom:later"] == desk.said

    async def test_notification(self, desk: Desk, wire: Wire) -> None:
        """A request without an id is done at once and not answered."""
        wire.writer.write(b'{"method": "publish", "params": {"topic": "custom:now"}}\n')

        assert 7 == (await wire.call("status"))["id"]
        assert ["custom:now"] == desk.said

    async def test_fault(self, desk: Desk, wire: Wire) -> None:
        """What fails at once is left to the verb, whose answer counts."""
        answer = await wire.call("publish", topic="custom:break")

        assert {"topic": "custom:break", "payload": None} == answer["result"]
        assert [] == desk.logs.list_recent(Filter("error"))

    @pytest.mark.parametrize(
        "line",
        [b'{"id": 1, "method": "publish"}', b'{"id": 1, "method": "publish", "params": {"x": 1}}'],
    )
    async def test_wrong_parameters(self, wire: Wire, line: bytes) -> None:
        """Parameters that do not fit are reported as they are for every verb."""
        assert -32602 == (await wire.ask(line))["error"]["code"]


class TestOrder:
    async def test_behind_a_slow_one(self, desk: Desk, wire: Wire) -> None:
        """A request is not answered before one that came earlier on its connection."""
        wire.writer.write(b'{"id": 0, "method": "wait"}\n')
        other = await connect(desk)
        await other.call("status")
        wire.writer.write(NOW + b"\n")
        await other.call("status")
        early = list(desk.said)
        desk.gate.set()

        assert [] == early
        assert [0, 1] == [(await wire.hear())["id"], (await wire.hear())["id"]]
        other.writer.close()

    async def test_several_at_once(self, wire: Wire) -> None:
        """Lines that come together are answered in order, quick or not."""
        wire.writer.write(LATER + b"\n" + NOW + b"\n" + LATER + b"\n")

        assert [2, 1, 2] == [(await wire.hear())["id"] for _ in range(3)]

    async def test_in_pieces(self, desk: Desk, wire: Wire) -> None:
        """A line that comes in pieces is one request, and the next is answered at once again."""
        other = await connect(desk)
        wire.writer.write(NOW[:20])
        await other.call("status")
        wire.writer.write(NOW[20:] + b"\n")

        assert "result" in await wire.hear()
        assert (await wire.ask(NOW))["result"]["now"]
        assert ["custom:now"] * 2 == desk.said
        other.writer.close()

    async def test_unread_answers(
        self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A client that asks and reads nothing is cut off, and until then holds little memory."""
        monkeypatch.setattr(connection, "STUCK", 0.05)
        large = b'"' + b"x" * 60_000 + b'"'
        line = b'{"id": 1, "method": "publish", "params": {"topic": "custom:now", "payload": %s}}\n'
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(50):
            wire.writer.write(line % large)
        async with asyncio.timeout(20):
            while desk.control._connections:
                await asyncio.get_running_loop().run_in_executor(None, int)

        assert len(desk.said) < 20


class TestDraining:
    async def test_refused(self, desk: Desk, wire: Wire) -> None:
        """While the daemon drains, nothing new is done at once either."""
        desk.control.drain()

        assert "DaemonStopping" == (await wire.ask(NOW))["error"]["data"]["type"]
        assert [] == desk.said

    @pytest.mark.slow
    async def test_idle(self, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """A connection is cut off when it says nothing for long, and not while it is used."""
        monkeypatch.setattr(connection, "IDLE", 0.3)
        await wire.call("status")
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.7
        while loop.time() < end:
            assert "result" in await wire.ask(NOW)

        assert "no request came for 0.3 s" in (await wire.hear())["error"]["message"]
        assert await wire.ended()
