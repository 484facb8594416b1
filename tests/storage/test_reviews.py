"""Reviews: one for each insight, the newest, whatever becomes of the insight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import Decision, Review
from cortex_actors.storage.pipeline import reviews
from tests.storage.support import id_of
from tests.storage.trusted import World

if TYPE_CHECKING:
    from tests.storage.things import Tables


@pytest.fixture
def world(tables: Tables) -> World:
    """Give a project that says three things."""
    found = World(tables)
    found.says("/atlas/CLAUDE.md", "a", "b", "c")
    return found


class TestDecide:
    def test_newest_counts(self, world: World) -> None:
        """Deciding again replaces what was said before, with its note."""
        reviews.decide(world.connection, Review(id_of("a"), Decision.REJECTED, 1, "why"))
        last = Review(id_of("a"), Decision.APPROVED, 2)
        reviews.decide(world.connection, last)

        assert {id_of("a"): last} == reviews.load_reviews(
            world.connection, [id_of("a"), id_of("b")]
        )

    def test_stays(self, world: World) -> None:
        """A text that comes back finds what a person said about it."""
        reviews.decide(world.connection, Review(id_of("a"), Decision.APPROVED, 1))
        world.says("/atlas/CLAUDE.md", "b")
        world.says("/atlas/CLAUDE.md", "a", "b")

        assert {id_of("a")} == reviews.load_decided(world.connection, Decision.APPROVED)


class TestListed:
    def test_newest_first(self, world: World) -> None:
        """Of one decision the newest comes first."""
        for at, text in enumerate("ab"):
            reviews.decide(world.connection, Review(id_of(text), Decision.REJECTED, at))
        reviews.decide(world.connection, Review(id_of("c"), Decision.APPROVED, 9))

        found = reviews.list_reviews(world.connection, Decision.REJECTED)
        assert [id_of("b"), id_of("a")] == [each.insight_id for each in found]
