from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import index_ground
from cortex_actors.storage import embeddings, insight_records
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.pending import IndexState
from cortex_actors.storage.pipeline import insights
from cortex_actors.testing import EPOCH
from tests.storage.support import MODEL, id_of, text_hash, unit

if TYPE_CHECKING:
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"

#: What is still to be told: (id, whether it is there to stay).
Told = list[tuple[str, bool]]


async def told(store: Store, limit: int = 100) -> Told:
    """Return what the index has to be told next."""
    found = await store.read(lambda c: pending.list_changes(c, MODEL, limit))
    return [(change.item_id, change.vector is not None) for change in found]


async def held(store: Store) -> int:
    """Return how many items the index must hold."""
    return len((await store.read(lambda c: pending.load_holding(c, "cortex_insights"))).order)


async def apply_all(store: Store) -> None:
    """Let the index have been told everything."""
    found = await store.read(lambda c: pending.list_changes(c, MODEL, 1_000))
    await store.write(lambda c: pending.note_applied(c, found))


class TestVectors:
    async def test_round_trip(self, store: Store) -> None:
        """A vector comes back bit for bit; texts without one are not in the answer."""
        await store.embed(a=[1, 2, 3])
        digests = [text_hash("a"), text_hash("b")]
        found = await store.read(lambda c: embeddings.load_vectors(c, MODEL, digests))

        assert [text_hash("a")] == list(found)
        assert np.array_equal(unit(1, 2, 3), found[text_hash("a")])

    async def test_many(self, store: Store) -> None:
        """More texts than one query takes are looked up all the same."""
        digests = [text_hash(str(n)) for n in range(2_500)]
        vectors = dict.fromkeys(digests, unit(1, 0, 0))
        await store.write(lambda c: embeddings.keep_vectors(c, MODEL, vectors))
        found = await store.read(lambda c: embeddings.load_vectors(c, MODEL, digests))

        assert set(digests) == found.keys()

    async def test_of_one_model(self, store: Store) -> None:
        """A vector of another model is no vector."""
        await store.embed(a=[1, 2, 3])
        found = await store.read(lambda c: embeddings.load_vectors(c, "other", [text_hash("a")]))

        assert {} == found

    async def test_first_stays(self, store: Store) -> None:
        """A text's vector does not change once it is stored."""
        await store.embed(a=[1, 0, 0])
        await store.embed(a=[0, 1, 0])
        found = await store.read(lambda c: embeddings.load_vectors(c, MODEL, [text_hash("a")]))

        assert np.array_equal(unit(1, 0, 0), found[text_hash("a")])


class TestUnembedded:
    async def test_active_ones(self, store: Store) -> None:
        """Active insights without a vector of this model are to be embedded, and no others."""
        await store.says(HERE, "a", "b", "gone")
        await store.says(HERE, "a", "b")
        await store.embed(a=[1, 0, 0])
        found = await store.read(lambda c: embeddings.list_unembedded(c, MODEL, 10))
        counts = await store.read(
            lambda c: [embeddings.count_unembedded(c, model) for model in (MODEL, "other")]
        )

        assert [(id_of("b"), "b", text_hash("b"))] == found
        assert [1, 2] == counts

    @pytest.mark.parametrize(
        ("heading", "text"), [("Style", "Style\nuse ruff"), ("", "use ruff"), (None, "use ruff")]
    )
    def test_text(self, heading: str | None, text: str) -> None:
        """The heading is part of what is embedded."""
        assert text == embeddings.make_text(heading, "use ruff")


class TestChanges:
    async def test_order(self, store: Store) -> None:
        """What came and went is told once, as it is now."""
        await store.says(HERE, "a")
        await store.says(HERE, "b")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])

        found = await told(store)

        assert [(id_of("a"), False), (id_of("b"), True)] == sorted(found, key=lambda told: told[1])

    async def test_seqs_rise(self, store: Store) -> None:
        """Changes come in the order they were committed."""
        await store.says(HERE, "a", "b")
        await store.says(HERE, "c")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0], c=[0, 0, 1])
        found = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        seqs = [change.seq for change in found]

        assert sorted(seqs) == seqs
        assert 3 == len(seqs)

    async def test_stops_before_a_gap(self, store: Store) -> None:
        """Nothing after an item that has no vector yet is told before it."""
        first, second = sorted(("a", "b"), key=id_of)
        await store.says(HERE, "a", "b")
        await store.embed(**{second: [1, 0, 0]})
        gap = await told(store)
        await store.embed(**{first: [0, 1, 0]})

        assert [] == gap
        assert [(id_of(first), True), (id_of(second), True)] == await told(store)

    async def test_applied(self, store: Store) -> None:
        """What was applied is not told again; what came meanwhile is."""
        await store.says(HERE, "a")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        (change,) = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.says(HERE, "a", "b")
        await store.write(lambda c: pending.note_applied(c, [change]))

        assert [(id_of("b"), True)] == await told(store)
        assert 1 == await store.read(pending.count_pending)
        assert [id_of("b")] == await store.read(lambda c: index_ground.pending_ids(c, 10))

    async def test_numbers_are_never_used_again(self, store: Store) -> None:
        """An applied change's number is not given to a later one."""
        await store.says(HERE, "a")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        (before,) = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.write(lambda c: pending.note_applied(c, [before]))
        await store.says(HERE, "a", "b")
        (after,) = await store.read(lambda c: pending.list_changes(c, MODEL, 100))

        assert before.seq < after.seq

    async def test_after_a_switch(self, store: Store) -> None:
        """Whoever was made before a switch gets and notes nothing of the next generation's."""
        await store.says(HERE, "a")
        await store.embed(a=[1, 0, 0])
        await store.write(lambda c: pending.rebuild(c, MODEL))
        before = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        after = await store.write(lambda c: pending.rebuild(c, "another"))
        late = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.write(lambda c: pending.note_applied(c, before, model=MODEL))

        assert (1, 0) == (len(before), len(late))
        assert after == await store.read(pending.load_state)
        assert 1 == await store.read(pending.count_pending)

    async def test_limit(self, store: Store) -> None:
        """No more is told at once than asked for."""
        await store.says(HERE, "a", "b", "c")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0], c=[0, 0, 1])

        assert 2 == len(await told(store, 2))

    async def test_waiting_insights_leave(self, store: Store) -> None:
        """An insight that is no longer live is told as gone, whatever was noted."""
        await store.says(HERE, "a")
        ids = [id_of("a")]
        await store.write(
            lambda c: (
                c.exec_driver_sql("UPDATE insights SET status = 'pending_review'").rowcount,
                insight_records.remake(c, ids),
            )
        )

        assert {(id_of("a"), False)} == set(await told(store))


