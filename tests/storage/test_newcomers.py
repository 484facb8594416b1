"""Memories that come many at once: what of a group is new, told within the group itself, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from cortex_actors.rules import interchange
from cortex_actors.storage.memory import memory_transfer, village
from cortex_actors.storage.tables.schema import agents, memories
from cortex_actors.testing import EPOCH
from tests.storage.things import found_by, mem

if TYPE_CHECKING:
    from tests.storage.things import Tables


def record(name: str, at: int = 0, **said: Any) -> dict[str, Any]:
    """Return a record as a file's is, once it was looked at."""
    found = {"id": mem(name), "agent": "A", "text": name, "created_at": EPOCH + at, "type": "fact"}
    return interchange.memory(found | said)


def came(tables: Tables, *some: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ids of those of a group that are new, and of those that say something else."""
    new, differing = tables.write(lambda c: memory_transfer.take_in(c, some))
    return [each["id"] for each in new], differing


class TestWithinGroup:
    def test_same_id(self, tables: Tables) -> None:
        """Of two records with one id the first counts; the other may say something else."""
        again = record("a1", text="other")

        assert ([mem("a1")], [mem("a1")]) == came(tables, record("a1"), again)

    def test_same_text(self, tables: Tables) -> None:
        """What is said twice in one place comes once; elsewhere, or as dialogue, it comes, too."""
        twice = record("b2", text="a1")
        where = record("where", text="a1", thread="t")
        dialogue = record("d4", text="a1", type="dialogue")
        found = came(tables, record("a1"), twice, where, dialogue)

        assert ([mem("a1"), mem("where"), mem("d4")], []) == found

    def test_place_taken(self, tables: Tables) -> None:
        """Of two parts in one place of a whole, the second one is archived."""
        how: dict[str, Any] = {"status": "merged", "merged_into": mem("w"), "merged_as": 0}
        how |= {"merged_at": EPOCH, "merged_by": "rules"}
        came(tables, record("w"), record("f", **how), record("s", **how))
        status = select(memories.c.status).order_by(memories.c.id)

        assert ["merged", "archived", "active"] == list(tables.connection.execute(status).scalars())

    def test_thread(self, tables: Tables) -> None:
        """Each is found with what comes before it, in whichever order they come."""
        came(tables, record("b2", 1, thread="t"), record("a1", thread="t"))

        assert {"alone": "b2", "paired": "a1\nb2"} == found_by(tables, mem("b2"))


def test_agents(tables: Tables) -> None:
    """An agent is known since the first record that names it; another stays as it was."""
    came(tables, record("a1", realm="bridge", related_agents=["B"]))
    came(tables, record("b2", 9, agent="B"), record("c3", 9, agent="C"))
    since = select(agents.c.id, agents.c.registered_at).order_by(agents.c.id)

    assert [("A", EPOCH), ("B", EPOCH), ("C", EPOCH + 9)] == list(tables.connection.execute(since))


def test_posts(tables: Tables) -> None:
    """Posts that hold wait to be compared with what other agents say, and nothing else does."""
    over: dict[str, Any] = {"status": "archived", "archived_at": EPOCH, "realm": "village"}
    came(tables, record("a1"), record("b2", realm="village"), record("c3", **over))

    assert 1 == tables.read(village.count_waiting)
