from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.compiled import ThreadLanes
from cortex_actors.errors import EmbedderDown
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@pytest.fixture
async def lane() -> AsyncIterator[ThreadLanes]:
    """Give one thread."""
    lanes = ThreadLanes("lane", 1)
    yield lanes
    await lanes.close(5.0)


class Door:
    """Keeps a thread busy until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.done: list[str] = []

    def wait(self) -> None:
        """Stand before it."""
        assert self.opened.wait(20)

    def note(self, name: str) -> Callable[[], str]:
        """Return a call that notes when it is made."""

        def call() -> str:
            self.done.append(name)
            return name

        return call


async def busy(lanes: ThreadLanes, door: Door) -> asyncio.Task[list[None]]:
    """Put a call before the door and return when it is running."""
    asked = asyncio.create_task(lanes.run([door.wait], urgent=False))
    await eventually(lambda: len(lanes.running) == 1)
    return asked


class TestOrder:
    async def test_results(self, lane: ThreadLanes) -> None:
        """Results come in the order of the calls, whatever threads they ran in."""
        assert [1, 2, 3] == await lane.run([lambda: 1, lambda: 2, lambda: 3], urgent=False)

    async def test_overtakes(self, lane: ThreadLanes) -> None:
        """What is urgent overtakes all that waits, and waits only for what runs."""
        door = Door()
        first = await busy(lane, door)
        bulk = asyncio.create_task(lane.run([door.note("a"), door.note("b")], urgent=False))
        await eventually(lambda: lane.waiting == 2)
        question = asyncio.create_task(lane.run([door.note("urgent")], urgent=True))
        await eventually(lambda: lane.waiting == 3)
        door.opened.set()
        await asyncio.wait({first, bulk, question})

        assert ["urgent", "a", "b"] == door.done


class TestDropping:
    async def test_cancelled(self, lane: ThreadLanes) -> None:
        """When nobody waits for a request any more, what of it has not begun never will."""
        door = Door()
        first = await busy(lane, door)
        gone = asyncio.create_task(lane.run([door.note("a"), door.note("b")], urgent=False))
        kept = asyncio.create_task(lane.run([door.note("c")], urgent=False))
        await eventually(lambda: lane.waiting == 3)
        gone.cancel()
        await asyncio.wait({gone})
        assert 1 == lane.waiting
        door.opened.set()
        await asyncio.wait({first, kept})

        assert ["c"] == door.done

    async def test_failed(self, lane: ThreadLanes) -> None:
        """After one call has failed, the rest of its request is dropped and its error raised."""
        door = Door()

        def fail() -> str:
            raise ValueError("on purpose")

        with pytest.raises(ValueError, match="on purpose"):
            await lane.run([fail, door.note("a"), door.note("b")], urgent=False)
        assert ["c"] == await lane.run([door.note("c")], urgent=False)
        assert door.done in (["c"], ["a", "c"], ["a", "b", "c"])
        assert 0 == lane.waiting

    async def test_panic(self, lane: ThreadLanes) -> None:
        """What is no ordinary error, such as a panic in Rust, is one all the same."""

        def panic() -> None:
            raise BaseException("at the disco")  # noqa: TRY002

        with pytest.raises(EmbedderDown, match="at the disco"):
            await lane.run([panic], urgent=False)


class TestClosing:
    async def test_ended(self) -> None:
        """Threads are named, as many as asked for, and gone once it is closed."""
        lanes, gate = ThreadLanes("closing", 3), threading.Barrier(3)
        await lanes.run([gate.wait] * 6, urgent=False)
        assert 3 == sum(each.name.startswith("closing") for each in threading.enumerate())
        assert await lanes.close(5.0)

        assert not any(each.name.startswith("closing") for each in threading.enumerate())
        with pytest.raises(EmbedderDown, match="not loaded any more"):
            await lanes.run([lambda: 1], urgent=True)

    async def test_waiting(self) -> None:
        """Closing fails those that wait, at once, and lets what runs come to its end."""
        lanes, door = ThreadLanes("closing", 1), Door()
        first = await busy(lanes, door)
        second = asyncio.create_task(lanes.run([door.note("a")], urgent=False))
        await eventually(lambda: lanes.waiting == 1)
        assert not await lanes.close(0.01)
        with pytest.raises(EmbedderDown):
            await second
        door.opened.set()

        assert [None] == await first
        assert await lanes.close(5.0)
        assert [] == door.done

    def test_loop_ends(self) -> None:
        """A call that does not end holds up neither the close nor the end of the loop."""
        door, ended = Door(), threading.Event()

        async def life() -> bool:
            lanes = ThreadLanes("closing", 1)
            first = await busy(lanes, door)
            closed = await lanes.close(0.01)
            first.cancel()
            return closed

        def run() -> None:
            assert not asyncio.run(life())
            ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        is_over = ended.wait(10)
        door.opened.set()
        thread.join()

        assert is_over