class TestDamage:
    async def test_odd_vector(self, store: Store) -> None:
        """A vector shorter than the others is taken out, embedded anew, and told again."""
        await store.says(HERE, "a", "b", "c")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0], c=[0, 0, 1])
        await store.write(
            lambda c: (
                c.exec_driver_sql(
                    "UPDATE vectors SET vector = x'0011' WHERE text_hash ="
                    " (SELECT text_hash FROM insights WHERE content = 'b')"
                ).rowcount
            )
        )
        searched = await store.read(lambda c: index_ground.matrix(c, MODEL))
        first = await told(store)
        await apply_all(store)
        missing = await store.read(lambda c: embeddings.list_unembedded(c, MODEL, 10))
        await store.embed(b=[0, 1, 0])
        second = await told(store)

        assert {id_of("a"), id_of("c")} == set(searched[0])
        assert (id_of("b"), False) in first
        assert [id_of("b")] == [each for each, _, _ in missing]
        assert [(id_of("b"), True)] == second


class TestRebuild:
    async def test_first(self, store: Store) -> None:
        """Before the first generation there is no state; it gets the number 1."""
        before = await store.read(pending.load_state)
        made = await store.write(lambda c: pending.rebuild(c, MODEL))

        assert before is None
        assert IndexState(1, MODEL, 0, made.token) == made == await store.read(pending.load_state)

    async def test_folder(self, store: Store) -> None:
        """Generations of one number in two ledgers have different folders."""
        made = await store.write(lambda c: pending.rebuild(c, MODEL))
        await store.write(lambda c: c.exec_driver_sql("DELETE FROM index_state").rowcount)
        other = await store.write(lambda c: pending.rebuild(c, MODEL))

        assert made.generation == other.generation
        assert made.folder != other.folder

    async def test_from_stored_vectors(self, store: Store) -> None:
        """A new generation is told every active insight, and nothing is embedded again."""
        await store.says(HERE, "a", "b", "gone")
        await store.says(HERE, "a", "b")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        await apply_all(store)
        first = await store.write(lambda c: pending.rebuild(c, MODEL))
        second = await store.write(lambda c: pending.rebuild(c, MODEL))

        assert (1, 2) == (first.generation, second.generation)
        assert {(id_of("a"), True), (id_of("b"), True)} == set(await told(store))
        assert 2 == await store.read(pending.count_pending)
        assert 0 == await store.read(lambda c: embeddings.count_unembedded(c, MODEL))

    async def test_what_it_must_hold(self, store: Store) -> None:
        """The index must hold what it was told, and nothing that still waits."""
        await store.says(HERE, "a", "b")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        await apply_all(store)
        await store.says(HERE, "a", "b", "new")
        counts = [await held(store)]
        await store.write(lambda c: insights.silence(c, HERE, EPOCH))
        counts.append(await held(store))
        await store.write(lambda c: pending.rebuild(c, MODEL))
        counts.append(await held(store))

        assert [2, 0, 0] == counts


class TestMatrix:
    async def test_rows(self, store: Store) -> None:
        """The matrix has one row for each active insight that has a vector, by id."""
        await store.says(HERE, "a", "b", "c")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        ids, rows = await store.read(lambda c: index_ground.matrix(c, MODEL))

        assert sorted([id_of("a"), id_of("b")]) == ids
        assert (2, 3) == rows.shape
        assert np.array_equal(unit(1, 0, 0), rows[ids.index(id_of("a"))])

    async def test_of_some(self, store: Store) -> None:
        """Only the ids asked for are there; nothing is an empty matrix."""
        await store.says(HERE, "a", "b")
        await store.embed(a=[1, 0, 0], b=[0, 1, 0])
        one = await store.read(lambda c: index_ground.matrix(c, MODEL, [id_of("a")]))
        none = await store.read(lambda c: index_ground.matrix(c, MODEL, []))

        assert [id_of("a")] == one[0]
        assert [] == none[0]
