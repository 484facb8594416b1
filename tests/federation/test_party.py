"""Who is asked: all stores, those that are named, and what is known here in both of its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import NotFound
from cortex_actors.federation.fan import choose_party
from cortex_actors.federation.local import LocalStore, make_members
from cortex_actors.federation.store import LOCAL, Fan, Member, Question
from cortex_actors.storage.pipeline.principles import COLLECTION as PRINCIPLES
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS
from tests.federation.support import Shelf
from tests.storage.room import Room
from tests.storage.things import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.federation.fan import Party
    from cortex_actors.federation.store import RecallStore


@pytest.fixture
def room() -> Iterator[Room]:
    """Give a room with nothing in it."""
    with in_memory() as tables:
        yield Room(tables)


def fan(room: Room, local: str = "together", *others: Shelf) -> Fan:
    """Return a fan over what is known here and some shelves."""
    stores: list[RecallStore] = [*make_members(room.search, local), *others]
    gone = (("gone", "its type is unknown"),)
    return Fan(tuple(Member(each, 2.0) for each in stores), unbindable=gone)


def names(found: Party) -> list[str]:
    """Return who is asked."""
    return [each.store.name for each in found.members]


class TestAll:
    async def test_order(self, room: Room) -> None:
        """All are asked in the configured order, what is known here first."""
        found = choose_party(fan(room, "together", Shelf("b"), Shelf("a")), Question("x"))

        assert [LOCAL, "b", "a"] == names(found)
        assert (("gone", "its type is unknown"),) == found.skipped
        assert not found.is_alone

    async def test_separate(self, room: Room) -> None:
        """Each collection is a store of its own where that is wanted."""
        assert list(ROOMS) == names(choose_party(fan(room, "separate"), Question("x")))

    async def test_alone(self, room: Room) -> None:
        """What is known here is alone as one list, not as several."""
        assert choose_party(fan(room), Question("x")).is_alone
        assert not choose_party(fan(room, "separate"), Question("x")).is_alone

    async def test_unmet(self, room: Room) -> None:
        """Who cannot meet a condition is left out with why, behind those that cannot be asked."""
        shelf = Shelf("b")
        shelf.knows = ()
        found = choose_party(fan(room, "together", shelf), Question("x", where=Where(thread="t")))

        assert [LOCAL] == names(found)
        strange = ("b", "it cannot narrow its answer by thread")
        assert (("gone", "its type is unknown"), strange) == found.skipped

    async def test_some_collections(self, room: Room) -> None:
        """Only the collections that are asked for are stores."""
        asked = Question("x", collections=("cortex_village",))

        assert ["cortex_village", "b"] == names(
            choose_party(fan(room, "separate", Shelf("b")), asked)
        )


class TestNamed:
    async def test_one(self, room: Room) -> None:
        """Who is named is asked, and nobody else; what is wrong with others is no news."""
        found = choose_party(
            fan(room, "together", Shelf("b"), Shelf("a")), Question("x", stores=("b",))
        )

        assert (["b"], ()) == (names(found), found.skipped)

    async def test_unbindable(self, room: Room) -> None:
        """Who is named and cannot be asked is left out with why."""
        found = choose_party(fan(room), Question("x", stores=("gone",)))

        assert ([], (("gone", "its type is unknown"),)) == (names(found), found.skipped)

    @pytest.mark.parametrize("local", ["together", "separate"])
    async def test_local(self, room: Room, local: str) -> None:
        """`local` is everything that is known here as one store, however it takes part."""
        found = choose_party(fan(room, local, Shelf("b")), Question("x", stores=(LOCAL,)))

        (member,) = found.members
        assert isinstance(member.store, LocalStore)
        assert (LOCAL, COLLECTIONS, 2.0) == (
            member.store.name,
            member.store.collections,
            member.weight,
        )
        assert found.is_alone

    async def test_collection_together(self, room: Room) -> None:
        """A collection may be named like a store while it is a part of one."""
        found = choose_party(
            fan(room, "together", Shelf("b")), Question("x", stores=("cortex_village",))
        )

        assert ([LOCAL], ("cortex_village",)) == (names(found), found.question.collections)

    async def test_collection_separate(self, room: Room) -> None:
        """A collection that is a store is one."""
        asked = Question("x", stores=("cortex_village", "b"))

        assert ["cortex_village", "b"] == names(
            choose_party(fan(room, "separate", Shelf("b")), asked)
        )

    @pytest.mark.parametrize("name", ["nobody", "", "LOCAL", "b\n"])
    async def test_unknown(self, room: Room, name: str) -> None:
        """A name that no store has is an error that names those there are."""
        with pytest.raises(NotFound, match=r"there are local, b, gone$"):
            choose_party(fan(room, "together", Shelf("b")), Question("x", stores=("b", name)))


class TestPrinciples:
    async def test_not_unless_named(self, room: Room) -> None:
        """Together they take no part in a question to everybody, nor in one to `local`."""
        for stores in ((), (LOCAL,)):
            found = choose_party(fan(room), Question("x", stores=stores))
            (member,) = found.members
            assert isinstance(member.store, LocalStore)
            assert PRINCIPLES not in member.store.collections

    @pytest.mark.parametrize("local", ["together", "separate"])
    async def test_alone(self, room: Room, local: str) -> None:
        """Named alone they are the one store that is asked, as one list, and weigh as `local`."""
        found = choose_party(fan(room, local, Shelf("b")), Question("x", stores=(PRINCIPLES,)))

        assert ([PRINCIPLES], [2.0]) == (names(found), [each.weight for each in found.members])
        assert found.is_alone

    @pytest.mark.parametrize("local", ["together", "separate"])
    async def test_beside_local(self, room: Room, local: str) -> None:
        """Named beside `local` they are a store of their own behind it."""
        found = choose_party(fan(room, local), Question("x", stores=(PRINCIPLES, LOCAL)))

        assert {LOCAL, PRINCIPLES} == set(names(found))
        assert 2 == len(found.members)

    async def test_beside_a_collection(self, room: Room) -> None:
        """Named beside another collection, that one is asked alone of what is one list."""
        asked = Question("x", stores=(PRINCIPLES, "cortex_village"))
        found = choose_party(fan(room), asked)

        assert [LOCAL, PRINCIPLES] == names(found)
        assert ("cortex_village",) == found.question.collections
