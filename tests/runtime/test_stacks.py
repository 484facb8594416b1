"""Where a task is, down to what it waits for."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest

from cortex_actors.runtime.watchdog import find_stack
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Gate:
    """Something to wait for, in several ways."""

    def __init__(self) -> None:
        """Be shut."""
        self.opened = asyncio.Event()

    @property
    def waiting(self) -> bool:
        """Whether somebody waits."""
        return bool(self.opened._waiters)

    async def deep(self, number: int) -> None:
        """Wait so many calls below."""
        await (self.deep(number - 1) if number else self.opened.wait())

    async def stream(self) -> AsyncIterator[int]:
        """Wait in an asynchronous generator."""
        await self.opened.wait()
        yield 1

    async def streaming(self) -> None:
        """Wait for a stream's first item."""
        async for _ in self.stream():
            return

    async def for_task(self) -> None:
        """Wait for another task."""
        await asyncio.create_task(self.deep(0), name="inner")


def names(task: asyncio.Task[None]) -> list[str]:
    """Return the functions of a task's stack."""
    return [line.partition(" in ")[2] or line for line in find_stack(task)]


class TestStack:
    @pytest.mark.parametrize(
        ("method", "expected"),
        [
            ("deep", ["Gate.deep", "Gate.deep", "Event.wait"]),
            ("streaming", ["Gate.streaming"]),
            (
                "for_task",
                ["Gate.for_task", "waiting for the task inner", "Gate.deep", "Event.wait"],
            ),
        ],
    )
    async def test_down_to_the_wait(self, method: str, expected: list[str]) -> None:
        """Coroutines and other tasks are followed to the innermost wait, streams are not."""
        gate = Gate()
        work = gate.deep(1) if method == "deep" else getattr(gate, method)()
        task = asyncio.create_task(work)
        await eventually(lambda: len(expected) == len(find_stack(task)) and gate.waiting)
        found = names(task)
        lines = find_stack(task)
        gate.opened.set()
        await task

        assert expected == found
        assert re.fullmatch(r"runtime/test_stacks.py:\d+ in Gate\.\w+", lines[0])
        assert all(re.match(r"[\w/.]+:\d+ in |waiting for the task ", line) for line in lines)

    async def test_endless(self) -> None:
        """A stack that is very deep is cut."""
        gate = Gate()
        task = asyncio.create_task(gate.deep(200))
        await eventually(lambda: 1 < len(find_stack(task)))
        length = len(find_stack(task))
        gate.opened.set()
        await task

        assert 64 == length

    async def test_done(self) -> None:
        """A task that has ended, and none, have no stack."""
        task = asyncio.create_task(Gate().opened.wait())
        task.cancel()
        await asyncio.wait({task})

        assert ((), ()) == (find_stack(task), find_stack(None))
