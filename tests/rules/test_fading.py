"""How knowledge fades, and comes back."""

from __future__ import annotations

import math

import pytest

from cortex_actors.clock import DAY
from cortex_actors.rules.fading import ACTIVE, DECAYING, PRUNED, days_since, next_status, recency


class TestRecency:
    def test_half_life(self) -> None:
        """What was observed once has half its recency after 90 days."""
        assert [1.0, 0.5, 0.25] == [recency(days, 1) for days in (0, 90, 180)]

    def test_often_is_slower(self) -> None:
        """What was observed often fades slower: the half-life grows with 1 + ln f."""
        often = 90 * (1 + math.log(20))

        assert pytest.approx(0.5) == recency(often, 20)
        assert recency(90, 20) > recency(90, 2) > recency(90, 1) == recency(90, 0)

    def test_ahead(self) -> None:
        """A time that lies ahead of the clock is now."""
        assert (1.0, 0.0) == (recency(-50, 1), days_since(2 * DAY, DAY))


class TestStatus:
    @pytest.mark.parametrize(
        ("before", "rank", "days", "after"),
        [
            (ACTIVE, 0.5, 1_000, ACTIVE),
            (ACTIVE, 0.14, 91, DECAYING),
            (ACTIVE, 0.14, 90, ACTIVE),
            (ACTIVE, 0.15, 1_000, ACTIVE),
            (ACTIVE, 0.09, 1_000, DECAYING),
            (DECAYING, 0.09, 181, PRUNED),
            (DECAYING, 0.09, 180, DECAYING),
            (DECAYING, 0.2, 200, ACTIVE),
            (DECAYING, 0.01, 3, ACTIVE),
            (PRUNED, 0.09, 181, PRUNED),
            (PRUNED, 0.14, 120, PRUNED),
            (PRUNED, 0.5, 120, PRUNED),
            (PRUNED, 0.01, 3, ACTIVE),
        ],
    )
    def test_next(self, before: str, rank: float, days: float, after: str) -> None:
        """One step down in a run, and back as soon as it is observed again."""
        assert after == next_status(before, rank, days=days)
