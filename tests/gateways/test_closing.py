"""The door is closed: nobody is held up, and whoever is being answered gets the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.gateways import app, server
from cortex_actors.testing import PATIENCE
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


@pytest.fixture
def long_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests in hand have longer than anybody waits here: a slow machine stays within."""
    monkeypatch.setattr(server, "GRACE", 10 * PATIENCE)
    monkeypatch.setattr(app, "SERVING_GRACE", 10 * PATIENCE)


class TestClosed:
    @pytest.mark.usefixtures("long_grace")
    async def test_idle(self, house: Gatehouse) -> None:
        """Connections that ask nothing hold nobody up."""
        await house.open()
        _, writer = await asyncio.open_connection("127.0.0.1", await house.port())
        await house.handle.stop(PATIENCE)

        assert not house.handle.ref.is_alive()
        writer.close()

    @pytest.mark.usefixtures("long_grace")
    async def test_in_hand(self, house: Gatehouse) -> None:
        """Who is being answered gets the answer, if it comes soon."""
        await house.open()
        asking = asyncio.create_task(house.ask("/recall", {"query": "anything"}))
        await house.desk.begun.wait()
        stopping = asyncio.create_task(house.handle.stop(PATIENCE))
        house.desk.gate.set()
        status, _ = await asking
        await stopping

        assert 200 == status

    @pytest.mark.slow
    async def test_hanging(self, house: Gatehouse) -> None:
        """Who is not answered soon is told so, and does not keep the daemon from ending."""
        await house.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", await house.port())
        token = (house.home.tokens / "owner").read_text().strip()
        writer.write(request("/recall", {"query": "anything"}, token=token))
        await house.desk.begun.wait()
        begun = house.clock.monotonic()
        await house.handle.stop(5)

        assert house.clock.monotonic() - begun < 2 * server.GRACE + 1
        assert b"HTTP/1.1 503" == (await reader.read())[:12]
        writer.close()

    async def test_killed(self, house: Gatehouse) -> None:
        """A door that is killed leaves no socket open: another one opens at once."""
        await house.open()
        port = await house.port()
        house.handle.kill()
        await house.handle.exited()
        await house.open(port=port)

        assert port == await house.port()
