from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import InternalError, TaskEnded, TooManyTasks
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Workshop

if TYPE_CHECKING:
    from cortex_actors.runtime.streams import TaskHandle


class TestAsync:
    async def test_linked(self) -> None:
        """A task runs under its supervisor, its result is awaited, and its caller is linked.

        Row: elixir task/supervisor async/1: spawns tasks under the supervisor
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_(work.wait)
        there, link = tasks.which_children(), task.link
        await work.begun.wait()
        work.gate.set()

        assert [task] == there
        assert link is not None
        assert asyncio.current_task() is link.caller
        assert "done" == await task.await_()
        assert "normal" == task.reason
        assert [] == tasks.which_children()

    async def test_brutal_kill(self) -> None:
        """A linked task that is to be killed does not get to clean up when its supervisor stops.

        Row: elixir task/supervisor async/1: with custom shutdown
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_(work.wait, shutdown="brutal_kill")
        await work.begun.wait()
        await tasks.stop()

        assert "killed" == await task.exited()

    async def test_max_children(self) -> None:
        """No more linked tasks run than may.

        Row: elixir task/supervisor async/1: raises when :max_children is reached
        """
        tasks, work = TaskSupervisor(name="tasks", max_children=1), Workshop()
        tasks.async_(work.wait)
        with pytest.raises(TooManyTasks, match="reached the maximum number of tasks"):
            tasks.async_(work.wait)
        await tasks.stop()

    async def test_callback(self) -> None:
        """A callback, which could not be struck, starts no linked task."""
        tasks = TaskSupervisor(name="tasks")
        refused = asyncio.get_running_loop().create_future()

        def call() -> None:
            try:
                tasks.async_(Workshop().wait)
            except InternalError as error:
                refused.set_result(str(error))

        asyncio.get_running_loop().call_soon(call)

        assert "use start_child" in await refused


class TestTaskAsCaller:
    async def test_awaits(self) -> None:
        """A caller that awaits its task gets what that raised, and may go on."""
        tasks = TaskSupervisor(name="tasks")
        with pytest.raises(OSError, match="gone"):
            await tasks.async_(partial(Workshop().fail, OSError("gone"))).await_()

        assert 0 == _cancelling()

    async def test_gathers(self) -> None:
        """A caller that gathers its tasks gets what one of them raised."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        both: list[TaskHandle[Any]] = [
            tasks.async_(work.wait),
            tasks.async_(partial(work.fail, OSError("gone"))),
        ]
        with pytest.raises(OSError, match="gone"):
            await asyncio.gather(*(task.await_() for task in both))
        await tasks.stop()

        assert 0 == _cancelling()

    async def test_awaits_another(self) -> None:
        """A caller that awaits one task gets what another one raises meanwhile."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        first = tasks.async_(work.wait)
        tasks.async_(partial(work.fail, OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            await first.await_()
        await tasks.stop()

        assert 0 == _cancelling()

    async def test_two_at_once(self) -> None:
        """A caller whose tasks fail at the same time gets the error of the first."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        waiting = tasks.async_(work.wait)
        for word in ("first", "second"):
            tasks.async_(partial(work.fail, OSError(word)))
        with pytest.raises(OSError, match="first"):
            await waiting.await_()
        await tasks.stop()

        assert 0 == _cancelling()

    async def test_elsewhere(self, caplog: pytest.LogCaptureFixture) -> None:
        """A caller that is at something else is cancelled, and the log says why."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()

        async def call() -> None:
            tasks.async_(partial(work.fail, OSError("gone")), name="work")
            await asyncio.Event().wait()

        calling = asyncio.create_task(call(), name="caller")
        await asyncio.wait({calling})

        assert calling.cancelled()
        assert "caller is cancelled: its task work ended: OSError('gone')" in caplog.text

    async def test_cancelled_twice(self) -> None:
        """A caller that somebody else cancels as well stays cancelled."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()

        async def call() -> None:
            waiting = tasks.async_(work.wait)
            tasks.async_(partial(fail, OSError("gone")))
            await waiting.await_()

        async def fail(error: OSError) -> None:
            asyncio.get_running_loop().call_soon(calling.cancel)
            raise error

        calling = asyncio.create_task(call())
        await asyncio.wait({calling})

        assert calling.cancelled()

    async def test_ends(self) -> None:
        """A task whose caller has ended is shut down."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()

        async def call() -> None:
            tasks.async_(work.wait)
            await work.begun.wait()

        await asyncio.create_task(call())
        (task,) = tasks.which_children()

        assert "shutdown" == await task.exited()
        assert ["cleaned up"] == work.traces

    async def test_supervisor_stops(self) -> None:
        """A supervisor that stops strikes the callers of its tasks, but not whoever stops it."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        failures: list[object] = []

        async def call() -> None:
            try:
                await tasks.async_(work.wait).await_()
            except TaskEnded as error:
                failures.append(error.reason)

        calling = asyncio.create_task(call())
        tasks.async_(work.wait)
        await work.begun.wait()
        await tasks.stop()
        await calling

        assert ["shutdown"] == failures

    async def test_forgotten(self) -> None:
        """A link is gone once its task has ended."""
        tasks = TaskSupervisor(name="tasks")
        me = asyncio.current_task()
        assert me is not None
        before = repr(me)
        for _ in range(3):
            await tasks.async_(partial(Workshop().fail, None)).await_()

        assert before.count("cb=") == repr(me).count("cb=")
        assert not [name for name in ("_on_caller_end",) if name in repr(me)]


def _cancelling() -> int:
    """Return how often the running test is being cancelled."""
    me = asyncio.current_task()
    return -1 if me is None else me.cancelling()
