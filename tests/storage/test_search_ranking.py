"""One list with chances: projects that are meant, weak hits, and memories that contradict."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.project import Project
from cortex_actors.rules.ranking import relevance
from cortex_actors.rules.ranking.rerank import Pieces
from cortex_actors.storage import projects
from cortex_actors.storage.search import similar_memories
from cortex_actors.storage.search.query import AskedAbout, Where
from cortex_actors.storage.search.ranking import Ranking
from cortex_actors.testing import EPOCH
from tests.storage.room import HERE, Room
from tests.storage.support import ATLAS, HARBOR
from tests.storage.things import Tables, mem, memory

#: A file of the other project.
THERE = "/projects/harbor/CLAUDE.md"


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room in which two projects say how they are tested, and what else is so."""
    room = Room(tables)
    room.says("run the tests with nox", "the paint is blue", path=HERE, project=ATLAS)
    room.says("run the tests with tox", "the paint is red", path=THERE, project=HARBOR)
    near, far = [1.0, 0.2, 0.0], [0.0, 0.1, 1.0]
    for text, row in (
        ("run the tests with nox", near),
        ("run the tests with tox", [1.0, 0.1, 0.0]),
        ("the paint is blue", far),
        ("the paint is red", far),
    ):
        room.embed(**{text: row})
    return room


QUESTION = "how are the tests run"


class TestMeant:
    async def test_nobody(self, room: Room) -> None:
        """Without a project the likelier answer leads."""
        assert "run the tests with tox" == (await room.texts(QUESTION, 1, 0, 0))[0]

    async def test_here(self, room: Room) -> None:
        """What the project says from which is asked leads; what others say follows."""
        found = await room.texts(QUESTION, 1, 0, 0, here=ATLAS.id)

        assert "run the tests with nox" == found[0]
        assert "run the tests with tox" in found

    async def test_named(self, room: Room) -> None:
        """So does what a project says that the question names."""
        row = (await room.ask(QUESTION, 1, 0, 0)).hits[0]
        about = AskedAbout("how are the tests run", frozenset({ATLAS.id}), None)
        found = (await room.ask("how are atlas tests run", 1, 0, 0, about=about)).hits

        assert ("run the tests with tox", "run the tests with nox") == (row.text, found[0].text)

    async def test_named_memories(self, tables: Tables) -> None:
        """So does a memory of the project that the question names, whose name matches no text."""
        room = Room(tables)
        texts = {ATLAS: "the staging host is mars", HARBOR: "the staging host is mercury"}
        said = [memory(text, project_id=of.id, thread="") for of, text in texts.items()]
        room.remember(*said, memory("the lights of harbor", thread=""))
        asked: list[tuple[str, Project, dict[str, str]]] = [
            ("which harbor staging host is it", HARBOR, {}),
            ("which atlas staging host is it", ATLAS, {}),
            ("which atlas staging host is it", ATLAS, {"here": HARBOR.id}),
        ]
        for question, named, more in asked:
            about = AskedAbout("which staging host is it", frozenset({named.id}))
            found = (await room.ask(question, about=about, **more)).hits

            assert texts[named] == found[0].text
            assert set(texts.values()) == {hit.text for hit in found}

    async def test_bounded(self, room: Room) -> None:
        """What is no answer does not lead because the meant project says it."""
        found = await room.texts("is the paint red", 0, 0, 1, here=ATLAS.id)

        assert {"the paint is blue", "the paint is red"} == set(found[:2])

    async def test_whole_project(self, room: Room) -> None:
        """A statement of the meant project is found that no list held."""
        others = [f"run the tests quickly, way {n}" for n in range(250)]
        room.says(*others, path="/harbor/AGENTS.md", project=HARBOR)
        for text in others:
            room.embed(**{text: [1.0, 0.0, 0.0]})

        assert "run the tests with nox" == (await room.texts(QUESTION, 1, 0, 0, here=ATLAS.id))[0]

    async def test_conditions(self, room: Room) -> None:
        """What a condition leaves out stays out, whatever project is meant."""
        where = Where(project_id=HARBOR.id)
        found = (await room.ask(QUESTION, 1, 0, 0, here=ATLAS.id, where=where)).hits

        assert {"harbor"} == {hit.project for hit in found}


