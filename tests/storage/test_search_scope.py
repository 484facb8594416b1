"""What a search may see: conditions are met before anything is ranked, and private is private."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.domain.memory import Layer, Memory, MemoryType, Realm
from cortex_actors.storage.search import words
from cortex_actors.storage.search.query import Where
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.support import ATLAS, HARBOR
from tests.storage.things import Tables, memory

#: A text that all have in common.
WORD = "common"


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room with some of everything."""
    room = Room(tables)
    room.says(f"{WORD} atlas")
    room.says(f"{WORD} harbor", path="/projects/harbor/CLAUDE.md", project=HARBOR, at=EPOCH + 50)
    room.read("/docs/a.md", f"{WORD} code", is_code=True, language="python", tags=("x",))
    room.read("/docs/b.md", f"{WORD} prose", topic="ships", read_at=EPOCH + 90)
    room.remember(*things())
    return room


def things() -> list[Memory]:
    """Return memories of two agents in all realms."""
    return [
        memory(f"{WORD} mine", 10, tags=("x", "y"), access_count=3),
        memory(f"{WORD} theirs", 20, agent_id="B", layer=Layer.LONG_TERM),
        memory(f"{WORD} village", 30, realm=Realm.VILLAGE, type=MemoryType.FACT, tags=("x",)),
        memory(f"{WORD} bridge", 40, realm=Realm.BRIDGE, agent_id="B", related=("A",), thread="q"),
        memory(f"{WORD} closed", 50, realm=Realm.BRIDGE, agent_id="B", related=("C",)),
    ]


MEMORIES = {"mine", "theirs", "village", "bridge", "closed"}
KNOWLEDGE = {"code", "prose"}
INSIGHTS = {"atlas", "harbor"}


class TestWhere:
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({}, MEMORIES | KNOWLEDGE | INSIGHTS),
            ({"project_id": ATLAS.id}, {"atlas"}),
            ({"project_id": "prj_none"}, set()),
            ({"realm": Realm.BRIDGE}, {"bridge", "closed"}),
            ({"agent_id": "B"}, {"theirs", "bridge", "closed"}),
            ({"layers": (Layer.LONG_TERM, Layer.CORTEX)}, {"theirs"}),
            ({"types": (MemoryType.FACT,)}, {"village"}),
            ({"thread": "q"}, {"bridge"}),
            ({"attention": 1.3}, {"mine"}),
            ({"tags": ("x",)}, {"mine", "village", "code"}),
            ({"tags": ("x", "y")}, {"mine"}),
            ({"since": EPOCH + 50}, {"harbor", "closed", "prose"}),
            ({"until": EPOCH + 20}, {"atlas", "mine", "code"}),
            ({"since": EPOCH + 20, "until": EPOCH + 40}, {"theirs", "village"}),
            ({"topic": "ships"}, {"prose"}),
            ({"source": "/docs/a.md"}, {"code"}),
            ({"code": True}, {"code"}),
            ({"code": False}, {"prose"}),
            ({"language": "python"}, {"code"}),
            ({"realm": Realm.VILLAGE, "topic": "ships"}, set()),
            ({"project_id": ATLAS.id, "thread": "q"}, set()),
        ],
    )
    async def test_where(self, room: Room, where: dict[str, Any], expected: set[str]) -> None:
        """A condition leaves exactly what meets it, by words and by meaning alike."""
        room.embed(**{f"{WORD} {name}": [1, 0, 0] for name in MEMORIES | KNOWLEDGE | INSIGHTS})
        by_words = await room.texts(WORD, where=Where(**where))
        by_meaning = await room.texts("?", 1, 0, 0, where=Where(**where))

        assert {f"{WORD} {name}" for name in expected} == set(by_words)
        assert set(by_words) >= set(by_meaning)
        assert len(by_meaning) >= len(expected) - 2  # the second of a thread has another pair

    async def test_before_ranking(self, room: Room) -> None:
        """What does not meet a condition takes nobody's place."""
        room.remember(*(memory(f"{WORD} {WORD} {n}", n, id=f"N{n}") for n in range(150)))

        assert [f"{WORD} prose"] == await room.texts(WORD, limit=1, where=Where(topic="ships"))


class TestPrivate:
    @pytest.mark.parametrize(
        ("reader", "expected"),
        [
            (None, MEMORIES),
            ("A", {"mine", "village", "bridge"}),
            ("B", {"theirs", "village", "bridge", "closed"}),
            ("C", {"village", "closed"}),
            ("STRANGER", {"village"}),
        ],
    )
    async def test_readers(self, room: Room, reader: str | None, expected: set[str]) -> None:
        """An agent finds its own, the village's and what a bridge brings; the owner finds all."""
        readable = {f"{WORD} {name}" for name in expected | KNOWLEDGE | INSIGHTS}

        assert readable == set(await room.texts(WORD, limit=50, where=Where(reader=reader)))

    async def test_by_meaning(self, room: Room) -> None:
        """Nor does it find anything else by its meaning."""
        room.embed(**{f"{WORD} {name}": [1, 0, 0] for name in MEMORIES})
        found = await room.texts("?", 1, 0, 0, where=Where(reader="STRANGER"))

        assert [f"{WORD} village"] == found

    async def test_asking_for_another(self, room: Room) -> None:
        """Naming another agent, or the realm, opens nothing."""
        for where in (Where(reader="A", agent_id="B"), Where(reader="A", realm=Realm.PRIVATE)):
            assert f"{WORD} theirs" not in await room.texts(WORD, where=where)

    async def test_not_by_predecessor(self, tables: Tables) -> None:
        """Words that were kept from an agent find it nothing: no pair holds them."""
        room = Room(tables)
        secret = memory("the password is swordfish", realm=Realm.BRIDGE, related=("B",))
        open_ = memory("Good morning.", 1, realm=Realm.BRIDGE, related=("B", "C"))
        private = memory("swordfish again", 2)
        village = memory("Hello.", 3, realm=Realm.VILLAGE)
        room.remember(secret, open_, private, village)

        assert [] == await room.texts("swordfish", where=Where(reader="C"))
        assert 2 == len(await room.texts("swordfish"))

    async def test_no_statistics(self, room: Room) -> None:
        """An agent is not shown what depends on texts it may not read: weights, terms, plan."""
        found = await room.ask(WORD, 1, 0, 0, explain=True, where=Where(reader="A"))
        told = found.hits[0].extra["explain"]

        assert isinstance(told, dict)
        assert {"rank"} == set(told["words_alone"])
        assert "terms" not in told
        assert told["plan"] is None
        assert found.plan is None

    async def test_no_oracle(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether others keep a word to themselves changes nothing of an agent's answer."""
        monkeypatch.setattr(words, "PLACES", 0)  # as in a ledger of many texts
        room.remember(memory("swordfish", 60, agent_id="B"))
        room.embed(**{f"{WORD} village": [1, 0, 0]})
        kept, unknown = [
            await room.ask(word, 1, 0, 0, explain=True, where=Where(reader="A"))
            for word in ("swordfish", "marlin")
        ]

        assert kept == unknown
        assert (1, ()) == (len(kept.hits), kept.skipped)
