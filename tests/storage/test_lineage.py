"""What a memory was made of, and what it has become part of."""

from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import Realm
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH
from tests.storage.things import Tables, active_ids, mem, memory

#: Merges of the longest chain that is tried: ten times what Python would follow by itself.
MANY = 10_000


def said(tables: Tables, *names: str) -> None:
    """Let memories be said that are called so."""
    some = [memory(f"text {name}", number, id=name) for number, name in enumerate(names)]
    tables.write(lambda c: memory_records.save(c, some))


def merged(tables: Tables, whole: str, *parts: str, at: int = 100) -> None:
    """Make a whole of parts."""
    new = memory(f"text {whole}", at, id=whole, abstract=f"of {whole}")
    ids = [mem(each) for each in parts]
    tables.write(
        lambda c: memory_states.write_whole(
            c, new, ids, at=EPOCH + at, by=Decider.RULES, why="same"
        )
    )


def chained(tables: Tables, length: int) -> None:
    """Write a chain of merges, as fast as rows can be written."""
    agent = "INSERT OR IGNORE INTO agents (id, display_name, symbol, registered_at)"
    tables.connection.exec_driver_sql(f"{agent} VALUES ('A', 'A', 'A', 1)")
    columns = (
        "id, realm, agent_id, layer, type, text, abstract, summary, text_hash, status,"
        " merged_into, merged_as, merged_at, merged_by, created_at, layer_since"
    )
    rows = [
        (mem(f"C{n:06d}"), mem(f"C{n + 1:06d}") if n < length else None, n < length)
        for n in range(length, -1, -1)
    ]
    tables.connection.exec_driver_sql(
        f"INSERT INTO memories ({columns}) VALUES (?, 'private', 'A', 'working', 'fact', 'x', '',"  # noqa: S608 - names above
        " '', zeroblob(32), ?, ?, ?, ?, ?, 1, 1)",
        [
            (one, *(("merged", into, 0, 1, "rules") if part else ("active", *[None] * 4)))
            for one, into, part in rows
        ],
    )


class TestTree:
    def test_unknown(self, tables: Tables) -> None:
        """A memory that there is not has no lineage."""
        assert [] == tables.read(lambda c: memory_history.load_tree(c, mem("none")))

    def test_leaf(self, tables: Tables) -> None:
        """A memory that nothing was merged into is alone."""
        said(tables, "a")

        (node,) = tables.read(lambda c: memory_history.load_tree(c, mem("a")))
        assert (mem("a"), "active", "text a", 0, None, True) == (
            *(node.id, node.standing, node.abstract),
            *(node.depth, node.parent, node.is_leaf),
        )

    def test_two_merges(self, tables: Tables) -> None:
        """Two merges, one after the other, leave one active memory of five, in their order."""
        said(tables, "a", "b", "c")
        merged(tables, "d", "a", "b")
        merged(tables, "e", "d", "c", at=200)

        assert 1 == len(tables.read(active_ids))
        drawn = [("e", "active", 0), ("d", "intermediate", 1), ("a", "leaf", 2), ("b", "leaf", 2)]
        assert [*drawn, ("c", "leaf", 1)] == [
            (each.id[-1].lower(), each.standing, each.depth)
            for each in tables.read(lambda c: memory_history.load_tree(c, mem("e")))
        ]

    def test_ring(self, tables: Tables) -> None:
        """Memories that are part of one another, by somebody's hand, are each told once."""
        chained(tables, 2)
        tables.connection.exec_driver_sql(
            "UPDATE memories SET status = 'merged', merged_into = ?, merged_as = 0, merged_at = 1,"
            " merged_by = 'rules' WHERE id = ?",
            (mem("C000000"), mem("C000002")),
        )

        nodes = tables.read(lambda c: memory_history.load_tree(c, mem("C000001")))
        assert {mem(f"C{n:06d}") for n in range(3)} == {each.id for each in nodes}
        assert {mem("C000001"): None} == tables.read(
            lambda c: memory_history.find_current(c, [mem("C000001")])
        )


class TestCurrent:
    def test_itself(self, tables: Tables) -> None:
        """An active memory stands for itself, an unknown one for nothing."""
        said(tables, "a")

        expected = {mem("a"): mem("a"), mem("none"): None}
        assert expected == tables.read(
            lambda c: memory_history.find_current(c, [mem("a"), mem("none")])
        )

    def test_whole(self, tables: Tables) -> None:
        """A merged id means the outermost whole, and nothing once that is archived."""
        said(tables, "a", "b", "c")
        merged(tables, "d", "a", "b")
        merged(tables, "e", "d", "c", at=200)

        ids = [mem(each) for each in "abcde"]
        assert dict.fromkeys(ids, mem("e")) == tables.read(
            lambda c: memory_history.find_current(c, ids)
        )
        tables.write(lambda c: memory_states.archive(c, [mem("e")], EPOCH + 300))
        assert dict.fromkeys(ids) == tables.read(lambda c: memory_history.find_current(c, ids))
        assert dict.fromkeys(ids, mem("e")) == tables.read(
            lambda c: memory_history.find_wholes(c, ids)
        )

    def test_leaves(self, tables: Tables) -> None:
        """What was said in the end are the leaves, and all below a whole are its parts."""
        said(tables, "a", "b", "c")
        merged(tables, "d", "a", "b")
        merged(tables, "e", "d", "c", at=200)

        nodes = tables.read(lambda c: memory_history.load_tree(c, mem("e")))
        assert {mem(each) for each in "abc"} == {each.id for each in nodes if each.is_leaf}
        assert {mem(each) for each in "abcd"} == tables.read(
            lambda c: memory_history.list_parts(c, [mem("e")])
        )


class TestLongChain:
    @pytest.mark.slow
    def test_followed(self, tables: Tables) -> None:
        """Ten thousand merges in a row are followed both ways."""
        chained(tables, MANY)
        top, bottom = mem(f"C{MANY:06d}"), mem("C000000")

        assert {bottom: top} == tables.read(lambda c: memory_history.find_current(c, [bottom]))
        nodes = tables.read(lambda c: memory_history.load_tree(c, top))
        assert (MANY + 1, MANY, bottom) == (len(nodes), nodes[-1].depth, nodes[-1].id)
        assert [bottom] == [each.id for each in nodes if each.is_leaf]
        assert MANY == len(tables.read(lambda c: memory_history.list_parts(c, [top])))

    def test_realm(self, tables: Tables) -> None:
        """A whole that says the same as one of its parts takes its place."""
        some = [memory("one", id="a", type="fact"), memory("one more", 1, id="b", type="fact")]
        tables.write(lambda c: memory_records.save(c, some))
        whole = memory("one more", 2, id="w", type="fact", realm=Realm.PRIVATE)
        ids = [mem("a"), mem("b")]
        done = tables.write(
            lambda c: memory_states.write_whole(c, whole, ids, at=EPOCH + 2, by=Decider.RULES)
        )

        assert ids == done
        assert [mem("w")] == tables.read(active_ids)
