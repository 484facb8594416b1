from __future__ import annotations

import asyncio
import random
from contextlib import aclosing, suppress
from functools import partial

import pytest

from cortex_actors.errors import CortexError
from cortex_actors.runtime.life import Exit
from cortex_actors.runtime.tasks import TaskSupervisor
from tests.runtime.workshop import leftovers

#: Scenarios of one run.
SCENARIOS = 60


class Storm:
    """Callers that use one task supervisor in any way, while they are cancelled by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        many = self.chance.choice([5, 1_000])
        self.tasks = TaskSupervisor(name="tasks", max_children=many, intensity=10, grace=0.1)

    async def blow(self) -> None:
        """Let some callers at it, then stop; every wait has an end."""
        callers = [asyncio.create_task(self.call()) for _ in range(6)]
        for _ in range(self.chance.randrange(20)):
            await turn()
            if self.chance.random() < 0.2:
                self.chance.choice(callers).cancel()
        if self.chance.random() < 0.3:
            self.tasks.kill()
        async with asyncio.timeout(10):
            await asyncio.wait(callers)
            await self.tasks.stop()

    async def call(self) -> None:
        """Do some of what can be done; a caller may be struck, which is not the point here."""
        ways = (self.linked, self.unlinked, self.alone, self.stream, self.terminate)
        for _ in range(self.chance.randrange(6)):
            with suppress(CortexError, OSError):
                await self.chance.choice(ways)()

    async def linked(self) -> None:
        """Await some linked tasks."""
        begun = [self.tasks.async_(self.work, shutdown=0.001) for _ in range(3)]
        for task in begun:
            await task.await_(self.chance.choice([0, 0.001]))

    async def unlinked(self) -> None:
        """Await a task that is not linked."""
        await self.tasks.async_nolink(self.work, shutdown="brutal_kill").await_(0.001)

    async def alone(self) -> None:
        """Start a task that may come back."""
        self.tasks.start_child(self.work, restart="transient", shutdown=0.001)

    async def stream(self) -> None:
        """Consume some of a stream."""
        start = self.chance.choice([self.tasks.async_stream, self.tasks.async_stream_nolink])
        stream = start(
            range(6),
            lambda _: self.work(),
            max_concurrency=self.chance.randrange(1, 4),
            ordered=self.chance.random() < 0.5,
            timeout=0.002,
            on_timeout="exit" if self.chance.random() < 0.5 else "kill_task",
            shutdown=0.001,
        )
        async with aclosing(stream):
            async for _ in stream:
                if self.chance.random() < 0.2:
                    break

    async def terminate(self) -> None:
        """End any task."""
        if tasks := self.tasks.which_children():
            await self.tasks.terminate_child(self.chance.choice(tasks))

    async def work(self) -> None:
        """Return, raise, leave, or wait for ever; clean up for ever as well, sometimes."""
        for _ in range(self.chance.randrange(4)):
            await turn()
        end, ever = self.chance.random(), partial(asyncio.Event().wait)
        if end < 0.2:
            raise OSError("gone") if end < 0.1 else Exit("enough")
        if end < 0.5:
            try:
                await ever()
            finally:
                await (ever() if end < 0.3 else turn())


async def turn() -> None:
    """Let the others have a turn."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_soon(over.set)
    await over.wait()


class TestStorm:
    @pytest.mark.slow
    async def test_nothing_is_left(self) -> None:
        """Whatever happens to tasks and callers, all have ended when their supervisor has."""
        first, failures = random.randrange(10**9), []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: failures.append(fault))
        before = leftovers()
        for seed in range(first, first + SCENARIOS):
            storm = Storm(seed)
            await storm.blow()
            await turn()

            assert [] == storm.tasks.which_children(), f"seed {seed}"
            assert before == leftovers(), f"seed {seed}"
            assert [] == failures, f"seed {seed}"
