"""Memories as answers: everything that is known of them, and nothing of what is kept from one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import PROBE, Layer, MemoryType, Realm
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.search import similar_memories
from cortex_actors.storage.search.hits import format_hours
from cortex_actors.storage.search.query import Where
from cortex_actors.testing import EPOCH
from tests.storage.room import Room
from tests.storage.things import Tables, mem, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.domain.hit import RankedHit

MINUTE = 60_000_000


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room."""
    return Room(tables)


async def one(room: Room, text: str, **given: object) -> RankedHit:
    """Return the best hit."""
    return (await room.ask(text, now=EPOCH, **given)).hits[0]


@contextmanager
def counted(tables: Tables) -> Iterator[list[str]]:
    """Give the statements that are run meanwhile."""
    ran: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        ran.append(statement)

    event.listen(tables.connection.engine, "before_cursor_execute", note)
    yield ran
    event.remove(tables.connection.engine, "before_cursor_execute", note)


class TestTold:
    @pytest.fixture
    async def extra(self, room: Room) -> dict[str, Any]:
        """Give what is told of a memory of which everything is known."""
        room.remember(memory("asked before", id="before"))
        kinds = {"realm": Realm.BRIDGE, "layer": Layer.SENSORY, "type": MemoryType.FACT}
        voices = {"agent_id": "VAJRA", "related": ("A",), "role": "Ann", "thread": "release"}
        words = {"tags": ("ops",), "abstract": "At nine.", "summary": "They deploy at nine."}
        times = {"said_from": EPOCH, "said_until": EPOCH + 90 * MINUTE, "promoted_at": EPOCH + 5}
        state = {"pinned_at": EPOCH, "access_count": 3, "replies_to": (mem("before"),)}
        given: dict[str, Any] = {**kinds, **voices, **words, **times, **state}
        room.remember(memory("the deploy is at nine", 1, **given))
        return dict((await one(room, "deploy nine")).extra)

    def test_kinds(self, extra: dict[str, Any]) -> None:
        """A hit says who spoke, to whom, as what and where."""
        kinds = [extra[key] for key in ("agent", "realm", "layer", "type", "role", "thread")]
        assert ["VAJRA", "bridge", "sensory", "fact", "Ann", "release"] == kinds
        lists = [extra[key] for key in ("tags", "related_agents", "responding_to")]
        assert [["ops"], ["A"], [mem("before")]] == lists
        assert extra["agent_display"]

    def test_times(self, extra: dict[str, Any]) -> None:
        """Its times are microseconds, and the hours of a day beside them."""
        times = [extra[key] for key in ("created_at", "promoted_at", "said_from", "said_until")]
        assert [EPOCH + 1, EPOCH + 5, EPOCH, EPOCH + 90 * MINUTE] == times
        assert format_hours(EPOCH, EPOCH + 90 * MINUTE) == extra["time_range"]

    def test_state(self, extra: dict[str, Any]) -> None:
        """And how present it is, how fast it fades, and what is to be known before it is used."""
        present = [extra[key] for key in ("attention", "decay_rate", "access_count", "pinned")]
        assert [1.0, 6.0, 3, True] == present
        state = [extra[key] for key in ("status", "merged_from", "conflicts")]
        assert ["active", 0, []] == state
        assert ("At nine.", "They deploy at nine.") == (extra["abstract"], extra["summary"])

    async def test_cortex(self, room: Room) -> None:
        """What lies in the cortex does not fade: it has no rate."""
        room.remember(memory("deploy", layer=Layer.CORTEX))
        extra = (await one(room, "deploy")).extra

        assert (None, 1.0) == (extra["decay_rate"], extra["attention"])

    async def test_merged_from(self, room: Room, tables: Tables) -> None:
        """A whole says how many original memories it was made of, over all merges."""
        room.remember(*(memory(f"deploy {name}") for name in "abc"))
        first, whole = memory("deploy a b"), memory("deploy a b c")
        for made, parts in ((first, ("deploy a", "deploy b")), (whole, ("deploy a b", "deploy c"))):
            ids = [mem(each) for each in parts]
            memory_states.write_whole(tables.connection, made, ids, at=EPOCH, by=Decider.RULES)

        (hit,) = (await room.ask("deploy")).hits
        assert (whole.id, 3) == (hit.id, hit.extra["merged_from"])

    async def test_reads(self, room: Room, tables: Tables) -> None:
        """Twenty hits are looked up with as many reads as one."""
        room.remember(*(memory(f"deploy {n}", n, tags=("t",), related=("B",)) for n in range(20)))
        await room.ask("deploy", limit=1)  # which alone reads how long the texts are
        with counted(tables) as few:
            await room.ask("deploy", limit=1)
        with counted(tables) as many:
            assert 20 == len((await room.ask("deploy", limit=20)).hits)

        assert len(few) == len(many)

    def test_time_range(self) -> None:
        """Hours are those of UTC; where nobody said them there are none."""
        assert "00:00:00 - 01:30:05" == format_hours(0, 90 * MINUTE + 5_000_000)
        assert format_hours(None, None) is None


