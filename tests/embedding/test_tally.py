from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cortex_actors.embedding.pool import Batch, Cause, PoolTally

if TYPE_CHECKING:
    from tests.embedding.asking import Asker
    from tests.embedding.support import ManualClock, StagedProvider


def batch(size: int, cause: Cause = Cause.ITEMS, waited: float = 0.0) -> Batch:
    """Return a batch of that many texts that have waited equally long."""
    return Batch([str(i) for i in range(size)], cause, [waited] * size)


class TestSizes:
    def test_classes(self) -> None:
        """Batches are counted by the smallest class that holds them, the largest ones together."""
        tally = PoolTally()
        for size in (1, 2, 3, 5, 20, 21, 200, 201):
            tally.begin(batch(size), 0.0)

        assert {"1": 1, "2": 1, "5": 2, "20": 1, "50": 1, "200": 2} == tally.sizes


class TestWaits:
    def test_none(self) -> None:
        """Before the first batch there is nothing to tell."""
        assert {} == PoolTally().waited_ms(urgent=True)

    def test_lanes(self) -> None:
        """Each lane tells the waits of its own texts, as waits that somebody had."""
        tally = PoolTally()
        tally.begin(batch(98, waited=0.1), 0.0)
        tally.begin(batch(2, waited=0.5), 0.0)
        tally.begin(batch(1, Cause.URGENT, waited=0.002), 0.0)

        assert {"p50": 100.0, "p99": 500.0} == tally.waited_ms(urgent=False)
        assert {"p50": 2.0, "p99": 2.0} == tally.waited_ms(urgent=True)


class TestBusy:
    def test_beside(self) -> None:
        """Two batches beside each other count once."""
        tally = PoolTally()
        tally.begin(batch(1), 1.0)
        tally.begin(batch(1), 2.0)
        tally.end(3.0)

        assert 3.0 == tally.busy(4.0)
        tally.end(5.0)
        assert 4.0 == tally.busy(9.0)


class TestDescribed:
    async def test_rates(self, pool: Asker, provider: StagedProvider, clock: ManualClock) -> None:
        """The pool tells causes, sizes, waits, and what the model did in each second of work."""
        provider.gate.clear()
        asked = pool.later("a", "b", urgent=True)
        await provider.entered.wait()
        await clock.advance(0.5)
        provider.counters["tokens"] = 300
        provider.gate.set()
        await asyncio.wait([asked])
        info = await pool.describe()

        assert {"items": 0, "time": 0, "urgent": 1} == info.flushes
        assert {"2": 1} == info.sizes
        assert (0.5, 4.0, 600.0) == (info.busy_s, info.texts_per_s, info.tokens_per_s)
        assert {"p50": 0.0, "p99": 0.0} == info.waited_urgent_ms
