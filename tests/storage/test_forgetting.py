"""Forgetting: rows, words, vectors and bytes go; what is left is that something was forgotten."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import PROBE, ChangeKind
from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import embeddings, memory_history, memory_records
from cortex_actors.storage.memory import memory_delete, memory_states, memory_undo
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.pipeline import verdicts
from cortex_actors.storage.pipeline.verdicts import Verdict
from cortex_actors.storage.search import similar_memories
from cortex_actors.testing import EPOCH
from tests.storage.things import active_ids, found_by, mem, memory

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.support import Store
    from tests.storage.things import Tables

A, B, C, W = (mem(each) for each in "abcw")

# ruff: noqa: S608 - queries of names in this file.

#: A text no other of the ledger shares a word with.
SECRET = "zanzibar quuxotic plimsoll"


def saved(tables: Tables) -> None:
    """Let three memories be said in one thread, the second of which is the secret."""
    some = [memory("first", id="a"), memory(SECRET, 1, id="b"), memory("third", 2, id="c")]
    tables.write(lambda c: memory_records.save(c, some))


def forget(tables: Tables, *ids: str) -> memory_delete.Forgotten:
    """Forget memories."""
    return tables.write(lambda c: memory_delete.forget(c, ids, by="owner", at=EPOCH + 50))


def everything(connection: Connection, name: str) -> None:
    """Give a memory a row in every table there is that can name one."""
    driver = connection.exec_driver_sql
    other = mem("c")
    low, high = sorted((name, other))
    for statement in (
        f"INSERT INTO memory_tags VALUES ('{name}', 't')",
        f"INSERT INTO memory_agents VALUES ('{name}', 'A')",
        f"INSERT INTO memory_replies VALUES ('{other}', '{name}')",
        f"INSERT INTO posts_due VALUES ('{name}')",
        "INSERT INTO convergences (id, kind, likeness, found_at) VALUES (1, 'HARMONY', 0.9, 1)",
        f"INSERT INTO convergence_memories VALUES (1, '{name}'), (1, '{other}')",
        f"INSERT INTO memory_apart VALUES ('{low}', '{high}', 1, NULL)",
        f"INSERT INTO memory_conflicts VALUES ('{low}', '{high}', 'rules', 'why', 1, NULL)",
    ):
        driver(statement)


class TestRows:
    def test_every_table(self, tables: Tables) -> None:
        """No row of any table that can name a memory names one that is forgotten."""
        saved(tables)
        tables.write(lambda c: everything(c, B))
        walked = list(memory_delete.list_references())
        has = {
            table.name
            for table, column in walked
            if tables.rows(f"SELECT 1 FROM {table.name} WHERE {column} = '{B}'")
        }
        assert {table.name for table, _ in walked} == has  # so that a new table is tried, too

        forget(tables, B)
        for table, column in walked:
            query = f"SELECT count(*) FROM {table.name} WHERE {column} = '{B}'"
            assert [(0,)] == tables.rows(query), table.name
        assert [] == tables.rows("PRAGMA foreign_key_check")
        assert [] == tables.rows("SELECT * FROM convergences")

    def test_left(self, tables: Tables) -> None:
        """What is left is a change that names it, and nothing that could repeat it."""
        saved(tables)
        told = MemoryChange(ChangeKind.PIN, B, by="A", at=EPOCH, reason=f"because of {SECRET}")
        tables.write(lambda c: memory_history.note(c, told))
        forget(tables, B)

        forgot, pinned = tables.read(memory_history.list_changes)[0]
        assert (ChangeKind.FORGET, B, "owner") == (forgot.kind, forgot.memory_id, forgot.by)
        assert pinned.reason is None
        assert B not in tables.read(active_ids)

    def test_words(self, tables: Tables) -> None:
        """Nobody is found by its words any more, not even what followed it; the index is told."""
        saved(tables)
        assert {"alone": "third", "paired": f"{SECRET}\nthird"} == found_by(tables, C)
        forget(tables, B)

        assert {"alone": "third", "paired": "first\nthird"} == found_by(tables, C)
        assert [] == tables.rows("SELECT 1 FROM passages WHERE text LIKE '%quuxotic%'")
        waiting = tables.rows(f"SELECT op FROM index_ops WHERE item_id = '{B}'")
        assert {("drop",)} == set(waiting)

    def test_vectors(self, tables: Tables) -> None:
        """Its vectors go, but for those of texts that others have as well."""
        saved(tables)
        same = memory("third", 3, id="d", thread="other")
        tables.write(lambda c: memory_records.save(c, [same]))
        hashes = [row[0] for row in tables.rows("SELECT DISTINCT text_hash FROM passages")]
        found = {each: np.zeros(3, np.float32) for each in hashes if isinstance(each, bytes)}
        tables.write(lambda c: embeddings.keep_vectors(c, "m", found))
        forget(tables, B, C)

        texts = tables.rows("SELECT text_hash FROM vectors ORDER BY 1")
        needed = tables.rows("SELECT DISTINCT text_hash FROM memories ORDER BY 1")
        assert needed == texts

    def test_answers(self, tables: Tables) -> None:
        """What a language model has said since then goes, too; what others said stays."""
        saved(tables)
        rows = [
            Verdict(bytes([n]) * 32, layer, "m", "merge", {"text": SECRET}, at)
            for n, (layer, at) in enumerate(
                [("llm", EPOCH + 9), ("nli", EPOCH + 9), ("llm", EPOCH - 10**11)]
            )
        ]
        tables.write(lambda c: verdicts.keep(c, rows))
        forget(tables, B)

        assert [("nli",), ("llm",)] == tables.rows("SELECT decider FROM verdicts ORDER BY key")


class TestWhat:
    def test_parts(self, tables: Tables) -> None:
        """A whole goes with all it was made of; a part alone does not go."""
        saved(tables)
        whole = memory("both", 9, id="w")
        tables.write(
            lambda c: memory_states.write_whole(c, whole, [A, B], at=EPOCH + 9, by=Decider.LLM)
        )
        with pytest.raises(Refused, match=f"it is part of {W}"):
            forget(tables, B)

        gone = forget(tables, W)
        assert ((W,), (A, B)) == (gone.ids, gone.parts)
        assert [(C,)] == tables.rows("SELECT id FROM memories")

    def test_former_whole(self, tables: Tables) -> None:
        """What was made of it once says it, too: it goes along, unless it came back."""
        saved(tables)
        whole = memory(f"first, and {SECRET}", 9, id="w")
        tables.write(
            lambda c: memory_states.write_whole(c, whole, [A, B], at=EPOCH + 9, by=Decider.RULES)
        )
        merge = MemoryChange(ChangeKind.MERGE, W, by="A", at=EPOCH + 9, others=(A, B))
        tables.write(lambda c: memory_history.note(c, merge))
        tables.write(lambda c: memory_undo.split(c, W, by="owner", at=EPOCH + 10))
        tables.write(lambda c: memory_states.restore(c, [W], EPOCH + 11))
        with pytest.raises(Refused, match=f"{W}, which was made of it, says it, too"):
            forget(tables, B)
        tables.write(lambda c: memory_states.archive(c, [W], EPOCH + 12))

        assert (W,) == forget(tables, B).wholes
        assert [(A,), (C,)] == tables.rows("SELECT id FROM memories ORDER BY id")

    def test_given_since(self, tables: Tables) -> None:
        """What was made of it once and was given other parts since does not take these along."""
        saved(tables)
        whole = memory(f"first, and {SECRET}", 9, id="w")
        tables.write(
            lambda c: memory_states.write_whole(c, whole, [A, B], at=EPOCH + 9, by=Decider.RULES)
        )
        merge = MemoryChange(ChangeKind.MERGE, W, by="A", at=EPOCH + 9, others=(A, B))
        tables.write(lambda c: memory_history.note(c, merge))
        tables.write(lambda c: memory_undo.split(c, W, by="owner", at=EPOCH + 10))
        tables.write(lambda c: memory_states.restore(c, [W], EPOCH + 11))
        tables.write(lambda c: memory_states.merge(c, W, [C], at=EPOCH + 12, by=Decider.PERSON))
        tables.write(lambda c: memory_states.archive(c, [W], EPOCH + 13))
        with pytest.raises(Refused, match=f"{W}, which was made of it, has other parts by now"):
            forget(tables, B)

        assert (C,) == forget(tables, B, W).parts
        assert [(A,)] == tables.rows("SELECT id FROM memories")

    def test_successor(self, tables: Tables) -> None:
        """What was superseded by it is archived then, and says so."""
        saved(tables)
        tables.write(lambda c: memory_states.supersede(c, A, B, EPOCH + 5))
        gone = forget(tables, B)

        assert (A,) == gone.archived
        assert [(A, "archived")] == tables.rows(
            "SELECT id, status FROM memories WHERE id <> " + repr(C)
        )
        change = tables.read(lambda c: memory_history.find_last(c, A, ChangeKind.ARCHIVE))
        assert change is not None
        assert "what replaced it was forgotten" == change.reason

    def test_unknown(self, tables: Tables) -> None:
        """An unknown memory is an error, and none at all is nothing."""
        with pytest.raises(NotFound, match="there is no memory"):
            forget(tables, mem("none"))
        assert () == forget(tables).ids

    def test_probe(self, tables: Tables) -> None:
        """Of what the daemon tries itself with nothing is left at all."""
        tables.write(lambda c: memory_records.save(c, [memory("probe", id="p", agent_id=PROBE)]))
        forget(tables, mem("p"))

        assert [] == tables.read(memory_history.list_changes)[0]
        assert [] == tables.rows("SELECT * FROM meta")


class TestConflicts:
    def test_ends_and_stands_again(self, tables: Tables) -> None:
        """A conflict ends while one of the two is away, and for good when both are kept."""
        saved(tables)
        note = {"by": Decider.RULES, "reason": "they say the opposite", "at": EPOCH}
        tables.write(lambda c: similar_memories.note_conflict(c, B, A, **note))  # type: ignore[arg-type]
        assert {A: [(B, "they say the opposite")]} == tables.read(
            lambda c: similar_memories.load_conflicts(c, [A])
        )
        tables.write(lambda c: memory_states.archive(c, [B], EPOCH + 5))
        assert ([], 0) == tables.read(similar_memories.list_conflicts)
        tables.write(lambda c: memory_states.restore(c, [B], EPOCH + 6))
        found, _ = tables.read(similar_memories.list_conflicts)
        assert [(A, B)] == [(each.left, each.right) for each in found]

        assert tables.write(lambda c: similar_memories.keep_both(c, A, B, EPOCH + 7))
        assert {} == tables.read(lambda c: similar_memories.load_conflicts(c, [A, B]))
        known = tables.write(lambda c: similar_memories.note_conflict(c, A, B, **note))  # type: ignore[arg-type]
        assert not known

    def test_apart(self, tables: Tables) -> None:
        """Of several that are kept apart each knows all others."""
        saved(tables)
        tables.write(lambda c: memory_states.keep_apart(c, [C, A, B], at=EPOCH))

        assert frozenset({A, C}) == tables.read(lambda c: memory_states.list_apart(c, [B]))[B]


class TestBytes:
    async def test_gone(self, store: Store) -> None:
        """The bytes of a forgotten text are in no file of the ledger once it is closed."""
        some = [
            memory(f"{'common words here ' * 40}{word}", number, id=f"m{number}")
            for number, word in enumerate(("one", f"{SECRET} " * 200, "two"))
        ]
        for each in some:
            await store.write(partial(memory_records.save, some=[each]))
        name = mem("m1")
        # Archived first: what was found by it is deleted long before it is forgotten itself.
        await store.write(lambda c: memory_states.archive(c, [name], EPOCH + 5))
        await store.write(lambda c: memory_delete.forget(c, [name], by="owner", at=EPOCH + 9))
        while await store.write(memory_delete.wipe):
            pass
        assert [] == await store.rows("SELECT * FROM meta WHERE name = 'words_to_wipe'")
        await store.handle.stop(5.0)

        for file in store.home.root.glob("cortex.db*"):
            data = file.read_bytes()
            for word in SECRET.split():
                assert word.encode() not in data, file.name
                assert word[2:6].encode() not in data, file.name  # what FTS5 keeps of a word

    def test_nothing_due(self, tables: Tables) -> None:
        """Without anything forgotten no words are written anew."""
        assert not tables.write(memory_delete.wipe)

    async def test_meanwhile(self, store: Store) -> None:
        """What is forgotten while others' words are written over has it begin again."""
        some = [memory(each, number, id=f"m{number}") for number, each in enumerate(("one", "two"))]
        for each in some:
            await store.write(partial(memory_records.save, some=[each]))
        forget = partial(memory_delete.forget, by="owner", at=EPOCH + 9)
        await store.write(partial(forget, ids=[mem("m0")]))
        await store.write(memory_delete.wipe)
        await store.write(partial(forget, ids=[mem("m1")]))

        asked = await store.rows("SELECT value FROM meta WHERE name = 'words_to_wipe'")
        assert [(b"1",)] == asked
        while await store.write(memory_delete.wipe):
            pass
        assert not await store.read(memory_delete.is_due)
