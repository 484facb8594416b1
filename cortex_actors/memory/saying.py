"""Saying what was done: rows and the events that tell of them, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from cortex_actors.storage.events import store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.storage.ledger.actor import Connection, Records

T = TypeVar("T")


class Saying:
    """The ledger and the bus as one: what was written is said, and what was not is not."""

    def __init__(self, bus: Bus, records: Records, *, source: str) -> None:
        """Say it as `source`."""
        self._bus = bus
        self._records = records
        self._source = source

    def event(self, topic: str, payload: Payload) -> Event[Payload]:
        """Return an event that has not been said yet."""
        return self._bus.event(topic, payload, source=self._source)

    async def write(self, work: Callable[[Connection], tuple[T, Sequence[Event[Payload]]]]) -> T:
        """Run a unit of work that returns a value and the events it has to say; return the value.

        Raises what writing the ledger raises; then nothing was written and nothing said.
        """

        def unit(connection: Connection) -> tuple[T, list[Event[Payload]]]:
            given, said = work(connection)
            return given, store(connection, said)

        given, stored = await self._records.write(unit)
        for each in stored:
            self._bus.announce(each)
        return given
