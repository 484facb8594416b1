"""Principles as answers: found where they are asked for by name, and part of nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import iso
from cortex_actors.domain.memory import Realm
from cortex_actors.domain.principle import Origin, PrincipleStatus
from cortex_actors.domain.project import SourceKind
from cortex_actors.rules.ranking.fusion import DENSE_ALONE, WORDS_ALONE
from cortex_actors.storage import passages
from cortex_actors.storage.pipeline import insights, principles, reviews
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.testing import EPOCH
from tests.storage.distilled import distilled, principle
from tests.storage.room import Room
from tests.storage.support import HARBOR, id_of
from tests.storage.things import in_memory, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.storage.search.query import SearchHits

#: What is asked.
HERE: Any = {"collections": (principles.COLLECTION,)}

TABS, PORTS, SPACES = "tabs go first", "ports go second", "spaces go last"


@pytest.fixture
def room() -> Iterator[Room]:
    """Give a room where two projects say what became principles, and one said so later."""
    with in_memory() as tables:
        room = Room(tables)
        room.says(TABS, PORTS)
        room.says(TABS, path="/projects/harbor/CLAUDE.md", project=HARBOR, at=EPOCH + 10)
        room.embed(**{TABS: [1, 0, 0], PORTS: [0, 1, 0]})
        yield room


def made(room: Room, text: str, **given: Any) -> str:
    """Let a principle be there, of the insight of its words; return its id."""
    connection = room.tables.connection
    said = insights.load_live(connection, [id_of(text)])
    return distilled(connection, principle(text, **given), *said)


def seen(found: SearchHits) -> list[tuple[str, float]]:
    """Return what was found, with what it counts."""
    return [(hit.id, hit.score) for hit in found.hits]


class TestFound:
    async def test_meaning(self, room: Room) -> None:
        """A principle is found by the vector of the insight whose words it has, and no other."""
        name = made(room, TABS)
        found = await room.ask("unknown", 1, 0, 0, **HERE)

        assert [(name, TABS, principles.COLLECTION)] == [
            (hit.id, hit.text, hit.store) for hit in found.hits
        ]
        assert 1.0 == found.hits[0].extra["cosine"]
        assert [] == room.index.asked

    async def test_words(self, room: Room) -> None:
        """Without a vector words alone find it, and what was not looked for is said."""
        made(room, TABS)
        found = await room.ask("tabs", why="no model", **HERE)

        assert [TABS] == [hit.text for hit in found.hits]
        by: Any = found.hits[0].extra["found_by"]
        assert WORDS_ALONE in by
        assert DENSE_ALONE not in by
        ((part, why),) = found.skipped
        assert ("meaning", True) == (part, why.endswith("no model"))

    async def test_late(self, room: Room) -> None:
        """A sentence that a model wrote and that has no vector yet is found by its words."""
        made(room, SPACES, origin=Origin.SYNTHESIS)
        made(room, TABS)
        found = await room.ask("spaces", 1, 0, 0, **HERE)

        assert {SPACES, TABS} == {hit.text for hit in found.hits}
        assert (
            "meaning",
            "1 of the principles have no vector and were looked for by their words alone",
        ) in found.skipped

    async def test_order(self, room: Room) -> None:
        """What is nearer comes first."""
        for text in (PORTS, TABS):
            made(room, text)

        assert [TABS, PORTS] == await room.texts("go", 1, 0, 0, **HERE)

    async def test_told(self, room: Room) -> None:
        """A hit says how the principle stands, and of no file: it is no single file's."""
        made(room, TABS, rank=0.6, domains=("style",), tags=("t",))
        (hit,) = (await room.ask("tabs", **HERE)).hits

        assert (None, None) == (hit.path, hit.project)
        told = {
            "rank": 0.6,
            "status": "active",
            "category": "heuristic",
            "domains": ["style"],
            "tags": ["t"],
            "observations": 2,
            "last_seen": EPOCH + 10,
            "at": iso(EPOCH + 10),
            "insights": 1,
            "projects": ["atlas", "harbor"],
        }
        assert told == {name: hit.extra[name] for name in told}

    async def test_explained(self, room: Room) -> None:
        """It explains its place, and that principles are compared one by one."""
        made(room, TABS)
        (hit,) = (await room.ask("tabs", 1, 0, 0, explain=True, **HERE)).hits

        told: Any = hit.extra["explain"]
        assert {"rank": 1, "score": 1.0} == told[DENSE_ALONE]
        assert "1 principles are compared one by one" == told["plan"]["why"]


