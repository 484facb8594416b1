"""An event loop whose clock jumps, and which tells when nothing is left to do.

No sockets, no threads, no waiting: when every task waits for a timer, the timer's moment has come.
That makes a replay exact and quick, and a deadlock an error instead of a test that hangs.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectors import SelectorKey

#: Turns of the loop after which a replay is running in circles: a hundred times the longest.
TURNS = 100_000


class StuckError(RuntimeError):
    """Nothing is left to do and somebody waits all the same, or there is no end of it."""


class QuietLoop(asyncio.SelectorEventLoop):
    """Runs on time of its own; `quiet` returns when every task waits and no timer runs."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return seconds since the loop was made."""
        return self._jumping.now

    async def quiet(self) -> None:
        """Wait until nothing is left to do but what this call's return will cause."""
        self._jumping.waiter = waiter = self.create_future()
        await waiter


class _Jumping(selectors.SelectSelector):
    """Never waits: it moves the clock, or wakes who waits for silence."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turns = 0
        self.waiter: asyncio.Future[None] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Let the time pass that the loop wanted to wait."""
        self.turns += 1
        if self.turns > TURNS:
            raise StuckError(
                f"no end after {TURNS} turns of the loop: look for what runs in circles"
            )
        if timeout is not None:
            self.now += timeout
            return []
        if self.waiter is None:
            raise StuckError("every task waits for another: look at who holds the mailbox")
        waiter, self.waiter = self.waiter, None
        waiter.set_result(None)
        return []
