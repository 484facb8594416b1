"""Events that are stored together, some of them not for the first time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import Custom, FileChanged
from cortex_actors.storage.events import store as append
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload
    from tests.storage.support import Store


def change(store: Store, path: str) -> Event[Payload]:
    """Return an event that one consumer hears."""
    bus = Bus(MemoryJournal(store.clock), store.clock)
    return bus.make_event(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")


class TestStore:
    async def test_together(self, store: Store) -> None:
        """Each gets the next number, and a delivery with its own."""
        said = [change(store, path) for path in ("/a", "/b", "/c")]
        stored = await store.write(lambda connection: append(connection, said))

        assert [1, 2, 3] == [event.seq for event in stored]
        assert said == [replace(event, seq=None) for event in stored]
        rows = await store.rows("SELECT seq, key FROM deliveries ORDER BY seq")
        assert [(1, "/a"), (2, "/b"), (3, "/c")] == rows

    async def test_some_again(self, store: Store) -> None:
        """One that was stored before keeps its number and gets no second delivery."""
        old, new = change(store, "/a"), change(store, "/b")
        await store.write(lambda connection: append(connection, [old]))
        stored = await store.write(lambda connection: append(connection, [new, old]))

        assert [2, 1] == [event.seq for event in stored]
        assert [(1,), (2,)] == await store.rows("SELECT seq FROM deliveries ORDER BY seq")

    async def test_twice_at_once(self, store: Store) -> None:
        """One that is given twice is stored once."""
        event = change(store, "/a")
        stored = await store.write(lambda connection: append(connection, [event, event]))

        assert [1, 1] == [each.seq for each in stored]
        assert [(1,)] == await store.rows("SELECT seq FROM deliveries")

    async def test_names_that_are_not_text(self, store: Store) -> None:
        """A path whose bytes are no UTF-8 is a key like any other."""
        path = b"/caf\xe9".decode("utf-8", "surrogateescape")
        await store.write(partial(append, said=[change(store, path)]))

        assert [(path.encode("utf-8", "surrogateescape"),)] == await store.rows(
            "SELECT key FROM deliveries"
        )

    async def test_nobody_hears(self, store: Store) -> None:
        """What nobody hears is a row of its own and no delivery."""
        bus = Bus(MemoryJournal(store.clock), store.clock)
        said = [bus.make_event("custom:test", Custom({"n": n}), source="test") for n in range(2)]
        await store.write(lambda connection: append(connection, said))

        assert [('{"n": 0}',), ('{"n": 1}',)] == await store.rows("SELECT payload FROM events")
        assert [] == await store.rows("SELECT seq FROM deliveries")
