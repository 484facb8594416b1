"""Late writers: who had the file open before the exchange, and writes after it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.formatters import fence
from cortex_actors.testing import eventually
from cortex_actors.writing import swap
from cortex_actors.writing.exchange import exchange
from tests.writing.support import BODY, desk_in, section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.writing.support import Desk

_BASE = b"# One, two, three, four\n"


@pytest.fixture
def writer_at_exchange(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Open the file for writing right before the first exchange; give the descriptor."""
    opened: list[int] = []

    def interrupted(folder: int, one: str, other: str) -> None:
        if not opened:
            opened.append(os.open(desk.path, os.O_RDWR))
        exchange(folder, one, other)

    monkeypatch.setattr(swap, "exchange", interrupted)
    yield opened
    for each in opened:
        os.close(each)


class TestLateWriter:
    async def test_comes_back(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """What is written into the displaced file stands in the file, all that follows, too."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        assert desk.path.read_bytes().startswith(_BASE + b"\n<!-- cortex")

        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: desk.path.read_bytes().startswith(b"# Late"))
        await eventually(lambda: len(desk.late) == 1)
        os.pwrite(writer_at_exchange[0], b"# Later", 0)

        assert b"# Later" + _BASE[7:] == desk.path.read_bytes()
        assert ["abandoned"] == desk.states

    async def test_as_long_as_open(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """The displaced file is kept past its time while somebody has it open for writing."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        name = next(each for each in desk.names if each != "CLAUDE.md")
        await _wait(5 * 0.05)
        assert name in desk.names

        os.close(writer_at_exchange.pop())
        await desk.quiet()
        assert ["CLAUDE.md"] == desk.names
        assert [("done", "", None)] == desk.rows.rows()

    async def test_after_another_write(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """He wins over a second write of ours, too: both had only our section in them."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        await desk.write(BODY + b"- Use uv.\n")

        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: desk.path.read_bytes() == b"# Late" + _BASE[6:])

    async def test_after_another_save(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """Where a human has saved something newer, that stands, and the late text is kept."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        desk.path.write_bytes(b"# Newer\n")
        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: len(desk.late) == 1)

        assert b"# Newer\n" == desk.path.read_bytes()
        assert ("abandoned", "", b"# Late" + _BASE[6:]) == desk.rows.rows()[0]

    async def test_next_life(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is written after a crash, before the next start, comes back then."""
        folder = tmp_path.resolve()
        async with desk_in(folder) as desk:
            desk.path.write_bytes(_BASE)
            await desk.write()
            aside = desk.root / next(each for each in desk.names if each != "CLAUDE.md")
        aside.write_bytes(b"# Late\n")

        async with desk_in(folder) as desk:
            (found,) = await desk.writer.recover()
            await desk.quiet()

            assert "abandoned" == found.state
            assert b"# Late\n" == desk.path.read_bytes()
            assert ["CLAUDE.md"] == desk.names

    async def test_nothing_late(self, tmp_path: Path) -> None:
        """A watch that a crash has ended is begun again, and then nothing is left."""
        folder = tmp_path.resolve()
        async with desk_in(folder) as desk:
            desk.path.write_bytes(_BASE)
            await desk.write()

        async with desk_in(folder) as desk:
            await desk.writer.recover()
            await desk.quiet()

            assert _BASE + b"\n" + section() == desk.path.read_bytes()
            assert (["CLAUDE.md"], [("done", "", None)]) == (desk.names, desk.rows.rows())
            assert fence.removed(desk.path.read_bytes()) == _BASE


async def _wait(seconds: float) -> None:
    """Return after so many seconds, by the clock that the writer goes by."""
    clock = SystemClock()
    until = clock.monotonic() + seconds
    await eventually(lambda: clock.monotonic() >= until)
