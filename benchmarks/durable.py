"""Durable publishes through the real parts: bus, journal, ledger actor, its thread, its file."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from benchmarks.said import payload
from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import StorageSettings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger.actor import Ledger, Records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import supervision


class Durable:
    """A ledger of its own with a bus on it, put together as the daemon does; no control socket."""

    def __init__(self, folder: Path) -> None:
        """Prepare; nothing is opened before `start`."""
        self.clock = SystemClock()
        self.names = Names()
        self.records = Records(self.names)
        self.journal = LedgerJournal(self.records, self.clock)
        self.bus = Bus(self.journal, self.clock)
        self._home = Home.find(folder)
        self._ledger: supervision.Handle | None = None

    async def start(self) -> None:
        """Open the ledger."""

        def make() -> Ledger:
            return Ledger(self._home, StorageSettings(), self.clock)

        self._ledger = await start_actor(self.names, "ledger", make)

    async def stop(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            await self._ledger.stop(None)

    async def publish(self, topic: str, times: int, at_once: int) -> list[float]:
        """Publish so many events by `at_once` publishers; return the seconds each one took.

        Each publisher says its next event when the one before it was acknowledged.
        """
        # From one row of numbers, so that one commit holds neighbours, as it does in the floor.
        numbers = iter(range(times))
        took = await asyncio.gather(*(self._publish(topic, numbers) for _ in range(at_once)))
        return [seconds for one in took for seconds in one]

    async def _publish(self, topic: str, numbers: Iterator[int]) -> list[float]:
        """Publish one after the other, until there are no more numbers."""
        took: list[float] = []
        for number in numbers:
            begun = time.perf_counter()
            await self.bus.publish(topic, payload(topic, number), source="bench")
            took.append(time.perf_counter() - begun)
        return took
