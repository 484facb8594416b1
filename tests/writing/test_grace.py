"""Late writers: who had the file open before the exchange, and writes after it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.errors import BeingSaved, WriteFailed
from cortex_actors.files import swap, writer
from cortex_actors.files.place import Place
from cortex_actors.files.swap import exchange
from cortex_actors.render import fence
from cortex_actors.testing import eventually
from tests.writing.support import BODY, desk_in, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.writing.support import Desk

_BASE = b"# One, two, three, four\n"


@pytest.fixture
def writer_at_exchange(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Open the file for writing right before the first exchange; give the descriptor."""
    opened: list[int] = []
    times = iter([1])

    def interrupted(folder: int, one: str, other: str) -> None:
        opened.extend(os.open(desk.path, os.O_RDWR) for _ in times)
        exchange(folder, one, other)

    monkeypatch.setattr(swap, "exchange", interrupted)
    yield opened
    for each in opened:
        os.close(each)


@pytest.fixture
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the writer slip in: he was just opening the file when it was asked who has it open."""
    monkeypatch.setattr(Place, "is_open", lambda *_: False)


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch, unnoticed: None) -> None:
    """Have a system that cannot tell at all who has a file open."""
    monkeypatch.setattr(writer, "is_in_use", lambda _: False)


class TestOpenAtTheExchange:
    async def test_goes_back(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """What somebody has open is put back at once: all that he writes stands in the file."""
        desk.path.write_bytes(_BASE)
        with pytest.raises(BeingSaved):
            await desk.write()
        assert (_BASE, ["CLAUDE.md"]) == (desk.path.read_bytes(), desk.names)

        for late in (b"# Late", b"# Later"):
            os.pwrite(writer_at_exchange[0], late, 0)
            assert late + _BASE[len(late) :] == desk.path.read_bytes()
        await desk.quiet()
        assert b"# Later" + _BASE[7:] == desk.path.read_bytes()
        assert [("abandoned", "", None)] == desk.rows.rows()

    async def test_after_that(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """Once he has closed it the section is written."""
        desk.path.write_bytes(_BASE)
        writing = asyncio.create_task(desk.write())
        await eventually(lambda: bool(writer_at_exchange))
        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        os.close(writer_at_exchange.pop())
        await writing

        assert b"# Late" + _BASE[6:] + b"\n" + section() == desk.path.read_bytes()
        assert ["CLAUDE.md"] == desk.names

    async def test_undoing(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that we made is not taken away while somebody has it open."""
        await desk.write(create=True)
        rename, opened = Place.rename, list[int]()

        def interrupted(place: Place, name: str, to: str) -> None:
            if name == "CLAUDE.md" and not opened:
                opened.append(os.open(desk.path, os.O_RDWR))
            rename(place, name, to)

        monkeypatch.setattr(Place, "rename", interrupted)
        with pytest.raises(BeingSaved):
            await desk.writer.undo(desk.target())
        os.pwrite(opened[0], b"# Late\n", 0)
        os.close(opened[0])

        assert desk.path.read_bytes().startswith(b"# Late\n")
        assert ["CLAUDE.md"] == desk.names


