"""What a compiled model did: counters for `status`, kept on the loop's thread."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from cortex_actors.embedding.packing import padding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.session import Begun

#: Seconds over which tokens are counted for "tokens a second".
MINUTE = 60.0

#: Queue waits that are remembered for their percentiles.
WAITS = 1_000


class Meter:
    """Counts texts, tokens and batches, and how long micro-batches stood in the queue."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._texts = self._tokens = self._pieces = self._split = self._batches = 0
        self._padding = 0
        #: (when, tokens) of the last minute's requests.
        self._lately: deque[tuple[float, int]] = deque()
        self._waits: deque[float] = deque(maxlen=WAITS)

    def embedded(self, begun: Begun) -> None:
        """Count a request that was answered."""
        lengths = [len(piece.ids) for piece in begun.pieces]
        owners = [piece.owner for piece in begun.pieces]
        self._texts += len(set(owners))
        self._split += len({a for a, b in pairwise(owners) if a == b})
        self._pieces += len(owners)
        self._tokens += sum(lengths)
        self._batches += len(begun.batches)
        self._padding += padding(lengths, begun.batches)
        self._lately.append((self._clock.monotonic(), sum(lengths)))
        self._forget()

    def waited(self, seconds: float) -> None:
        """Remember how long a micro-batch stood in the queue."""
        self._waits.append(seconds)

    @property
    def counters(self) -> Mapping[str, int]:
        """Return all of it in whole numbers, under the names that `status` shows.

        `tokens` are those computed, special ones included and padding not; `padding_percent` is
        padding's share of what was computed; waits are microseconds, of the last 1,000.
        """
        self._forget()
        waits = sorted(self._waits)
        computed = self._tokens + self._padding
        return {
            "texts": self._texts,
            "tokens": self._tokens,
            "tokens_per_s": round(sum(tokens for _, tokens in self._lately) / MINUTE),
            "pieces": self._pieces,
            "split": self._split,
            "batches": self._batches,
            "batch_tokens": round(computed / self._batches) if self._batches else 0,
            "padding_percent": round(100 * self._padding / computed) if computed else 0,
            "wait_p50_us": _percentile(waits, 0.50),
            "wait_p99_us": _percentile(waits, 0.99),
        }

    def _forget(self) -> None:
        since = self._clock.monotonic() - MINUTE
        while self._lately and self._lately[0][0] < since:
            self._lately.popleft()


def _percentile(waits: list[float], part: float) -> int:
    """Return that percentile of sorted seconds in microseconds; 0 of none."""
    if not waits:
        return 0
    return round(waits[min(len(waits) - 1, int(part * len(waits)))] * 1_000_000)
