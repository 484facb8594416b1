from __future__ import annotations

import asyncio
from functools import partial

import pytest

import supervision
from cortex_actors.errors import ActorAway, InternalError, TooManyTasks
from cortex_actors.runtime.life import Exit
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Workshop


class TestSupervised:
    async def test_in_a_tree(self) -> None:
        """A task supervisor is a child like any other: started, restarted, shown and stopped.

        Row: elixir task/supervisor can be supervised directly
        """
        start = partial(TaskSupervisor.start, name="tasks")
        spec = supervision.ChildSpec("tasks", start, type="supervisor")
        top = await supervision.Supervisor([spec], name="top").start()
        (first,) = await top.which_children()
        assert isinstance(first.handle, TaskSupervisor)
        work = Workshop()
        task = first.handle.async_nolink(work.wait)
        await work.begun.wait()
        detail = top.snapshot().children[0].detail
        first.handle.kill()
        while (second := (await top.which_children())[0].handle) in (None, first.handle):
            await first.handle.exited()
        await top.stop()

        assert {"tasks": 1, "ended": 0, "failed": 0, "restarts": 0} == detail
        assert "killed" == task.reason
        assert isinstance(second, TaskSupervisor)
        assert "shutdown" == await second.exited()

    async def test_children(self) -> None:
        """A task supervisor says how many tasks it has and which, the newest first.

        Row: elixir task/supervisor counts and returns children
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        none = tasks.count_children(), tasks.which_children()
        one, other = tasks.start_child(work.wait), tasks.start_child(work.wait)
        some = tasks.count_children(), tasks.which_children()
        await tasks.stop()

        assert ({"specs": 0, "active": 0, "supervisors": 0, "workers": 0}, []) == none
        assert ({"specs": 2, "active": 2, "supervisors": 0, "workers": 2}, [other, one]) == some
        assert none == (tasks.count_children(), tasks.which_children())

    async def test_ended(self) -> None:
        """A task supervisor that has ended starts nothing more, and says to whom to turn."""
        tasks = TaskSupervisor(name="tasks")
        await tasks.stop()
        for start in (tasks.async_, tasks.async_nolink, tasks.start_child):
            with pytest.raises(ActorAway, match="tasks has ended"):
                start(Workshop().wait)

        assert not tasks.is_alive()
        assert "shutdown" == await tasks.exited()


class TestAsyncNolink:
    async def test_result(self) -> None:
        """A task runs under its supervisor, its result is awaited, and its caller is not linked.

        Row: elixir task/supervisor async_nolink/1: spawns a task under the supervisor without linking to the caller
        """  # noqa: E501 - the row is as long as it is
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_nolink(work.wait, name="work")
        there = tasks.which_children()
        await work.begun.wait()
        work.gate.set()

        assert [task] == there
        assert "done" == await task.await_()
        assert ("normal", None, "work") == (task.reason, task.link, task.name)
        assert [] == tasks.which_children()

    async def test_failure(self) -> None:
        """What an unlinked task raises is raised where it is awaited and nowhere else."""
        tasks = TaskSupervisor(name="tasks")
        task = tasks.async_nolink(partial(Workshop().fail, OSError("gone")))
        await task.exited()
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                await task.await_()

        assert {"tasks": 0, "ended": 1, "failed": 1, "restarts": 0} == tasks.info()

    async def test_outlives_caller(self) -> None:
        """An unlinked task goes on when its caller has ended."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()

        async def call() -> None:
            tasks.async_nolink(work.wait)

        await asyncio.create_task(call())
        await work.begun.wait()
        (task,) = tasks.which_children()
        work.gate.set()

        assert "done" == await task.await_()

    async def test_brutal_kill(self) -> None:
        """A task that is to be killed does not get to clean up when its supervisor stops.

        Row: elixir task/supervisor async_nolink/1: with custom shutdown
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.async_nolink(work.wait, shutdown="brutal_kill")
        await work.begun.wait()
        await tasks.stop()

        assert "killed" == await task.exited()

    async def test_max_children(self) -> None:
        """No more tasks run than may, and one that has ended makes room.

        Row: elixir task/supervisor async_nolink/1: raises when :max_children is reached
        """
        tasks, work = TaskSupervisor(name="tasks", max_children=1), Workshop()
        first = tasks.async_nolink(work.wait)
        with pytest.raises(TooManyTasks, match="reached the maximum number of tasks, 1"):
            tasks.async_nolink(work.wait)
        work.gate.set()
        await first.await_()

        assert "done" == await tasks.async_nolink(work.wait).await_()


class TestStartChild:
    async def test_runs(self) -> None:
        """A task may be started for its effects, linked to nobody.

        Row: elixir task/supervisor start_child/1
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.wait)
        there = tasks.which_children()
        await work.begun.wait()
        work.gate.set()

        assert "normal" == await task.exited()
        assert [task] == there
        assert task.link is None

    async def test_brutal_kill(self) -> None:
        """A child that is to be killed does not get to clean up when its supervisor stops.

        Row: elixir task/supervisor start_child/1 with custom shutdown
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        task = tasks.start_child(work.wait, shutdown="brutal_kill")
        await work.begun.wait()
        await tasks.stop()

        assert "killed" == await task.exited()

    async def test_restart(self) -> None:
        """A permanent child comes back however it ended, until it is terminated.

        Row: elixir task/supervisor start_child/1 with custom restart
        """
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        first = tasks.start_child(work.wait, restart="permanent")
        await work.begun.wait()
        work.begun.clear()
        await first.stop(None)
        await work.begun.wait()
        (second,) = tasks.which_children()
        await tasks.terminate_child(first)

        assert ("shutdown", "shutdown") == (first.reason, second.reason)
        assert first is not second
        assert [] == tasks.which_children()
        assert 1 == tasks.info()["restarts"]

    @pytest.mark.parametrize(
        ("restart", "error", "starts"),
        [
            ("temporary", OSError("gone"), 1),
            ("transient", None, 1),
            ("transient", Exit(("shutdown", 1)), 1),
            ("transient", OSError("gone"), 3),
            ("permanent", None, 3),
        ],
    )
    async def test_restarts(self, restart: str, error: Exception | None, starts: int) -> None:
        """A transient child comes back after a failure, a permanent one always, as often as may."""
        tasks = TaskSupervisor(name="tasks", intensity=2)
        work = Workshop()
        task = tasks.start_child(
            partial(work.fail, error),
            restart=restart,  # type: ignore[arg-type]
        )
        await task.exited()
        if starts > 1:
            await tasks.exited()

        assert starts == work.starts
        assert (starts == 1) == tasks.is_alive()

    async def test_gives_up(self) -> None:
        """Too many restarts end the supervisor with "shutdown", and its other tasks with it."""
        tasks, work = TaskSupervisor(name="tasks", intensity=1), Workshop()
        other = tasks.start_child(work.wait)
        tasks.start_child(partial(Workshop().fail, OSError("gone")), restart="permanent")

        assert "shutdown" == await tasks.exited()
        assert other.reason in {"shutdown", "killed"}

    async def test_window(self) -> None:
        """Restarts count only for as long as the period lasts."""
        tasks, work = TaskSupervisor(name="tasks", intensity=1, period=1e-9), Workshop()
        tasks.start_child(partial(work.fail_until, 9), restart="transient")
        await work.begun.wait()

        assert tasks.is_alive()
        assert 9 == tasks.info()["restarts"]
        await tasks.stop()

    async def test_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        """The crash of a child, which nobody awaits, is in the log."""
        tasks = TaskSupervisor(name="tasks")
        await tasks.start_child(partial(Workshop().fail, OSError("gone")), name="work").exited()

        assert ["the task work crashed"] == [
            record.message for record in caplog.records if record.name == "cortex.tasks"
        ]

    @pytest.mark.parametrize("options", [{"restart": "sometimes"}, {"shutdown": -1}])
    async def test_nonsense(self, options: dict[str, object]) -> None:
        """Options that make no sense are refused by name, and nothing is started."""
        tasks = TaskSupervisor(name="tasks")
        with pytest.raises(InternalError, match=next(iter(options))):
            tasks.start_child(Workshop().wait, **options)  # type: ignore[arg-type]

        assert [] == tasks.which_children()
