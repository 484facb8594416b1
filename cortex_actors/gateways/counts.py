"""Counts: how much is kept, for whoever asks without a token.

Counting walks all of it, so it is done once for everybody who asks within a few seconds: a program
that asks without end costs no more than one that asks now and then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cortex_actors.gateways.premises import Premises

#: Seconds for which a count is told again.
LASTS: Final = 5.0


class Counts:
    """What was counted last."""

    def __init__(self, premises: Premises) -> None:
        """Begin with nothing counted."""
        self._premises = premises
        self._one = asyncio.Lock()
        self._kept: dict[str, Any] | None = None
        self._until = 0.0

    async def now(self) -> dict[str, Any]:
        """Return how much there is, at most `LASTS` seconds ago; raises what counting raises."""
        async with self._one:
            if self._kept is None or self._premises.clock.monotonic() >= self._until:
                self._kept = await self._premises.desk.outside_counts()
                self._until = self._premises.clock.monotonic() + LASTS
            return self._kept
