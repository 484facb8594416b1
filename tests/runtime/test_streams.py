from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from cortex_actors.errors import DeadlineExceeded, TooManyTasks
from cortex_actors.runtime.streams import Exited, Ok
from cortex_actors.runtime.tasks import TaskSupervisor
from cortex_actors.testing import eventually
from tests.runtime.workshop import Mill, leftovers, listed

#: The two kinds of a stream, for promises that both make.
KINDS = ["async_stream", "async_stream_nolink"]


@pytest.mark.parametrize("kind", KINDS)
class TestResults:
    async def test_in_order(self, kind: str) -> None:
        """A stream gives the result for each item, in their order.

        Row: elixir task/supervisor async_stream: streams an enumerable with fun
        Row: elixir task/supervisor async_stream_nolink: streams an enumerable with fun
        """
        tasks = TaskSupervisor(name="tasks")
        stream = getattr(tasks, kind)(range(1, 5), Mill().grind)

        assert [Ok(1), Ok(2), Ok(3), Ok(4)] == await listed(stream)

    async def test_no_tasks_left(self, kind: str) -> None:
        """A stream that was consumed leaves no task, no timer and no link.

        Row: elixir task/supervisor async_stream: streams an enumerable without leaking tasks
        Row: elixir task/supervisor async_stream_nolink: streams an enumerable without leaking tasks
        """
        tasks, before = TaskSupervisor(name="tasks"), leftovers()
        await listed(getattr(tasks, kind)(range(1, 5), Mill().grind))

        assert [] == tasks.which_children()
        assert before == leftovers()

    async def test_slowest_first(self, kind: str) -> None:
        """A stream whose first task ends last still gives the results in the order of the items.

        Row: elixir task/supervisor async_stream: streams an enumerable with slowest first
        Row: elixir task/supervisor async_stream_nolink: streams an enumerable with slowest first
        """
        tasks = TaskSupervisor(name="tasks")
        stream = getattr(tasks, kind)([4, 3, 2, 1], Mill().in_reverse, max_concurrency=4)

        assert [Ok(4), Ok(3), Ok(2), Ok(1)] == await listed(stream)

    async def test_unordered(self, kind: str) -> None:
        """A stream without an order gives the results as they come."""
        tasks = TaskSupervisor(name="tasks")
        stream = getattr(tasks, kind)([4, 3, 2, 1], Mill().in_reverse, ordered=False)

        assert [Ok(1), Ok(2), Ok(3), Ok(4)] == await listed(stream)

    @pytest.mark.parametrize("ordered", [True, False])
    async def test_concurrency(self, kind: str, *, ordered: bool) -> None:
        """As many tasks of a stream run as may, and others are begun as they end."""
        tasks, together, counts = TaskSupervisor(name="tasks"), asyncio.Barrier(3), []

        async def count(item: int) -> int:
            await together.wait()
            counts.append(len(tasks.which_children()))
            return item

        stream = getattr(tasks, kind)(range(9), count, max_concurrency=3, ordered=ordered)

        assert {Ok(n) for n in range(9)} == set(await listed(stream))
        assert 3 == max(counts)


