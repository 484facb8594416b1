from __future__ import annotations

import asyncio
from functools import partial

import pytest

from cortex_actors.errors import DeadlineExceeded, InternalError, TaskEnded
from cortex_actors.runtime.life import Exit
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Workshop


class TestTimeout:
    @pytest.mark.parametrize("timeout", [0, 0.01])
    async def test_late(self, timeout: float) -> None:
        """An await that takes too long shuts the task down, whose late answer is dropped.

        Row: elixir task/supervisor await/1: demonitors and unalias on timeout
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_(work.finish, name="work")
        with pytest.raises(DeadlineExceeded, match=f"work did not end within {timeout} s"):
            await task.await_(timeout)
        await task.exited()
        with pytest.raises(DeadlineExceeded):
            await task.await_()

        assert [] == tasks.which_children()

    async def test_caller_is_spared(self) -> None:
        """A caller that gave up waiting is not struck by the end of the task."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_(work.wait)
        await work.begun.wait()
        with pytest.raises(DeadlineExceeded):
            await task.await_(0)

        assert "shutdown" == await task.exited()
        assert ["cleaned up"] == work.traces

    async def test_cancelled(self) -> None:
        """Somebody who stops waiting for a task changes nothing for it or the others who wait."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_nolink(work.wait)
        waiting = [asyncio.create_task(task.await_()) for _ in range(2)]
        await work.begun.wait()
        waiting[0].cancel()
        await asyncio.wait({waiting[0]})
        work.gate.set()

        assert waiting[0].cancelled()
        assert "done" == await waiting[1]


class TestFailure:
    async def test_exception(self) -> None:
        """An await raises the very exception that the task raised.

        Row: elixir task/supervisor await/1: exits on task error
        """
        tasks, error = TaskSupervisor(name="tasks"), ValueError("oops")
        with pytest.raises(ValueError, match="oops") as failure:
            await tasks.async_(partial(Workshop().fail, error)).await_()

        assert error is failure.value

    @pytest.mark.parametrize("reason", ["unknown", "normal"])
    async def test_exit(self, reason: str) -> None:
        """An await of a task that leaves for a reason of its own raises TaskEnded with it.

        Row: elixir task/supervisor await/1: exits on task exit
        """
        tasks = TaskSupervisor(name="tasks")
        with pytest.raises(TaskEnded, match="without a result") as failure:
            await tasks.async_(partial(Workshop().fail, Exit(reason))).await_()

        assert reason == failure.value.reason

    async def test_thrown(self) -> None:
        """An await raises what escapes from a task that nobody there catches, as it is.

        Row: elixir task/supervisor await/1: exits on task throw
        """

        class Thrown(Exception):
            pass

        tasks = TaskSupervisor(name="tasks")
        with pytest.raises(Thrown, match="unknown"):
            await tasks.async_(partial(Workshop().fail, Thrown("unknown"))).await_()

    async def test_killed(self) -> None:
        """An await of a task that is killed raises TaskEnded with "killed"."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_nolink(work.wait)
        waiting = asyncio.create_task(task.await_())
        await work.begun.wait()
        task.kill()
        with pytest.raises(TaskEnded, match="killed"):
            await waiting

    async def test_cancelled_inside(self) -> None:
        """A task that awaits something cancelled has failed, and was not stopped by anybody."""
        tasks = TaskSupervisor(name="tasks")

        async def work() -> None:
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            await future

        with pytest.raises(InternalError, match="waited for something that was cancelled"):
            await tasks.async_nolink(work).await_()

    async def test_no_coroutine(self) -> None:
        """Work that raises before it is a coroutine fails like any other."""
        tasks = TaskSupervisor(name="tasks")

        def work() -> None:
            raise OSError("gone")

        with pytest.raises(OSError, match="gone"):
            await tasks.async_nolink(work).await_()  # type: ignore[arg-type]
