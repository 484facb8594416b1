"""The door itself: off, open, or shut for a reason; what it costs and who is let in."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.gateways import app, server
from cortex_actors.process.logfile import Filter
from cortex_actors.sections import HttpSettings
from cortex_actors.testing import ManualClock, eventually
from tests.gateways.gatehouse import Gatehouse, gatehouse, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gatehouse]:
    """Give a house whose actor is not started yet."""
    monkeypatch.setattr(server, "BREATH", 0)
    async with gatehouse(tmp_path) as house:
        yield house


class TestOff:
    async def test_off(self, house: Gatehouse) -> None:
        """A door that nobody wants makes no token, listens nowhere, and says that it is off."""
        await house.open(enabled=False)

        assert {"state": "off"} == await house.door()
        assert not house.home.tokens.exists()

    @pytest.mark.slow
    def test_cost(self) -> None:
        """The actor itself is made of none of the libraries of a server."""
        code = (
            "import sys, cortex_actors.gateways.server; print([name for name in "
            "('fastapi', 'starlette', 'uvicorn', 'h11') if name in sys.modules])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

        assert b"[]" == found.stdout.strip()


class TestOpen:
    async def test_answers(self, house: Gatehouse) -> None:
        """An open door answers, says where it is, and has made the owner's token."""
        await house.open()

        assert (200, "CortexActors") == (
            (answer := await house.ask("/"))[0],
            answer[1]["service"],
        )
        assert 0o600 == (house.home.tokens / "owner").stat().st_mode & 0o777

    async def test_token_stays(self, house: Gatehouse) -> None:
        """The owner's token outlasts the door."""
        await house.open()
        await house.port()
        before = (house.home.tokens / "owner").read_text()
        await house.handle.stop(5)
        await house.open()
        await house.port()

        assert before == (house.home.tokens / "owner").read_text()

    async def test_signals(self, house: Gatehouse) -> None:
        """The server leaves the process's signals alone."""
        before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
        await house.open()
        await house.port()

        assert before == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    async def test_errors(self, house: Gatehouse) -> None:
        """What a verb raises has its status, and a fault of ours is told by its kind alone."""
        await house.open()

        assert (404, {"detail": "nothing is called so"}) == await house.ask(
            "/recall", {"query": "nowhere"}
        )
        assert 500 == (await house.ask("/recall", {"query": "fault"}))[0]
        assert 422 == (await house.ask("/recall", {"limit": 3}))[0]

    async def test_unreadable(self, house: Gatehouse) -> None:
        """A body that is no JSON is refused, and not repeated."""
        await house.open()
        status, told = await house.ask("/recall", "not an object, s3cret")

        assert 422 == status
        assert "s3cret" not in json.dumps(told)

    async def test_large(self, house: Gatehouse) -> None:
        """A body has at most as many bytes as the settings say."""
        await house.open(max_body_bytes=1_024)

        assert 413 == (await house.ask("/recall", {"query": "x" * 2_000}))[0]
        assert 404 == (await house.ask("/recall", {"query": "nowhere", "more": "x" * 500}))[0]

    @pytest.mark.parametrize("name", ["topics", "exclude_ids"])
    async def test_many_mistakes(self, house: Gatehouse, name: str) -> None:
        """Of a list of things that are no texts the first alone is told."""
        await house.open()
        status, told = await house.ask("/seren/memory/by_topic", {"topics": [], name: [1] * 1_000})

        assert (422, 1) == (status, len(told["detail"]))

    async def test_reasons(self, house: Gatehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        """Why a store cannot be asked is no business of whoever has no token."""

        async def stores() -> dict[str, Any]:
            row = {"name": "far", "status": "skipped: the keyring has nothing for 's3cret'"}
            return {"stores": [row], "active": []}

        monkeypatch.setattr(house.desk, "stores", stores)
        await house.open()
        (told,) = (await house.ask("/"))[1]["skipped"]

        assert "far" == told["name"]
        assert "s3cret" not in told["reason"]

    @pytest.mark.parametrize("path", ["/health", "/recall"])
    @pytest.mark.parametrize("is_answered", [True, False])
    async def test_no_http(self, house: Gatehouse, path: str, *, is_answered: bool) -> None:
        """What turns out to be no HTTP is the end of a connection, and no error of ours."""
        heard: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: heard.append(context))
        await house.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", await house.port())
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        head += "Origin: null\r\n" if is_answered else ""
        writer.write(f"{head}\r\n".encode())
        if is_answered:
            await reader.readuntil(b"}")
        writer.write(b"no length\r\n\r\n")
        await reader.read()
        writer.close()

        assert 200 == (await house.ask("/health"))[0]
        assert [] == heard
        lines = house.logs.list_recent(Filter(actor="http", level="error"), last=1_000)
        assert [] == lines

    async def test_idle(self, house: Gatehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        """A connection that asks nothing is closed, whatever it drips."""
        monkeypatch.setattr(app, "IDLE", 0.02)
        await house.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", await house.port())
        writer.write(b"GET / HT")

        with pytest.raises(ConnectionError):
            assert b"" != await reader.read(1) or _raise()
        writer.close()


class TestFull:
    """More connections than there may be."""

    @pytest.mark.parametrize(
        "sent",
        [
            b"",
            b"GET /hea",
            request("/health", {})[:-1],
            request("/recall", {})[:-1],
            request("/recall", {}, token="TOKEN")[:-1],
            request("/health"),
        ],
        ids=["nothing", "head", "body", "refused", "agent", "answered"],
    )
    async def test_waiting(self, house: Gatehouse, sent: bytes) -> None:
        """Those that are slow to send a request, or send none, keep nobody out."""
        await house.open(max_connections=3)
        port = await house.port()
        sent = sent.replace(b"TOKEN", house.agent("AZOTH").encode())
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for _, writer in slow:
            writer.write(sent)
        answers = [await house.ask("/health") for _ in range(5)]

        assert [200] * 5 == [status for status, _ in answers]
        for _, writer in slow:
            writer.close()

    async def test_oldest(self, house: Gatehouse) -> None:
        """Of those the oldest makes room; the others stay."""
        await house.open(max_connections=2)
        port = await house.port()
        (first, one), (second, other) = [
            await asyncio.open_connection("127.0.0.1", port) for _ in range(2)
        ]
        await house.ask("/health")
        other.write(request("/health", close=True))

        assert b"HTTP/1.1 200" == (await second.read())[:12]
        with pytest.raises(ConnectionError):
            assert b"" != await first.read(1) or _raise()
        for writer in (one, other):
            writer.close()

    async def test_answered(self, house: Gatehouse) -> None:
        """Who is being answered stays; while that is so on all of them a new one is closed."""
        await house.open(max_connections=2)
        asking = [
            asyncio.create_task(house.ask("/recall", {"query": name}, token=house.agent(name)))
            for name in ("AZOTH", "VAJRA")
        ]
        await eventually(lambda: house.desk.asked == 2)

        with pytest.raises((ConnectionError, IndexError)):
            await house.ask("/health")
        house.desk.gate.set()
        assert [200, 200] == [status for status, _ in await asyncio.gather(*asking)]
        assert 200 == (await house.ask("/health"))[0]

    async def test_asking(self, house: Gatehouse) -> None:
        """A caller who asks without end on all of them keeps nobody out: the oldest is cut off."""
        await house.open(max_connections=4)
        token = house.agent("AZOTH")
        asking = [
            asyncio.create_task(house.ask("/recall", {"query": "x"}, token=token)) for _ in range(4)
        ]
        await eventually(lambda: house.desk.asked == 4)

        assert 200 == (await house.ask("/health"))[0]
        house.desk.gate.set()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        assert 3 == len([each for each in answers if isinstance(each, tuple)])

    @pytest.mark.slow
    async def test_unread(self, house: Gatehouse) -> None:
        """Nor does one that asks and never reads an answer."""
        await house.open(max_connections=1)
        port = await house.port()
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a selector's has it
        writer.write(request("/openapi.json", token=house.agent("AZOTH")) * 1_000)

        async def has_room() -> bool:
            try:
                return (await house.ask("/health"))[0] == 200
            except (ConnectionError, IndexError):
                return False

        await eventually(has_room)
        writer.close()


class TestShut:
    async def test_port_taken(self, house: Gatehouse, tmp_path: Path) -> None:
        """A port that is taken is a reason, and no crash; once it is free the door opens."""
        house.clock = ManualClock()
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            await house.open(port=port)
            await eventually(lambda: house.clock.sleepers == 1)
            house.clock.advance(server.BREATH)
            await eventually(lambda: house.is_at("shut"))
            door = await house.door()

            assert f"cannot listen on 127.0.0.1:{port}" in door["reason"]
            assert "port" in door["reason"]
        await eventually(lambda: house.clock.sleepers == 1)
        house.clock.advance(server.AGAIN)

        assert port == await house.port()
        assert "reason" not in await house.door()

    async def test_missing(self, house: Gatehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        """A library that is missing shuts the door and nothing else."""
        monkeypatch.setitem(sys.modules, "cortex_actors.gateways.app", None)
        await house.open()
        await eventually(lambda: house.is_at("shut"))

        assert "library is missing" in (await house.door())["reason"]

    async def test_fault(self, house: Gatehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nor is anything else that keeps it from opening a crash."""

        def broken(*_args: object) -> socket.socket:
            raise ZeroDivisionError("broken")

        monkeypatch.setattr(server, "_listening", broken)
        await house.open()
        await eventually(lambda: house.is_at("shut"))

        assert (await house.door())["reason"].startswith("ZeroDivisionError: broken")

    async def test_again_and_again(
        self, house: Gatehouse, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A fault that stays is logged whole once, and then only a line for a new reason."""
        house.clock = ManualClock()
        tries: list[str] = []

        def broken(*_args: object) -> socket.socket:
            tries.append("first" if len(tries) < 3 else "second")
            raise ZeroDivisionError(tries[-1])

        monkeypatch.setattr(server, "_listening", broken)
        await house.open()
        while len(tries) < 5:
            await eventually(lambda: house.clock.sleepers == 1)
            house.clock.advance(server.AGAIN)
            await eventually(lambda: house.clock.sleepers == 1)
        lines = house.logs.list_recent(Filter(actor="http", level="error"), last=1_000)

        assert 1 == len([each for each in caplog.records if each.exc_info])
        assert 2 == len(lines)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "a.example", ""])  # noqa: S104
    def test_lan(self, host: str) -> None:
        """An address that other machines reach is refused with the settings."""
        with pytest.raises(ValueError, match="other machines"):
            HttpSettings(host=host)

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
    def test_loopback(self, host: str) -> None:
        """One that only this machine has is taken."""
        assert host == HttpSettings(host=host).host


def _raise() -> bool:
    """Say that a connection was closed, in the way of one that was cut."""
    raise ConnectionResetError