class TestStanding:
    async def test_status(self, room: Room) -> None:
        """What decays is found, what was pruned is not."""
        made(room, TABS, status=PrincipleStatus.DECAYING)
        made(room, PORTS, status=PrincipleStatus.PRUNED)

        assert [TABS] == await room.texts("go", 1, 1, 0, **HERE)

    async def test_revoked(self, room: Room) -> None:
        """What a person took back is not found until that is lifted."""
        name, connection = made(room, TABS), room.tables.connection
        reviews.begin(connection, SourceKind.PRINCIPLE, name, at=1)
        before = await room.texts("tabs", **HERE)
        reviews.end(connection, SourceKind.PRINCIPLE, name, at=2)

        assert ([], [TABS]) == (before, await room.texts("tabs", **HERE))

    async def test_replaced(self, room: Room) -> None:
        """One that another took the place of is gone in the same moment."""
        name = made(room, TABS)
        principles.forget(room.tables.connection, [name])

        assert [] == await room.texts("tabs", 1, 0, 0, **HERE)


class TestNothingElse:
    async def test_everything(self, room: Room) -> None:
        """In a search of everything they change nothing: no hit, no place, no score."""
        room.remember(memory("tabs in the village", realm=Realm.VILLAGE))
        await room.ask("tabs go", 1, 0, 0)  # the index answers from the second question on
        before = await room.ask("tabs go", 1, 0, 0, explain=True)
        for text in (TABS, PORTS, SPACES):
            made(room, text)

        assert before.hits == (await room.ask("tabs go", 1, 0, 0, explain=True)).hits

    async def test_no_passages(self, room: Room) -> None:
        """They have no passages, so an older ledger lacks nothing and nothing can go astray."""
        count = passages.count(room.tables.connection)
        made(room, SPACES)

        assert count == passages.count(room.tables.connection)

    async def test_past(self, room: Room) -> None:
        """They have no past, and a look back leaves them out."""
        made(room, TABS)

        assert () == (await room.ask("tabs", 1, 0, 0, past=Past(as_of=EPOCH), **HERE)).hits


class TestWhere:
    @pytest.mark.parametrize(
        "where",
        [
            Where(project_id="p"),
            Where(thread="t"),
            Where(realm=Realm.VILLAGE),
            Where(source="/a.md"),
            Where(code=True),
            Where(tags=("other",)),
            Where(since=EPOCH + 11),
            Where(until=EPOCH + 10),
        ],
    )
    async def test_unmet(self, room: Room, where: Where) -> None:
        """A condition that it does not or cannot meet leaves it out."""
        made(room, TABS, tags=("t",))

        assert [] == await room.texts("tabs", 1, 0, 0, where=where, **HERE)

    @pytest.mark.parametrize(
        "where",
        [
            Where(reader="A"),
            Where(tags=("t",)),
            Where(since=EPOCH + 10, until=EPOCH + 11),
            Where(outward=True),
        ],
    )
    async def test_met(self, room: Room, where: Where) -> None:
        """Everybody may read it, and its last observation is its time."""
        made(room, TABS, tags=("t",))

        assert [TABS] == await room.texts("tabs", 1, 0, 0, where=where, **HERE)

    async def test_outward(self, room: Room) -> None:
        """To another program goes what a shared file says now, without the projects' names."""
        room.says("tabs alone", path="/projects/atlas/CLAUDE.local.md")
        made(room, "tabs alone")
        made(room, TABS)
        (hit,) = (await room.ask("tabs", where=Where(outward=True), **HERE)).hits

        assert (TABS, []) == (hit.text, hit.extra["projects"])

    async def test_agents(self, room: Room) -> None:
        """An agent gets what the owner gets, and no word of how rare its words are."""
        made(room, TABS)
        mine = await room.ask("tabs", explain=True, where=Where(reader="A"), **HERE)

        assert seen(await room.ask("tabs", **HERE)) == seen(mine)
        assert "terms" not in mine.hits[0].extra["explain"]  # a dict
