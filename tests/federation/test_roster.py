"""The roster: who can be asked, and how each store has been doing."""

from __future__ import annotations

import asyncio

import pytest

from cortex_actors.errors import IndexDown
from tests.federation.support import Shelf, Village


@pytest.fixture
async def one() -> Shelf:
    """Give a store."""
    return Shelf("one", ("a", 0.9))


@pytest.fixture
async def village(one: Shelf) -> Village:
    """Give a federation of that store and another."""
    return await Village([one, Shelf("two")]).begin()


class TestFlips:
    async def test_up_at_first(self, village: Village) -> None:
        """A store counts as up before it was asked, so a good answer is no news."""
        await village.recall()

        assert [] == village.flips

    async def test_down_once(self, village: Village, one: Shelf) -> None:
        """A store that goes on failing is news once."""
        one.fails = IndexDown("away")
        for _ in range(3):
            await village.recall()

        assert [("down", "one")] == village.flips

    async def test_up_again(self, village: Village, one: Shelf) -> None:
        """A store that answers again is news once, and the next failure is news again."""
        for error in (IndexDown("away"), None, None, IndexDown("away")):
            one.fails = error
            await village.recall()

        assert [("down", "one"), ("up", "one"), ("down", "one")] == village.flips

    async def test_side_by_side(self, village: Village, one: Shelf) -> None:
        """Many questions that fail together are one piece of news."""
        one.fails = IndexDown("away")
        await asyncio.gather(*(village.recall() for _ in range(10)))

        assert [("down", "one")] == village.flips

    async def test_durable(self, village: Village, one: Shelf) -> None:
        """The news is stored, not only said."""
        one.fails = IndexDown("away")
        await village.recall()

        assert ["store:down"] == [event.topic for event in village.journal.events]


class TestHealth:
    async def test_counts(self, village: Village, one: Shelf) -> None:
        """Answers and failures are counted for each store, with the last reason."""
        await village.recall()
        one.fails = IndexDown("away")
        await village.recall()

        found = await village.health("one")
        assert (1, 1, "away") == (found.answered, found.failed, found.reason)
        assert (2, 0) == (
            (await village.health("two")).answered,
            (await village.health("two")).failed,
        )
