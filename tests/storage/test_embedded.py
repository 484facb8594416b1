from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage import embeddings, passages
from cortex_actors.storage.index import pending
from tests.storage.support import MODEL, text_hash
from tests.storage.things import put_passages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.memory import Passage
    from tests.storage.support import Store

PRIVATE = "cortex_private"


@pytest.fixture(params=[embeddings._FEW, 1])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Look at what waits one by one, or merge texts and vectors as where much waits."""
    monkeypatch.setattr(embeddings, "_FEW", request.param)
    return int(request.param)


def items(texts: Sequence[str]) -> list[Passage]:
    """Return passages of items that say those, the second and later ones with a predecessor."""
    return [
        passage
        for number, text in enumerate(texts)
        for passage in passages.make_passages(
            text,
            collection=PRIVATE,
            item_id=f"mem_{number}",
            before=texts[number - 1] if number else None,
        )
    ]


async def said(store: Store, *texts: str) -> None:
    """Let items say those."""
    await store.write(partial(put_passages, made=items(texts)))


async def missing(store: Store, limit: int = 100) -> list[str]:
    """Return the texts that have no vector."""
    found = await store.read(lambda c: embeddings.list_unembedded(c, MODEL, limit))
    return sorted(text for _, text, _ in found)


@pytest.mark.usefixtures("few")
class TestMissing:
    async def test_texts(self, store: Store) -> None:
        """Every text without a vector is named once, alone and with its predecessor."""
        await said(store, "a", "b", "a")
        await store.embed(a=[1, 0, 0])

        assert ["a\nb", "b", "b\na"] == await missing(store)
        assert 3 == await store.read(lambda c: embeddings.count_unembedded(c, MODEL))

    async def test_nothing(self, store: Store) -> None:
        """Where every text has its vector, nothing is missing, however much the index waits for."""
        await said(store, "a", "b")
        await store.embed(**{"a": [1, 0, 0], "b": [0, 1, 0], "a\nb": [0, 0, 1]})

        assert [] == await missing(store)
        assert 0 == await store.read(lambda c: embeddings.count_unembedded(c, MODEL))
        assert 3 == await store.read(pending.count_pending)

    async def test_some(self, store: Store) -> None:
        """That some are missing is told without looking at all that waits."""
        texts = [f"t{n}" for n in range(2 * embeddings._PROBE)]
        await said(store, "a", "b")
        few = await store.read(lambda c: embeddings.count_some(c, MODEL))
        await said(store, *texts)
        many = await store.read(lambda c: embeddings.count_some(c, MODEL))
        everything = await store.read(lambda c: embeddings.count_some(c, "other"))

        assert (3, True) == few
        assert (embeddings._PROBE, False) < many
        assert many == everything

    async def test_limit(self, store: Store) -> None:
        """No more are named than are wanted, and some while there are any."""
        await said(store, "a", "b", "c")

        assert 1 <= len(await missing(store, 2)) <= 2

    async def test_of_the_model(self, store: Store) -> None:
        """A vector of another model does not count."""
        await said(store, "a")
        await store.embed(a=[1, 0, 0])

        assert 1 == await store.read(lambda c: embeddings.count_unembedded(c, "other"))


class TestDamaged:
    @pytest.mark.parametrize("blob", [b"", b"\0" * 9, b"\xff" * 12, b"\0\0\x80\x7f" * 3, bytes(12)])
    async def test_is_made_again(self, store: Store, blob: bytes) -> None:
        """A vector that cannot be one is not given, is told as gone, and is then missing."""
        await said(store, "a", "b", "c")
        await store.embed(**{each: [1, 0, 0] for each in ("a", "b", "c", "a\nb", "b\nc")})
        digest = text_hash("b")
        sql = "UPDATE vectors SET vector = ? WHERE text_hash = ?"
        await store.write(lambda c: c.exec_driver_sql(sql, (blob, digest)).rowcount)
        given = await store.read(
            lambda c: embeddings.load_vectors(c, MODEL, [digest, text_hash("a")])
        )
        changes = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.write(partial(pending.note_applied, told=changes))

        assert [text_hash("a")] == list(given)
        assert [("mem_1", (MODEL, digest))] == [
            (each.item_id, each.damaged) for each in changes if each.damaged
        ]
        assert ["b"] == await missing(store)

    async def test_found_elsewhere(self, store: Store) -> None:
        """Whoever finds a damaged vector has it dropped for its model, and its texts told again."""
        await said(store, "a", "b")
        await store.embed(**{each: [1, 0, 0] for each in ("a", "b", "a\nb")})
        changes = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.write(partial(pending.note_applied, told=changes))
        await store.write(partial(embeddings.remake, model=MODEL, digests=[text_hash("a\nb")]))
        waiting = await store.rows("SELECT collection, item_id, op FROM index_ops")

        assert [(f"{PRIVATE}_paired", "mem_1", "put")] == waiting
        assert ["a\nb"] == await missing(store)


class TestHeld:
    async def test_by_collection(self, store: Store) -> None:
        """What a collection of the index must hold, and what may be in it, is told for each."""
        await said(store, "a", "b")
        await store.embed(**{each: [1, 0, 0] for each in ("a", "b", "a\nb")})
        changes = await store.read(lambda c: pending.list_changes(c, MODEL, 100))
        await store.write(partial(pending.note_applied, told=changes))
        await said(store, "a", "changed")
        names = (PRIVATE, f"{PRIVATE}_paired")
        held = [await store.read(partial(pending.load_holding, collection=each)) for each in names]

        assert [["mem_0"], []] == [list(each.order) for each in held]
        assert [1, 0] == [len(each.sure) for each in held]
        assert [["mem_1"], ["mem_1"]] == [sorted(each.unsure) for each in held]
