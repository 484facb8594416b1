"""Actors that the tests of this folder share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.runtime.actor import AsyncioActor

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

R = TypeVar("R", bound="Recorder")


class Recorder(AsyncioActor):
    """Keeps what it is sent and sends it back.

    "wait" holds it until `gate` is set; an exception is raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.hooks: list[str] = []
        self.gate = asyncio.Event()
        self.held = asyncio.Event()

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Note the call."""
        self.hooks.append("start")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Note the call."""
        self.hooks.append("stop")

    async def on_failure(  # type: ignore[override]  # Pykka has it plain
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Note the call."""
        self.hooks.append(f"failure: {exception_value}")

    async def on_receive(self, message: object) -> object:
        """Keep a message and return it."""
        if message == "wait":
            self.held.set()
            await self.gate.wait()
        if isinstance(message, Exception):
            raise message
        self.seen.append(message)
        return message

    def double(self, number: int) -> int:
        """Return twice the number."""
        return 2 * number

    async def triple(self, number: int) -> int:
        """Return three times the number."""
        return 3 * number

    def later(self, number: int) -> asyncio.Task[int]:
        """Return the number once the gate is open, and take other messages meanwhile."""
        return self.spawn(self._later(number), name="later")

    async def _later(self, number: int) -> int:
        self.held.set()
        await self.gate.wait()
        if number < 0:
            raise ValueError(number)
        return number

    async def start_task(self, error: BaseException | None = None) -> None:
        """Start a task that raises at once, or waits for the gate."""
        self.spawn(self._work(error), name="work")

    async def _work(self, error: BaseException | None) -> None:
        if error is not None:
            raise error
        try:
            await self.gate.wait()
        finally:
            self.hooks.append("work ended")


async def held(recorder: R) -> R:
    """Return a started recorder whose handler waits for its gate."""
    recorder.launch().tell("wait")
    await recorder.held.wait()
    return recorder


async def turns(condition: Callable[[], object]) -> None:
    """Give the loop turns until a condition holds."""
    other = Recorder.start()
    while not condition():
        await other.ask_async("a turn of the loop")
    await other.stop(block=False)
