"""Who has a seat: the quota, and the limit of a store's share."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.rules.ranking.fusion import Listed, Seats, choose_seated, fuse_stores
from tests.rules.answering import answers, ids, listed

MEMORY = listed("mem", "m0 m1 m2 m3 m4", weight=3)


class TestQuota:
    def test_none(self) -> None:
        """Without a quota the best have the seats."""
        fused = fuse_stores([MEMORY, listed("loci", "l1")])

        assert ["m0", "m1", "m2"] == ids(choose_seated(fused, Seats(3, min_per_store=0)))
        assert ["m0", "m1", "m2"] == ids(choose_seated(fused, Seats(3, min_per_store=-1)))

    def test_one(self) -> None:
        """With a quota of one, unless told otherwise, a light store has its seat as well."""
        fused = fuse_stores([MEMORY, listed("loci", "l1")])

        assert ["m0", "m1", "l1"] == ids(choose_seated(fused, Seats(3)))

    def test_three_stores(self) -> None:
        """As many seats as stores are one for each."""
        fused = fuse_stores(
            [listed("A", "a0 a1 a2 a3", weight=3), listed("B", "b1 b2"), listed("C", "c1 c2")]
        )

        assert ["a0", "b1", "c1"] == ids(choose_seated(fused, Seats(3)))

    def test_two(self) -> None:
        """A quota of two gives every store its two best."""
        fused = fuse_stores([MEMORY, listed("loci", "l0 l1 l2")])

        assert ["m0", "m1", "l0", "l1"] == ids(choose_seated(fused, Seats(4, min_per_store=2)))

    def test_order_stays(self) -> None:
        """Whoever has a seat sits in the order of the fused list."""
        fused = fuse_stores([listed("A", "a0"), MEMORY])

        assert ["m0", "m1", "m2", "a0"] == ids(choose_seated(fused, Seats(4)))

    def test_fewer_seats_than_stores(self) -> None:
        """Where there are fewer seats than stores, the best stores have them."""
        fused = fuse_stores([listed("A", "a0"), listed("B", "b0", weight=2), listed("C", "c0")])

        assert ["b0", "a0"] == ids(choose_seated(fused, Seats(2)))

    @pytest.mark.parametrize("limit", [0, -1])
    def test_no_seats(self, limit: int) -> None:
        """No seats, or fewer than none, are an empty result."""
        assert [] == choose_seated(fuse_stores([MEMORY]), Seats(limit))

    @pytest.mark.parametrize("limit", [5, 6, None])
    def test_enough(self, limit: int | None) -> None:
        """Where there are seats for all, everybody sits as before."""
        assert ["m0", "m1", "m2", "m3", "m4"] == ids(
            choose_seated(fuse_stores([MEMORY]), Seats(limit))
        )


class TestShare:
    def test_off(self) -> None:
        """A share of 1 is no limit."""
        assert 3 == len(choose_seated(fuse_stores([MEMORY]), Seats(3, max_share=1.0)))

    def test_limit(self) -> None:
        """A store has no more than its share of the seats, and others have what it leaves."""
        fused = fuse_stores([MEMORY, listed("loci", "l0 l1 l2")])

        assert ["m0", "m1", "l0", "l1"] == ids(choose_seated(fused, Seats(4, max_share=0.5)))

    def test_seats_left(self) -> None:
        """Where nobody else knows anything, seats stay empty: a store cannot fill a result."""
        assert ["m0", "m1", "m2"] == ids(
            choose_seated(fuse_stores([MEMORY]), Seats(10, max_share=0.3))
        )

    def test_at_least_one(self) -> None:
        """The smallest share is one seat."""
        assert ["m0"] == ids(choose_seated(fuse_stores([MEMORY]), Seats(3, max_share=0.01)))

    def test_above_quota(self) -> None:
        """The limit holds for the quota, too."""
        fused = fuse_stores([MEMORY, listed("loci", "l0 l1 l2")])
        found = choose_seated(fused, Seats(10, min_per_store=4, max_share=0.2))

        assert ["m0", "m1", "l0", "l1"] == ids(found)

    def test_rounding(self) -> None:
        """A share is reckoned as people do: .29 of 100 are 29."""
        many = listed("A", " ".join(f"a{n}" for n in range(40)))

        assert 29 == len(choose_seated(fuse_stores([many]), Seats(100, max_share=0.29)))

    def test_not_for_all(self) -> None:
        """It is no limit for a store that is not capped: what is known here."""
        here = listed("local", "x0 x1 x2 x3", capped=False)
        found = choose_seated(fuse_stores([here, listed("A", "a0 a1 a2")]), Seats(5, max_share=0.2))

        assert ["x0", "a0", "x1", "x2", "x3"] == ids(found)


class TestProperties:
    @settings(max_examples=50)
    @given(answers(), st.integers(-1, 20), st.integers(-1, 4))
    def test_quota(self, lists: list[Listed], limit: int, least: int) -> None:
        """No seat stays empty, the order stays, and every store has its seats where there are."""
        fused = fuse_stores(lists)
        found = choose_seated(fused, Seats(limit, least))
        has = Counter(one.store for one in found)

        assert min(max(limit, 0), len(fused)) == len(found)
        assert [one for one in fused if one in found] == found
        due = {each.store: min(max(least, 0), len(each.hits)) for each in lists}
        if sum(due.values()) <= limit:
            assert all(has[name] >= seats for name, seats in due.items())

    @settings(max_examples=50)
    @given(answers(), st.integers(1, 20), st.integers(0, 4), st.floats(0.05, 0.99))
    def test_share(self, lists: list[Listed], limit: int, least: int, share: float) -> None:
        """No store has more than its share, or than one seat."""
        found = choose_seated(fuse_stores(lists), Seats(limit, least, share))

        most = max(int(limit * share + 1e-9), 1)
        assert all(seats <= most for seats in Counter(one.store for one in found).values())

    @settings(max_examples=50)
    @given(answers(), st.integers(1, 20))
    def test_best_of_each(self, lists: list[Listed], limit: int) -> None:
        """Of each store the best have the seats: nobody sits before a better one of its own."""
        found = choose_seated(fuse_stores(lists), Seats(limit))

        for each in lists:
            ranks = [one.rank for one in found if one.store == each.store]
            assert list(range(1, len(ranks) + 1)) == sorted(ranks)
