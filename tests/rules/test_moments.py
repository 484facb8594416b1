"""Moments: microseconds, dates and spans mean one moment each, and nothing else means any."""

from __future__ import annotations

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.text.terms import LATEST, parse_moment

SECOND = 1_000_000
HOUR = 3_600 * SECOND

#: 2026-03-01, midnight in UTC.
MARCH = 1_772_323_200 * SECOND

NOW = MARCH + 12 * HOUR


class TestMoment:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (0, 0),
            (NOW, NOW),
            (str(NOW), NOW),
            ("2026-03-01", MARCH),
            ("20260301", MARCH),
            ("2026-03-01T09:30:00Z", MARCH + 9 * HOUR + HOUR // 2),
            ("2026-03-01 09:30", MARCH + 9 * HOUR + HOUR // 2),
            ("2026-03-01T09:30+02:00", MARCH + 7 * HOUR + HOUR // 2),
            ("2026-03-01T00:00:00.000001Z", MARCH + 1),
            (" 2h ago ", NOW - 2 * HOUR),
            ("2h", NOW - 2 * HOUR),
            ("1.5 Hours ago", NOW - HOUR - HOUR // 2),
            ("90 min", NOW - HOUR - HOUR // 2),
            ("45s", NOW - 45 * SECOND),
            ("7d", NOW - 7 * 24 * HOUR),
            ("2 weeks ago", NOW - 14 * 24 * HOUR),
            (LATEST, LATEST),
        ],
    )
    def test_understood(self, given: object, expected: int) -> None:
        """A number is microseconds, a date its first moment in UTC, a span counts back from now."""
        assert expected == parse_moment(given, NOW, name="since")

    @pytest.mark.parametrize(
        "given",
        ["", "now", "yesterday", "-3d", "7 parsecs", "2026-13-01", "09:30", 3.5, True, None, []],
    )
    def test_not_understood(self, given: object) -> None:
        """Anything else is refused, with the name of what was wrong and the forms there are."""
        with pytest.raises(BadInput, match=r'since .* is no moment: give a date .*"2h ago"'):
            parse_moment(given, NOW, name="since")

    @pytest.mark.parametrize("given", [-1, 2**70, "999999999w", "99999999999999999999"])
    def test_out_of_range(self, given: object) -> None:
        """What the ledger could not hold is refused, too."""
        with pytest.raises(BadInput, match="until .* before 1970 or after 9999"):
            parse_moment(given, NOW, name="until")
