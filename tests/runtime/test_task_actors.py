from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.life import Exit
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import Workshop

if TYPE_CHECKING:
    from cortex_actors.runtime.streams import TaskHandle


class Foreman(AsyncioActor):
    """Has a task supervisor do its work."""

    mailbox_limit = 10
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, tasks: TaskSupervisor) -> None:
        super().__init__()
        self.tasks = tasks
        self.failure: tuple[object, object] | None = None
        self.stopped = False

    def on_stop(self) -> None:
        """Note an orderly end."""
        self.stopped = True

    def on_failure(self, *args: Any) -> None:
        """Note the failure."""
        self.failure = args[:2]

    def on_receive(self, message: str) -> str:
        """Return a word in capitals."""
        return message.upper()

    def begin(self, work: Any) -> None:
        """Start a linked task and go on."""
        self.tasks.async_(work)

    async def begin_and_wait(self, work: Any) -> object:
        """Start a linked task and await it."""
        task: TaskHandle[object] = self.tasks.async_(work)
        return await task.await_()

    async def begin_and_hold(self, work: Any, gate: asyncio.Event) -> None:
        """Start a linked task and wait for something else."""
        self.tasks.async_(work)
        await gate.wait()

    async def end_own(self, work: Any) -> str:
        """Start a linked task and end it."""
        await self.tasks.terminate_child(self.tasks.async_(work))
        return "alive"


class TestActorAsCaller:
    async def test_crashes(self) -> None:
        """An actor crashes with the error of a task that it has started in a plain handler."""
        actor = Foreman(TaskSupervisor(name="tasks"))
        ref, error = actor.launch(), OSError("gone")
        await ref.proxy().begin(partial(Workshop().fail, error))

        assert error is await ref.join()
        assert (OSError, error) == actor.failure

    async def test_crashes_in_handler(self) -> None:
        """An actor that awaits its linked task crashes with it all the same."""
        ref, error = Foreman.start(TaskSupervisor(name="tasks")), OSError("gone")
        ref.proxy().begin_and_wait.defer(partial(Workshop().fail, error))

        assert error is await ref.join()

    async def test_exits(self) -> None:
        """An actor whose linked task leaves for a reason ends for that reason."""
        actor = Foreman(TaskSupervisor(name="tasks"))
        ref = actor.launch()
        await ref.proxy().begin(partial(Workshop().fail, Exit(("shutdown", "enough"))))

        assert ("shutdown", "enough") == await ref.join()
        assert (None, True) == (actor.failure, actor.stopped)

    async def test_result(self) -> None:
        """An actor goes on when its linked task has returned."""
        ref, work = Foreman.start(TaskSupervisor(name="tasks")), Workshop()
        work.gate.set()

        assert "done" == await ref.proxy().begin_and_wait(work.wait)
        assert ref.is_alive()
        assert not ref.life.ended._callbacks

    async def test_asks_back(self) -> None:
        """A task may ask its own actor, which answers when its handler is done."""
        ref, begun, gate = Foreman.start(TaskSupervisor(name="tasks")), asyncio.Event(), Workshop()
        answers: list[object] = []

        async def work() -> None:
            begun.set()
            answers.append(await ref.ask_async("hello"))

        holding = ref.proxy().begin_and_hold(work, gate.gate)
        await begun.wait()
        gate.gate.set()
        await holding
        await ref.ask_async("after")

        assert ["HELLO"] == answers

    @pytest.mark.parametrize("end", ["kill", "shut_down"])
    async def test_ends(self, end: str) -> None:
        """A task whose actor has ended is shut down."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        ref = Foreman.start(tasks)
        await ref.proxy().begin(work.wait)
        await work.begun.wait()
        (task,) = tasks.which_children()
        getattr(ref, end)()

        assert "shutdown" == await task.exited()

    async def test_ends_it_itself(self) -> None:
        """An actor that ends its own task is not struck by that."""
        ref = Foreman.start(TaskSupervisor(name="tasks"))

        assert "alive" == await ref.proxy().end_own(Workshop().wait)

    async def test_supervisor_killed(self) -> None:
        """An actor whose task is killed with the supervisor ends as "killed", which is a crash."""
        tasks, work = TaskSupervisor(name="tasks"), Workshop()
        ref = Foreman.start(tasks)
        await ref.proxy().begin(work.wait)
        await work.begun.wait()
        tasks.kill()

        assert "killed" == await ref.join()
