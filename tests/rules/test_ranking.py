from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.promotion import RANK_DEFAULTS, RankWeights, compute_rank, list_parts

SHARES = st.floats(0, 1)


class TestRank:
    @pytest.mark.parametrize(
        ("expected", "confidence", "frequency", "recency", "links"),
        [
            (0.4845837972570385, 0.5, 1, 1.0, 0),
            (0.7096402817235408, 0.9, 10, 1.0, 0),
        ],
    )
    def test_vectors(
        self, expected: float, confidence: float, frequency: int, recency: float, links: int
    ) -> None:
        """The document's own examples come out to the last digit."""
        assert expected == compute_rank(
            list_parts(confidence, frequency, recency=recency, links=links)
        )

    def test_best(self) -> None:
        """Certain, often seen, fresh, well sourced and well linked is 1."""
        assert 1.0 == compute_rank(list_parts(1, 1_000, recency=1, quality=1, links=40))

    def test_nothing(self) -> None:
        """Nothing known is 0."""
        assert 0.0 == compute_rank(list_parts(0, 0, recency=0, quality=0))

    @given(SHARES, st.integers(0, 10**6), SHARES, SHARES, st.integers(0, 10**6))
    def test_is_a_share(
        self, confidence: float, frequency: int, recency: float, quality: float, links: int
    ) -> None:
        """However much is known, a rank lies between 0 and 1."""
        value = compute_rank(
            list_parts(confidence, frequency, recency=recency, quality=quality, links=links)
        )

        assert 0.0 <= value <= 1.0

    @given(SHARES, st.integers(0, 1_000))
    def test_more_never_hurts(self, confidence: float, frequency: int) -> None:
        """One more observation never lowers a rank."""
        assert compute_rank(list_parts(confidence, frequency)) <= compute_rank(
            list_parts(confidence, frequency + 1)
        )


class TestWeights:
    def test_proportions(self) -> None:
        """Only how the weights stand to each other counts: twice each is the same."""
        twice = RankWeights(0.70, 0.50, 0.40, 0.30, 0.10)

        assert pytest.approx(compute_rank(list_parts(0.6, 7))) == compute_rank(
            list_parts(0.6, 7, weights=twice)
        )

    def test_one_alone(self) -> None:
        """With one weight left a rank is that part."""
        assert 0.25 == compute_rank(
            list_parts(0.25, 90, weights=RankWeights(0.2, 0.0, 0.0, 0.0, 0.0))
        )

    def test_parts(self) -> None:
        """The points of the parts make the rank, in the order and with the weights of the whole."""
        found = list_parts(0.9, 10, recency=0.5, quality=0.7, links=5)

        assert ["confidence", "frequency", "recency", "quality", "links"] == [
            each.name for each in found
        ]
        assert pytest.approx(1.0) == math.fsum(each.weight for each in found)
        assert compute_rank(list_parts(0.9, 10, recency=0.5, quality=0.7, links=5)) == math.fsum(
            each.points for each in found
        )
        assert found[0].value == 0.9
        assert pytest.approx(RANK_DEFAULTS.confidence) == found[0].weight
