"""What the pool counts: batches by size and cause, how long texts waited, how fast it went."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import TYPE_CHECKING

from cortex_actors.embedding.batch import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.embedding.batch import Batch

#: Upper ends of the classes in which batch sizes are counted; a larger one counts as the last.
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)

#: Waits of a lane of which percentiles are told: the last ones, so that yesterday's are forgotten.
WAITS = 1_000

#: Percentiles of the waits that are told.
_SHARES = (50, 99)

#: Milliseconds in a second.
_MS = 1_000


class Tally:
    """Counts of one pool's life; every method takes the monotonic time where it needs one."""

    def __init__(self) -> None:
        self.batches = self.embedded = self.failed = self.joined = self.spared = 0
        self._sizes: Counter[int] = Counter()
        self._causes: Counter[Cause] = Counter()
        self._waits = {urgent: deque[float](maxlen=WAITS) for urgent in (True, False)}
        self._running = 0
        self._since = self._busy = 0.0

    def begin(self, batch: Batch, at: float) -> None:
        """Note that a batch goes to the provider."""
        self.batches += 1
        self._causes[batch.cause] += 1
        size = next((end for end in SIZES if len(batch.texts) <= end), SIZES[-1])
        self._sizes[size] += 1
        self._waits[batch.cause is Cause.URGENT].extend(batch.waited)
        if self._running == 0:
            self._since = at
        self._running += 1

    def end(self, at: float) -> None:
        """Note that a batch has come back."""
        self._running -= 1
        if self._running == 0:
            self._busy += at - self._since

    def busy(self, at: float) -> float:
        """Return the seconds in which at least one batch was with the provider."""
        return self._busy + (at - self._since if self._running else 0.0)

    @property
    def in_flight(self) -> int:
        """Return how many batches are with the provider now."""
        return self._running

    @property
    def flushes(self) -> Mapping[str, int]:
        """Return how many batches went for each cause."""
        return {str(cause): self._causes[cause] for cause in Cause}

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return how many batches had how many texts: `20` counts those of 11 to 20."""
        return {str(end): self._sizes[end] for end in SIZES if self._sizes[end]}

    def waited_ms(self, *, urgent: bool) -> Mapping[str, float]:
        """Return how long a lane's last texts waited to go, milliseconds; empty before the first.

        The nearest rank, so that every figure is a wait that somebody had.
        """
        waits = sorted(self._waits[urgent])
        return {f"p{share}": round(_nearest(waits, share) * _MS, 3) for share in _SHARES if waits}


def _nearest(ordered: Sequence[float], percent: int) -> float:
    """Return the value at a percentile of a sorted sequence (nearest rank)."""
    return ordered[math.ceil(percent * len(ordered) / 100) - 1]
