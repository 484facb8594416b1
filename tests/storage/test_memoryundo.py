"""What was done with memories is listed, and taken back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind, Layer, MemoryType
from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import (
    memory_delete,
    memory_lists,
    memory_states,
    memory_undo,
)
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.tables import schema
from cortex_actors.testing import EPOCH
from tests.storage.things import active_ids, found_by, mem, memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

A, B, W = mem("a"), mem("b"), mem("w")


@pytest.fixture(autouse=True)
def two(tables: Tables) -> None:
    """Give two memories."""
    some = [memory("port 1", id="a", tags=("x",)), memory("port 2", 1, id="b", tags=("y",))]
    tables.write(lambda c: memory_records.save(c, some))


def noted(tables: Tables, kind: ChangeKind, name: str, at: int, **given: object) -> int:
    """Note a change."""
    change = MemoryChange(kind, name, by="owner", at=EPOCH + at, **given)  # type: ignore[arg-type]
    return tables.write(lambda c: memory_history.note(c, change))[0]


def merge(tables: Tables) -> int:
    """Make a whole of the two, and note it."""
    whole = memory("ports 1 and 2", 10, id="w")
    tables.write(
        lambda c: memory_states.write_whole(c, whole, [A, B], at=EPOCH + 10, by=Decider.RULES)
    )
    return noted(tables, ChangeKind.MERGE, W, 10, others=(A, B))


def undo(tables: Tables, number: int, at: int = 50) -> list[str]:
    """Undo a change."""
    return tables.write(lambda c: memory_undo.undo(c, number, by="owner", at=EPOCH + at))[1]


def split(tables: Tables, name: str = W) -> list[str]:
    """Take a memory apart."""
    return tables.write(lambda c: memory_undo.split(c, name, by="owner", at=EPOCH + 50))[1]


class TestSplit:
    def test_parts(self, tables: Tables) -> None:
        """The parts are found again as they were, the whole is not, and both are listed."""
        merge(tables)
        before = found_by(tables, W)
        assert [A, B] == split(tables)

        assert [A, B] == tables.read(active_ids)
        assert {"both": "ports 1 and 2"} == before
        assert {} == found_by(tables, W)
        assert {"alone": "port 2", "paired": "port 1\nport 2"} == found_by(tables, B)
        kinds = [each.kind for each in tables.read(memory_history.list_changes)[0]]
        assert [ChangeKind.SPLIT, ChangeKind.MERGE] == kinds

    def test_apart(self, tables: Tables) -> None:
        """A pair that was parted is known as such, from either side."""
        merge(tables)
        split(tables)

        parted = {A: frozenset({B}), B: frozenset({A})}
        assert parted == tables.read(lambda c: memory_states.list_apart(c, [A, B, W]))

    def test_by_its_number(self, tables: Tables) -> None:
        """Undoing a merge is taking its whole apart."""
        number = merge(tables)
        assert [A, B] == undo(tables, number)

        with pytest.raises(Refused, match="undone already, by owner"):
            undo(tables, number)

    def test_due(self, tables: Tables) -> None:
        """The parts are compared again: what cannot hold beside one was noted for the whole."""
        merge(tables)
        split(tables)

        row = schema.memories.c
        due = select(row.id).where(row.merge_due == 1).order_by(row.id)
        assert [A, B] == list(tables.connection.execute(due).scalars())

    def test_no_merge(self, tables: Tables) -> None:
        """What was made of nothing cannot be taken apart, nor what there is not."""
        with pytest.raises(Refused, match="nothing was merged into it"):
            split(tables, A)
        with pytest.raises(NotFound, match="forgotten"):
            split(tables, mem("none"))

    def test_inside(self, tables: Tables) -> None:
        """A whole that is part of a bigger one is taken apart only behind that one."""
        merge(tables)
        more = memory("port 3", 20, id="c")
        tables.write(lambda c: memory_records.save(c, [more]))
        top, ids = memory("all ports", 30, id="t"), [W, mem("c")]
        tables.write(
            lambda c: memory_states.write_whole(c, top, ids, at=EPOCH + 30, by=Decider.RULES)
        )

        with pytest.raises(Refused, match=f"part of {mem('t')}; split that first"):
            split(tables)
        assert ids == split(tables, mem("t"))
        assert [A, B] == split(tables)

    def test_twin(self, tables: Tables) -> None:
        """A part whose words are said again meanwhile does not come back beside them."""
        fact = memory("same", 2, id="f", type="fact")
        tables.write(lambda c: memory_records.save(c, [fact]))
        whole = memory("same, and more", 10, id="w")
        parts = [A, mem("f")]
        tables.write(
            lambda c: memory_states.write_whole(c, whole, parts, at=EPOCH + 10, by=Decider.RULES)
        )
        tables.write(lambda c: memory_records.save(c, [memory("same", 20, id="g", type="fact")]))

        with pytest.raises(Refused, match=f"{mem('g')} says the same by now"):
            split(tables)
        assert [B, W, mem("g")] == tables.read(active_ids)

    def test_consolidation(self, tables: Tables) -> None:
        """Of a consolidation the kept one stays, without the other's accesses, tags and layer."""
        run = tables.connection.exec_driver_sql
        run("UPDATE memory_attention SET access_count = 2")
        before: dict[str, object] = {
            "access_count": 2,
            "accessed_at": None,
            "attention": 1.0,
            "tags": ["x"],
        }
        before |= {"layer": "working", "layer_since": EPOCH, "promoted_at": None}
        tables.write(lambda c: memory_states.merge(c, A, [B], at=EPOCH + 10, by=Decider.PERSON))
        run("UPDATE memory_attention SET access_count = 5 WHERE memory_id = ?", (A,))
        run("INSERT INTO memory_tags VALUES (?, 'y')", (A,))
        run("UPDATE memories SET layer = 'cortex', layer_since = ? WHERE id = ?", (EPOCH + 10, A))
        noted(tables, ChangeKind.CONSOLIDATE, A, 10, others=(B,), before=before)
        assert [B] == split(tables, A)

        kept = tables.read(lambda c: memory_records.load_active(c, [A, B]))
        assert (("x",), 3) == (kept[A].tags, kept[A].access_count)
        assert (Layer.WORKING, EPOCH) == (kept[A].layer, kept[A].layer_since)
        assert (("y",), 2) == (kept[B].tags, kept[B].access_count)


