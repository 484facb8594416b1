"""Many who follow the log over the control socket, and one that does not read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.gateways import connection
from cortex_actors.gateways import control as module
from cortex_actors.process.logfile import Filter, LogEntry
from cortex_actors.testing import eventually
from tests.control.wire import connect

if TYPE_CHECKING:
    from cortex_actors.process.logs import Follower
    from tests.control.wire import Desk, Wire


@pytest.fixture
def old(desk: Desk) -> None:
    """Write one record."""
    desk.logs.write("info", "old", actor="a")


@pytest.mark.usefixtures("old")
class TestPlaces:
    async def test_limit(self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """One follower too many is refused, and may ask other things; one that ends makes room."""
        monkeypatch.setattr(module, "FOLLOWERS", 1)
        first = await connect(desk)
        await first.call("logs", follow=True)
        error = (await wire.call("logs", follow=True))["error"]

        assert ("Refused", 77) == (error["data"]["type"], error["data"]["exit_code"])
        assert "1 clients follow the log" in error["message"]
        assert "old" == (await wire.call("logs"))["params"]["text"]
        assert {"sent": 1} == (await wire.hear())["result"]
        first.writer.close()
        await eventually(lambda: not desk.logs.followers)
        assert "old" == (await wire.call("logs", follow=True))["params"]["text"]

    async def test_is_not_idle(
        self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who follows a log in which nothing happens stays, however long; who does nothing goes."""
        monkeypatch.setattr(connection, "IDLE", 0.05)
        await wire.call("logs", follow=True)
        for _ in range(3):
            idle = await connect(desk)
            assert "no request came" in (await idle.hear())["error"]["message"]
            idle.writer.close()
        desk.logs.write("info", "new", actor="a")

        assert "new" == (await wire.hear())["params"]["text"]


class TestHistory:
    async def test_looks_at_what_it_shows(
        self, desk: Desk, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A new follower of everything looks at the records it is given, not at the whole past."""
        for number in range(1_000):
            desk.logs.write("info", str(number), actor="a")
        looked: list[int] = []
        passes = Filter.passes

        def counted(wanted: Filter, record: LogEntry) -> bool:
            looked.append(record.seq)
            return passes(wanted, record)

        monkeypatch.setattr(Filter, "passes", counted)
        first = await wire.call("logs", follow=True)

        assert "990" == first["params"]["text"]
        assert 40 > len(looked)

    @pytest.mark.parametrize("follow", [True, False])
    async def test_one_a_turn(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, *, follow: bool
    ) -> None:
        """Of many who come at once one looks through the past in each turn of the loop."""
        turn, turns, counting = 0, [], True
        loop = asyncio.get_running_loop()
        name = "follow" if follow else "list_recent"
        looks = getattr(desk.logs, name)

        def noted(*args: object, **named: object) -> Follower | list[LogEntry]:
            turns.append(turn)
            found: Follower | list[LogEntry] = looks(*args, **named)
            return found

        def count() -> None:
            nonlocal turn
            turn += 1
            if counting:
                loop.call_soon(count)

        wires = [await connect(desk) for _ in range(20)]
        monkeypatch.setattr(desk.logs, name, noted)
        count()
        for wire in wires:
            wire.writer.write(
                b'{"id": 1, "method": "logs", "params": {"follow": %s}}\n'
                % (b"true" if follow else b"false")
            )
        await eventually(lambda: len(turns) == len(wires))
        counting = False

        assert len(wires) == len(set(turns))
        for wire in wires:
            wire.writer.close()
