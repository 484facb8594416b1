"""A journal under test, whatever keeps its events: every transport passes the same suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Delivery, Journal
from cortex_actors.domain.event import FileChanged, Payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.domain.event import Event
    from cortex_actors.testing import ManualClock

CHANGED, SCAN = topics.FILE_CHANGED, topics.SCAN_REQUESTED


def noting(effects: list[object], effect: object) -> Callable[[object], None]:
    """Return the work that has an effect."""
    return lambda _connection: effects.append(effect)


class Bench:
    """A journal under test, and the clock it lives by."""

    def __init__(self, journal: Journal, clock: ManualClock) -> None:
        self.journal = journal
        self.clock = clock
        self.bus = Bus(journal, clock)

    async def change(self, *paths: str, project: str = "prj_1") -> list[Event[Payload]]:
        """Append that files of a project have changed."""
        events = [
            self.bus.make_event(CHANGED, FileChanged(project, path), source="test")
            for path in paths
        ]
        return await self.journal.append(events)

    async def once(self, key: str, path: str = "/a") -> Event[Payload]:
        """Append that a file has changed, under an idempotency key."""
        event = self.bus.make_event(CHANGED, FileChanged("prj_1", path), source="test")
        return await self.journal.append_once(event, key)

    async def take(self, *in_hand: Delivery, consumer: str = "accumulator") -> Delivery:
        """Return what is next, which must be a delivery."""
        found = await self.journal.find_next(consumer, in_hand)
        assert isinstance(found, Delivery)
        return found

    async def path(self, *in_hand: Delivery) -> str:
        """Return the path of the file that is next."""
        delivery = await self.take(*in_hand)
        payload: FileChanged = delivery.event.payload
        return payload.path

    async def nothing(self, *in_hand: Delivery, consumer: str = "accumulator") -> bool:
        """Tell whether nothing is to be handled."""
        return await self.journal.find_next(consumer, in_hand) is None