class TestLateWriter:
    @pytest.mark.usefixtures("untold")
    async def test_comes_back(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """What is written into the displaced file stands in the file, all that follows, too."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        assert desk.path.read_bytes().startswith(_BASE + b"\n<!-- cortex")
        assert ["CLAUDE.md"] == desk.names

        for late in (b"", b"# Late\n", b"# Later\n"):
            os.ftruncate(writer_at_exchange[0], 0)
            os.pwrite(writer_at_exchange[0], late, 0)
            await eventually(lambda late=late: late == desk.path.read_bytes())
        await desk.quiet()

        assert (b"# Later\n", 1) == (desk.path.read_bytes(), len(desk.late))
        assert {("undone", "", None)} == set(desk.rows.rows())
        assert ["CLAUDE.md"] == desk.names

    @pytest.mark.usefixtures("unnoticed")
    async def test_as_long_as_open(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """The displaced file is watched past its time while somebody has it open for writing."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        await _wait(5 * 0.05)
        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        os.close(writer_at_exchange.pop())
        await desk.quiet()

        assert b"# Late" + _BASE[6:] == desk.path.read_bytes()
        assert ["CLAUDE.md"] == desk.names

    @pytest.mark.usefixtures("untold")
    async def test_after_another_write(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """He wins over a second write of ours, too: both had only our section in them."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        await desk.write(BODY + b"- Use uv.\n")

        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: desk.path.read_bytes() == b"# Late" + _BASE[6:])

    @pytest.mark.usefixtures("untold")
    async def test_after_another_save(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """Where a human has saved something newer, that stands, and the late text is kept."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        desk.path.write_bytes(b"# Newer\n")
        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: len(desk.late) == 1)

        assert b"# Newer\n" == desk.path.read_bytes()
        assert [("done", "", b"# Late" + _BASE[6:])] == desk.rows.rows()

    @pytest.mark.usefixtures("untold")
    async def test_moved_away(self, desk: Desk, writer_at_exchange: list[int]) -> None:
        """Where the file has gone meanwhile, the late text has its name again."""
        desk.path.write_bytes(_BASE)
        await desk.write()
        desk.path.unlink()
        os.pwrite(writer_at_exchange[0], b"# Late", 0)
        await eventually(lambda: desk.names == ["CLAUDE.md"])
        assert b"# Late" + _BASE[6:] == desk.path.read_bytes()

    async def test_called_off(self, desk: Desk) -> None:
        """A watch that is called off, begun or not, leaves no file open."""
        desk.path.write_bytes(_BASE)
        for number in range(5):
            await desk.write(BODY + b"- Rule %d.\n" % number)
        await desk.cancel()
        await eventually(lambda: not [each for each in _open_files() if str(desk.root) in each])


class TestNextLife:
    async def test_written_late(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is written after a crash, before the next start, comes back then."""
        folder = tmp_path.resolve()

        def cut_off(*_: object) -> None:
            raise WriteFailed("the program ended before the name was taken away")

        monkeypatch.setattr(writer, "keep_open", cut_off)
        async with desk_in(folder) as desk:
            desk.path.write_bytes(_BASE)
            await desk.write()
            aside = desk.root / next(each for each in desk.names if each != "CLAUDE.md")
        monkeypatch.undo()
        aside.write_bytes(b"# Late\n")

        async with desk_in(folder) as desk:
            (found,) = await desk.writer.recover()
            assert ["CLAUDE.md"] == desk.names
            await desk.quiet()

            assert "abandoned" == found.state
            assert b"# Late\n" == desk.path.read_bytes()
            assert ["CLAUDE.md"] == desk.names

    async def test_nothing_late(self, tmp_path: Path) -> None:
        """A watch that a crash has ended leaves nothing, and nothing is to be done then."""
        folder = tmp_path.resolve()
        async with desk_in(folder) as desk:
            desk.path.write_bytes(_BASE)
            await desk.write()

        async with desk_in(folder) as desk:
            await desk.writer.recover()
            await desk.quiet()

            assert _BASE + b"\n" + section() == desk.path.read_bytes()
            assert (["CLAUDE.md"], [("done", "", None)]) == (desk.names, desk.rows.rows())
            assert fence.remove(desk.path.read_bytes()) == _BASE


def _open_files() -> list[str]:
    """Return the path of every file that this process has open (Linux)."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # what lists them is one of them
            found.append(str(each.readlink()))
    return found


async def _wait(seconds: float) -> None:
    """Return after so many seconds, by the clock that the writer goes by."""
    clock = SystemClock()
    until = clock.monotonic() + seconds
    await eventually(lambda: clock.monotonic() >= until)
