"""Which backups are kept."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.clock import DAY
from cortex_actors.rules.decay import BACKUP_HOUR, choose_backups

#: A moment in 2026, at noon.
NOON = 20_454 * DAY + 12 * BACKUP_HOUR

times = st.lists(st.integers(NOON - 40 * DAY, NOON + 3 * DAY), max_size=80)
counts = st.integers(0, 30)


class TestKept:
    def test_newest_of_each(self) -> None:
        """Of a month of hourly backups, a day of hours and a week of days are left."""
        hours = [NOON - each * BACKUP_HOUR for each in range(30 * 24)]

        left = choose_backups(hours, NOON)

        assert set(hours[:24]) <= left
        assert 24 + 5 == len(left)
        assert NOON - 13 * BACKUP_HOUR - 5 * DAY in left  # the last hour of the seventh day

    def test_hours_without(self) -> None:
        """Hours in which nothing was written do not count, so a machine that rests loses none."""
        rare = [NOON - each * 5 * BACKUP_HOUR for each in range(24)]

        assert frozenset(rare) == choose_backups(rare, NOON)

    def test_ahead(self) -> None:
        """A backup that lies ahead, because the clock jumped, is nobody's to delete."""
        assert frozenset({NOON, NOON + DAY}) == choose_backups(
            [NOON, NOON + DAY], NOON, hourly=1, daily=0
        )

    def test_nothing(self) -> None:
        """Of nothing, nothing is kept."""
        assert frozenset() == choose_backups([], NOON)

    @settings(max_examples=50)
    @given(times, counts, counts)
    def test_promises(self, given: list[int], hourly: int, daily: int) -> None:
        """Whatever lies there, the newest stays, what is ahead stays, and the rest is bounded."""
        left = choose_backups(given, NOON, hourly=hourly, daily=daily)
        past = [each for each in given if each <= NOON]

        assert left <= set(given)
        assert {each for each in given if each > NOON} <= left
        assert {max(past)} <= left if past else True
        assert len([each for each in left if each <= NOON]) <= hourly + daily + 1

    @settings(max_examples=50)
    @given(times, counts, counts)
    def test_again(self, given: list[int], hourly: int, daily: int) -> None:
        """What was kept once is kept again, so repeating the deletion deletes nothing more."""
        left = choose_backups(given, NOON, hourly=hourly, daily=daily)

        assert left == choose_backups(left, NOON, hourly=hourly, daily=daily)
