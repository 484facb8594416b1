"""Memories: their rows, and the passages by which they are found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, MemoryType, Realm
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_attention, memory_states
from cortex_actors.storage.tables.schema import memories
from cortex_actors.testing import EPOCH
from tests.storage.things import active_ids, found_by, mem, memory

if TYPE_CHECKING:
    from tests.storage.things import Tables


def save(tables: Tables, *some: Memory) -> None:
    """Save memories, each in a transaction of its own."""
    for each in some:
        tables.write(partial(memory_records.save, some=[each]))


class TestRows:
    def test_comes_back(self, tables: Tables) -> None:
        """A memory comes back from the ledger as it was saved."""
        first = memory("one", 1, realm=Realm.BRIDGE, related=("B", "C"), tags=("x", "y"))
        second = memory(
            "two",
            2,
            realm=Realm.VILLAGE,
            layer=Layer.LONG_TERM,
            type=MemoryType.FACT,
            abstract="short",
            summary="longer",
            replies_to=(first.id,),
            layer_since=first.created_at,
            attention=0.5,
        )
        save(tables, first, second)

        found = tables.read(
            lambda c: memory_records.load_active(c, [first.id, second.id, mem("none")])
        )
        expected = {first.id: replace_since(first), second.id: second}
        assert expected == found

    def test_nothing(self, tables: Tables) -> None:
        """Saving nothing does nothing."""
        tables.write(lambda c: memory_records.save(c, []))

        assert [] == tables.read(active_ids)

    def test_counts(self, tables: Tables) -> None:
        """Active memories are counted, in all and by realm."""
        save(tables, memory("a"), memory("b", realm=Realm.VILLAGE), memory("c", 1))
        tables.write(lambda c: memory_states.archive(c, [mem("c")], EPOCH))

        village = memories.c.realm == Realm.VILLAGE
        assert 2 == tables.read(memory_attention.count_active)
        assert 1 == tables.read(lambda c: memory_attention.count_active(c, village))
        assert [mem("a"), mem("b")] == tables.read(active_ids)


def replace_since(each: Memory) -> Memory:
    """Return a memory as the ledger has it: in its layer since it exists."""
    fields = {name: getattr(each, name) for name in each.__slots__}
    return Memory(**(fields | {"layer_since": each.created_at}))


class TestPairs:
    def test_first(self, tables: Tables) -> None:
        """The first memory of a thread is found by its own text, in either list."""
        save(tables, memory("one"))

        assert {"both": "one"} == found_by(tables, mem("one"))

    def test_predecessor(self, tables: Tables) -> None:
        """The next one is found alone, and with what was said before it."""
        save(tables, memory("one"), memory("two", 1), memory("three", 2))

        assert {"alone": "three", "paired": "two\nthree"} == found_by(tables, mem("three"))

    def test_together(self, tables: Tables) -> None:
        """Saved in one transaction they are paired alike, in whatever order they are given."""
        some = [memory("three", 2), memory("one"), memory("two", 1)]
        tables.write(lambda c: memory_records.save(c, some))

        assert {"both": "one"} == found_by(tables, mem("one"))
        assert "two\nthree" == (found_by(tables, mem("three")))["paired"]

    def test_same_moment(self, tables: Tables) -> None:
        """Of two of one microsecond the lower id was first."""
        save(tables, memory("b", 5), memory("a", 5))

        assert "a\nb" == (found_by(tables, mem("b")))["paired"]
        assert {"both": "a"} == found_by(tables, mem("a"))

    def test_in_between(self, tables: Tables) -> None:
        """One that comes in between later is the next one's predecessor from then on."""
        save(tables, memory("one"), memory("three", 9), memory("two", 5))

        assert "two\nthree" == (found_by(tables, mem("three")))["paired"]
        assert "one\ntwo" == (found_by(tables, mem("two")))["paired"]

    @pytest.mark.parametrize(
        "other", [{"thread": "x"}, {"realm": Realm.VILLAGE}, {"agent_id": "B"}]
    )
    def test_elsewhere(self, tables: Tables, other: dict[str, Any]) -> None:
        """What stands in another thread, realm or private space is no predecessor."""
        save(tables, memory("one", **other), memory("two", 1))

        assert {"both": "two"} == found_by(tables, mem("two"))

    def test_no_thread(self, tables: Tables) -> None:
        """Memories without a thread do not follow one another."""
        save(tables, memory("one", thread=""), memory("two", 1, thread=""))

        assert {"both": "two"} == found_by(tables, mem("two"))

    def test_village(self, tables: Tables) -> None:
        """In the village whatever anybody said before in the thread is the predecessor."""
        village: dict[str, Any] = {"realm": Realm.VILLAGE}
        save(tables, memory("one", agent_id="B", **village), memory("two", 1, **village))

        assert "one\ntwo" == (found_by(tables, mem("two")))["paired"]


