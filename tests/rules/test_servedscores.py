"""What is served to other programs has the measure of the stores that they know."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.ranking.fusion import distance, order_scores, weigh_fact, weigh_memory


class TestDistance:
    @pytest.mark.parametrize(
        ("cosine", "expected"), [(1.0, 0.0), (0.25, 0.75), (-1.0, 2.0), (1.0000001, 0.0)]
    )
    def test_cosine(self, cosine: float, expected: float) -> None:
        """How far a text is follows from its cosine, and is never below nothing."""
        assert expected == distance(cosine)

    def test_unmeasured(self) -> None:
        """What was not measured counts as having nothing in common."""
        assert 1.0 == distance(None)


class TestScores:
    @pytest.mark.parametrize(("tier", "expected"), [("short", 0.5), ("near", 0.45), ("long", 0.4)])
    def test_tiers(self, tier: str, expected: float) -> None:
        """A tier has SerenMemory's weight."""
        assert pytest.approx(expected) == weigh_memory(1.0, tier)

    def test_evidence(self) -> None:
        """What was distilled of many counts more, in the long tier alone."""
        assert pytest.approx(0.8 * (1 + math.log(10) * 0.15)) == weigh_memory(
            0, "long", evidence=10
        )
        assert 1.0 == weigh_memory(0, "short", evidence=10)

    def test_exact(self) -> None:
        """Nothing but an exact key counts as one."""
        assert 0.99 == weigh_fact(0.0)
        assert 0.5 == weigh_fact(1.0)


class TestDescending:
    def test_raised(self) -> None:
        """What stands before something counts at least as much."""
        assert [0.7, 0.7, 0.7, 0.2] == order_scores([0.5, 0.1, 0.7, 0.2])

    @given(st.lists(st.floats(0, 2)))
    def test_always(self, scores: list[float]) -> None:
        """Scores never rise down the list, and none is lowered."""
        found = order_scores(scores)

        assert sorted(found, reverse=True) == found
        assert all(made >= round(was, 6) for made, was in zip(found, scores, strict=True))
