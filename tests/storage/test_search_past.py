"""Memories of another time: what was believed, what was said, and the document's own figures."""

from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind, Realm
from cortex_actors.errors import BadInput
from cortex_actors.rules.sameness import NOT_KNOWN
from cortex_actors.storage import memory_history
from cortex_actors.storage.memory import memory_states, memory_undo
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.things import Tables, mem, memory

#: A look at everything that was said, whatever became of it.
SAID = Past(original=True)


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room in which two memories became one at 100, which another one replaced at 200."""
    room = Room(tables)
    room.remember(memory("port 5432", 0), memory("the port is open", 10))
    whole, parts = memory("port 5432, and it is open", 100), ["port 5432", "the port is open"]
    ids = [mem(each) for each in parts]
    memory_states.write_whole(tables.connection, whole, ids, at=EPOCH + 100, by=Decider.RULES)
    room.remember(memory("port 5433 now", 200))
    memory_states.supersede(tables.connection, whole.id, mem("port 5433 now"), EPOCH + 200)
    return room


class TestAsOf:
    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            (-1, set()),
            (0, {"port 5432"}),
            (10, {"port 5432", "the port is open"}),
            (99, {"port 5432", "the port is open"}),
            (100, {"port 5432, and it is open"}),
            (199, {"port 5432, and it is open"}),
            (200, {"port 5433 now"}),
            (10**9, {"port 5433 now"}),
        ],
    )
    async def test_believed(self, room: Room, at: int, expected: set[str]) -> None:
        """What was believed at a moment is found, and nothing that came or went before it."""
        assert expected == set(await room.texts("port", past=Past(EPOCH + at)))

    async def test_says_when(self, room: Room) -> None:
        """A hit says what it is today, and since when until when it was believed."""
        (hit,) = (await room.ask("port", past=Past(EPOCH + 150))).hits

        assert ("superseded", 2) == (hit.extra["status"], hit.extra["merged_from"])
        stretch = (hit.extra["believed_from"], hit.extra["believed_until"])
        assert (EPOCH + 100, EPOCH + 200) == stretch

    async def test_today(self, room: Room) -> None:
        """Without a moment only what is believed now is found, and no hit speaks of the past."""
        (hit,) = (await room.ask("port")).hits

        assert ("port 5433 now", "active") == (hit.text, hit.extra["status"])
        assert "believed_from" not in hit.extra

    async def test_again(self, room: Room, tables: Tables) -> None:
        """What was taken out and came back was not believed in between."""
        room.remember(memory("port 80", 0))
        memory_states.archive(tables.connection, [mem("port 80")], EPOCH + 50)
        memory_states.restore(tables.connection, [mem("port 80")], EPOCH + 60)

        believed = [
            "port 80" in await room.texts("port", past=Past(EPOCH + at)) for at in (49, 50, 60)
        ]
        assert [True, False, True] == believed


class TestOriginal:
    async def test_leaves(self, room: Room) -> None:
        """What was said is found, active or not; what was made of it is not."""
        said = {"port 5432", "the port is open", "port 5433 now"}

        assert said == set(await room.texts("port", past=SAID))

    async def test_consolidated(self, room: Room, tables: Tables) -> None:
        """What a person made part of another one leaves both as they were said."""
        room.remember(memory("port a"), memory("port b"))
        one, other = mem("port a"), mem("port b")
        memory_states.merge(tables.connection, one, [other], at=EPOCH, by=Decider.PERSON)

        assert {"port a", "port b"} < set(await room.texts("port", past=SAID))

    async def test_split(self, room: Room, tables: Tables) -> None:
        """What was made of others is not found either once it was taken apart again."""
        room.remember(memory("port a"), memory("port b"))
        parts = [mem("port a"), mem("port b")]
        whole = memory("port a and b")
        connection = tables.connection
        memory_states.write_whole(connection, whole, parts, at=EPOCH, by=Decider.RULES)
        change = MemoryChange(ChangeKind.MERGE, whole.id, by="owner", at=EPOCH, others=tuple(parts))
        memory_history.note(connection, change)
        memory_undo.split(connection, whole.id, by="owner", at=EPOCH + 1)
        found = set(await room.texts("port", past=SAID))

        assert {"port a", "port b"} < found
        assert "port a and b" not in found

    async def test_then(self, room: Room) -> None:
        """With a moment: what of it was believed by itself at that time."""
        assert ["port 5432"] == await room.texts("port", past=Past(EPOCH + 5, original=True))
        assert [] == await room.texts("port", past=Past(EPOCH + 150, original=True))


class TestNarrowed:
    async def test_conditions(self, room: Room) -> None:
        """Conditions narrow the past as they narrow the present."""
        room.remember(memory("port 1", 5, agent_id="B", tags=("x",)))

        assert ["port 1"] == await room.texts("port", past=SAID, where=Where(tags=("x",)))
        assert ["port 1"] == await room.texts("port", past=SAID, where=Where(agent_id="B"))
        assert [] == await room.texts("port", past=SAID, where=Where(until=EPOCH))
        assert [] == await room.texts("port", past=SAID, where=Where(project_id="prj_1"))

    async def test_private(self, room: Room) -> None:
        """What an agent may not read, it could not read then either."""
        room.remember(memory("port of the village", 5, realm=Realm.VILLAGE))

        village = ["port of the village"]
        assert village == await room.texts("port", past=SAID, where=Where(reader="B"))
        assert 3 == len(await room.texts("port", past=Past(EPOCH + 20), where=Where(reader="A")))

    async def test_collections(self, room: Room) -> None:
        """Only memories have a past, and only those of the collections that are searched."""
        room.says("port of a file")

        assert "port of a file" not in await room.texts("port", past=SAID)
        for names in (("cortex_insights",), ("cortex_village",)):
            assert [] == await room.texts("port", past=SAID, collections=names)

    async def test_limit(self, room: Room) -> None:
        """No more is returned than asked for."""
        assert 1 == len(await room.texts("port", past=SAID, limit=1))


class TestHalves:
    async def test_by_meaning(self, room: Room) -> None:
        """What no longer can be found keeps its vector, and is found by its meaning."""
        room.embed(**{"port 5432": [1, 0, 0], "the port is open": [0, 1, 0]})
        found = await room.ask("?", 1, 0.1, 0, past=Past(EPOCH + 50), explain=True)

        assert ["port 5432", "the port is open"] == [hit.text for hit in found.hits]
        assert ["dense_alone", "dense_paired"] == found.hits[0].extra["found_by"]
        assert found.plan is not None
        assert "2 memories of the past" in found.plan.why

    async def test_without_vectors(self, room: Room) -> None:
        """What has none is found by its words, and the answer says how many these are."""
        room.embed(**{"port 5432": [1, 0, 0]})
        found = await room.ask("port", 1, 0, 0, past=Past(EPOCH + 50))

        assert {"port 5432", "the port is open"} == {hit.text for hit in found.hits}
        assert "1 of the memories have no vector" in found.skipped[0][1]

    async def test_without_meaning(self, room: Room) -> None:
        """Without a vector of its own a question is answered by its words, with the reason."""
        found = await room.ask("open", past=Past(EPOCH + 50), why="the model is loading")

        assert ["the port is open"] == [hit.text for hit in found.hits]
        assert found.skipped[0][1].endswith("the model is loading")

    async def test_strange(self, room: Room) -> None:
        """Hits for words that nothing holds and nothing is near to come with a note."""
        room.embed(**{"port 5432": [1, 0, 0]})
        found = await room.ask("quasar", 0, 0, 1, past=Past(EPOCH + 5))

        assert ("words", NOT_KNOWN) in found.skipped

    async def test_no_statistics(self, room: Room) -> None:
        """An agent is not told how vectors were compared, nor what words weigh, then as now."""
        found = await room.ask("port", 1, 0, 0, past=SAID, where=Where(reader="A"), explain=True)

        told = found.hits[0].extra["explain"]
        assert isinstance(told, dict)
        assert (None, None, False) == (found.plan, told["plan"], "terms" in told)

    async def test_long_question(self, tables: Tables) -> None:
        """Of more words than are searched the rarest count, among what is looked at."""
        room = Room(tables, words_most=1)
        room.remember(*(memory(f"common {n}", n) for n in range(5)), memory("common rare", 9))

        assert ["common rare"] == await room.texts("common rare", past=SAID)

    async def test_lone_surrogate(self, room: Room) -> None:
        """Text that is not valid Unicode is refused."""
        with pytest.raises(BadInput, match="valid Unicode"):
            await room.ask("\ud800", past=SAID)


class TestDocumentVectors:
    @pytest.fixture
    def facts(self, tables: Tables) -> Room:
        """Give five memories, the later the nearer; in the document they are equally near."""
        room = Room(tables, profile="document")
        room.remember(*(memory(f"fact {n}", n, thread="") for n in range(5)))
        room.embed(**{f"fact {n}": [1, 0, 0.01 * (4 - n)] for n in range(5)})
        return room

    async def test_no_word(self, facts: Room) -> None:
        """Without a common word the five score as the document has it."""
        found = (await facts.ask("nothing", 1, 0, 0, past=SAID)).hits

        assert [f"fact {n}" for n in (4, 3, 2, 1, 0)] == [hit.text for hit in found]
        scores = [0.9615, 0.9533, 0.9454, 0.9377, 0.9303]
        assert scores == pytest.approx([hit.score for hit in found], abs=1e-4)

    async def test_fact_3(self, facts: Room) -> None:
        """With words, too: the fourth leads, and the last of each list stands behind all."""
        found = (await facts.ask("fact 3", 1, 0, 0, past=SAID)).hits
        expected = {"fact 3": 0.9918, "fact 4": 0.9687, "fact 0": 0.9606, "fact 1": 0.9601}

        scores = {hit.text: hit.score for hit in found}
        assert expected | {"fact 2": 0.9601} == pytest.approx(scores, abs=1e-4)

    async def test_present(self, facts: Room) -> None:
        """The present scores by the same figures."""
        now = {h.text: h.score for h in (await facts.ask("fact 3", 1, 0, 0)).hits}
        then = {h.text: h.score for h in (await facts.ask("fact 3", 1, 0, 0, past=SAID)).hits}

        assert then == pytest.approx(now)

    async def test_quotes(self, facts: Room) -> None:
        """A quote in a question makes no half of it fail: its words are searched all the same."""
        found = (await facts.ask('fact "3', 1, 0, 0, past=SAID)).hits

        assert "fact 3" == found[0].text
        assert 0.9918 == pytest.approx(found[0].score, abs=1e-4)
