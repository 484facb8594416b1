"""A search sees what was committed before it, through the index or without it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import Mock

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.errors import ActorAway, DeadlineExceeded, IndexDown
from cortex_actors.storage import embeddings
from cortex_actors.storage.search import words
from cortex_actors.storage.search.query import EVERYTHING, Where
from cortex_actors.testing import eventually
from tests.storage.room import Room, spread
from tests.storage.support import ATLAS, HARBOR, MODEL, id_of
from tests.storage.things import memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

THERE = "/projects/harbor/CLAUDE.md"


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room in which a project says something."""
    room = Room(tables)
    room.says("alpha", "alpha beta", "beta")
    room.embed(**{"alpha": [1, 0, 0], "alpha beta": [1, 1, 0], "beta": [0, 1, 0]})
    room.embed(new=[1, 0.1, 0])
    return room


class TestReadYourWrites:
    async def test_by_words(self, room: Room) -> None:
        """What was committed before the question is found by its words, embedded or not."""
        await room.ask("first")
        room.says("alpha", "something unembedded")

        assert ["something unembedded"] == await room.texts("unembedded", 0, 0, 1, limit=1)

    async def test_by_vector(self, room: Room) -> None:
        """What has a vector is found by it, though the index has not heard."""
        await room.ask("first", 1, 0, 0)
        room.says("alpha", "new")

        assert "new" in (await room.texts("other", 1, 0.1, 0))[:1]

    async def test_vector_later(self, room: Room) -> None:
        """A vector that comes after its text is found from then on."""
        room.says("alpha", "late")
        await room.ask("first", 0, 0, 1)
        room.embed(late=[0, 0, 1])

        assert "late" == (await room.texts("other", 0, 0, 1))[0]

    async def test_withdrawn(self, room: Room) -> None:
        """What nobody says any more is found no more."""
        room.tell()
        await room.ask("beta", 0, 1, 0)
        room.says("alpha beta")

        assert ["alpha beta"] == await room.texts("beta", limit=5)
        assert "beta" not in await room.texts("other", 0, 1, 0)


class TestLoaded:
    async def test_before(self, room: Room) -> None:
        """What is kept in memory is read before the first search, and what is new by the search."""
        await room.search.load()
        assert 3 == room.matrix.describe()["rows"]
        room.says("alpha beta")
        room.embed(**{"alpha beta": [1, 1, 0]})

        assert ["alpha beta"] == await room.texts("?", 1, 1, 0, limit=1)


