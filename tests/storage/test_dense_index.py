from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.rules import planning
from cortex_actors.storage.matrix import VectorMatrix
from cortex_actors.storage.search.dense import Dense
from tests.storage.searched import Index, ask, expected, filled
from tests.storage.vectored import MODEL, PRIVATE, VILLAGE, Vectored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What repeats the random walks.
SEEDS = (1, 2)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Vectored]:
    """Give an empty ledger."""
    ledger = Vectored(tmp_path)
    yield ledger
    ledger.close()


@pytest.fixture
def index(ledger: Vectored, monkeypatch: pytest.MonkeyPatch) -> Index:
    """Give an index that is worth asking from ten rows on."""
    monkeypatch.setattr(planning, "INDEX_FROM", 10)
    return Index(ledger)


@pytest.fixture
def dense(index: Index) -> Dense:
    """Give a search in that ledger."""
    return Dense(index, model=MODEL, matrix=VectorMatrix(MODEL, 10))


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
