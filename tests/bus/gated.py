"""A journal whose commits the test lets through, and an event to commit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cortex_actors import topics
from cortex_actors.domain.event import FileChanged
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.bus.commits import Delivery, Outcome
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.testing import ManualClock

CHANGE = FileChanged("prj_1", "/a")


class Gated(MemoryJournal):
    """A journal whose commits wait for the test, or fail."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()
        self.error: Exception | None = None

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Wait, then store or fail."""
        self.asked.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().append(events)

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]] | None:
        """Wait, then settle."""
        self.asked.set()
        await self.gate.wait()
        return await super().settle(delivery, outcome)


async def change(bus: Bus) -> Event[Payload]:
    """Publish that a file has changed."""
    return await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
