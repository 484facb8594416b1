from __future__ import annotations

import random
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.memory import Passage, SearchPlace
from cortex_actors.errors import LedgerDown
from cortex_actors.storage import insight_records, passages
from tests.storage.support import id_of
from tests.storage.things import put_passages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"
PRIVATE = "cortex_private"

#: What may happen to words on a disk.
DAMAGE = (
    "UPDATE words_alone_data SET block = x'0011'",
    "UPDATE words_alone_data SET block = x'0011' WHERE id > 10",
    "UPDATE words_paired_data SET block = x'0011' WHERE id = 10",
    "DELETE FROM words_paired_data WHERE id > 10",
)

#: What repeats a random walk.
SEED = 11


def item(number: int, text: str, before: str | None = None) -> list[Passage]:
    """Return the passages of an item."""
    return passages.make_passages(text, collection=PRIVATE, item_id=f"mem_{number}", before=before)


async def put(store: Store, *made: Iterable[Passage]) -> None:
    """Let items have those passages."""
    every = [each for some in made for each in some]
    await store.write(partial(put_passages, made=every))


async def waiting(store: Store) -> list[tuple[object, ...]]:
    """Return what the index is still to be told, and forget it."""
    found = await store.rows("SELECT collection, item_id, op FROM index_ops ORDER BY seq")
    await store.write(lambda c: c.exec_driver_sql("DELETE FROM index_ops").rowcount)
    return found


async def matching(store: Store, words: str, query: str) -> list[object]:
    """Return the items that a list finds by a word, best first."""
    sql = (
        f"SELECT item_id FROM {words} JOIN passages ON passages.id = {words}.rowid"  # noqa: S608 - ours
        f" WHERE {words} MATCH '{query}' ORDER BY rank, item_id"
    )
    return [each for (each,) in await store.rows(sql)]


async def rows(store: Store) -> list[tuple[object, ...]]:
    """Return all passages without their numbers."""
    return await store.rows("SELECT item_id, place, text FROM passages ORDER BY item_id, place")


class TestOfItem:
    def test_first(self) -> None:
        """What nothing comes before is found by its own text, in either list."""
        digest = sha256(b"use ruff").digest()

        assert [Passage(PRIVATE, "mem_1", SearchPlace.BOTH, "use ruff", digest)] == item(
            1, "use ruff"
        )

    def test_next(self) -> None:
        """What follows something is found alone, and with that in front of it."""
        alone, paired = item(1, "the second", before="the first")

        assert (SearchPlace.ALONE, "the second") == (alone.place, alone.text)
        assert (SearchPlace.PAIRED, "the first\nthe second") == (paired.place, paired.text)
        assert [PRIVATE, f"{PRIVATE}_paired"] == [alone.index, paired.index]
        assert sha256(b"the first\nthe second").digest() == paired.text_hash


class TestPut:
    async def test_words(self, store: Store) -> None:
        """Each list finds a passage by the words of its own text."""
        await put(store, item(1, "ports stay"), item(2, "tests pass", before="ports stay"))

        assert ["mem_1"] == await matching(store, "words_alone", "port")
        assert ["mem_1", "mem_2"] == await matching(store, "words_paired", "ports")
        assert ["mem_2"] == await matching(store, "words_alone", "testing")

    async def test_tells_the_index(self, store: Store) -> None:
        """The index is told what came, in the collection of each text."""
        await put(store, item(1, "a"), item(2, "b", before="a"))

        assert [
            (PRIVATE, "mem_1", "put"),
            (PRIVATE, "mem_2", "put"),
            (f"{PRIVATE}_paired", "mem_2", "put"),
        ] == await waiting(store)

    async def test_again(self, store: Store) -> None:
        """What is there already keeps its number, and the index hears nothing."""
        await put(store, item(1, "a"), item(2, "b", before="a"))
        before = await store.rows("SELECT * FROM passages")
        await waiting(store)
        await put(store, item(2, "b", before="a"), item(1, "a"))

        assert before == await store.rows("SELECT * FROM passages")
        assert [] == await waiting(store)

    async def test_changed(self, store: Store) -> None:
        """A text that changes gets a new number, and its old words find nothing."""
        await put(store, item(1, "use pylint"), item(2, "b"))
        ids = await store.rows("SELECT id FROM passages WHERE item_id = 'mem_1'")
        await waiting(store)
        await put(store, item(1, "use ruff"))

        assert [] == await matching(store, "words_alone", "pylint")
        assert ["mem_1"] == await matching(store, "words_paired", "ruff")
        assert ids < await store.rows("SELECT id FROM passages WHERE item_id = 'mem_1'")
        assert [(PRIVATE, "mem_1", "put")] == await waiting(store)

    async def test_gets_a_predecessor(self, store: Store) -> None:
        """What is then found in two ways is told to both collections; the way back drops one."""
        await put(store, item(2, "b"))
        await waiting(store)
        await put(store, item(2, "b", before="a"))
        there = await waiting(store)
        await put(store, item(2, "b"))

        assert [(PRIVATE, "mem_2", "put"), (f"{PRIVATE}_paired", "mem_2", "put")] == there
        assert [
            (PRIVATE, "mem_2", "put"),
            (f"{PRIVATE}_paired", "mem_2", "drop"),
        ] == await waiting(store)

    async def test_undone(self, store: Store) -> None:
        """A unit of work that fails leaves neither rows nor words."""

        def fails(connection: object) -> None:
            put_passages(connection, item(1, "use ruff"))  # type: ignore[arg-type]
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await store.write(fails)

        assert [] == await rows(store)
        assert [] == await matching(store, "words_alone", "ruff")


