from __future__ import annotations

import pytest

from cortex_actors.errors import NotFound
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Workshop


class TestTerminate:
    async def test_child(self) -> None:
        """A task that is terminated has ended, and cannot be terminated again.

        Row: elixir task/supervisor terminate_child/2
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.wait)
        there = tasks.which_children()
        await tasks.terminate_child(task)
        with pytest.raises(NotFound, match="is no task of tasks"):
            await tasks.terminate_child(task)

        assert [task] == there
        assert [] == tasks.which_children()

    async def test_cleans_up(self) -> None:
        """A task that is asked to end may clean up in the seconds it has."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.wait)
        await work.begun.wait()
        await tasks.terminate_child(task)

        assert ["cleaned up"] == work.traces
        assert "shutdown" == task.reason

    async def test_late(self) -> None:
        """A task that cleans up for longer than it may is killed."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.linger, shutdown=0.01)
        await work.begun.wait()
        await tasks.terminate_child(task)

        assert "killed" == task.reason

    async def test_killed_at_once(self) -> None:
        """A task that is killed without being asked does not get to clean up either."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.linger, shutdown="brutal_kill")
        await work.begun.wait()
        await tasks.terminate_child(task)

        assert "killed" == task.reason
        assert task._task.done()

    async def test_stubborn(self, caplog: pytest.LogCaptureFixture) -> None:
        """A task that survives being killed is abandoned, said to be, and keeps nobody waiting."""
        tasks, work = TaskSupervisor(name="tasks", grace=0.01), Workshop()
        task = tasks.start_child(work.refuse, shutdown="brutal_kill", name="work")
        await work.begun.wait()
        await tasks.stop()

        assert "killed" == await task.exited()
        assert "the task work survived being killed and is abandoned" in caplog.text
        work.gate.set()

    async def test_never_begun(self) -> None:
        """A task that is killed before its first step leaves nothing behind."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.wait)
        tasks.kill()

        assert "killed" == await task.exited()
        assert "killed" == await tasks.exited()
        assert 0 == work.starts

    async def test_late_stop(self) -> None:
        """A stop that takes too long raises TimeoutError and goes on; a kill ends it."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.linger)
        await work.begun.wait()
        with pytest.raises(TimeoutError):
            await tasks.stop(0.01)
        assert not tasks.is_alive()
        tasks.kill()

        assert "killed" == await tasks.exited()
        assert "killed" == task.reason
