"""Shipped test doubles: a clock one turns by hand, a whole Cortex in a folder.

For our own tests and for those of programs built on this one. Nothing here sleeps: tests wait for
conditions, with a limit that only a broken program reaches.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import tempfile
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors import settings
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import CortexError
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.storage import embeddings, events
from cortex_actors.storage.index import pending
from cortex_actors.tree import Tree, grow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from cortex_actors.storage.ledger.actor import Connection

#: Where a clock's time begins unless told otherwise: some day in 2026, in UTC microseconds.
EPOCH = 1_767_225_600 * SECOND

#: Seconds after which a condition that has not come true is a failed test.
PATIENCE = 20.0

#: Seconds between the first two looks at a condition and at most between any two, and how much
#: longer each pause is: looking at a tree 200 times a second took half of what a test cost.
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGER = 0.002, 0.03, 1.25

__all__ = ["EPOCH", "PATIENCE", "ManualClock", "eventually", "settled", "temporary_cortex"]


class ManualClock:
    """A clock that does not move until `advance`; sleepers wake in the order of their times."""

    def __init__(self, at: int = EPOCH) -> None:
        """Begin at a wall-clock time in UTC microseconds."""
        self._start = at
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return self._start + round(self._elapsed * SECOND)

    def monotonic(self) -> float:
        """Return seconds since the clock was made."""
        return self._elapsed

    def jump(self, seconds: float) -> None:
        """Set the wall clock by so much, as a person or NTP would; no sleeper wakes."""
        self._start += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has been advanced so far."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    @property
    def sleepers(self) -> int:
        """How many wait for a time to come."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    @property
    def due(self) -> float:
        """Seconds until the next sleeper wakes; 0 without any."""
        times = [at for at, _, woken in self._sleepers if not woken.done()]
        return min(times) - self._elapsed if times else 0.0

    def advance(self, seconds: float) -> None:
        """Move the hands, waking everybody whose time has come."""
        self._elapsed += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)


async def eventually(
    condition: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float = PATIENCE
) -> None:
    """Return once a condition holds, looking again each time the loop has had a turn, then rarer.

    Raises `TimeoutError` when it does not hold within so many seconds.
    """
    pause = _FIRST_PAUSE
    async with asyncio.timeout(within):
        while True:
            held = condition()
            if (held if isinstance(held, bool) else await held) is True:
                return
            await asyncio.sleep(pause)
            pause = min(pause * _LONGER, _LONGEST_PAUSE)


async def settled(tree: Tree, within: float = PATIENCE) -> None:
    """Return once every event is handled and every text embedded and indexed.

    It looks hundreds of times, and `status` would cost more than what it waits for.
    """

    async def is_settled() -> bool:
        with suppress(CortexError):  # not known while the ledger is away
            return await tree.parts.records.read(partial(_is_idle, model=tree.parts.model))
        return False

    await eventually(is_settled, within)


def _is_idle(connection: Connection, *, model: str) -> bool:
    """Tell whether nothing waits to be handled, indexed or embedded."""
    waits = events.count_waiting(connection) or pending.count_pending(connection)
    return not (waits or embeddings.count_unembedded(connection, model))


@asynccontextmanager
async def temporary_cortex(**sections: object) -> AsyncIterator[Tree]:
    """Run a whole tree in a temporary home with the hashing embedder; stop and remove it after.

    `sections` are settings sections as mappings, e.g. `watching={"sweep_s": 0.1}`.
    """
    with tempfile.TemporaryDirectory(prefix="cortex-", ignore_cleanup_errors=True) as folder:
        home = Home.find(Path(folder) / "home", {})
        home.create()
        clock = SystemClock()
        logs = LogStream(home.logs / "cortex.ndjson", clock)
        quick = {"embedding": {"provider": "hashing", "batch_ms": 20}, "storage": {"index_ms": 20}}
        chosen = settings.Settings.model_validate({**quick, **sections})
        tree = grow(home, chosen, clock, logs)
        await tree.start()
        try:
            yield tree
        finally:
            await tree.stop(8)
            logs.close()
