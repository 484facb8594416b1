"""How late the loop is, and when it beat last.

A loop that is late froze for that long: something blocked it. The gauge is in `cortex status`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.clock import Clock

#: Seconds between two beats.
BEAT = 0.25

#: Seconds in which a freeze can be seen by a person who looks.
MEMORY = 10.0

#: Milliseconds of lateness that are worth a line in the log.
LATE_MS = 250.0


class Heartbeat:
    """Beats on the loop, and notes how late each beat is."""

    def __init__(self, clock: Clock, *, most: float | None = None) -> None:
        """Beat every 0.25 s, or as often as `most` seconds say where that is more often."""
        self._clock = clock
        self._every = BEAT if most is None else min(BEAT, most)
        self._late: deque[float] = deque([0.0], maxlen=round(MEMORY / BEAT))
        #: When it beat last, in seconds of the clock's `monotonic`; read by other threads.
        self.last = clock.monotonic()

    def lag_ms(self) -> float:
        """Return by how many milliseconds the latest beat of the last ten seconds was late."""
        return round(max(self._late), 3)

    async def beat(self) -> float:
        """Wait for one beat and return how late it was, in milliseconds."""
        begun = self._clock.monotonic()
        await self._clock.sleep(self._every)
        self.last = self._clock.monotonic()
        late = max(0.0, (self.last - begun - self._every) * 1_000)
        self._late.append(late)
        return late
