"""Work that the tests of tasks and streams give out."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from cortex_actors.runtime.life import Exit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Workshop:
    """Work that says when it has begun and waits for its gate."""

    def __init__(self) -> None:
        self.starts = 0
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.traces: list[str] = []

    async def wait(self) -> str:
        """Return "done" once the gate is open; clean up when cancelled."""
        self._begin()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.traces.append("cleaned up")
            raise
        return "done"

    async def linger(self) -> None:
        """Clean up for ever when cancelled, unless that is cancelled, too."""
        self._begin()
        try:
            await self.gate.wait()
        finally:
            await asyncio.Event().wait()

    async def refuse(self) -> None:
        """End only once the gate is open."""
        self._begin()
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.traces.append("refused")

    async def finish(self) -> str:
        """Return "late" when cancelled."""
        self._begin()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            return "late"
        return "done"

    async def fail(self, error: Exception | None) -> None:
        """Raise an error, or return at once."""
        self._begin()
        if error is not None:
            raise error

    async def fail_until(self, times: int) -> None:
        """Fail so many times; then begin, and wait for the gate."""
        self.starts += 1
        if self.starts <= times:
            raise OSError("gone")
        self.begun.set()
        await self.gate.wait()

    def _begin(self) -> None:
        self.starts += 1
        self.begun.set()


class Mill:
    """Turns items into results; what is infinite never comes out."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.cancelled: list[float] = []
        self.done: dict[float, asyncio.Event] = {n: asyncio.Event() for n in range(10)}

    async def grind(self, item: float) -> float:
        """Return the item."""
        self.begun.append(item)
        if item == float("inf"):
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.append(item)
        return item

    async def in_reverse(self, item: int) -> int:
        """Return the item after the one that is smaller by one has been returned."""
        if item > 1:
            await self.done[item - 1].wait()
        self.done[item].set()
        return item


async def leave(item: object) -> None:
    """Leave for a reason: the item."""
    raise Exit(item)


async def fail(item: object) -> None:
    """Raise an error."""
    raise OSError(item)


async def listed(stream: AsyncGenerator[Any, None], limit: int = 100) -> list[Any]:
    """Return the results of a stream, or its first ones."""
    results = []
    async with aclosing(stream) as open_stream:
        async for result in open_stream:
            results.append(result)
            if len(results) == limit:
                break
    return results


def leftovers() -> list[object]:
    """Return what a stream could leave on the loop: tasks, timers, callbacks of this task."""
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    timers = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
    links = [repr(me).count("_on_caller_end")]
    return [asyncio.all_tasks(), timers, links]
