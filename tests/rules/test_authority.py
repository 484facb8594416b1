"""Who leads where several first hits are worth the same."""

from __future__ import annotations

import pytest

from cortex_actors.rules.ranking.fusion import MARGIN, find_surest, fuse_stores, margin
from tests.rules.answering import ids, listed


class TestMargin:
    @pytest.mark.parametrize(
        ("expected", "relevances"),
        [
            (None, []),
            (None, [0.45]),
            (None, [0.998]),
            (0.999, [0.999]),
            (1.0, [1.0, 1.0]),
            (0.25, [0.75, 0.5]),
            (-0.25, [0.5, 0.75, 0.1]),
        ],
    )
    def test_vectors(self, expected: float | None, relevances: list[float]) -> None:
        """It is how far the first stands off from the second; all for an exact match; else none."""
        assert expected == margin(relevances)


class TestSurest:
    def test_largest(self) -> None:
        """The store with the largest margin is it, if that reaches the least one."""
        stores = [("a", [0.6, 0.55]), ("b", [0.75, 0.5]), ("c", [0.3])]

        assert "b" == find_surest(stores, 0.035)
        assert "b" == find_surest(stores, 0.25)
        assert None is find_surest(stores, 0.26)

    def test_first_of_equals(self) -> None:
        """Of equal margins the first in the configured order is it, at the least margin as well."""
        stores = [("a", [0.75, 0.5]), ("b", [0.5, 0.25])]

        assert "a" == find_surest(stores, 0.035)
        assert "a" == find_surest(stores, 0.25)
        assert "b" == find_surest(reversed(stores), 0.25)

    @pytest.mark.parametrize("least", [0.0, -1.0])
    def test_off(self, least: float) -> None:
        """A least margin of 0 or less asks nobody."""
        assert None is find_surest([("a", [1.0])], least)


class TestLead:
    def test_default(self) -> None:
        """Unless told otherwise it counts from .035, as the document has it."""
        sure, hardly = listed("B", "b1 b2", 0.6, 0.55), listed("B", "b1 b2", 0.6, 0.575)

        assert 0.035 == MARGIN
        assert ["b1", "a1", "a2", "b2"] == ids(fuse_stores([listed("A", "a1 a2"), sure]))
        assert ["a1", "b1", "a2", "b2"] == ids(fuse_stores([listed("A", "a1 a2"), hardly]))

    def test_off(self) -> None:
        """A margin of 0 is the plain order."""
        lists = [listed("A", "a1 a2"), listed("B", "b1 b2", 1.0, 0.1)]

        assert ["a1", "b1", "a2", "b2"] == ids(fuse_stores(lists, authority_margin=0))

    def test_lone_exact_hit(self) -> None:
        """A lone exact match leads."""
        lists = [listed("A", "a1 a2", 0.6, 0.5), listed("B", "b1", 1.0)]

        assert "b1" == ids(fuse_stores(lists))[0]

    def test_lone_hit(self) -> None:
        """A lone hit that is none does not, because there is nothing it stands off from."""
        lists = [listed("A", "a1 a2"), listed("B", "b1", 0.45)]

        assert "a1" == ids(fuse_stores(lists))[0]

    def test_exact_beats_gap(self) -> None:
        """An exact match beats the widest gap."""
        lists = [listed("A", "a1 a2", 0.8, 0.1), listed("B", "b1", 1.0)]

        assert ["b1", "a1"] == ids(fuse_stores(lists))[:2]

    def test_weight_beats_it(self) -> None:
        """A heavier store is not overruled, however sure another one is."""
        lists = [listed("A", "a1 a2", weight=1.01), listed("B", "b1", 1.0)]

        assert "a1" == ids(fuse_stores(lists))[0]

    @pytest.mark.parametrize(("lead", "less"), [("b1", 1e-11), ("a1", 1e-6)])
    def test_what_is_equal(self, lead: str, less: float) -> None:
        """Scores are equal that are no further apart than a billionth."""
        lists = [listed("A", "a1 a2"), listed("B", "b1", 1.0, weight=1 - less)]

        assert lead == ids(fuse_stores(lists))[0]

    def test_only_the_surest(self) -> None:
        """Where the surest store is too light, no other one takes its turn."""
        lists = [
            listed("A", "a1 a2"),
            listed("B", "b1", 1.0, weight=0.5),
            listed("C", "c1 c2", 0.9, 0.2),
        ]

        assert ["a1", "c1"] == ids(fuse_stores(lists))[:2]

    @pytest.mark.parametrize("mode", ["percentile", "rrf_pct"])
    def test_every_mode(self, mode: str) -> None:
        """It is the same in every mode: first places are worth the same in each."""
        lists = [listed("A", "a1 a2 a3"), listed("B", "b1 b2", 0.9, 0.2)]

        assert "b1" == ids(fuse_stores(lists, mode=mode))[0]

    def test_above_the_floor(self) -> None:
        """Only what the floor left counts: a hit becomes a lone one by it, and says nothing."""
        lists = [listed("A", "a1 a2"), listed("B", "b1 b2", 0.9, 0.2, floor=0.3)]

        assert "a1" == ids(fuse_stores(lists))[0]

    def test_rest_stays(self) -> None:
        """Whoever is overtaken keeps its place among the others."""
        lists = [listed("A", "a1 a2"), listed("B", "b1 b2"), listed("C", "c1", 1.0)]

        assert ["c1", "a1", "b1", "a2", "b2"] == ids(fuse_stores(lists))
