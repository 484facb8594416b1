"""What finding the next event costs, in steps of SQLite's machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.journal import Delivery
from cortex_actors.domain.payload import FileChanged
from cortex_actors.storage.append import store as append
from cortex_actors.storage.connection import driver_of
from cortex_actors.storage.handout import CONFLATED, handed_next
from cortex_actors.testing import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from tests.storage.support import Store

#: Steps between two counts.
GRAIN = 10

#: Who hears the topic.
CONSUMER = "accumulator"


async def fill(store: Store, paths: Sequence[str]) -> None:
    """Store an event for each path."""
    bus = Bus(MemoryJournal(store.clock), store.clock)
    said = [
        bus.event(topics.FILE_CHANGED, FileChanged(f"prj_{path}", path), source="test")
        for path in paths
    ]
    await store.write(lambda connection: append(connection, said))


def steps(connection: Connection, hands: int = 0) -> int:
    """Return how many steps it takes to find what is next with so many in hand."""
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += GRAIN

    in_hand: list[Delivery] = []
    for _ in range(hands):
        in_hand.append(_found(connection, in_hand))
    driver = driver_of(connection)
    driver.set_progress_handler(count, GRAIN)
    try:
        _found(connection, in_hand)
    finally:
        driver.set_progress_handler(None, 0)
    return counted


def _found(connection: Connection, in_hand: Sequence[Delivery]) -> Delivery:
    """Return what is next."""
    found = handed_next(connection, CONSUMER, now=0, in_hand=in_hand)
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