class TestBridges:
    def test_same_readers(self, tables: Tables) -> None:
        """On a bridge the predecessor is what all who may read this one may read."""
        bridge: dict[str, Any] = {"realm": Realm.BRIDGE}
        wide = memory("wide", 0, related=("B", "C"), **bridge)
        narrow = memory("narrow", 1, related=("B",), **bridge)
        last = memory("last", 2, agent_id="B", related=("A", "C"), **bridge)
        save(tables, wide, narrow, last)

        assert "wide\nnarrow" == (found_by(tables, narrow.id))["paired"]
        assert "wide\nlast" == (found_by(tables, last.id))["paired"]

    def test_archived(self, tables: Tables) -> None:
        """When a memory goes, whatever on the bridge followed it follows another."""
        bridge: dict[str, Any] = {"realm": Realm.BRIDGE, "related": ("B",)}
        some = [
            memory("one", 0, **bridge),
            memory("two", 1, **bridge),
            memory("three", 2, **bridge),
        ]
        save(tables, *some)
        tables.write(lambda c: memory_states.archive(c, [mem("two")], EPOCH))

        assert "one\nthree" == (found_by(tables, mem("three")))["paired"]


class TestStatus:
    def test_archived(self, tables: Tables) -> None:
        """An archived memory is found no more, not by what follows it either."""
        save(tables, memory("one"), memory("two", 1), memory("three", 2))
        tables.write(lambda c: memory_states.archive(c, [mem("two")], EPOCH))

        assert {} == found_by(tables, mem("two"))
        assert "one\nthree" == (found_by(tables, mem("three")))["paired"]
        assert {} == tables.read(lambda c: memory_records.load_active(c, [mem("two")]))

    def test_brought_back(self, tables: Tables) -> None:
        """Brought back it stands where it stood."""
        save(tables, memory("one"), memory("two", 1), memory("three", 2))
        before = tables.rows("SELECT item_id, place, text FROM passages ORDER BY 1, 2")
        tables.write(lambda c: memory_states.archive(c, [mem("two")], EPOCH))
        tables.write(lambda c: memory_states.restore(c, [mem("two")], EPOCH))

        assert before == tables.rows("SELECT item_id, place, text FROM passages ORDER BY 1, 2")

    def test_only_active(self, tables: Tables) -> None:
        """Only what is active is archived, and only what is archived is brought back."""
        save(tables, memory("one"))
        merged = "UPDATE memories SET status = 'merged', merged_into = ?,"
        merged += " merged_as = 0, merged_at = 1, merged_by = 'person'"
        save(tables, memory("two", 1))
        values = (mem("two"), mem("one"))
        tables.write(lambda c: c.exec_driver_sql(f"{merged} WHERE id = ?", values))
        tables.write(lambda c: memory_states.restore(c, [mem("one")], EPOCH))
        tables.write(lambda c: memory_states.archive(c, [mem("one")], EPOCH))

        rows = tables.rows(f"SELECT status FROM memories WHERE id = '{mem('one')}'")  # noqa: S608
        assert [(MemoryStatus.MERGED,)] == rows


class TestRemake:
    def test_from_rows(self, tables: Tables) -> None:
        """The passages can be made of the rows alone, and are the same then."""
        save(tables, memory("one"), memory("two", 1), memory("gone", 2))
        tables.write(lambda c: memory_states.archive(c, [mem("gone")], EPOCH))
        query = "SELECT collection, item_id, place, text FROM passages ORDER BY 2, 3"
        before = tables.rows(query)
        ids = [mem("one"), mem("two"), mem("gone"), mem("unknown")]
        tables.write(lambda c: c.exec_driver_sql("DELETE FROM passages"))

        assert 2 == tables.write(lambda c: memory_records.remake(c, ids))
        assert before == tables.rows(query)
