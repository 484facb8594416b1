"""The control socket's life, and the log over it."""

from __future__ import annotations

import asyncio
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import ConfigurationError
from cortex_actors.gateways import connection
from cortex_actors.gateways import control as module
from cortex_actors.home import Home
from cortex_actors.process.lock import Peer
from tests.control.wire import Desk, connect

if TYPE_CHECKING:
    from tests.control.wire import Wire


class TestSocket:
    async def test_is_private(self, desk: Desk) -> None:
        """Only the user may connect."""
        assert 0o600 == stat.S_IMODE(desk.home.socket.stat().st_mode)

    async def test_umask(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder that another thread makes while the socket is made is open to its owner."""
        await desk.control.close()
        folder, bind = desk.home.root / "index", socket.socket.bind

        def beside(sock: socket.socket, address: str) -> None:
            folder.mkdir(mode=0o700)
            bind(sock, address)

        monkeypatch.setattr(socket.socket, "bind", beside)
        other = Desk(desk.home, desk.logs)
        await other.control.open()
        await other.control.close()

        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)

    async def test_replaces_a_dead_one(self, desk: Desk) -> None:
        """A socket that a killed daemon left is no obstacle."""
        other = Desk(desk.home, desk.logs)
        await other.control.open()
        wire = await connect(other)

        assert "result" in await wire.call("status")
        wire.writer.close()
        await other.control.close()

    async def test_is_gone_afterwards(self, desk: Desk, wire: Wire) -> None:
        """Closing removes the socket and hangs up."""
        await wire.call("status")
        await desk.control.close()

        assert await wire.ended()
        assert not desk.home.socket.exists()

    async def test_cannot_be_made(self, desk: Desk) -> None:
        """A socket that cannot be made says which, and what to do."""
        other = Desk(Home(desk.home.root / "nowhere"), desk.logs)

        with pytest.raises(ConfigurationError, match=r"cannot listen on .*nowhere"):
            await other.control.open()

    async def test_other_user(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another user is refused, whatever the file's mode says."""
        monkeypatch.setattr(module, "find_peer", lambda _: Peer(1, 12_345))
        wire = await connect(desk)

        assert "Refused" == (await wire.hear())["error"]["data"]["type"]
        assert await wire.ended()
        wire.writer.close()


class TestDraining:
    async def test_refuses_work(self, desk: Desk, wire: Wire) -> None:
        """While the daemon drains, new work is refused and questions about it are answered."""
        desk.control.drain()
        refused = (await wire.call("publish", topic="custom:a"))["error"]

        assert (-32001, "DaemonStopping") == (refused["code"], refused["data"]["type"])
        assert "result" in await wire.call("status")
        assert [] == desk.said

    async def test_shutdown(self, desk: Desk, wire: Wire) -> None:
        """`shutdown` is answered, and asks the daemon once to stop."""
        assert (await wire.call("shutdown"))["result"]["stopping"]
        assert 1 == len(desk.stops)

    async def test_in_hand(self, desk: Desk, wire: Wire) -> None:
        """A request in hand when the socket closes is still answered, if it ends in time."""
        wire.writer.write(b'{"id": 1, "method": "wait"}\n')
        other = await connect(desk)
        await other.call("status")
        closing = asyncio.create_task(desk.control.close(5))
        desk.gate.set()

        assert {"waited": True} == (await wire.hear())["result"]
        await closing
        other.writer.close()


class TestLogs:
    async def test_last(self, desk: Desk, wire: Wire) -> None:
        """`logs` sends the last records that pass, then how many there were."""
        for number in range(20):
            desk.logs.write("info" if number % 2 else "error", str(number), actor="a")
        first = await wire.call("logs", level="error", last=2)
        second = await wire.hear()

        assert ["16", "18"] == [first["params"]["text"], second["params"]["text"]]
        assert {"sent": 2} == (await wire.hear())["result"]

    async def test_follow(self, desk: Desk, wire: Wire) -> None:
        """A follower gets new records until it speaks; then the connection serves on."""
        desk.logs.write("info", "old", actor="a")
        assert "old" == (await wire.call("logs", follow=True))["params"]["text"]
        desk.logs.write("info", "new", actor="a")
        assert "new" == (await wire.hear())["params"]["text"]
        wire.writer.write(b"\n")

        assert {"sent": 2} == (await wire.hear())["result"]

    async def test_reader_leaves(self, desk: Desk, wire: Wire) -> None:
        """A follower that hangs up is forgotten at once, though nothing is written."""
        desk.logs.write("info", "old", actor="a")
        await wire.call("logs", follow=True)
        assert 1 == desk.logs.followers
        wire.writer.close()
        await wire.writer.wait_closed()
        async with asyncio.timeout(10):
            while desk.logs.followers:
                await asyncio.get_running_loop().run_in_executor(None, int)

        assert 0 == desk.logs.followers

    async def test_stuck_reader(
        self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A reader that takes nothing is cut off."""
        monkeypatch.setattr(connection, "STUCK", 0.05)
        desk.logs.write("info", "old", actor="a")
        await wire.call("logs", follow=True)
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            while desk.logs.followers:
                desk.logs.write("info", "x" * 10_000, actor="a")
                await asyncio.get_running_loop().run_in_executor(None, int)

        assert 0 == desk.logs.followers
