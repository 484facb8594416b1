"""Facts that others are told: under which key, which of them are principles, how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.memory import Realm
from cortex_actors.domain.principle import Derivation
from cortex_actors.storage.memory import memory_lists
from cortex_actors.storage.pipeline import insights, principles, resolutions
from tests.storage.promoted import make_principle
from tests.storage.room import HERE, Room
from tests.storage.support import ATLAS, HARBOR, active
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

#: A file that one person alone reads.
OWN = "/projects/atlas/CLAUDE.local.md"


@pytest.fixture
def room(tables: Tables) -> Room:
    """Give a room where three files say something."""
    room = Room(tables)
    room.says("Use port 5433 for tests", "Never skip a test")
    room.says("Use port 5434 for tests", path="/projects/harbor/CLAUDE.md", project=HARBOR)
    room.says("Use port 1 for secrets", path=OWN)
    return room


def headed(room: Room, heading: str | None, text: str) -> None:
    """Put what is said under a heading."""
    room.tables.connection.exec_driver_sql(
        "UPDATE insights SET heading = ? WHERE content = ?", (heading, text)
    )
    room.tables.connection.exec_driver_sql(
        "UPDATE insight_sources SET heading = ? WHERE said_id IN"
        " (SELECT id FROM insights WHERE content = ?)",
        (heading, text),
    )


def said(room: Room, key: str, project_id: str | None = None, limit: int = 10) -> list[str]:
    """Return the texts that have a key."""
    connection = room.tables.connection
    ids = resolutions.find_statements(connection, key, project_id=project_id, limit=limit)
    known = insights.load_live(connection, ids)
    return sorted(known[each].content for each in ids)


class TestKeys:
    @pytest.mark.parametrize("key", ["Atlas > Ports", "atlas > ports", "Ports", "pORTS"])
    def test_heading(self, room: Room, key: str) -> None:
        """A statement is found by its headings or the last of them, in any case."""
        headed(room, "Atlas > Ports", "Use port 5433 for tests")

        assert ["Use port 5433 for tests"] == said(room, key)

    @pytest.mark.parametrize("key", ["Port", "orts", "Atlas", "%", "_orts", "", "Ports > x"])
    def test_no_key(self, room: Room, key: str) -> None:
        """A part of a heading is none, and nor is a pattern."""
        headed(room, "Atlas > Ports", "Use port 5433 for tests")

        assert [] == said(room, key)

    def test_words(self, room: Room) -> None:
        """What has no heading is found by the words it begins with."""
        for text in ("Never skip a test", "Use port 5433 for tests"):
            headed(room, None, text)

        assert ["Never skip a test"] == said(room, "never skip a test")

    def test_private(self, room: Room) -> None:
        """What only a private file says has no key for others."""
        headed(room, "Ports", "Use port 1 for secrets")

        assert [] == said(room, "Ports")

    def test_project(self, room: Room) -> None:
        """A project's facts are its own."""
        for text in ("Use port 5433 for tests", "Use port 5434 for tests"):
            headed(room, "Ports", text)

        assert 2 == len(said(room, "Ports"))
        assert ["Use port 5434 for tests"] == said(room, "Ports", HARBOR.id)
        assert 1 == len(said(room, "Ports", limit=1))


class TestPrinciples:
    def promoted(self, room: Room, text: str) -> tuple[str, str]:
        """Make a principle of what is said; return the ids of both."""
        connection = room.tables.connection
        (insight,) = [each for each in active(connection) if each.content == text]
        principle = make_principle(insight, 1)
        principles.add(connection, [principle])
        principles.derive(connection, [Derivation(principle.id, insight.id, 1.0)])
        return insight.id, principle.id

    def test_becomes(self, room: Room) -> None:
        """A statement that has become a principle is told as that while it is given out."""
        insight, principle = self.promoted(room, "Never skip a test")
        connection = room.tables.connection

        assert {insight: principle} == resolutions.load_principles(
            connection, [insight, "ins_other"]
        )
        assert [principle] == resolutions.find_principles(connection, "Never skip a Test", limit=5)
        assert [] == resolutions.find_principles(connection, "Never", limit=5)
        connection.exec_driver_sql("UPDATE principles SET status = 'pruned'")
        assert {} == resolutions.load_principles(connection, [insight])
        assert [] == resolutions.find_principles(connection, "Never skip a test", limit=5)

    def test_count(self, room: Room) -> None:
        """What is counted is what others may be told."""
        self.promoted(room, "Never skip a test")

        assert {"principles": 1, "statements": 3} == resolutions.count_facts(room.tables.connection)
        assert (ATLAS.id, HERE) != (HARBOR.id, OWN)


class TestEpisodes:
    def test_originals(self, room: Room) -> None:
        """A memory tells what it was made of in the village, the newest first."""
        made = [memory(f"part {n}", n, realm=Realm.VILLAGE) for n in range(3)]
        whole = memory("whole", 9, realm=Realm.VILLAGE)
        room.remember(whole, *made, memory("private part", 4))
        room.tables.connection.exec_driver_sql(
            "UPDATE memories SET status = 'merged', merged_into = ?, merged_as = created_at,"
            " merged_at = 1, merged_by = 'rules' WHERE text LIKE '%part%'",
            (whole.id,),
        )
        found = memory_lists.list_originals(room.tables.connection, [whole.id, mem("other")])

        assert {whole.id: ["part 2", "part 1", "part 0"]} == {
            each: [one["text"] for one in some] for each, some in found.items()
        }

    def test_replaced(self, room: Room) -> None:
        """A memory tells what it took the place of, unless that was private."""
        now, old = (memory(each, realm=Realm.VILLAGE) for each in ("now", "old"))
        room.remember(now, old, memory("private old", 5))
        room.tables.connection.exec_driver_sql(
            "UPDATE memories SET status = 'superseded', replaced_by = ?, replaced_at = 1"
            " WHERE text LIKE '%old'",
            (now.id,),
        )
        found = memory_lists.list_replaced(room.tables.connection, [now.id])

        assert {now.id: "old"} == {each: one["text"] for each, one in found.items()}
