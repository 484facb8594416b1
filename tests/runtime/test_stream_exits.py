from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Any

import pykka
import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.streams import Exited, Ok
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Mill, Workshop, fail, leave, leftovers, listed


class TestExits:
    async def test_trapped(self) -> None:
        """A consumer of linked tasks that traps exits gets each as a result.

        Row: elixir task/supervisor async_stream: streams an enumerable with exits
        """
        tasks = TaskSupervisor(name="tasks")
        stream = tasks.async_stream("1234", leave, trap_exit=True)

        assert [Exited(n) for n in "1234"] == await listed(stream)

    async def test_nolink(self) -> None:
        """A consumer of tasks that are not linked gets each exit as a result.

        Row: elixir task/supervisor async_stream_nolink: streams an enumerable with exits
        """
        tasks = TaskSupervisor(name="tasks")
        stream = tasks.async_stream_nolink(range(1, 5), leave, max_concurrency=4)

        assert [Exited(n) for n in range(1, 5)] == await listed(stream)

    async def test_halt(self) -> None:
        """A consumer may leave after some failures, and each says for which item it is.

        Row: elixir task/supervisor async_stream: with outer halt on failure and :zip_input_on_exit
        """
        tasks = TaskSupervisor(name="tasks")
        stream = tasks.async_stream(range(1, 9), leave, trap_exit=True, zip_input_on_exit=True)

        assert [Exited(n, n) for n in range(1, 5)] == await listed(stream, 4)
        assert [] == tasks.which_children()

    @pytest.mark.parametrize("ordered", [True, False])
    @pytest.mark.parametrize("bad", [0, 2])
    async def test_linked(self, bad: int, *, ordered: bool) -> None:
        """A consumer of linked tasks gets what one of them raised, and the others are ended."""
        tasks, mill, before = TaskSupervisor(name="tasks"), Mill(), leftovers()

        async def work(item: int) -> float:
            if item == bad:
                raise OSError("gone")
            return await mill.grind(float("inf"))

        with pytest.raises(OSError, match="gone"):
            await listed(tasks.async_stream(range(4), work, ordered=ordered))

        me = asyncio.current_task()
        assert me is not None
        assert 0 == me.cancelling()
        assert [] == tasks.which_children()
        assert before == leftovers()

    async def test_while_away(self) -> None:
        """A consumer that is at something else is not cancelled, and hears of it afterwards."""
        tasks, gate = TaskSupervisor(name="tasks"), asyncio.Event()

        async def work(item: int) -> int:
            if item == 2:
                await gate.wait()
                raise OSError("gone")
            return item

        async with aclosing(tasks.async_stream([1, 2], work)) as stream:
            assert Ok(1) == await anext(stream)
            (task,) = tasks.which_children()
            gate.set()
            await task.exited()
            with pytest.raises(OSError, match="gone"):
                await anext(stream)

    async def test_late_answer(self) -> None:
        """A task that returns something in spite of being killed for its time was too late."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        stream = tasks.async_stream(
            [1], lambda _: work.finish(), timeout=0.01, on_timeout="kill_task"
        )

        assert [Exited("timeout")] == await listed(stream)

    async def test_another_link(self) -> None:
        """A consumer gets what another task of its raises while it waits for a result."""
        tasks = TaskSupervisor(name="tasks")
        tasks.async_(partial(fail, "gone"))
        with pytest.raises(OSError, match="gone"):
            await listed(tasks.async_stream([float("inf")], Mill().grind))

        assert [] == tasks.which_children()


class TestConsumer:
    async def test_another_task(self) -> None:
        """The tasks of a stream are begun for whoever consumes it, and not before.

        Row: elixir task/supervisor async_stream: consuming from another process
        """
        tasks, mill = TaskSupervisor(name="tasks"), Mill()
        stream = tasks.async_stream([1, 2, 3], mill.grind)
        before = list(mill.begun)

        assert [Ok(1), Ok(2), Ok(3)] == await asyncio.create_task(listed(stream))
        assert [] == before
        assert [1, 2, 3] == mill.begun

    @pytest.mark.parametrize(
        "options",
        [{"shutdown": "unknown"}, {"max_concurrency": 0}, {"on_timeout": "wait"}],
    )
    async def test_nonsense(self, options: dict[str, Any]) -> None:
        """A stream with options that make no sense is refused before it is consumed.

        Row: elixir task/supervisor async_stream: does not allow streaming with invalid :shutdown
        """
        with pytest.raises(InternalError, match=str(next(iter(options.values())))):
            TaskSupervisor(name="tasks").async_stream([], fail, **options)


class Miller(AsyncioActor):
    """Consumes a stream in its handler."""

    mailbox_limit = 10
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, tasks: TaskSupervisor) -> None:
        super().__init__()
        self.tasks = tasks

    async def consume(
        self, items: list[float], work: Any, limit: int = 100, **options: Any
    ) -> list[Any]:
        """Return the results for some items."""
        return await listed(self.tasks.async_stream(items, work, **options), limit)


class TestActor:
    async def test_results(self) -> None:
        """An actor may consume a stream in a handler."""
        ref = Miller.start(TaskSupervisor(name="tasks"))

        assert [Ok(1), Ok(2)] == await ref.proxy().consume([1, 2], Mill().grind)
        assert not ref.life.ended._callbacks

    async def test_crash(self) -> None:
        """An actor crashes with the error of a linked task of its stream, whose tasks end."""
        tasks = TaskSupervisor(name="tasks")
        ref = Miller.start(tasks)
        with pytest.raises(pykka.ActorDeadError):
            await ref.proxy().consume([1, 2], fail)

        assert isinstance(await ref.join(), OSError)
        assert [] == tasks.which_children()

    async def test_trapped(self) -> None:
        """An actor that traps exits gets what its tasks raised as results, and lives."""
        ref = Miller.start(TaskSupervisor(name="tasks"))
        results = await ref.proxy().consume([1], fail, trap_exit=True)

        assert ["OSError(1)"] == [repr(result.reason) for result in results]
        assert [] == await ref.proxy().consume([], fail)

    async def test_spared(self) -> None:
        """An actor is not struck by the end of tasks that it left, or that took too long."""
        ref, ever = Miller.start(TaskSupervisor(name="tasks")), float("inf")
        left = await ref.proxy().consume([1, ever], Mill().grind, 1)
        late = await ref.proxy().consume([ever], Mill().grind, timeout=0.01, on_timeout="kill_task")

        assert ([Ok(1)], [Exited("timeout")]) == (left, late)
        assert [] == await ref.proxy().consume([], fail)

    async def test_kill(self) -> None:
        """An actor that is killed takes the tasks of its stream with it."""
        tasks, mill = TaskSupervisor(name="tasks"), Mill()
        ref = Miller.start(tasks)
        ref.proxy().consume.defer([float("inf")] * 2, mill.grind)
        while len(mill.begun) < 2:
            await Miller.start(tasks).proxy().consume([], fail)
        ref.kill()
        await ref.join()

        assert [] == tasks.which_children()
        assert 2 == len(mill.cancelled)