class TestStates:
    def test_archived(self, tables: Tables) -> None:
        """Archiving is undone, unless that memory came back by itself before."""
        tables.write(lambda c: memory_states.archive(c, [A], EPOCH + 10))
        number = noted(tables, ChangeKind.ARCHIVE, A, 10)
        assert [A] == undo(tables, number)

        tables.write(lambda c: memory_states.archive(c, [A], EPOCH + 60))
        again = noted(tables, ChangeKind.ARCHIVE, A, 60)
        tables.write(lambda c: memory_states.restore(c, [A], EPOCH + 70))
        with pytest.raises(Refused, match="is active; it came back since"):
            undo(tables, again)

    def test_superseded(self, tables: Tables) -> None:
        """What was superseded holds again, and was not believed in between."""
        tables.write(lambda c: memory_states.supersede(c, A, B, EPOCH + 10))
        number = noted(tables, ChangeKind.SUPERSEDE, A, 10, others=(B,))
        assert [B] == tables.read(active_ids)
        undo(tables, number)

        times = [(EPOCH, EPOCH + 10), (EPOCH + 50, None)]
        assert times == tables.read(lambda c: memory_records.list_beliefs(c, A))

    def test_restored(self, tables: Tables) -> None:
        """Restoring is undone by bringing back what was: archived, or superseded by the same."""
        tables.write(lambda c: memory_states.supersede(c, A, B, EPOCH + 10))
        before = tables.read(lambda c: memory_undo.describe_state(c, A))
        tables.write(lambda c: memory_states.restore(c, [A], EPOCH + 20))
        number = noted(tables, ChangeKind.RESTORE, A, 20, before=before)
        undo(tables, number)

        rows = tables.rows("SELECT status, replaced_by FROM memories ORDER BY id")
        assert [("superseded", B), ("active", None)] == rows

    def test_nothing_moves(self, tables: Tables) -> None:
        """A memory that is not in the state a change begins with is left alone."""
        assert [] == tables.write(lambda c: memory_states.restore(c, [A], EPOCH))
        assert [] == tables.write(lambda c: memory_states.supersede(c, A, A, EPOCH))
        assert [] == tables.write(
            lambda c: memory_states.merge(c, mem("none"), [A], at=EPOCH, by=Decider.RULES)
        )