class TestConflicts:
    @pytest.fixture
    def torn(self, room: Room, tables: Tables) -> Room:
        """Give a room with a bridge of which two memories contradict each other."""
        kinds: dict[str, Any] = {"realm": Realm.BRIDGE, "related": ("B",)}
        room.remember(
            memory("deploy at nine", **kinds), memory("deploy at ten", realm=Realm.PRIVATE)
        )
        self.note(tables)
        return room

    @staticmethod
    def note(tables: Tables) -> None:
        """Let the two be in conflict."""
        pair = (mem("deploy at nine"), mem("deploy at ten"))
        similar_memories.note_conflict(
            tables.connection, *pair, by=Decider.RULES, reason="9 or 10", at=EPOCH
        )

    async def test_either(self, torn: Room) -> None:
        """Each of the two names the other."""
        found = {hit.text: hit.extra["conflicts"] for hit in (await torn.ask("deploy")).hits}

        assert [mem("deploy at ten")] == found["deploy at nine"]
        assert [mem("deploy at nine")] == found["deploy at ten"]

    async def test_unreadable(self, torn: Room) -> None:
        """What an agent may not read is not named to it, not even by an id."""
        hit = await one(torn, "deploy", where=Where(reader="B"))

        assert ("deploy at nine", []) == (hit.text, hit.extra["conflicts"])

    async def test_ended(self, torn: Room, tables: Tables) -> None:
        """What a person decided about is no conflict any more, nor is one with what has gone."""
        memory_states.archive(tables.connection, [mem("deploy at ten")], EPOCH)

        assert [] == (await one(torn, "deploy")).extra["conflicts"]

    async def test_reply_to_unreadable(self, room: Room) -> None:
        """What a post answers is named to those who may read it."""
        room.remember(memory("a secret"))
        answer = memory("yes, deploy", realm=Realm.VILLAGE, replies_to=(mem("a secret"),))
        room.remember(answer)

        mine, theirs = [
            (await one(room, "deploy", where=Where(reader=reader))).extra["responding_to"]
            for reader in ("A", "B")
        ]
        assert ([mem("a secret")], []) == (mine, theirs)


class TestProbe:
    @pytest.mark.parametrize("more", [{}, {"where": Where(layers=(Layer.WORKING,))}])
    async def test_nobody_else(self, room: Room, more: dict[str, Where]) -> None:
        """What the daemon tries itself with is found by nobody, and takes nobody's place."""
        room.remember(memory("deploy deploy", agent_id=PROBE), memory("deploy it"))

        assert ["deploy it"] == await room.texts("deploy", limit=1, **more)

    async def test_itself(self, room: Room) -> None:
        """But by the daemon itself."""
        room.remember(memory("deploy deploy", agent_id=PROBE), memory("deploy it"))

        assert ["deploy deploy"] == await room.texts("deploy", where=Where(reader=PROBE))
