"""A result within a budget of tokens."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.rules.ranking.fusion import (
    Listed,
    Seats,
    choose_seated,
    compute_asks,
    fuse_stores,
    pack_beside,
    pack_hits,
)
from tests.rules.answering import answers, cost, hit, ids

if TYPE_CHECKING:
    from cortex_actors.rules.ranking.fusion import FusedHit


def priced(store: str, *prices: int, capped: bool = True) -> Listed:
    """Return a store's hits, named after it and counted from 0, that cost so many tokens each."""
    hits = [
        hit(f"{store}{n}", store=store, text="x" * 4 * (price - 1))
        for n, price in enumerate(prices)
    ]
    return Listed(store, hits, capped=capped)


def spent(found: list[FusedHit]) -> int:
    """Return what hits cost together."""
    return sum(cost(one.hit) for one in found)


class TestPacked:
    def test_all(self) -> None:
        """A budget that is large enough changes nothing."""
        fused = fuse_stores([priced("a", 11, 11), priced("b", 11)])

        assert fused == pack_hits(fused, 33, Seats(), price=cost)

    def test_too_dear(self) -> None:
        """A hit that is too dear is passed over, and the search for others goes on."""
        fused = fuse_stores([priced("a", 101, 11), priced("b", 11, 11)])

        assert ["b0", "a1", "b1"] == ids(pack_hits(fused, 33, Seats(), price=cost))

    def test_every_store(self) -> None:
        """Every store has its seats before the rest of the budget goes to the best."""
        heavy = replace(priced("a", 11, 11, 11, 11), weight=3)
        fused = fuse_stores([heavy, priced("b", 11)])

        assert ["a0", "a1", "b0"] == ids(pack_hits(fused, 33, Seats(), price=cost))
        assert ["a0", "a1", "a2"] == ids(pack_hits(fused, 33, Seats(min_per_store=0), price=cost))

    def test_rows(self) -> None:
        """A limit beside the budget is one of the hits."""
        fused = fuse_stores([priced("a", 11, 11), priced("b", 11, 11)])

        assert ["a0", "b0"] == ids(pack_hits(fused, 400, Seats(2), price=cost))

    @pytest.mark.parametrize("budget", [-5, 0, 1])
    def test_nothing(self, budget: int) -> None:
        """No budget, and one that no hit fits into, is an empty result."""
        assert [] == pack_hits(fuse_stores([priced("a", 2, 2)]), budget, Seats(), price=cost)

    def test_share(self) -> None:
        """A limit of a store's share is one of the budget, but for its first hit."""
        fused = fuse_stores([priced("a", 30, 10, 10), priced("b", 10, 10, 10, 10, 10)])
        found = pack_hits(fused, 100, Seats(max_share=0.25), price=cost)

        assert ["a0", "b0", "b1"] == ids(found)

    def test_share_of_local(self) -> None:
        """It is none for a store that is not capped."""
        fused = fuse_stores([priced("a", 10, 10, 10, capped=False), priced("b", 10, 10, 10)])

        assert ["a0", "b0", "a1", "a2"] == ids(
            pack_hits(fused, 100, Seats(max_share=0.1), price=cost)
        )


class TestBeside:
    def test_what_is_left(self) -> None:
        """What was found beside a result has what is left, in its order, without the dear ones."""
        hits = priced("a", 10, 30, 10, 10).hits

        assert ["a0", "a2"] == [each.id for each in pack_beside(hits, 25, price=cost)]
        assert [] == pack_beside(hits, 0, price=cost)


class TestAsks:
    @pytest.mark.parametrize(
        ("expected", "limit", "multiplier", "budget"),
        [
            (20, 10, 2, None),
            (10, 10, 1, None),
            (10, 10, 0, None),
            (20, 10, 2, 320),
            (21, 10, 2, 321),
            (63, 10, 2, 1_000),
        ],
    )
    def test_how_many(self, expected: int, limit: int, multiplier: int, budget: int | None) -> None:
        """A store is asked for some times what is wanted, and for what could fill the budget."""
        assert expected == compute_asks(limit, multiplier=multiplier, budget=budget)


def pages() -> st.SearchStrategy[list[FusedHit]]:
    """Draw a fused list of hits of many prices."""
    lengths = st.lists(st.integers(0, 120), min_size=1, max_size=6)
    return st.tuples(answers(), lengths).map(_priced)


def _priced(drawn: tuple[list[Listed], list[int]]) -> list[FusedHit]:
    """Return the fused list of some answers, with texts of those lengths in turn."""
    lists, lengths = drawn
    texts = itertools.cycle("x" * length for length in lengths)
    return fuse_stores(
        [replace(each, hits=[replace(h, text=next(texts)) for h in each.hits]) for each in lists]
    )


class TestProperties:
    @settings(max_examples=50)
    @given(pages(), st.integers(-3, 300), st.integers(0, 3))
    def test_within_budget(self, fused: list[FusedHit], budget: int, least: int) -> None:
        """A page never costs more than its budget, keeps the order, and has no room for more."""
        found = pack_hits(fused, budget, Seats(min_per_store=least), price=cost)
        left = budget - spent(found)

        assert not found or left >= 0
        assert [one for one in fused if one in found] == found
        assert all(cost(one.hit) > left for one in fused if one not in found)

    @settings(max_examples=50)
    @given(pages(), st.integers(1, 20), st.integers(0, 3))
    def test_rich(self, fused: list[FusedHit], limit: int, least: int) -> None:
        """With a budget for everything, the seats are those without one."""
        seats = Seats(limit, least)

        assert choose_seated(fused, seats) == pack_hits(fused, spent(fused), seats, price=cost)
