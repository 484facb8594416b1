"""What leaves for another program: only what is everybody's, whatever is asked and however."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import make_ulid
from cortex_actors.domain.memory import CrumbRecord, Layer, Realm
from cortex_actors.storage import agent_records
from cortex_actors.storage.search import hits as search_tagged
from cortex_actors.storage.search.hits import list_tagged
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.support import HARBOR
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

#: A word that everything holds.
WORD = "common"

#: A file that one person alone reads.
OWN = "/projects/atlas/CLAUDE.local.md"

OUTWARD = Where(outward=True)


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room with something private and something shared of each kind."""
    room = Room(tables)
    room.says(f"{WORD} shared")
    room.says(f"{WORD} own", f"{WORD} both", path=OWN)
    room.says(f"{WORD} both", path="/projects/harbor/CLAUDE.md", project=HARBOR)
    room.read("/docs/a.md", f"{WORD} page")
    room.remember(
        memory(f"{WORD} private", 10, tags=("x",)),
        memory(f"{WORD} village", 20, realm=Realm.VILLAGE, tags=("x", "y")),
        memory(f"{WORD} bridge", 30, realm=Realm.BRIDGE, related=("B",), tags=("x",)),
    )
    crumb = CrumbRecord(
        f"crm_{make_ulid(EPOCH)}", "A", session_id="s", summary=f"{WORD} crumb", left_at=EPOCH
    )
    agent_records.leave(tables.connection, crumb)
    return room


#: What of it is everybody's.
EVERYBODYS = {"shared", "both", "page", "village"}


class TestOutward:
    @pytest.mark.parametrize("reader", [None, "A", "B"])
    async def test_words(self, room: Room, reader: str | None) -> None:
        """By words nothing private is found, not even by the agent whose it is."""
        found = await room.texts(WORD, limit=50, where=Where(reader=reader, outward=True))

        assert {f"{WORD} {name}" for name in EVERYBODYS} == set(found)

    async def test_meaning(self, room: Room) -> None:
        """Nor is it by meaning, which compares the same passages."""
        names = (*EVERYBODYS, "own", "private", "bridge")
        room.embed(**{f"{WORD} {name}": [1, 0, 0] for name in names})
        found = await room.texts("?", 1, 0, 0, limit=50, where=OUTWARD)

        assert {f"{WORD} {name}" for name in EVERYBODYS} >= set(found)
        assert f"{WORD} shared" in found

    async def test_places(self, room: Room) -> None:
        """What a private file says as well is shown where the shared one says it."""
        (hit,) = [
            each
            for each in (await room.ask(WORD, limit=50, where=OUTWARD)).hits
            if each.text == f"{WORD} both"
        ]

        assert "/projects/harbor/CLAUDE.md" == hit.path
        assert ["harbor"] == hit.extra["projects"]
        assert [] == hit.extra["also"]

    async def test_heading(self, tables: Tables) -> None:
        """A shared text under a heading that only a private file has stays here."""
        room = Room(tables)
        room.says("said in both", path=OWN)
        room.says("said in both", path="/projects/atlas/CLAUDE.md")
        tables.connection.exec_driver_sql("UPDATE insights SET heading = 'A secret plan'")

        assert [] == await room.texts("said", where=OUTWARD)

    async def test_past(self, room: Room) -> None:
        """Nor does looking back find what was private."""
        past = Past(as_of=EPOCH + 1_000)

        found = await room.texts(WORD, limit=50, where=OUTWARD, past=past)

        assert [f"{WORD} village"] == found

    async def test_names(self, room: Room) -> None:
        """A hit names no private memory, not even by its id."""
        answer = memory(
            f"{WORD} answer", 40, realm=Realm.VILLAGE, replies_to=(mem(f"{WORD} private"),)
        )
        room.remember(answer)
        (hit,) = [
            each
            for each in (await room.ask(WORD, limit=50, where=OUTWARD)).hits
            if each.id == answer.id
        ]

        assert [] == hit.extra["responding_to"]


class TestTagged:
    def found(self, room: Room, *words: str, **given: object) -> list[tuple[str, tuple[str, ...]]]:
        """Return the texts that are filed under words, and under which of them."""
        asked = {"limit": 10, **given}
        some = list_tagged(room.tables.connection, words, **asked)  # type: ignore[arg-type]
        return [(each.hit.text.removeprefix(f"{WORD} "), each.matched) for each in some]

    def test_order(self, room: Room) -> None:
        """Most of the words come first, then the newest."""
        expected = [("village", ("x", "y")), ("bridge", ("x",)), ("private", ("x",))]

        assert expected == self.found(room, "x", "y")

    def test_case(self, room: Room) -> None:
        """Words are compared as tags are kept: in small letters, with single blanks."""
        assert [("village", ("y",))] == self.found(room, "  Y ", "", "nothing")

    def test_limit_and_exclude(self, room: Room) -> None:
        """What is known already takes nobody's place."""
        known = {mem(f"{WORD} village")}

        assert [("bridge", ("x",))] == self.found(room, "x", limit=1, exclude=known)
        assert [] == self.found(room, "x", limit=0)
        assert [] == self.found(room)

    def test_conditions(self, room: Room) -> None:
        """Conditions hold here as in a search."""
        assert [("village", ("x",))] == self.found(room, "x", where=OUTWARD)
        assert [] == self.found(room, "x", where=Where(layers=(Layer.CORTEX,)))

    def test_common(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a word that very many have the last ones count: what it costs does not grow."""
        monkeypatch.setattr(search_tagged, "COMPARED", 4)
        some = [memory(f"{WORD} {n}", 100 + n, id=f"{100 + n}", tags=("c",)) for n in range(20)]
        room.remember(*some, memory(f"{WORD} few", 50, id="001", tags=("c", "d")))

        assert [("19", ("c",)), ("18", ("c",))] == self.found(room, "c", limit=2)
        assert [("19", ("c",)), ("18", ("c",))] == self.found(room, "c", "d", limit=2)
        assert [("few", ("d",))] == self.found(room, "d")

    def test_gone(self, room: Room) -> None:
        """What was forgotten or merged away is filed nowhere."""
        room.remember(memory(f"{WORD} gone", 60, tags=("z",)))
        room.tables.connection.exec_driver_sql(
            "UPDATE memories SET status = 'archived', archived_at = 1 WHERE text LIKE '%gone'"
        )

        assert [] == self.found(room, "z")
