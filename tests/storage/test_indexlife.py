"""One life of the index's child leaves nothing behind, whenever it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.errors import IndexDown
from cortex_actors.storage.index.life import GenerationPlace, IndexLife
from tests.kills.standing import Calm
from tests.simulation.index import Shelf

if TYPE_CHECKING:
    from cortex_actors.runtime.child import ChildProcess
    from tests.simulation.weather import Weather


class TestClose:
    async def test_while_it_starts(self) -> None:
        """A process that has started only after the close is ended, and nobody waits for it."""
        shelf, gate = Shelf(cast("Weather", Calm()), SystemClock()), asyncio.Event()
        begun = asyncio.Event()

        async def late(module: str, **how: Any) -> ChildProcess:
            begun.set()
            await gate.wait()
            return await shelf.spawn(module, **how)

        life = IndexLife(GenerationPlace(1, Path("gen-1-aa"), "", None, ()), deadline=1)
        opening = asyncio.create_task(life.open(late, print))
        await begun.wait()
        await life.close()
        gate.set()
        with pytest.raises(IndexDown):
            await opening
        async with asyncio.timeout(10):
            await life.wait_gone()

        assert not shelf.children[0].lives

    async def test_killed(self) -> None:
        """A process whose close is broken off is ended, and nobody waits for it."""
        shelf, begun = Shelf(cast("Weather", Calm()), SystemClock()), asyncio.Event()

        async def never(*_args: Any, **_how: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

        life = IndexLife(GenerationPlace(1, Path("gen-1-aa"), "", None, ()), deadline=1)
        await life.open(shelf.spawn, print)
        (child,) = shelf.children
        child.request = never  # type: ignore[method-assign]
        closing = asyncio.create_task(life.close())
        await begun.wait()
        closing.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait({closing})
            await life.wait_gone()

        assert closing.cancelled()
        assert not child.lives
