"""One question to every kind of store there is, each of them really running."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.hit import RankedHit
from cortex_actors.text.summary import compute_price
from tests.federation.everything import ADDED, KNOWN, Everything, everything

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.slow

#: What all of them know something about.
QUESTION = "deploy monday"

#: More hits than all stores have together.
ALL = 100


@pytest.fixture(scope="module")
def all_() -> Iterator[Everything]:
    """Give the daemon and every store, started once."""
    with everything() as found:
        yield found


@pytest.fixture
def _plain(all_: Everything) -> Iterator[None]:
    """Have places alone decide, as long as a test runs."""
    all_.client.call("configure", changes={"authority_margin": 0})
    yield
    all_.client.call("configure", changes={"authority_margin": 0.035})


class TestEverybody:
    def test_all_answer(self, all_: Everything) -> None:
        """Every store there is answers one question, and none is left out."""
        found = all_.recall(QUESTION, limit=ALL)

        assert all_.names == found["stores_searched"]
        assert ([], []) == (found["failed"], found["skipped"])
        assert set(all_.names) == {_store(hit) for hit in found["hits"]}

    def test_own_order(self, all_: Everything) -> None:
        """What a store knows comes in the order in which the store gives it."""
        for name, case in all_.cases.items():
            hits = all_.recall(case.question, limit=ALL)["hits"]
            own = [hit for hit in hits if name == hit["store"]]

            assert list(range(1, len(own) + 1)) == [hit["store_rank"] for hit in own]
            assert list(case.ids) == [hit["id"] for hit in own][: len(case.ids)]

    def test_marked(self, all_: Everything) -> None:
        """What another program said is marked as such, and what is known here is not."""
        hits = all_.recall(QUESTION, limit=ALL)["hits"]

        assert set(KNOWN) >= {hit["text"] for hit in hits if "local" == hit["trust"]}
        assert set(all_.cases) == {hit["store"] for hit in hits if "remote" == hit["trust"]}

    def test_private_stays(self, all_: Everything) -> None:
        """What another daemon keeps in its private realm is no answer, not even to its owner."""
        found = all_.recall("nobody may know", limit=ALL, stores=["cortex"])

        assert found["hits"]
        assert not [hit for hit in found["hits"] if "nobody may know" in hit["text"]]

    @pytest.mark.usefixtures("_plain")
    @pytest.mark.parametrize("limit", [3, 10])
    def test_by_place_alone(self, all_: Everything, limit: int) -> None:
        """The answer is what the formula makes of what each store says by itself."""
        own = {name: all_.alone(name, QUESTION, 2 * limit) for name in all_.names}
        expected = _fused([[hit["id"] for hit in hits] for hits in own.values()], limit)
        found = all_.recall(QUESTION, limit=limit)["hits"]

        assert [id_ for id_, _ in expected] == [hit["id"] for hit in found]
        assert [worth for _, worth in expected] == pytest.approx([h["fused_score"] for h in found])

    @pytest.mark.parametrize("budget", [120, 300])
    def test_budget(self, all_: Everything, budget: int) -> None:
        """A budget is kept to, whoever answers; a store whose first hit it pays for is in it."""
        due = _due(all_.recall(QUESTION, limit=ALL)["hits"], budget)
        found = all_.recall(QUESTION, budget_tokens=budget)

        assert budget == found["budget_tokens"]
        assert len(found["text"]) / 4 <= found["tokens"] <= budget
        assert 1 < len(due)
        assert due <= {_store(hit) for hit in found["hits"]}

    def test_pinged(self, all_: Everything) -> None:
        """Every store says that it is there, and counts as healthy by what it answered."""
        all_.recall(QUESTION)
        pinged = all_.client.call("ping_store")["stores"]
        health = {each["name"]: each for each in all_.client.call("store_health")["stores"]}

        assert set(all_.names) == {each["name"] for each in pinged if each["ok"]}
        assert {"healthy"} == {health[name]["status"] for name in all_.cases}


class TestOneMore:
    def test_gone(self, all_: Everything) -> None:
        """A store that is gone is told apart from one that knows nothing, and costs only itself."""
        before = [hit["id"] for hit in all_.recall(QUESTION)["hits"]]
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            port = server.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        all_.client.call("add_store", name="gone", type="seren_loci", url=url)
        try:
            found = all_.recall(QUESTION)
        finally:
            all_.client.call("remove_store", name="gone")

        assert ["gone"] == [each["store"] for each in found["failed"]]
        assert all_.names == found["stores_searched"]
        assert before == [hit["id"] for hit in found["hits"]]
        assert [] == all_.recall(QUESTION)["failed"]

    def test_heavier(self, all_: Everything) -> None:
        """A store that is made heavier leads from the next question on."""
        all_.client.call("tune_store", name=ADDED, weight=50)
        try:
            found = all_.recall(QUESTION)["hits"]
        finally:
            all_.client.call("tune_store", name=ADDED, weight=1)

        assert ADDED == found[0]["store"]
        assert 50 / 61 == pytest.approx(found[0]["fused_score"])


def _price(hit: dict[str, Any]) -> int:
    """Return what a hit costs: the lines in which it is printed."""
    return compute_price(RankedHit(**hit))


def _due(hits: Sequence[dict[str, Any]], budget: int) -> set[str]:
    """Return the stores whose first hits a budget pays for, the best of them first."""
    first: dict[str, int] = {}
    for hit in hits:
        first.setdefault(_store(hit), _price(hit))
    due = set()
    for store, due_price in first.items():
        if due_price <= budget:
            budget -= due_price
            due.add(store)
    return due


def _store(hit: dict[str, Any]) -> str:
    """Return the store that a hit counts for: the collections here are one."""
    return "local" if "local" == hit["trust"] else str(hit["store"])


def _fused(lists: Sequence[Sequence[str]], limit: int) -> list[tuple[str, float]]:
    """Return the document's fusion, written down plainly: a seat for each list, then the best."""
    order = sorted(
        (
            (rank, number, id_)
            for number, ids in enumerate(lists)
            for rank, id_ in enumerate(ids, start=1)
        )
    )
    firsts = [each for each in order if 1 == each[0]][:limit]
    rest = [each for each in order if 1 < each[0]][: limit - len(firsts)]
    return [(id_, 1 / (60 + rank)) for rank, _, id_ in sorted([*firsts, *rest])]
