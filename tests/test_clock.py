from __future__ import annotations

import asyncio
import re

from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.clock import SECOND, SystemClock, iso, make_ulid
from cortex_actors.testing import EPOCH, ManualClock, eventually

#: A day in the year 10889: what 48 bits of milliseconds can just hold.
LAST_MOMENT = (2**48 - 1) * 1_000


class TestUlid:
    @given(st.integers(0, LAST_MOMENT), st.integers(0, LAST_MOMENT))
    def test_order(self, one: int, other: int) -> None:
        """Ids of different milliseconds sort as their times do."""
        before, after = sorted((one // 1_000, other // 1_000))

        assert before == after or make_ulid(before * 1_000) < make_ulid(after * 1_000)

    @given(st.integers(0, LAST_MOMENT))
    def test_form(self, at: int) -> None:
        """An id is 26 characters that nobody mistakes for one another."""
        assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", make_ulid(at))

    def test_unique(self) -> None:
        """A thousand ids of one moment differ."""
        assert 1_000 == len({make_ulid(EPOCH) for _ in range(1_000)})


class TestIso:
    def test_text(self) -> None:
        """A moment is written in UTC, to the second."""
        assert "2026-01-01T00:00:00Z" == iso(EPOCH)


class TestSystemClock:
    def test_never_goes_back(self) -> None:
        """Durations are never negative."""
        clock = SystemClock()
        readings = [clock.monotonic() for _ in range(100)]

        assert sorted(readings) == readings

    async def test_sleep(self) -> None:
        """A sleep ends, and time has passed."""
        clock = SystemClock()
        before = clock.now()
        await clock.sleep(0.001)

        assert before < clock.now()


class TestManualClock:
    def test_stands_still(self) -> None:
        """Nothing but the test moves the hands."""
        clock = ManualClock()
        clock.advance(1.5)

        assert EPOCH + 3 * SECOND // 2 == clock.now()
        assert 1.5 == clock.monotonic()

    async def test_wakes_in_order(self) -> None:
        """Sleepers wake in the order of their times, the early ones alone."""
        clock, woken = ManualClock(), list[float]()

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(seconds)

        async with asyncio.TaskGroup() as group:
            for seconds in (3.0, 1.0, 2.0):
                group.create_task(sleep(seconds))
            await eventually(lambda: 3 == clock.sleepers)
            next_one = clock.due
            clock.advance(2)
            await eventually(lambda: 2 == len(woken))
            early = list(woken)
            clock.advance(1)

        assert 1.0 == next_one
        assert [1.0, 2.0] == early
        assert [1.0, 2.0, 3.0] == woken

    async def test_cancelled_sleeper(self) -> None:
        """Who was cancelled no longer counts, and advancing over it is harmless."""
        clock = ManualClock()
        task = asyncio.create_task(clock.sleep(1))
        await eventually(lambda: 1 == clock.sleepers)
        task.cancel()
        await asyncio.wait({task})
        left = clock.sleepers
        due = clock.due
        clock.advance(2)

        assert (0, 0.0) == (left, due)

    def test_jump(self) -> None:
        """A jump of the wall clock leaves durations alone."""
        clock = ManualClock()
        clock.jump(-3_600)

        assert EPOCH - 3_600 * SECOND == clock.now()
        assert 0.0 == clock.monotonic()
