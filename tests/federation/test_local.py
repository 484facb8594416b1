"""The local collections as one store among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.federation.store import LocalStore, Question
from tests.storage.room import Room
from tests.storage.support import ATLAS, MODEL, unit
from tests.storage.things import in_memory, memory

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        answer = await LocalStore(room.search).recall(Question("ships", None, 10, why="no model"))

        stores = {"cortex_insights", "cortex_village", "cortex_knowledge"}
        assert stores == {hit.store for hit in answer.hits}
        (why,) = answer.skipped
        assert why.endswith("no model")

    async def test_project(self, room: Room) -> None:
        """A project's question is answered by what the project says."""
        question = Question("ships", None, 10, ATLAS.id)

        assert ["ships are fast"] == [
            hit.text for hit in (await LocalStore(room.search).recall(question)).hits
        ]

    async def test_explained(self, room: Room) -> None:
        """With a vector of the right model nothing is left out, and hits explain themselves."""
        room.embed(**{"ships are fast": [1, 0, 0]})
        question = Question("ships", unit(1, 0, 0), 1, model=MODEL, explain=True)
        answer = await LocalStore(room.search).recall(question)

        assert () == answer.skipped
        told = answer.hits[0].extra["explain"]
        assert isinstance(told, dict)
        assert {"rank": 1, "score": 1.0} == told["dense_alone"]