class TestLayers:
    def test_lifted(self, tables: Tables) -> None:
        """A promotion is undone, layer and attention as they were."""
        tables.connection.exec_driver_sql("UPDATE memory_attention SET attention = 0.25")
        wanted = {A: Layer.CORTEX, B: Layer.SENSORY}
        moved = tables.write(lambda c: memory_history.deepen(c, wanted, at=EPOCH + 10, by="owner"))
        assert [A] == moved  # nothing sinks to where it is less deep
        after = tables.read(lambda c: memory_records.load_active(c, [A]))[A]
        assert (Layer.CORTEX, 1.0, EPOCH + 10) == (after.layer, after.attention, after.promoted_at)

        (change,) = tables.read(lambda c: memory_history.list_changes(c, memory=A))[0]
        undo(tables, change.id)
        back = tables.read(lambda c: memory_records.load_active(c, [A]))[A]
        assert (Layer.WORKING, 0.25, None) == (back.layer, back.attention, back.promoted_at)

    def test_promoted_further(self, tables: Tables) -> None:
        """A promotion behind which another came is not undone before that."""
        for at, layer in ((10, Layer.LONG_TERM), (20, Layer.CORTEX)):
            deepen = partial(memory_history.deepen, wanted={A: layer}, at=EPOCH + at, by="owner")
            tables.write(deepen)
        second, first = tables.read(lambda c: memory_history.list_changes(c, memory=A))[0]

        with pytest.raises(Refused, match="has come to cortex since"):
            undo(tables, first.id)
        undo(tables, second.id)
        undo(tables, first.id)

    def test_pinned(self, tables: Tables) -> None:
        """A pinned memory is no part of a merge, and pinning is undone, and its end."""
        pinned = tables.write(
            lambda c: memory_history.pin(c, [A, A], pins=True, at=EPOCH + 5, by="owner")
        )
        assert [A] == pinned
        merge(tables)
        assert [A, W] == tables.read(active_ids)

        tables.write(lambda c: memory_history.pin(c, [A], pins=False, at=EPOCH + 20, by="owner"))
        end = tables.read(lambda c: memory_history.find_last(c, A, ChangeKind.UNPIN))
        assert end is not None
        undo(tables, end.id)
        assert EPOCH + 5 == tables.read(lambda c: memory_records.load_active(c, [A]))[A].pinned_at


class TestNever:
    def test_forgotten(self, tables: Tables) -> None:
        """Forgetting and splitting are not undone, and the error says what to do instead."""
        for kind, match in ((ChangeKind.FORGET, "gone for good"), (ChangeKind.SPLIT, "undoing")):
            number = noted(tables, kind, A, 10)
            with pytest.raises(Refused, match=match):
                undo(tables, number)

    def test_unknown(self, tables: Tables) -> None:
        """A change that there is not is not found."""
        with pytest.raises(NotFound, match="no change 77"):
            undo(tables, 77)


class TestEdit:
    def edit(self, tables: Tables, name: str, content: str, at: int = 20) -> list[str]:
        """Give a memory other words."""
        return tables.write(
            lambda c: memory_undo.edit(
                c, memory_lists.load_memory(c, name), content=content, by="owner", at=EPOCH + at
            )
        )

    def number(self, tables: Tables) -> int:
        """Return the newest edit."""
        found = tables.read(lambda c: memory_history.find_last(c, A, ChangeKind.SUPERSEDE))
        assert found is not None
        assert found.is_edit
        return found.number

    def test_stays(self, tables: Tables) -> None:
        """An edited memory is found by its new words alone, and is else the one it was."""
        tables.write(lambda c: memory_history.pin(c, [A], pins=True, at=EPOCH, by="owner"))
        before = tables.read(lambda c: memory_lists.load_memory(c, A))
        assert [] == self.edit(tables, A, "Redis moved")

        after = tables.read(lambda c: memory_lists.load_memory(c, A))
        same = replace(after, text=before.text, abstract=before.abstract, summary=before.summary)
        assert ("Redis moved", before) == (after.text, same)
        assert {"both": "Redis moved"} == found_by(tables, A)

    def test_undone(self, tables: Tables) -> None:
        """Undoing gives the words before; an earlier edit waits for the later one."""
        self.edit(tables, A, "Redis moved")
        first = self.number(tables)
        self.edit(tables, A, "Redis moved twice", 30)
        with pytest.raises(Refused, match="edited since"):
            undo(tables, first)
        undo(tables, self.number(tables))
        undo(tables, first)

        assert "port 1" == tables.read(lambda c: memory_lists.load_memory(c, A)).text
        assert {"both": "port 1"} == found_by(tables, A)

    def test_same(self, tables: Tables) -> None:
        """What another memory says in another place is told; in the same place it is refused."""
        there = memory("Redis moved", 2, id="c", thread="elsewhere", type=MemoryType.FACT)
        facts = [replace(there, id=mem("d"), thread="here"), replace(there, id=mem("e"), text="no")]
        tables.write(lambda c: memory_records.save(c, [there, *facts]))

        assert [mem("c"), mem("d")] == self.edit(tables, A, "Redis moved")
        with pytest.raises(Refused, match="says just that already"):
            self.edit(tables, mem("e"), "Redis moved")

    def test_forgotten(self, tables: Tables) -> None:
        """Of a memory that is forgotten, the words before an edit go, too."""
        self.edit(tables, A, "Redis moved")
        tables.write(lambda c: memory_delete.forget(c, [A], by="owner", at=EPOCH + 60))

        rows = tables.read(lambda c: c.execute(select(schema.memory_changes.c.before)).all())
        assert "port 1" not in str(rows)
