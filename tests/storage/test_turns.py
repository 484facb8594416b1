"""Turns of conversations in an answer: their order, what may be read for it, and what stays."""

from __future__ import annotations

import re
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.rules.ranking.rerank import SCALE, WIDTH, Pieces
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.search import Search
from cortex_actors.storage.search.turns import DEPTH
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.support import MODEL
from tests.storage.things import Tables, mem, memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cortex_actors.storage.search.query import SearchHits

#: Words that mean nearly the same: one piece here.
ALIKE = {"pets": "dog", "live": "home", "oven": "kiln"}

#: Pieces there are.
MANY = 2_000


class Words:
    """Gives every word a piece, in the order in which they come."""

    def __init__(self) -> None:
        """Draw a vector for each piece."""
        rows = np.random.default_rng(3).standard_normal((MANY, WIDTH))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self._numbers: dict[str, int] = {}
        self.pieces = Pieces(np.round(SCALE * rows).astype(np.int8), self._cut)

    def _cut(self, text: str) -> NDArray[np.int64]:
        said = dict.fromkeys(re.findall(r"\w+", text.lower()))
        plain = [ALIKE.get(each, each) for each in said]
        return np.array([self._numbers.setdefault(e, len(self._numbers)) for e in plain], np.int64)


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room in which turns are ranked by pieces."""
    found = Room(tables)
    found.search = search(found)
    return found


def search(room: Room, **settings: Any) -> Search:
    """Return a search that ranks turns by pieces."""
    chosen = MemorySettings(**settings)
    records: Any = room.records
    pieces = Words().pieces
    return Search(records, room.index, model=MODEL, settings=chosen, pieces=lambda: pieces)


def talk(*said: str, thread: str = "talk", **given: Any) -> list[Any]:
    """Return the turns of a conversation, a microsecond apart, each named by its number."""
    return [
        memory(text, at, id=f"{thread}{at}", thread=thread, **given) for at, text in enumerate(said)
    ]


#: In no text beside the answer's stands a word of it, and the answer holds none of the question.
PETS = (
    "Ann: Do you have any pets?",
    "Ben: My sister asked me that last week.",
    "Ben: A small one called Rex, with brown ears.",
    "Ann: Lovely. The weather was grim today.",
    "Ben: We had rain for hours.",
)


def ids(found: SearchHits) -> list[str]:
    """Return the ids of the hits."""
    return [hit.id for hit in found.hits]


class TestOrder:
    async def test_answer_beside(self, room: Room) -> None:
        """A turn that holds no word of the question is found beside the one that asks it."""
        room.remember(*talk(*PETS), *talk("Zoe: I sold the cheese.", thread="other"))
        plain = Room(room.tables)
        question = "any pets"

        assert mem("talk2") not in ids(await plain.ask(question))
        found = await room.ask("which pets does ben have called so")
        assert ids(found)[0] == mem("talk2")

    async def test_tells_before_asks(self, room: Room) -> None:
        """Of two turns that hold the words of a question, the one that tells comes first."""
        told = "The kiln stands in the shed since the spring, behind the door on the left."
        room.remember(*talk("Where is the kiln?"), *talk(told, thread="other"))
        plain = Room(room.tables)
        asked = "kiln"

        assert ids(await plain.ask(asked))[0] == mem("talk0")
        assert ids(await room.ask(asked))[0] == mem("other0")

    async def test_says_so(self, room: Room) -> None:
        """A hit says its place among the turns; only the owner is told what it is worth there."""
        room.remember(*talk("The kiln is hot.", "The shed is cold."))
        (first, *_) = (await room.ask("kiln", explain=True)).hits
        (told, *_) = (await room.ask("kiln", explain=True, where=Where(reader="A"))).hits

        owner: Any = first.extra
        agent: Any = told.extra

        assert "turns" in owner["found_by"]
        assert owner["explain"]["turns"]["rank"] == 1
        assert owner["explain"]["turns"]["score"] > 0
        assert agent["explain"]["turns"] == {"rank": 1}

    async def test_scores_fall(self, room: Room) -> None:
        """Scores agree with the order, whatever took whose place."""
        room.says("The kiln is fired on Mondays.", "Never open a hot kiln.")
        room.remember(*talk(*PETS, "The kiln is hot.", "Was the kiln hot?"))
        scores = [hit.score for hit in (await room.ask("hot kiln")).hits]

        assert scores == sorted(scores, reverse=True)


class TestStays:
    async def test_others(self, room: Room) -> None:
        """What is no turn stays in its order: documents, and memories without a thread."""
        room.says("The kiln is fired on Mondays.", "Never open a hot kiln.")
        room.read("kiln.md", "A kiln needs a day to cool.")
        room.remember(memory("The kiln was sold.", 9, thread=""))
        room.remember(*talk("Is the kiln hot?", "It is hot.", "The kiln cools."))
        plain = await Room(room.tables).ask("kiln hot")
        found = await room.ask("kiln hot")
        others = [
            hit.id
            for hit in plain.hits
            if hit.store != "cortex_insights" and not hit.extra.get("thread")
        ]

        assert others == [each for each in ids(found) if each in others]
        assert len(others) == 2

    @pytest.mark.parametrize("settings", [{"profile": "document"}, {"profile": "custom"}])
    async def test_profiles(self, room: Room, settings: dict[str, str]) -> None:
        """A ranking that somebody chose stays what it says: no turn changes its place."""
        room.remember(*talk("Where is the kiln?", "The kiln stands in the shed."))
        asked = "where is the kiln"
        plain = Room(room.tables, **settings)
        room.search = search(room, **settings)

        assert ids(await plain.ask(asked)) == ids(await room.ask(asked))

    async def test_no_pieces(self, room: Room) -> None:
        """A model without pieces ranks as before."""
        room.remember(*talk(*PETS))
        found: list[Any] = [hit.extra for hit in (await Room(room.tables).ask("pets")).hits]

        assert found
        assert all("turns" not in each["found_by"] for each in found)

    async def test_as_many(self, room: Room) -> None:
        """Turns beside others take the places of these: there are as many hits as before."""
        room.remember(*talk(*PETS))
        plain = Room(room.tables)

        assert len(ids(await plain.ask("grim weather"))) == len(ids(await room.ask("grim weather")))

    async def test_each_once(self, room: Room) -> None:
        """In a long conversation no turn is found twice, and none that was found is lost."""
        said = [
            f"Is kiln {n} hot?" if n % 2 else f"So kiln {n} went last week." for n in range(300)
        ]
        room.remember(*talk(*said))
        plain = ids(await Room(room.tables).ask("when hot kiln", limit=300))
        found = ids(await room.ask("when hot kiln", limit=300))

        assert sorted(found) == sorted(plain)
        assert len(set(found)) == len(said) > DEPTH


class TestConditions:
    async def test_filter(self, room: Room) -> None:
        """A turn beside a hit that does not meet the conditions is no hit."""
        room.remember(*talk("Any pets?", agent_id="B", realm=Realm.VILLAGE))
        room.remember(memory("Rex of course.", 1, id="rex", realm=Realm.VILLAGE))
        asked = "any pets"

        assert ids(await room.ask(asked, where=Where(agent_id="B"))) == [mem("talk0")]

    async def test_past(self, room: Room) -> None:
        """Turns that are no more are not read."""
        room.remember(*talk("The dog sleeps.", "A hot kiln.", "An oven."))
        room.tables.write(lambda c: memory_states.archive(c, [mem("talk0")], at=EPOCH))

        assert mem("talk0") not in ids(await room.ask("kiln dog"))


#: Circles of readers: who says it, and for whom.
CIRCLES = (("A", ("B",)), ("B", ("A",)), ("A", ("B", "C")), ("C", ("A",)), ("B", ("C",)), ("C", ()))
VOCABULARY = "kiln oven hot cold shed dog pets rain week Monday asked sold brown".split()


def crowd(random: Random, count: int = 60) -> list[Any]:
    """Return turns of three agents in two threads, of every realm, of few words."""
    made = []
    for number in range(count):
        agent, related = random.choice(CIRCLES)
        realm = random.choice(list(Realm)) if related else Realm.PRIVATE
        text = " ".join(random.choices(VOCABULARY, k=4)) + random.choice(["?", ".", f" {number}."])
        given = {"agent_id": agent, "related": related, "realm": realm}
        thread = random.choice(["talk", "other"])
        made.append(memory(text, number, id=f"m{number}", thread=thread, **given))
    return made


@pytest.mark.parametrize("seed", range(6))
async def test_rights(room: Room, seed: int) -> None:
    """What an agent may not read changes nothing of its answers: no hit, no place, no score."""
    random = Random(seed)
    some = crowd(random)
    room.remember(*some)
    vectors = {each.text: [random.gauss(0, 1) for _ in range(3)] for each in some}
    room.embed(**vectors)
    for reader in "ABC":
        asked = " ".join(random.sample(VOCABULARY, 3))
        question = [random.gauss(0, 1) for _ in range(3)]

        async def answer(reader: str = reader, asked: str = asked, v: Any = question) -> Any:
            found = await room.ask(asked, *v, where=Where(reader=reader), explain=True, limit=50)
            return [(hit.id, hit.score, hit.extra["explain"]) for hit in found.hits]

        before = await answer()
        kept = [m.id for m in some if m.readers is not None and reader not in m.readers]
        room.tables.write(partial(memory_states.archive, ids=kept, at=EPOCH))
        after = await answer()
        room.tables.write(partial(memory_states.restore, ids=kept, at=EPOCH))

        assert before == after, f"seed {seed}, {reader} asks {asked!r}"
        assert any("turns" in explained for *_, explained in before)


def test_around_is_paired(tables: Tables) -> None:
    """What stands before a turn begins with what it is paired with, for every circle of readers."""
    some = crowd(Random(1))
    tables.write(lambda c: memory_records.save(c, some))
    found = tables.read(lambda c: memory_records.list_neighbours(c, [m.id for m in some], most=3))
    texts, named = {m.id: m.text for m in some}, {m.id: m for m in some}
    pairs = tables.read(lambda c: memory_records.load_predecessors(c, [m.id for m in some]))

    assert pairs == {each: texts[before[0]] for each, (before, _) in found.items() if before}
    for each, (before, after) in found.items():
        for other in (*before, *after):
            readers = named[other].readers
            assert readers is None or readers >= (named[each].readers or {"everybody"})