class TestIndex:
    @pytest.fixture
    def many(self, tables: Tables) -> Room:
        """Give a room with an index that was told everything."""
        room = Room(tables)
        texts = [f"number {n}" for n in range(600)]
        room.says(*texts)
        room.embed(**{text: spread(n, 600) for n, text in enumerate(texts)})
        room.tell()
        return room

    async def test_same_either_way(self, many: Room) -> None:
        """The index and the exact comparison give the same answer, scores and all."""
        await many.ask("?", *spread(300, 600))
        by_index = await many.ask("?", *spread(300, 600))
        many.index.error = IndexDown("away")
        exact = await many.ask("?", *spread(300, 600))

        assert by_index.plan is not None
        assert exact.plan is not None
        assert ("index", "exact") == (by_index.plan.kind, exact.plan.kind)
        assert [(hit.id, hit.score) for hit in exact.hits] == [
            (hit.id, hit.score) for hit in by_index.hits
        ]

    @pytest.mark.parametrize("error", [IndexDown("x"), ActorAway("x"), DeadlineExceeded("x")])
    async def test_away(self, many: Room, error: Exception) -> None:
        """While the index is away every vector is compared."""
        await many.ask("?", 1, 0, 0)
        many.index.error = error

        assert "number 0" == (await many.texts("?", 1, 0, 0))[0]
        assert many.index.asked

    async def test_filtered(self, many: Room) -> None:
        """A question with a condition does not ask the index."""
        await many.ask("?", 1, 0, 0)
        many.says("number 5", path=THERE, project=HARBOR)
        many.index.asked.clear()
        found = await many.ask("?", 1, 0, 0, where=Where(project_id=HARBOR.id))
        assert [id_of("number 5")] == [hit.id for hit in found.hits]
        assert ("harbor", []) == (found.hits[0].project, many.index.asked)

    @pytest.mark.parametrize("late", [[], ["number late"]], ids=["same", "changed"])
    async def test_words_ahead(
        self, many: Room, late: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Words are looked for while the index is asked, and again if texts came since."""
        looked: list[str] = []
        read, near = many.records.read, words.find_near

        async def reads(query: Any) -> Any:
            found = await read(query)
            many.says(*late, path=THERE, project=HARBOR)
            return found

        def nearest(*given: Any, among: words.Among, depth: int) -> Any:
            looked.append(among.words)
            return near(*given, among=among, depth=depth)

        many.says(path=THERE, project=HARBOR)
        await many.search.load()
        expected = await many.ask("number late", 0, 0, 1)
        monkeypatch.setattr(many.records, "read", reads)
        monkeypatch.setattr(words, "find_near", nearest)
        found = await many.ask("number late", 0, 0, 1)

        assert (1 + len(late)) * ["words_alone", "words_paired"] == looked
        assert late == [hit.text for hit in found.hits if hit.text in late]
        assert late or found == expected

    async def test_one_look(self, many: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the index, or with a condition, a question looks into the ledger once."""
        counted = Mock(side_effect=many.records.read)
        monkeypatch.setattr(many.records, "read", counted)
        await many.search.load()

        async def reads(**given: Any) -> int:
            counted.reset_mock()
            await many.ask("number", 1, 0, 0, **given)
            return counted.call_count

        assert 2 == await reads()
        assert 1 == await reads(where=Where(project_id=ATLAS.id))
        many.index.error = IndexDown("away")
        assert 1 == await reads()

    async def test_damaged_ahead(self, many: Room) -> None:
        """Words that are found damaged while the index is asked are named once."""
        await many.search.load()
        await many.ask("number", 1, 0, 0)
        connection = many.tables.connection
        connection.commit()
        connection.exec_driver_sql("UPDATE words_alone_data SET block = x'0011' WHERE id > 10")
        found = await many.ask("other", 1, 0, 0)

        assert ["words"] == [part for part, _ in found.skipped]
        assert "number 0" == found.hits[0].text

    async def test_rights(self, tables: Tables) -> None:
        """With the index, too, an agent finds what it may read, and its project is preferred."""
        room = Room(tables)
        for number in range(20):
            realm = Realm.PRIVATE if number % 5 == 0 else Realm.VILLAGE
            of = HARBOR.id if number % 5 == 2 else ATLAS.id
            text = f"note {number}"
            room.remember(memory(text, number, thread="", realm=realm, project_id=of))
            room.embed(**{text: spread(number, 20)})
        room.tell()
        await room.search.load()
        asked: dict[str, Any] = {"where": Where(reader="B"), "limit": 20}
        found = [await room.ask("?", *spread(11, 20), **asked, here=HARBOR.id) for _ in range(2)]

        assert {"filter not asked before": 1, "index": 1} == room.search.ways
        assert {f"note {number}" for number in range(20) if number % 5} == {
            hit.text for hit in found[1].hits
        }
        assert "note 12" == found[1].hits[0].text  # 11 is nearer, and another project's
        assert found[0].hits == found[1].hits

    async def test_explained(self, tables: Tables) -> None:
        """Of 20 texts, with a filter and without, each hit says how vectors were compared."""
        room = Room(tables)
        texts = [f"number {n}" for n in range(20)]
        room.says(*texts[:17])
        room.says(*texts[17:], path=THERE, project=HARBOR)
        room.embed(**{text: spread(n, 20) for n, text in enumerate(texts)})
        room.tell()
        await room.search.load()
        narrow, broad = Where(project_id=HARBOR.id), Where(project_id=ATLAS.id)

        async def how(where: Where = EVERYTHING) -> str:
            found = await room.ask("number", 1, 0, 0, explain=True, where=where)
            told = {str(cast("Any", hit.extra["explain"])["plan"]) for hit in found.hits}
            assert found.plan is not None
            assert {str({"kind": str(found.plan.kind), "why": found.plan.why})} == told
            return found.plan.why

        assert "the index knows all" in await how()
        assert "3 of 20 rows pass" in await how(narrow)
        assert "17 of 20 rows pass the filter: too many" in await how(broad)
        assert "the index knows all" in await how(broad)
        room.says("one more", path="/projects/atlas/AGENTS.md")
        room.embed(**{"one more": [1, 1, 0]})
        assert "all but 1 changes" in await how()
        room.index.error = IndexDown("away")
        assert "does not answer" in await how()
        assert "does not answer" in await how(broad)
        assert {
            "index": 2,
            "narrow filter": 1,
            "filter not asked before": 1,
            "index and what it was not told": 1,
            "index away": 2,
        } == room.search.ways


class TestDamage:
    async def test_words(self, room: Room) -> None:
        """Damaged words cost no answer: vectors answer, and the words are made again."""
        connection = room.tables.connection
        connection.commit()
        connection.exec_driver_sql("UPDATE words_alone_data SET block = x'0011' WHERE id > 10")
        found = await room.ask("alpha", 1, 0, 0)

        assert "alpha" == found.hits[0].text
        assert ["words"] == [part for part, _ in found.skipped]
        assert () == (await room.ask("alpha", 1, 0, 0)).skipped

    async def test_words_once(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """Several searches that find the words damaged have them made again once."""
        begun: list[object] = []
        made = asyncio.Event()

        async def write(unit: object) -> None:
            begun.append(unit)
            await made.wait()

        await room.search.load()
        connection = room.tables.connection
        connection.commit()
        connection.exec_driver_sql("UPDATE words_alone_data SET block = x'0011' WHERE id > 10")
        monkeypatch.setattr(room.records, "write", write)
        first = asyncio.create_task(room.ask("alpha", 1, 0, 0))
        await eventually(lambda: bool(begun))
        second = await room.ask("alpha", 1, 0, 0)
        made.set()

        assert second == await first
        assert 1 == len(begun)

    async def test_vector(self, room: Room) -> None:
        """A damaged vector takes no part, and is made again."""
        room.tables.connection.exec_driver_sql(
            "UPDATE vectors SET vector = x'00' WHERE seq = (SELECT min(seq) FROM vectors)"
        )
        await room.ask("?", 1, 0, 0)

        waiting = embeddings.list_unembedded(room.tables.connection, MODEL, 10)
        assert 1 == len(waiting)
