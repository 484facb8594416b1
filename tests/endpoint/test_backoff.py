from __future__ import annotations

import pytest

from cortex_actors.endpoint.connection import LONGEST_REST, choose_pause, read_retry_after

#: The other form that the header may have.
DATE = "Thu, 01 Jan 2026 00:01:30 GMT"


class TestPause:
    def test_doubles(self) -> None:
        """Pauses double from half a second up to eight."""
        assert [0.5, 1.0, 2.0, 4.0, 8.0, 8.0] == [
            choose_pause(attempt, 1.0) for attempt in range(6)
        ]

    def test_jitter(self) -> None:
        """Half of a pause is left to chance, so that many clients do not come back together."""
        assert (1.0, 1.5, 2.0) == (choose_pause(2, 0.0), choose_pause(2, 0.5), choose_pause(2, 1.0))

    def test_large(self) -> None:
        """A number of attempts that would overflow is a long pause like any other."""
        assert 8.0 == choose_pause(900, 1.0)


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("0", 0.0),
            ("7", 7.0),
            (" 1.5 ", 1.5),
            ("99999999", LONGEST_REST),
        ],
    )
    def test_understood(self, header: str, seconds: float) -> None:
        """Seconds are understood, up to an hour."""
        assert seconds == read_retry_after(header)

    @pytest.mark.parametrize(
        "header", [None, "", "soon", "-1", "1e9", "٣", "NaN", "0x10", "1 2", DATE]
    )
    def test_not_understood(self, header: str | None) -> None:
        """Anything else is as if nothing had been asked for."""
        assert read_retry_after(header) is None