class TestChances:
    async def test_as_likely(self, tables: Tables) -> None:
        """Of statements that are as likely the one leads that the list of words has first."""
        room = Room(tables)
        long = "the test database is reset, and so is what stands beside it in that container"
        texts = [long, "test database: port 5433", f"{long}, by hand"]
        room.says(*texts, path=HERE, project=ATLAS)

        found = await room.texts("test database")
        assert texts[1] == found[0]
        assert set(texts) == set(found)

    async def test_led(self, tables: Tables) -> None:
        """Of statements with words as near the one leads that has the question's own words."""
        room = Room(tables)
        room.says("the socket is busy", "the port is busy", path=HERE, project=ATLAS)
        near: dict[str, list[float]] = {"the socket is busy": [1, 0, 0]}
        room.embed(**near, **{"the port is busy": [1, 0.25, 0]})
        numbers = {"port": 0, "socket": 0, "busy": 1}
        rows = np.array([[127, 0, 0], [0, 127, 0], [0, 0, 127]], np.int8)
        cut = re.compile(r"\w+").findall
        alike = Pieces(rows, lambda text: np.array([numbers.get(each, 2) for each in cut(text)]))
        room.search = room.again(pieces=alike)

        assert "the port is busy" == (await room.texts("which port is busy", 1, 0, 0))[0]

    async def test_weak(self, room: Room) -> None:
        """What hardly answers is marked, and left out of an answer that has to be sure."""
        found = (await room.ask(QUESTION, 1, 0, 0)).hits
        sure = (await room.ask(QUESTION, 1, 0, 0, sure=True)).hits

        assert [hit.score < relevance.WEAK for hit in found] == [hit.weak for hit in found]
        assert [hit.id for hit in found if not hit.weak] == [hit.id for hit in sure]
        assert 0 < len(sure) < len(found)

    async def test_order(self, room: Room) -> None:
        """Scores fall in an answer of statements and memories."""
        room.remember(memory("we run the tests at nine"), memory("apples are red"))
        scores = [hit.score for hit in (await room.ask(QUESTION, 1, 0, 0)).hits]

        assert sorted(scores, reverse=True) == scores

    async def test_order_of_lists(self, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is no statement keeps the order of the lists, whatever its chances."""
        room = Room(tables)
        texts = [f"note {n} of the harbour" + " at night" * (n % 3) for n in range(12)]
        room.remember(*(memory(text, n) for n, text in enumerate(texts)))
        for n, text in enumerate(texts):
            room.embed(**{text: [1.0, n * 5 % 12 / 4, 0.0]})
        found = await room.texts("a night note about the harbour", 1, 0, 0)
        monkeypatch.setattr(Ranking, "order", lambda _, fused: fused)

        assert 10 == len(found)
        assert await room.texts("a night note about the harbour", 1, 0, 0) == found

    async def test_unknown_word(self, room: Room) -> None:
        """A word that stands nowhere was asked for, and makes every hit less likely."""
        plain = (await room.ask("how are the tests run", 1, 0, 0)).hits[0]
        strange = (await room.ask("how are the zebra tests run", 1, 0, 0)).hits[0]

        assert (plain.text, True) == (strange.text, strange.score < plain.score)

    async def test_same_everywhere(self, room: Room) -> None:
        """A text that is no answer does not score high because it is the best there is."""
        first = (await room.ask("who waters the garden plants", 0, 1, 0)).hits[0]

        assert first.weak

    async def test_without_vector(self, room: Room) -> None:
        """Without a vector the words alone say how likely a hit is."""
        found = (await room.ask(QUESTION)).hits

        assert {"run the tests with nox", "run the tests with tox"} == {h.text for h in found[:2]}


class TestConflicts:
    async def test_newest(self, tables: Tables) -> None:
        """Of memories that cannot both hold the newest comes first, and says so."""
        room = Room(tables)
        room.remember(memory("deploy at nine", 1), memory("we deploy at ten", 2))
        pair = sorted((mem("deploy at nine"), mem("we deploy at ten")))
        similar_memories.note_conflict(
            tables.connection, pair[0], pair[1], by=Decider.RULES, reason="9 or 10", at=EPOCH
        )
        first, second = (await room.ask("deploy at nine")).hits

        assert ("we deploy at ten", "deploy at nine") == (first.text, second.text)
        assert [second.id] == first.extra["newer_than"]
        assert "newer_than" not in second.extra
        assert first.score >= second.score


async def test_called(tables: Tables) -> None:
    """Followed projects are known by their names; others are not named by a question."""
    projects.add(tables.connection, ATLAS)
    gone = Project.from_root("/gone", EPOCH)
    projects.add(tables.connection, gone)
    projects.remove(tables.connection, gone.id)

    assert [(ATLAS.id, ATLAS.name, None)] == projects.list_called(tables.connection)
