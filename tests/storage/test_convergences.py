"""Convergences: each group is told of once, for ever, and posts wait until they are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.domain.memory import ConvergenceLevel, Realm
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.memory import memory_states, village
from cortex_actors.testing import EPOCH
from tests.storage.things import mem, memory
from tests.storage.vectored import digest

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.things import Tables

MODEL = "test/8"


@pytest.fixture(autouse=True)
def _said(tables: Tables) -> None:
    """Let three agents say something in the village, and one on a bridge."""
    some = [memory(f"{n}", n, agent_id="ABC"[n], realm=Realm.VILLAGE) for n in range(3)]
    some.append(memory("3", 3, agent_id="D", realm=Realm.BRIDGE, related=("A",)))
    tables.write(lambda c: memory_records.save(c, some))


def told(tables: Tables, *names: str) -> bool:
    """Tell of a group; return whether it was new."""
    kind = ConvergenceLevel.CONSENSUS if len(names) > 2 else ConvergenceLevel.HARMONY
    ids = [mem(each) for each in names]
    return tables.write(lambda c: village.note_group(c, ids, kind=kind, likeness=0.8, at=EPOCH))


class TestOnce:
    def test_again(self, tables: Tables) -> None:
        """The same posts are told of once, in whatever order they are named."""
        assert told(tables, "0", "1")
        assert not told(tables, "1", "0")

    def test_grows(self, tables: Tables) -> None:
        """A group that grows is told of again, and what is part of a larger one is not."""
        assert told(tables, "0", "1")
        assert told(tables, "0", "1", "2")
        assert not told(tables, "1", "2")

    def test_overlaps(self, tables: Tables) -> None:
        """Two groups that share a post are two."""
        assert told(tables, "0", "1")
        assert told(tables, "1", "2")

    def test_alone(self, tables: Tables) -> None:
        """One post, or one that is found no more, makes no group."""
        tables.write(lambda c: memory_states.archive(c, [mem("2")], EPOCH))

        assert not told(tables, "0", "0")
        assert not told(tables, "0", "2")
        assert not told(tables, "0", "9")


class TestKnown:
    def test_readers(self, tables: Tables) -> None:
        """A group is known to whoever may read all its posts."""
        told(tables, "0", "1")
        told(tables, "1", "2", "3")

        def seen(reader: str | None) -> tuple[list[tuple[str, ...]], dict[str, int]]:
            listed = tables.read(lambda c: village.list_groups(c, reader, limit=9))
            return (
                [tuple(each["memory_ids"]) for each in listed],
                tables.read(lambda c: village.count_groups(c, reader)),
            )

        small, large = (mem("0"), mem("1")), (mem("1"), mem("2"), mem("3"))
        assert ([large, small], {"HARMONY": 1, "CONSENSUS": 1}) == seen(None)
        assert ([large, small], {"HARMONY": 1, "CONSENSUS": 1}) == seen("A")
        assert ([small], {"HARMONY": 1, "CONSENSUS": 0}) == seen("B")

    def test_forgotten(self, tables: Tables) -> None:
        """A forgotten post leaves its groups, and a group of one is gone."""
        told(tables, "0", "1")
        told(tables, "0", "1", "2")
        tables.write(lambda c: village.note_due(c, [mem("0")]))
        tables.write(lambda c: village.forget(c, [mem("0")]))

        listed = tables.read(lambda c: village.list_groups(c, None, limit=9))
        assert [(mem("1"), mem("2"))] == [tuple(each["memory_ids"]) for each in listed]
        assert 0 == tables.read(village.count_waiting)


class TestWaiting:
    def ready(self, tables: Tables, limit: int = 9) -> list[str]:
        """Return what can be compared."""
        return tables.read(lambda c: village.list_ready(c, MODEL, limit=limit))

    def test_vectors(self, tables: Tables) -> None:
        """A post waits for its vector in the model's space, and is then compared in its turn."""
        some = [mem("1"), mem("0"), mem("0")]
        tables.write(lambda c: village.note_due(c, some))

        assert ([], 2) == (self.ready(tables), tables.read(village.count_waiting))
        tables.write(lambda c: self.embed(c, "other/8", "0", "1"))
        assert [] == self.ready(tables)
        tables.write(lambda c: self.embed(c, MODEL, "1", "0"))
        assert [mem("0"), mem("1")] == self.ready(tables)
        assert [mem("0")] == self.ready(tables, 1)
        tables.write(lambda c: village.mark_compared(c, [mem("0")]))
        assert [mem("1")] == self.ready(tables)

    def test_gone(self, tables: Tables) -> None:
        """What is found no more waits for no vector."""
        tables.write(lambda c: village.note_due(c, [mem("0")]))
        tables.write(lambda c: memory_states.archive(c, [mem("0")], EPOCH))

        assert [mem("0")] == self.ready(tables)

    def embed(self, connection: Connection, model: str, *texts: str) -> None:
        """Store vectors of texts."""
        row = np.eye(1, 8, dtype=np.float32)[0]
        embeddings.keep_vectors(connection, model, {digest(text): row for text in texts})
