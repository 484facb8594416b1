"""The local collections as one store among others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.federation.local import LocalStore, make_members
from cortex_actors.federation.store import ByTopic, Question
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS
from tests.storage.room import Room
from tests.storage.support import ATLAS, MODEL, unit
from tests.storage.things import in_memory, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.domain.hit import RankedHit


@pytest.fixture
def room() -> Iterator[Room]:
    """Give a room with an insight, a memory and a piece of a document."""
    with in_memory() as tables:
        room = Room(tables)
        room.says("ships are fast")
        room.remember(memory("ships are slow", realm=Realm.VILLAGE))
        room.read("/docs/ships.md", "ships are wet")
        yield room


class TestLocalStore:
    async def test_all_collections(self, room: Room) -> None:
        """One question is asked of all collections, and each hit keeps its own as its store."""
        answer = await LocalStore(room.search).recall(
            Question("ships", why="no model"), limit=10, seconds=5
        )

        stores = {"cortex_insights", "cortex_village", "cortex_knowledge"}
        assert stores == {hit.store for hit in answer.hits}
        (why,) = answer.skipped
        assert why.endswith("no model")

    async def test_project(self, room: Room) -> None:
        """A project's question is answered by what the project says."""
        question = Question("ships", 10, Where(project_id=ATLAS.id))

        assert ["ships are fast"] == [
            hit.text
            for hit in (await LocalStore(room.search).recall(question, limit=10, seconds=5)).hits
        ]

    async def test_explained(self, room: Room) -> None:
        """With a vector of the right model nothing is left out, and hits explain themselves."""
        room.embed(**{"ships are fast": [1, 0, 0]})
        question = Question("ships", 1, vector=unit(1, 0, 0), model=MODEL, explain=True)
        answer = await LocalStore(room.search).recall(question, limit=10, seconds=5)

        assert () == answer.skipped
        told = answer.hits[0].extra["explain"]
        assert isinstance(told, dict)
        assert {"rank": 1, "score": 1.0} == told["dense_alone"]

    async def test_relevance(self, room: Room) -> None:
        """A hit is as relevant as its cosine says; what was found by words alone claims nothing."""
        vectors: dict[str, list[float]] = {
            "ships are fast": [1, 0, 0],
            "ships are slow": [0.6, 0.8, 0],
        }
        room.embed(**vectors)
        question = Question("ships", vector=unit(1, 0, 0), model=MODEL)
        answer = await LocalStore(room.search).recall(question, limit=10, seconds=5)

        found = {hit.text: hit for hit in answer.hits}
        assert (1.0, 0.0) == _measure(found["ships are fast"])
        assert pytest.approx((1 / 1.4, 0.4)) == _measure(found["ships are slow"])
        assert (0.0, None) == _measure(found["ships are wet"])

    async def test_one_collection(self, room: Room) -> None:
        """A collection that is a store of its own answers from itself alone."""
        store = LocalStore(room.search, "cortex_village")
        answer = await store.recall(Question("ships", why="no model"), limit=10, seconds=5)

        assert ("cortex_village", "local") == (store.name, store.kind)
        assert ["ships are slow"] == [hit.text for hit in answer.hits]


class TestForms:
    def test_together(self, room: Room) -> None:
        """Together, what is known here is one store."""
        assert ["local"] == [each.name for each in make_members(room.search, "together")]

    def test_separate(self, room: Room) -> None:
        """Separate, it is a store for each collection, and the whole can be had of any."""
        found = make_members(room.search, "separate")

        assert list(ROOMS) == [each.name for each in found]
        assert {("local", COLLECTIONS)} == {
            (each.whole.name, each.whole.collections) for each in found
        }


class TestByTopic:
    async def ask(
        self, room: Room, *topics: str, only: str | None = None, **given: Any
    ) -> list[RankedHit]:
        """Return what is filed under some topics."""
        where = given.pop("where", Where())
        answer = await LocalStore(room.search, only).find_by_topic(
            ByTopic(
                topics,
                limit=given.pop("limit", 10),
                exclude_ids=given.pop("exclude_ids", ()),
                seconds=5,
            ),
            Question("x", where=where),
        )
        return list(answer.hits)

    @pytest.fixture(autouse=True)
    def _filed(self, room: Room) -> None:
        """Have some memories filed."""
        room.remember(
            memory("old", 1, tags=("ci",)),
            memory("new", 2, tags=("ci",), realm=Realm.VILLAGE),
            memory("both", 0, tags=("ci", "ops")),
        )

    async def test_order(self, room: Room) -> None:
        """What has most of the topics comes first, of those the newest; letters count as equal."""
        found = await self.ask(room, "CI", " Ops ")

        assert ["both", "new", "old"] == [hit.text for hit in found]
        assert [2.0, 1.0, 1.0] == [hit.native_score for hit in found]
        assert [["ci", "ops"], ["ci"], ["ci"]] == [hit.extra["matched_topics"] for hit in found]

    async def test_known(self, room: Room) -> None:
        """What is known already is left out, and no more come than are wanted."""
        (first, *_) = await self.ask(room, "ci")

        found = await self.ask(room, "ci", exclude_ids=[first.id], limit=1)
        assert ["old"] == [hit.text for hit in found]

    async def test_reader(self, room: Room) -> None:
        """Nobody finds what it may not read."""
        assert ["new"] == [h.text for h in await self.ask(room, "ci", where=Where(reader="B"))]

    async def test_common(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """A topic that too many memories have is none."""
        monkeypatch.setattr("cortex_actors.federation.local.COMMON", 2)

        assert ["both"] == [hit.text for hit in await self.ask(room, "ci", "ops")]

    async def test_common_elsewhere(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """A topic that others file much under in private is one all the same."""
        monkeypatch.setattr("cortex_actors.federation.local.COMMON", 2)

        assert ["new"] == [h.text for h in await self.ask(room, "ci", where=Where(reader="B"))]

    async def test_condition(self, room: Room) -> None:
        """A condition that memories cannot meet leaves them out."""
        assert [] == await self.ask(room, "ci", where=Where(project_id=ATLAS.id))

    async def test_collection(self, room: Room) -> None:
        """A collection that is a store of its own has its own memories."""
        assert ["new"] == [h.text for h in await self.ask(room, "ci", only="cortex_village")]


def _measure(hit: RankedHit) -> tuple[float, float | None]:
    """Return how near a hit is."""
    return hit.base_relevance, hit.raw_distance
