"""How a store has been doing: the numbers, and what they are called."""

from __future__ import annotations

import pytest

from cortex_actors.federation.store import SHOWN, StoreHealth, StoreStanding


def lived(*answers: bool) -> StoreHealth:
    """Return a store that answered (or not) in that order."""
    health = StoreHealth("facts")
    for good in answers:
        health = health.note_ask(0.1, "" if good else "away")
    return health


class TestStanding:
    @pytest.mark.parametrize(
        ("answers", "standing"),
        [
            ((), StoreStanding.UNKNOWN),
            ((True,), StoreStanding.HEALTHY),
            ((False, *[True] * 9), StoreStanding.HEALTHY),
            ((False, *[True] * 8), StoreStanding.DEGRADED),
            ((*[True] * 20, False), StoreStanding.DEGRADED),
            ((*[True] * 20, False, False), StoreStanding.DEGRADED),
            ((*[True] * 20, False, False, False), StoreStanding.UNHEALTHY),
            ((False, False, False, *[True] * 7), StoreStanding.DEGRADED),
            ((False, False, False, *[True] * 6), StoreStanding.UNHEALTHY),
            ((False,), StoreStanding.UNHEALTHY),
        ],
    )
    def test_table(self, answers: tuple[bool, ...], standing: StoreStanding) -> None:
        """A share of 0.9 without a failure at the end is healthy, 0.7 with less than 3 degraded."""
        assert standing is lived(*answers).standing


class TestTimes:
    def test_mean(self) -> None:
        """The mean begins with the first answer, and the newest counts a fifth of it."""
        health = StoreHealth("facts").note_ask(1.0, "")
        assert 1.0 == health.mean_s

        health = health.note_ask(2.0, "")
        assert pytest.approx(1.2) == health.mean_s
        assert (2.0, 2.0) == (health.last_s, health.longest_s)

        health = health.note_ask(0.7, "")
        assert pytest.approx(1.1) == health.mean_s
        assert (0.7, 2.0) == (health.last_s, health.longest_s)

    def test_failures(self) -> None:
        """How long a store did not answer is our own patience, and no time of its."""
        health = StoreHealth("facts").note_ask(0.1, "").note_ask(5.0, "timeout after 5.00 s")

        assert (0.1, 0.1, 0.1) == (health.mean_s, health.last_s, health.longest_s)

    def test_moments(self) -> None:
        """When a store was asked last, and when it answered, is known from the first ask on."""
        health = StoreHealth("facts")
        assert (None, None) == (health.asked_at, health.answered_at)

        health = health.note_ask(1.0, "", at=5).note_ask(1.0, "away", at=9)
        assert (9, 5) == (health.asked_at, health.answered_at)


class TestTold:
    def test_reason(self) -> None:
        """The last error is kept, cut, and outlives the answers after it."""
        health = StoreHealth("facts").note_ask(0.1, "x" * 500).note_ask(0.1, "")

        assert "" == health.reason
        assert "x" * SHOWN == health.last_error

    def test_fields(self) -> None:
        """What clients get is counts, a share, and milliseconds."""
        assert {
            "name": "facts",
            "status": "unhealthy",
            "up": False,
            "total": 3,
            "succeeded": 2,
            "failed": 1,
            "success_rate": 0.6667,
            "latency_ms": 100.0,
            "last_latency_ms": 100.0,
            "max_latency_ms": 100.0,
            "last_error": "away",
            "asked_at": None,
            "answered_at": None,
            "consecutive_failures": 1,
        } == lived(True, True, False).as_answer()
