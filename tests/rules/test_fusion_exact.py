"""The whole way from answers to a result, beside a plain model of it in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.rules.ranking.fusion import (
    Listed,
    Mode,
    Seats,
    choose_seated,
    fuse_stores,
    pack_hits,
)
from tests.rules.answering import answers, cost, ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.hit import RankedHit

#: k, mode and least margin; and how many seats there are, and how many of them for each store.
WAYS = st.tuples(
    st.sampled_from([0, 1, 5, 60]),
    st.sampled_from(Mode),
    st.sampled_from([0, 0.002, 0.035, 0.4, 0.9]),
)
SEATS = st.builds(Seats, st.one_of(st.none(), st.integers(-1, 12)), st.integers(-1, 3))


class Model:
    """The document's rules, one after the other, without a thought to speed."""

    def __init__(self, lists: Sequence[Listed], k: int, mode: Mode) -> None:
        self.lists = lists
        self.order: list[tuple[str, RankedHit]] = []
        rows = []
        for number, each in enumerate(lists):
            for index, hit in enumerate(each.hits):
                share = Fraction(len(each.hits) - index, len(each.hits)) * 100
                by_rank = Fraction(each.weight) / (k + index + 1)
                score = Fraction(each.weight) * share if mode is Mode.PERCENTILE else by_rank
                second = share if mode is Mode.RRF_PCT else Fraction(0)
                rows.append((-score, -second, number, index, hit))
        rows.sort(key=lambda row: row[:4])
        self.scores = {row[4].id: -row[0] for row in rows}
        self.order = [(lists[row[2]].store, row[4]) for row in rows]

    def led(self, least: float) -> None:
        """Let the store that is surest have its first hit in front, where that is as good."""
        margins = {
            each.store: _margin([h.base_relevance for h in each.hits]) for each in self.lists
        }
        known = {name: margin for name, margin in margins.items() if margin is not None}
        best = max(known.values(), default=-1.0)
        if least <= 0 or best < least:
            return
        surest = next(name for name, margin in known.items() if margin == best)
        first = next(each.hits[0] for each in self.lists if each.store == surest)
        if self.scores[first.id] == self.scores[self.order[0][1].id]:
            self.order.sort(key=lambda pair: pair[1] is not first)

    def seated(self, seats: Seats, budget: int | None) -> list[str]:
        """Return the ids of those who have a seat: some of every store, then the best."""
        chosen: list[str] = []
        room = len(self.order) if seats.limit is None else seats.limit
        left = float("inf") if budget is None else budget
        for quota in (seats.min_per_store, len(self.order)):
            for store, hit in self.order:
                mine = sum(1 for name, one in self.order if name == store and one.id in chosen)
                free = len(chosen) < room and mine < quota and cost(hit) <= left
                if free and hit.id not in chosen:
                    chosen.append(hit.id)
                    left -= cost(hit)
        return [hit.id for _, hit in self.order if hit.id in chosen]


class TestModel:
    @settings(max_examples=60)
    @given(answers(), WAYS, SEATS, st.one_of(st.none(), st.integers(0, 40)))
    def test_same_result(
        self,
        lists: list[Listed],
        way: tuple[int, Mode, float],
        seats: Seats,
        budget: int | None,
    ) -> None:
        """Order and seats are those of exact arithmetic: no rounding makes or breaks a tie."""
        k, mode, margin = way
        model = Model(lists, k, mode)
        model.led(margin)
        fused = fuse_stores(lists, k=k, mode=mode, authority_margin=margin)
        found = (
            choose_seated(fused, seats)
            if budget is None
            else pack_hits(fused, budget, seats, price=cost)
        )

        assert [hit.id for _, hit in model.order] == ids(fused)
        assert model.seated(seats, budget) == ids(found)


def _margin(relevances: Sequence[float]) -> float | None:
    """Return how sure a store is of its first hit."""
    if relevances and relevances[0] >= 0.999:
        return relevances[0]
    return relevances[0] - relevances[1] if relevances[1:] else None
