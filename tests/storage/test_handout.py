"""What finding the next event costs, in steps of SQLite's machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Delivery
from cortex_actors.bus.consumer import find_project_id
from cortex_actors.domain.event import AccumulationComplete, FileChanged
from cortex_actors.storage.deliveries import CONFLATED, LOOKED_AT, find_next
from cortex_actors.storage.events import store as append
from cortex_actors.storage.ledger.connection import find_driver_of
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from tests.storage.support import Store

#: Steps between two counts.
GRAIN = 10

#: Who hears the topic.
CONSUMER = "accumulator"


async def fill(store: Store, paths: Sequence[str]) -> None:
    """Store an event for each path, of a project of its own."""
    await said(store, *((f"prj_{path}", path) for path in paths))


async def said(store: Store, *changes: tuple[str, str]) -> None:
    """Store events of those projects and paths."""
    bus = Bus(MemoryJournal(store.clock), store.clock)
    events = [
        bus.make_event(topics.FILE_CHANGED, FileChanged(*each), source="test") for each in changes
    ]
    await store.write(lambda connection: append(connection, events))


def handed(connection: Connection, *in_hands: Delivery) -> list[tuple[str | None, tuple[int, ...]]]:
    """Return what else is handed out while nothing ends: of which project, and which events."""
    in_hand = list(in_hands)
    while isinstance(found := find_next(connection, CONSUMER, now=0, in_hand=in_hand), Delivery):
        in_hand.append(found)
    return [(find_project_id(each.event.payload), each.seqs) for each in in_hand[len(in_hands) :]]


def steps(connection: Connection, hands: int = 0) -> int:
    """Return how many steps it takes to find what is next with so many in hand."""
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += GRAIN

    in_hand: list[Delivery] = []
    for _ in range(hands):
        in_hand.append(_found(connection, in_hand))
    driver = find_driver_of(connection)
    driver.set_progress_handler(count, GRAIN)
    try:
        _found(connection, in_hand)
    finally:
        driver.set_progress_handler(None, 0)
    return counted


def _found(connection: Connection, in_hand: Sequence[Delivery]) -> Delivery:
    """Return what is next."""
    found = find_next(connection, CONSUMER, now=0, in_hand=in_hand)
    assert isinstance(found, Delivery)
    return found


class TestCost:
    @pytest.mark.parametrize("hands", [0, 4])
    async def test_many_keys(self, store: Store, hands: int) -> None:
        """The next event costs the same whether fifty wait or a thousand."""
        await fill(store, [f"/{number}" for number in range(50)])
        few = await store.write(lambda connection: steps(connection, hands))
        await fill(store, [f"/{number}" for number in range(50, 1_000)])
        many = await store.write(lambda connection: steps(connection, hands))

        assert 0 < many < 2 * few

    async def test_one_key(self, store: Store) -> None:
        """Of repeats no more are read than one run may answer."""
        await fill(store, ["/a"] * CONFLATED)
        few = await store.write(steps)
        await fill(store, ["/a"] * CONFLATED)
        many = await store.write(steps)

        assert 0 < many < 2 * few


class TestProjects:
    """A file below a project in a project is of the one or the other, as they are followed."""

    INSIDE = "/atlas/inner/CLAUDE.md"

    async def test_one_each(self, store: Store) -> None:
        """Repeats of a file that came to another project meanwhile are no delivery of the first."""
        await said(
            store,
            *(("atlas", self.INSIDE), ("atlas", "/atlas/a.md"), ("atlas", self.INSIDE)),
            *(("inner", self.INSIDE), ("inner", self.INSIDE)),
        )

        assert [("atlas", (1, 3)), ("atlas", (2,))] == await store.write(handed)

    async def test_one_run_for_all(self, store: Store) -> None:
        """What one run answers for every project is one delivery, of several projects."""
        bus = Bus(MemoryJournal(store.clock), store.clock)
        runs = [AccumulationComplete(f"run_{each}", f"prj_{each}", (each,)) for each in "abc"]
        done = [bus.make_event(topics.ACCUMULATION_COMPLETE, each, source="test") for each in runs]
        await store.write(lambda connection: append(connection, done))
        found = await store.write(lambda c: find_next(c, "reconciler", now=0, in_hand=[]))

        assert isinstance(found, Delivery)
        assert (1, 2, 3) == found.seqs
        assert (None, ("a", "b", "c")) == (
            found.event.payload.project_id,
            found.event.payload.changed_ids,
        )

    async def test_there_and_back(self, store: Store) -> None:
        """Nothing goes past a repeat of its project, even one behind a repeat of another's."""
        await said(
            store,
            *(("atlas", self.INSIDE), ("inner", self.INSIDE), ("atlas", self.INSIDE)),
            *(("atlas", "/atlas/a.md"), ("inner", "/atlas/inner/b.md"), ("other", "/other/c.md")),
        )

        assert [("atlas", (1,)), ("other", (6,))] == await store.write(handed)

    async def test_many_repeats(self, store: Store) -> None:
        """Behind more repeats than are looked at, nothing is handed out."""
        repeats = [("inner", self.INSIDE)] * LOOKED_AT
        await said(store, ("atlas", self.INSIDE), *repeats, ("atlas", self.INSIDE))
        await said(store, ("atlas", "/atlas/a.md"))

        assert [("atlas", (1,))] == await store.write(handed)

    async def test_behind_what_is_held(self, store: Store) -> None:
        """A repeat of another project stays behind what its project holds up, and its own too."""
        await said(store, ("atlas", "/atlas/a.md"))
        first = await store.write(lambda connection: _found(connection, []))
        await said(
            store,
            *(("atlas", "/atlas/a.md"), ("atlas", self.INSIDE), ("inner", self.INSIDE)),
            *(("inner", "/atlas/inner/b.md"), ("other", "/other/c.md")),
        )

        assert [("other", (6,))] == await store.write(lambda c: handed(c, first))