@pytest.mark.parametrize("kind", KINDS)
class TestEnd:
    async def test_left_early(self, kind: str) -> None:
        """A stream that is left shuts its tasks down, and they have ended when it has.

        Row: elixir task/supervisor async_stream: shuts down unused tasks
        Row: elixir task/supervisor async_stream_nolink: shuts down unused tasks
        """
        tasks, mill, ever = TaskSupervisor(name="tasks"), Mill(), float("inf")
        stream = getattr(tasks, kind)([0, ever, ever, ever], mill.grind)

        assert [Ok(0)] == await listed(stream, 1)
        assert [] == tasks.which_children()
        assert len(mill.begun) - 1 == len(mill.cancelled)

    async def test_nothing_comes_late(self, kind: str) -> None:
        """A stream that is left leaves no timer and no link that could be heard of later.

        Row: elixir task/supervisor async_stream: shuts down unused tasks without leaking messages
        Row: elixir task/supervisor async_stream_nolink: shuts down unused tasks without leaking messages
        """  # noqa: E501 - the row is as long as it is
        tasks, before, ever = TaskSupervisor(name="tasks"), leftovers(), float("inf")
        await listed(getattr(tasks, kind)([0, ever, ever, ever], Mill().grind), 1)

        assert before == leftovers()

    async def test_max_children(self, kind: str) -> None:
        """A stream that would need more tasks than there may be raises, and leaves none.

        Row: elixir task/supervisor async_stream: raises an error if :max_children is reached with clean stream shutdown
        Row: elixir task/supervisor async_stream_nolink: raises an error if :max_children is reached with clean stream shutdown
        """  # noqa: E501 - the row is as long as it is
        tasks, before = TaskSupervisor(name="tasks", max_children=1), leftovers()
        stream = getattr(tasks, kind)([float("inf")] * 3, Mill().grind, max_concurrency=2)
        with pytest.raises(TooManyTasks, match="reached the maximum number of tasks"):
            await listed(stream)

        assert [] == tasks.which_children()
        assert before == leftovers()

    async def test_consumer_cancelled(self, kind: str) -> None:
        """A consumer that is cancelled takes the tasks of its stream with it."""
        tasks, mill = TaskSupervisor(name="tasks"), Mill()
        begun = asyncio.Event()

        async def work(item: int) -> float:
            begun.set()
            return await mill.grind(float("inf"))

        consuming = asyncio.create_task(listed(getattr(tasks, kind)(range(3), work)))
        await begun.wait()
        consuming.cancel()
        await asyncio.wait({consuming})

        assert consuming.cancelled()
        assert [] == tasks.which_children()

    async def test_slow_consumer(self, kind: str) -> None:
        """A stream keeps nothing of what it has given, however far its tasks are ahead."""

        async def work(item: int) -> frozenset[int]:
            crops.add(crop := frozenset({item}))
            return crop

        crops: weakref.WeakSet[Any] = weakref.WeakSet()
        tasks, given = TaskSupervisor(name="tasks"), 0
        async for result in getattr(tasks, kind)(range(20), work, max_concurrency=2):
            await eventually(lambda: not tasks.which_children())
            given += isinstance(result, Ok)
            if given == 20:
                gc.collect()
                kept = len(crops)

        assert kept <= 2

    async def test_items_fail(self, kind: str) -> None:
        """Items that raise while they are read end the stream with that."""

        def items() -> Any:
            yield 1
            raise OSError("no more")

        tasks = TaskSupervisor(name="tasks")
        with pytest.raises(OSError, match="no more"):
            await listed(getattr(tasks, kind)(items(), Mill().grind))

        assert [] == tasks.which_children()


@pytest.mark.parametrize("kind", KINDS)
class TestTimeout:
    async def test_exit(self, kind: str) -> None:
        """A task that takes too long ends the stream with DeadlineExceeded."""
        tasks = TaskSupervisor(name="tasks")
        stream = getattr(tasks, kind)([float("inf"), 1], Mill().grind, timeout=0.01)
        with pytest.raises(DeadlineExceeded, match=r"Mill.grind of a stream .* within 0.01 s"):
            await listed(stream)

        assert [] == tasks.which_children()

    async def test_kill_task(self, kind: str) -> None:
        """A task that takes too long may be killed alone; its result says why, and for which item.

        Row: elixir task/supervisor async_stream: with timeout and :zip_input_on_exit set to true
        """
        tasks, ever = TaskSupervisor(name="tasks"), float("inf")
        stream = getattr(tasks, kind)(
            [1, ever, 2],
            Mill().grind,
            timeout=0.01,
            on_timeout="kill_task",
            zip_input_on_exit=True,
        )

        assert [Ok(1), Exited("timeout", ever), Ok(2)] == await listed(stream)
