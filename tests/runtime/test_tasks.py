from __future__ import annotations

import asyncio

import pytest

import supervision
from cortex_actors.errors import Refused, TaskEnded
from cortex_actors.runtime.tasks import ALONE, Task, TaskSupervisor


class Bench:
    """A supervisor, tasks below it, and the reports about them."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, object]] = []
        self.top = supervision.Supervisor(
            name="tasks", strategy="dynamic", report=self.hear, grace=0.05
        )
        self.tasks = TaskSupervisor(self.start)
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.traces: list[str] = []

    def hear(self, report: supervision.Report) -> None:
        """Note a report."""
        self.reports.append((report.kind, report.reason))

    async def start(self, task: Task[object]) -> None:
        """Start a task as a child."""
        spec = supervision.ChildSpec(task.name, task.start, restart="temporary", shutdown=0.05)
        await self.top.start_child(spec)

    async def wait(self) -> str:
        """Return once the gate is open; clean up when cancelled."""
        self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.traces.append("cleaned up")
            raise
        return "done"

    async def linger(self) -> None:
        """Clean up for ever when cancelled, unless that is cancelled, too."""
        self.begun.set()
        try:
            await self.gate.wait()
        finally:
            await asyncio.Event().wait()


async def raising(error: Exception) -> None:
    """Raise it."""
    raise error


@pytest.fixture
async def bench() -> Bench:
    """Return one that runs; a test that stops it does so itself."""
    found = Bench()
    await found.top.start()
    return found


class TestRun:
    async def test_result(self, bench: Bench) -> None:
        """Work runs as a child of its supervisor, and its caller gets the result.

        Row: elixir task/supervisor counts and returns children
        Row: elixir task/supervisor start_child/1
        """
        running = asyncio.create_task(bench.tasks.run("work", bench.wait))
        await bench.begun.wait()
        names = [child.id for child in await bench.top.which_children()]
        detail = bench.top.snapshot().children[0].detail
        bench.gate.set()

        assert "done" == await running
        await bench.top.stop()
        assert ["work"] == names
        assert {"seconds", "ending"} == detail.keys()
        assert detail["ending"] is None
        assert ("exited", "normal") in bench.reports

    async def test_crash(self, bench: Bench) -> None:
        """What work raises is raised to the caller; what is no refusal is reported as a crash.

        Row: elixir task/supervisor await/1: exits on task error
        """
        crash, refusal = OSError("gone"), Refused("no")
        with pytest.raises(OSError, match="gone"):
            await bench.tasks.run("work", lambda: raising(crash))
        with pytest.raises(Refused, match="no"):
            await bench.tasks.run("work", lambda: raising(refusal))
        await bench.top.stop()

        ends = [reason for kind, reason in bench.reports if kind == "exited"]
        assert [crash, "normal"] == ends

    async def test_stopped(self, bench: Bench) -> None:
        """Work that its supervisor stops may clean up, and its caller gets `TaskEnded`.

        Row: elixir task/supervisor can be supervised directly
        """
        running = asyncio.create_task(bench.tasks.run("work", bench.wait))
        await bench.begun.wait()
        await bench.top.stop()

        with pytest.raises(TaskEnded, match="work was stopped before it was done"):
            await running
        assert ["cleaned up"] == bench.traces

    async def test_killed(self, bench: Bench) -> None:
        """Work that does not end when it is asked to is killed, its clean-up as well."""
        running = asyncio.create_task(bench.tasks.run("work", bench.linger))
        await bench.begun.wait()
        await bench.top.stop()

        with pytest.raises(TaskEnded) as ended:
            await running
        assert "killed" == ended.value.reason

    async def test_cancelled(self, bench: Bench) -> None:
        """A caller that is cancelled ends its work, and ends after it."""
        running = asyncio.create_task(bench.tasks.run("work", bench.wait))
        await bench.begun.wait()
        running.cancel()
        await asyncio.wait({running})

        assert running.cancelled()
        assert ["cleaned up"] == bench.traces
        await bench.top.stop()
        assert ("exited", "shutdown") in bench.reports

    async def test_cancelled_early(self, bench: Bench) -> None:
        """Work whose caller is cancelled before it begins does not begin."""
        task = Task("work", bench.wait)
        task.shut_down()
        await task.start()

        assert "shutdown" == await task.exited()
        assert not bench.begun.is_set()
        await bench.top.stop()

    async def test_without_tree(self) -> None:
        """A part that is not in a tree has its work done all the same."""
        with pytest.raises(OSError, match="gone"):
            await ALONE.run("work", lambda: raising(OSError("gone")))
