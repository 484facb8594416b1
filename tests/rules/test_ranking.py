from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.ranking import WEIGHTS, rank

SHARES = st.floats(0, 1)


class TestRank:
    def test_weights(self) -> None:
        """The parts make one whole."""
        assert pytest.approx(1.0) == sum(WEIGHTS)

    def test_best(self) -> None:
        """Certain, often seen, fresh, well sourced and well linked is 1."""
        assert pytest.approx(1.0) == rank(1, 150, recency=1, quality=1, links=20)

    def test_nothing(self) -> None:
        """Nothing known is 0."""
        assert 0.0 == rank(0, 0, recency=0, quality=0)

    def test_document(self) -> None:
        """Confidence 0.8 and 11 observations give the document's formula."""
        expected = 0.35 * 0.8 + 0.25 * 2.4849066 / 5.0106353 + 0.20 + 0.15 * 0.5

        assert pytest.approx(expected) == rank(0.8, 11)

    @given(SHARES, st.integers(0, 10**6), SHARES, SHARES, st.integers(0, 10**6))
    def test_is_a_share(
        self, confidence: float, frequency: int, recency: float, quality: float, links: int
    ) -> None:
        """However much is known, a rank lies between 0 and 1."""
        value = rank(confidence, frequency, recency=recency, quality=quality, links=links)

        assert 0.0 <= value <= 1.0 + 1e-12

    @given(SHARES, st.integers(0, 1_000))
    def test_more_never_hurts(self, confidence: float, frequency: int) -> None:
        """One more observation never lowers a rank."""
        assert rank(confidence, frequency) <= rank(confidence, frequency + 1)
