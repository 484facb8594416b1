"""What the schedule does for memories, by a clock that is turned by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SECOND
from cortex_actors.domain.event import Custom
from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, Realm
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_records
from cortex_actors.storage.events import store
from cortex_actors.storage.ledger.backups import BELIEVED
from cortex_actors.testing import eventually
from cortex_actors.topics import MEMORY_DECAYED, MEMORY_PROMOTED
from tests.schedule.support import DAY, JOBS, Watched
from tests.storage.support import opened

if TYPE_CHECKING:
    from pathlib import Path

#: The memory that the scene is about.
X = f"mem_{1:026d}"

#: Seconds of an hour.
HOUR = 3_600


class Tended(Watched):
    """A scheduler that looks after memories, too."""

    async def begin(self) -> None:
        """Start it and wait until all its timers are set."""
        self.memory = MemorySettings(archive_days=1)
        await self.start()
        await self.all_rest()

    async def all_rest(self) -> None:
        """Return when every job rests: a timer that is not set yet would miss what time passes."""
        await eventually(lambda: self.clock.sleepers >= len(JOBS))

    async def after(self, seconds: float) -> None:
        """Let time pass."""
        await self.all_rest()
        self.clock.advance(seconds)

    async def save(self) -> None:
        """Save a working memory that was read five times and waits for its age."""
        now = self.clock.now()
        x = Memory(X, Realm.PRIVATE, "CLAUDE", "x", now, layer=Layer.WORKING, access_count=5)
        await self.store.write(lambda c: memory_records.save(c, [x]))
        set_due = "UPDATE memory_attention SET due_at = ?"
        due = now + DAY * SECOND
        await self.store.write(lambda c: c.exec_driver_sql(set_due, (due,)).rowcount)

    async def talk(self) -> None:
        """Let so much be said that the ledger believes what time it is."""
        said = [self.bus.make_event("custom:x", Custom({}), source="test") for _ in range(BELIEVED)]
        await self.store.write(lambda c: store(c, said))

    async def is_in(self, layer: Layer) -> bool:
        """Tell whether the memory lies in that layer."""
        return layer == (await self.one()).layer

    async def is_archived(self) -> bool:
        """Tell whether the memory was put away."""
        return MemoryStatus.ARCHIVED == (await self.one()).status

    async def is_told(self, topic: str) -> bool:
        """Tell whether an event of a topic was said, once."""
        return 1 == await self.said(topic)

    async def one(self) -> Memory:
        """Return the memory."""
        found = await self.store.read(lambda c: memory_records.read(c, [X], MemoryStatus))
        return found[X]


@pytest.mark.slow
async def test_by_the_clock(tmp_path: Path) -> None:
    """A memory sinks when it is old enough, fades when nobody reads it, and is put away in time."""
    async with opened(tmp_path) as ledger:
        tended = Tended(ledger)
        await tended.save()
        await tended.begin()
        try:
            await tended.after(23 * HOUR)
            await tended.ask("promotions")
            assert await tended.is_in(Layer.WORKING)

            await tended.after(2 * HOUR)  # the job's own timer
            await eventually(lambda: tended.is_in(Layer.LONG_TERM))
            assert await tended.is_told(MEMORY_PROMOTED)

            await tended.after(400 * DAY)
            await eventually(lambda: tended.is_told(MEMORY_DECAYED))
            await tended.after(2 * DAY)
            await tended.talk()
            await tended.after(DAY)
            await eventually(tended.is_archived)
        finally:
            await tended.handle.stop(10)
