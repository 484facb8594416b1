"""When a file is at rest, on a clock that is turned by hand."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import BeingSaved, LooksTorn, Missing, NotWritten
from cortex_actors.files.place import FileSeen, Pace, wait_until_settled
from cortex_actors.testing import ManualClock, eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PACE = Pace(settle=0.1, limit=2.0)


def _seen(data: bytes, *, at: int = 0, in_use: bool = False) -> FileSeen:
    """Return a file that has been made anew so many times."""
    return FileSeen(data, os.stat_result((0o100644, at, 1, 1, 0, 0, len(data), 0, 0, 0)), in_use)


def _showing(*looks: FileSeen | None) -> Callable[[], Awaitable[FileSeen | None]]:
    """Return looks at a file: one after the other, the last again and again."""
    waiting = list(looks)

    async def look() -> FileSeen | None:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return look


async def _settled(
    *looks: FileSeen | None, known: int | None = None, create: bool = False
) -> tuple[FileSeen | NotWritten | None, float]:
    """Return what was found at rest, or why nothing was, and after how many seconds."""
    clock = ManualClock()
    waiting = asyncio.ensure_future(
        wait_until_settled(
            _showing(*looks), clock, path="/x/CLAUDE.md", pace=_PACE, known=known, create=create
        )
    )
    while not waiting.done():
        await eventually(lambda: bool(clock.sleepers) or waiting.done())
        clock.advance(clock.due)
    error = waiting.exception()
    if error is not None:
        assert isinstance(error, NotWritten)
        return error, clock.monotonic()
    return waiting.result(), clock.monotonic()


class TestRest:
    async def test_two_looks(self) -> None:
        """A file that two looks find the same is at rest."""
        found, after = await _settled(_seen(b"one"))
        assert _seen(b"one") == found
        assert pytest.approx(0.1) == after

    async def test_changing(self) -> None:
        """One that is being written is looked at until it is not any more."""
        looks = [_seen(b"x" * size) for size in range(5)]
        found, after = await _settled(*looks)
        assert looks[-1] == found
        assert pytest.approx(0.5) == after

    async def test_same_bytes(self) -> None:
        """The same bytes written anew between two looks are no rest."""
        found, after = await _settled(_seen(b"one", at=1), _seen(b"one", at=2))
        assert _seen(b"one", at=2) == found
        assert pytest.approx(0.2) == after

    async def test_never(self) -> None:
        """After its time it is given up: it keeps changing, or somebody has it open."""
        changing = [_seen(b"one", at=number) for number in range(50)]
        open_ = _seen(b"one", in_use=True)
        for looks in (changing, [open_]):
            found, after = await _settled(*looks)
            assert isinstance(found, BeingSaved)
            assert pytest.approx(2.0, abs=0.15) == after

    @pytest.mark.parametrize(("size", "torn"), [(0, True), (49, True), (50, False), (500, False)])
    async def test_shrunk(self, size: int, torn: bool) -> None:
        """One that has lost more than half of what was known may be half saved."""
        found, _ = await _settled(_seen(b"x" * size), known=100)
        assert torn == isinstance(found, LooksTorn)

    async def test_grows_again(self) -> None:
        """A half saved file is waited for."""
        found, _ = await _settled(_seen(b"x"), _seen(b"x"), _seen(b"x" * 99), known=100)
        assert _seen(b"x" * 99) == found

    async def test_absent(self) -> None:
        """What is not there at two looks is missing, unless it is to be made."""
        found, _ = await _settled(None)
        assert isinstance(found, Missing)
        found, after = await _settled(None, create=True)
        assert found is None
        assert pytest.approx(0.1) == after

    async def test_moved_for_a_moment(self) -> None:
        """An editor that moves the file away and makes a new one is waited for."""
        found, _ = await _settled(_seen(b"one"), None, _seen(b"two"))
        assert _seen(b"two") == found
