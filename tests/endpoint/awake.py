"""Time as a loop has lived it: while the machine stands still, none passes."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Seconds that are counted at a time; a stall, however long, is one of them.
_TICK = 0.01


class _Ticks:
    """Counts them until it is closed."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.get_running_loop().call_later(_TICK, self._take)

    def close(self) -> None:
        """Count no more."""
        self._next.cancel()

    def _take(self) -> None:
        self.count += 1
        self._next = asyncio.get_running_loop().call_later(_TICK, self._take)


@contextmanager
def awake() -> Iterator[Callable[[], float]]:
    """Give what tells for how many seconds the loop has run since: never more than have passed."""
    ticks = _Ticks()
    try:
        yield lambda: ticks.count * _TICK
    finally:
        ticks.close()
