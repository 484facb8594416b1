"""How knowledge fades, and comes back."""

from __future__ import annotations

import math

import pytest

from cortex_actors.clock import DAY
from cortex_actors.rules.decay import (
    ACTIVE,
    DECAYING,
    PRUNED,
    STRIKES,
    DecayStanding,
    count_days,
    decay_standing,
    rank_standing,
    recency,
)


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
        assert (1.0, 0) == (recency(-50, 1), count_days(2 * DAY, DAY))

    def test_whole_days(self) -> None:
        """Nothing moves within a day."""
        assert [0, 0, 1, 1] == [count_days(0, at) for at in (1, DAY - 1, DAY, 2 * DAY - 1)]


class TestStatus:
    @pytest.mark.parametrize(
        ("before", "rank", "days", "after"),
        [
            (ACTIVE, 0.5, 1_000, ACTIVE),
            (ACTIVE, 0.14, 91, DECAYING),
            (ACTIVE, 0.14, 90, ACTIVE),
            (ACTIVE, 0.15, 1_000, ACTIVE),
            (ACTIVE, 0.09, 1_000, DECAYING),
            (DECAYING, 0.09, 181, DECAYING),
            (DECAYING, 0.09, 180, DECAYING),
            (DECAYING, 0.2, 200, ACTIVE),
            (DECAYING, 0.01, 3, ACTIVE),
            (PRUNED, 0.09, 181, PRUNED),
            (PRUNED, 0.14, 120, PRUNED),
            (PRUNED, 0.5, 120, PRUNED),
            (PRUNED, 0.01, 3, ACTIVE),
        ],
    )
    def test_one_run(self, before: str, rank: float, days: float, after: str) -> None:
        """One step down in a run, and back as soon as it is observed again."""
        assert after == decay_standing(DecayStanding(before), rank, days=days).status

    def test_seven_runs(self) -> None:
        """What nobody believes is pruned by the seventh run in a row that finds it so."""
        now, seen = DecayStanding(), []
        for _ in range(STRIKES + 1):
            now = decay_standing(now, 0.05, days=200)
            seen.append(now.status)

        assert [DECAYING] * 6 + [PRUNED] * 2 == seen

    def test_one_run_between(self) -> None:
        """One run that finds it worth keeping begins the count anew."""
        now = DecayStanding(DECAYING, STRIKES - 1)
        now = decay_standing(now, 0.05, days=10)

        assert DecayStanding(ACTIVE, 0) == now
        assert DecayStanding(DECAYING, 1) == decay_standing(now, 0.05, days=200)


class TestRanked:
    def test_no_strike(self) -> None:
        """Counting a rank anew is no run of decay, however often it happens."""
        now = DecayStanding(DECAYING, 3)
        for _ in range(20):
            now = rank_standing(now, 0.05, days=200)

        assert DecayStanding(DECAYING, 3) == now

    def test_back(self) -> None:
        """New evidence brings it back at once, and takes the strikes with it."""
        assert DecayStanding() == rank_standing(DecayStanding(DECAYING, 5), 0.05, days=0)
        assert DecayStanding() == rank_standing(DecayStanding(PRUNED, STRIKES), 0.05, days=0)
        assert DecayStanding(PRUNED, STRIKES) == rank_standing(
            DecayStanding(PRUNED, STRIKES), 0.9, days=91
        )
