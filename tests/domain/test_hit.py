from __future__ import annotations

import math

import pytest

from cortex_actors.domain.hit import RankedHit, Recall


class TestScore:
    @pytest.mark.parametrize(
        ("given", "kept"), [(0.25, 0.25), (1.0000001, 1.0), (-0.1, 0.0), (math.inf, 1.0)]
    )
    def test_bounds(self, given: float, kept: float) -> None:
        """A hit's score lies between 0 and 1, whatever a store computed."""
        assert kept == RankedHit("m1", "text", given, "memory").score

    def test_not_a_number(self) -> None:
        """A score that is no number is refused with the hit and store it came from."""
        with pytest.raises(ValueError, match=r"m1.*memory"):
            RankedHit("m1", "text", math.nan, "memory")


class TestRecall:
    def test_nothing_yet(self) -> None:
        """A recall without an answer still says that no store failed."""
        assert ((), (), ()) == (Recall("q").hits, Recall("q").failed, Recall("q").skipped)

    def test_hashable(self) -> None:
        """Answers can be kept in a set although a store may add anything to them."""
        hit = RankedHit("m1", "text", 0.5, "memory", extra={"layer": ["a"]})

        assert 1 == len({Recall("q", (hit,)), Recall("q", (hit,))})
