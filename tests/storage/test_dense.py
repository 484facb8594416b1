from __future__ import annotations

import random

import numpy as np
import pytest

from cortex_actors.rules.ranking import fusion
from cortex_actors.storage.search import dense as searching
from cortex_actors.storage.search.dense import Dense
from cortex_actors.storage.search.matrix import VectorMatrix
from tests.storage.searched import DEPTH, Index, ask, expected, filled
from tests.storage.vectored import MODEL, PRIVATE, VILLAGE, Vectored

#: What repeats the random walks.
SEEDS = (1, 2)


@pytest.fixture
def index(ledger: Vectored) -> Index:
    """Give an index that has been told nothing."""
    return Index(ledger)


@pytest.fixture
def dense(index: Index) -> Dense:
    """Give a search in that ledger."""
    return Dense(index, model=MODEL, matrix=VectorMatrix(MODEL, 10))


class TestExact:
    @pytest.mark.parametrize("halved", [searching._HALVED, 2], ids=["one thread", "two threads"])
    async def test_nearest(
        self,
        ledger: Vectored,
        index: Index,
        dense: Dense,
        *,
        halved: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Without an index the nearest of either list are found, and scores are the cosines."""
        monkeypatch.setattr(searching, "_HALVED", halved)
        filled(ledger)
        index.is_away = True
        vector = ledger.unit()
        answer, lists = await ask(ledger, dense, vector)
        scores = [each.score for each in answer.lists["dense_alone"]]

        assert expected(ledger, vector) == lists
        assert "exact" == answer.plan.kind
        assert sorted(scores, reverse=True) == scores
        assert -1 <= scores[-1] <= scores[0] <= 1

    async def test_ties(self, ledger: Vectored, dense: Dense) -> None:
        """Equal vectors have equal scores, and go by item."""
        filled(ledger)
        with ledger.reading.begin() as connection:
            sql = "SELECT vector FROM passages JOIN vectors USING (text_hash) WHERE text = 't7'"
            twin = np.frombuffer(connection.exec_driver_sql(sql).scalar_one(), np.float32)
        answer, _ = await ask(ledger, dense, twin)
        first, second, *_ = answer.lists["dense_alone"]

        assert ["i07", "i08"] == [first.item_id, second.item_id]
        assert first.score == second.score

    async def test_sees_the_last_commit(self, ledger: Vectored, dense: Dense) -> None:
        """What was written just before is found, and what went just before is not."""
        filled(ledger)
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        ledger.put("new", "new")
        ledger.embed("new", rows=[vector])
        _, there = await ask(ledger, dense, vector)
        ledger.drop("new", *(f"i{number:02}" for number in range(0, 60, 2)))
        _, gone = await ask(ledger, dense, vector)

        assert (PRIVATE, "new") == there["dense_alone"][0] == there["dense_paired"][0]
        assert expected(ledger, vector) == gone

    async def test_many_went(self, ledger: Vectored, dense: Dense) -> None:
        """However many of the nearest have gone, as many as are left are found."""
        filled(ledger)
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        ledger.drop(*(f"i{number:02}" for number in range(57)))
        _, lists = await ask(ledger, dense, vector)

        assert expected(ledger, vector) == lists
        assert 3 == len(lists["dense_alone"])

    async def test_nothing(self, ledger: Vectored, dense: Dense) -> None:
        """An empty ledger has no neighbours."""
        _, lists = await ask(ledger, dense, ledger.unit())

        assert {"dense_alone": [], "dense_paired": []} == lists


class TestFilter:
    async def test_allowed(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """Only what is allowed is found, and the index is not asked."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        answer, lists = await ask(ledger, dense, vector, allowed=("i03", "i04"))

        assert {"i03", "i04"} == {item for _, item in lists["dense_alone"]}
        assert {"i03", "i04"} == {item for _, item in lists["dense_paired"]}
        assert "subset" == answer.plan.kind
        assert [] == index.asked

    async def test_most(self, ledger: Vectored, dense: Dense) -> None:
        """When most rows are allowed, comparing with all gives the same answer."""
        filled(ledger)
        vector = ledger.unit()
        names = tuple(f"i{number:02}" for number in range(60))
        answer, lists = await ask(ledger, dense, vector, allowed=names)

        assert expected(ledger, vector) == lists
        assert "exact" == answer.plan.kind

    async def test_most_indexed(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """Where most rows passed a filter, the index is asked, and what it names is filtered."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        names = tuple(f"i{number:02}" for number in range(40))
        first, exact = await ask(ledger, dense, vector, allowed=names)
        second, lists = await ask(ledger, dense, vector, allowed=names)

        assert ["exact", "index"] == [first.plan.kind, second.plan.kind]
        assert exact == lists
        assert first.lists == second.lists

    async def test_collections(self, ledger: Vectored, dense: Dense) -> None:
        """Only the collections asked for are searched."""
        filled(ledger)
        ledger.put("post", "post", collection=VILLAGE)
        ledger.embed("post")
        _, lists = await ask(ledger, dense, ledger.unit(), collections=(VILLAGE,))

        assert [(VILLAGE, "post")] == lists["dense_alone"] == lists["dense_paired"]


class TestModel:
    async def test_another(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """A question of another model is compared with that model's vectors, and no others."""
        filled(ledger)
        index.told()
        ledger.embed("t1", "t2", model="other")
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        index.asked.clear()
        _, lists = await ask(ledger, dense, vector, model="other")

        assert expected(ledger, vector, "other") == lists
        assert 2 == len(lists["dense_alone"])
        assert [] == index.asked


class TestIndex:
    async def test_same_answer(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """The index's candidates give the answer that comparing with everything gives."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        first, _ = await ask(ledger, dense, vector)
        second, lists = await ask(ledger, dense, vector)

        assert ["exact", "index"] == [first.plan.kind, second.plan.kind]
        assert {PRIVATE, f"{PRIVATE}_paired"} == set(index.asked)
        assert expected(ledger, vector) == lists
        assert first.lists == second.lists

    async def test_more_than_needed(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """The index is asked for more than a list holds, and for more where a filter takes some."""
        filled(ledger)
        index.told()
        names = tuple(f"i{number:02}" for number in range(40))
        for allowed in (None, names, None, names):
            await ask(ledger, dense, ledger.unit(), allowed=allowed)
        plain, filtered = sorted(set(index.limits))

        assert DEPTH < plain < filtered

    async def test_scored_again(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """What the index names is compared again: its order and its cosines decide nothing."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        first, _ = await ask(ledger, dense, vector)
        index.is_confused = True
        second, lists = await ask(ledger, dense, vector)

        assert "index" == second.plan.kind
        assert expected(ledger, vector) == lists
        assert first.lists == second.lists

    async def test_behind(
        self, ledger: Vectored, index: Index, dense: Dense, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the index has not been told too much every row is compared."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        monkeypatch.setattr(fusion, "MOST_WAITING", 1)
        monkeypatch.setattr(searching, "MOST_WAITING", 1)
        ledger.put_all({f"n{number}": (f"n{number}", None) for number in range(2)})
        ledger.embed("n0", "n1")
        answer, lists = await ask(ledger, dense, vector)

        assert ("exact", "index behind") == (answer.plan.kind, answer.plan.way)
        assert expected(ledger, vector) == lists

    async def test_waiting(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """What the index has not been told is compared with what it names."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        ledger.put("i05", "changed")
        ledger.put("new", "new")
        ledger.embed("changed", "new")
        answer, lists = await ask(ledger, dense, vector)

        assert "index" == answer.plan.kind
        assert expected(ledger, vector) == lists

    async def test_too_few(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """An index that has lost rows is not believed."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        index._known = {name: some[:3] for name, some in index._known.items()}
        answer, lists = await ask(ledger, dense, vector)

        assert "the index names too few" in answer.plan.why
        assert expected(ledger, vector) == lists

    async def test_away(self, ledger: Vectored, index: Index, dense: Dense) -> None:
        """While the index is away every row is compared."""
        filled(ledger)
        index.told()
        vector = ledger.unit()
        await ask(ledger, dense, vector)
        index.is_away = True
        answer, lists = await ask(ledger, dense, vector)

        assert "does not answer" in answer.plan.why
        assert expected(ledger, vector) == lists


class TestRandom:
    @pytest.mark.parametrize("room", [10, 0])
    @pytest.mark.parametrize("seed", SEEDS)
    async def test_is_what_sql_says(
        self, ledger: Vectored, index: Index, seed: int, room: int
    ) -> None:
        """Whatever comes and goes, and whatever the index was told: the nearest are found."""
        chance = random.Random(seed)
        dense = Dense(index, model=MODEL, matrix=VectorMatrix(MODEL, room))
        filled(ledger, 30)
        for step in range(15):
            for _ in range(3):
                name, text = f"i{chance.randrange(40):02}", f"t{chance.randrange(99)}"
                if chance.random() < 0.7:
                    before = chance.choice([None, "t1"])
                    place = chance.choice([PRIVATE, PRIVATE, VILLAGE])
                    ledger.put(name, text, before=before, collection=place)
                    ledger.embed(text, f"t1\n{text}")
                else:
                    ledger.drop(name, collection=chance.choice([PRIVATE, VILLAGE]))
            if chance.random() < 0.3:
                index.told()
            index.is_away = chance.random() < 0.2
            vector = ledger.unit()
            _, lists = await ask(ledger, dense, vector)

            assert expected(ledger, vector) == lists, f"seed {seed}, step {step}"
