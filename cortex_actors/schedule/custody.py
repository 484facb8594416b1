"""What the schedule does for memories: their attention, promotions by age, putting faded ones away.

Each run writes on its own way, a little at a time; the scheduler notes that it was done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.schedule.jobs import Done
from cortex_actors.storage.memory_attention import Tending

if TYPE_CHECKING:
    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.storage.ledger.actor import Records


class Custody:
    """Three jobs."""

    def __init__(
        self, records: Records, bus: Bus, clock: Clock, *, settings: MemorySettings, by: str
    ) -> None:
        """Remember whom to ask; memories fade and sink by those settings."""
        self._tending = Tending(records, bus, clock, settings=settings, by=by, source=by)
        self._archive_days = settings.archive_days

    async def attention(self) -> Done:
        """Write the attention that memories have now, and say which have faded."""
        found = await self._tending.weigh()
        if not found.updated:
            return Done()
        said = f"{found.updated} of {found.total} memories weighed anew, {found.faded} have faded"
        return Done(said, wrote=True)

    async def promotions(self) -> Done:
        """Let memories sink that were read often enough and are old enough by now."""
        moved = await self._tending.sink_ripe()
        return Done(f"{len(moved)} memories promoted", wrote=True) if moved else Done()

    async def archive(self) -> Done:
        """Put memories away that have lain faded for `memory.archive_days`; none for 0."""
        gone = await self._tending.archive(self._archive_days)
        if not gone:
            return Done()
        return Done(f"{len(gone)} faded memories archived; each can be restored", wrote=True)
