"""The heart of the loop: how late it beats."""

from __future__ import annotations

import asyncio

from cortex_actors.service import BEAT, Heartbeat
from cortex_actors.testing import ManualClock, eventually


class TestHeartbeat:
    async def test_lag(self) -> None:
        """The gauge is the latest beat of the last ones, in milliseconds."""
        clock = ManualClock()
        heart = Heartbeat(clock)
        for seconds in (BEAT, BEAT + 0.1, BEAT):
            beating = asyncio.create_task(heart.beat())
            await eventually(lambda: 1 == clock.sleepers)
            clock.advance(seconds)
            await beating

        assert 100.0 == heart.measure_lag()

    async def test_faster(self) -> None:
        """A watchdog that wants to hear of us more often makes it beat more often."""
        clock = ManualClock()
        beating = asyncio.create_task(Heartbeat(clock, most=0.001).beat())
        await eventually(lambda: 1 == clock.sleepers)
        pause = clock.due
        clock.advance(pause)

        assert (0.001, 0.0) == (pause, await beating)