class TestDrop:
    async def test_is_gone(self, store: Store) -> None:
        """What is dropped is found by nothing, and the index is told for each of its texts."""
        await put(store, item(1, "a"), item(2, "use ruff", before="a"))
        await waiting(store)
        await store.write(partial(passages.drop, collection=PRIVATE, item_ids=["mem_2", "mem_9"]))

        assert [("mem_1", "both", "a")] == await rows(store)
        assert [] == await matching(store, "words_paired", "ruff")
        assert [
            (PRIVATE, "mem_2", "drop"),
            (f"{PRIVATE}_paired", "mem_2", "drop"),
        ] == await waiting(store)

    async def test_of_one_collection(self, store: Store) -> None:
        """An item of that id in another collection stays."""
        await put(store, item(1, "a"))
        await store.write(partial(passages.drop, collection="cortex_village", item_ids=["mem_1"]))

        assert [("mem_1", "both", "a")] == await rows(store)


class TestInsights:
    async def test_come_and_go(self, store: Store) -> None:
        """An insight is found while a file says it, and again when one says it again."""
        await store.says(HERE, "use ruff", "tests first")
        await store.says(HERE, "tests first")
        gone = await matching(store, "words_alone", "ruff")
        await store.says(HERE, "use ruff")

        assert [] == gone
        assert [id_of("use ruff")] == await matching(store, "words_alone", "ruff")
        assert [(id_of("use ruff"), "both", "use ruff")] == await rows(store)

    async def test_remake(self, store: Store) -> None:
        """What waits for a person cannot be found any more, and is counted out."""
        await store.says(HERE, "a", "b")
        ids = [id_of("a"), id_of("b")]
        sql = "UPDATE insights SET status = 'pending_review' WHERE content = 'a'"
        await store.write(lambda c: c.exec_driver_sql(sql).rowcount)

        assert 1 == await store.write(partial(insight_records.remake, ids=ids))
        assert [(id_of("b"), "both", "b")] == await rows(store)


class TestWords:
    @pytest.fixture
    async def damaged(self, store: Store, how: str) -> Store:
        """Give a ledger whose words are damaged."""
        await put(store, item(1, "use ruff"), item(2, "ports stay"))
        await store.write(lambda c: c.exec_driver_sql(how).rowcount)
        return store

    @pytest.mark.parametrize("how", DAMAGE)
    async def test_that_are_damaged(self, damaged: Store) -> None:
        """The check mends them, whatever happened to them."""
        for each in passages.LISTS:
            await damaged.write(partial(passages.mend, words=each))

        assert [] == await damaged.write(passages.list_disagreeing)
        assert ["mem_1"] == await matching(damaged, "words_alone", "ruff")

    @pytest.mark.parametrize("how", [each for each in DAMAGE if "> 10" not in each])
    async def test_are_made_again(self, damaged: Store) -> None:
        """Who writes where words are damaged is refused once; then all of them are made anew."""
        with pytest.raises(LedgerDown, match="words by which texts are found are damaged"):
            await put(damaged, item(1, "use pylint"))
        await put(damaged, item(1, "use pylint"))

        assert ["mem_1"] == await matching(damaged, "words_alone", "pylint")
        assert ["mem_2"] == await matching(damaged, "words_alone", "ports")
        assert [] == await damaged.write(passages.list_disagreeing)

    async def test_that_disagree(self, store: Store) -> None:
        """Words that are not those of the texts are noticed and mended, one list at a time."""
        await put(store, item(1, "use ruff"))
        sql = "INSERT INTO words_paired (rowid, text) VALUES (99, 'ghost')"
        await store.write(lambda c: c.exec_driver_sql(sql).rowcount)
        found = await store.write(passages.list_disagreeing)
        mended = [await store.write(partial(passages.mend, words=each)) for each in passages.LISTS]

        assert ["words_paired"] == found
        assert [False, True] == mended
        assert [] == await store.write(passages.list_disagreeing)

    async def test_random(self, store: Store) -> None:
        """Whatever comes, changes and goes: the words are those of the texts, and only those."""
        chance = random.Random(SEED)
        said = ["ruff", "ports", "naïve", "a\0b", "tests", "x" * 300, "", "ü", "日本"]
        model: dict[str, list[Passage]] = {}
        for _ in range(60):
            numbers = chance.sample(range(12), chance.randrange(1, 5))
            if chance.random() < 0.3:
                names = [f"mem_{number}" for number in numbers]
                await store.write(partial(passages.drop, collection=PRIVATE, item_ids=names))
                model = {name: each for name, each in model.items() if name not in names}
            else:
                some = [" ".join(chance.choices(said, k=3)) for _ in numbers]
                before = [chance.choice([None, chance.choice(said)]) for _ in numbers]
                made = [item(*each) for each in zip(numbers, some, before, strict=True)]
                await put(store, *made)
                model |= {each[0].item_id: each for each in made}
            assert [] == await store.write(passages.list_disagreeing), f"seed {SEED}"
        expected = [(e.item_id, e.place, e.text) for some in model.values() for e in some]

        assert sorted(expected) == await rows(store), f"seed {SEED}"
