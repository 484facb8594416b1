"""A circuit breaker: who has failed many times in a row is left alone for a while. Pure.

(Nygard, "Release It!", 2007.) Its owner tells it the time and what came of each attempt; it never
sleeps, and knows nothing of what it guards.
"""

from __future__ import annotations

from enum import StrEnum


class Position(StrEnum):
    """Where the switch stands."""

    #: Attempts go through.
    CLOSED = "closed"
    #: Attempts are refused at once, until the pause is over.
    OPEN = "open"
    #: One attempt is out to see whether it works again; others are refused until it is back.
    HALF_OPEN = "half-open"


class Breaker:
    """Opens after `failures` in a row for `pause` seconds; then one attempt decides.

    Times are monotonic seconds. Every attempt that `admits` lets through must be told with
    `succeeded`, `failed` or `abandoned`; one that began before the switch opened may still come
    back, and then counts like any other.
    """

    def __init__(self, *, failures: int, pause: float) -> None:
        self._most = failures
        self._pause = pause
        self._failed = 0
        self._until = 0.0
        self._position = Position.CLOSED
        #: Why it opened; empty while it is closed.
        self.reason = ""
        #: Times it has opened.
        self.opened = 0

    @property
    def position(self) -> Position:
        """Where the switch stands; an open one whose pause is over waits for an attempt."""
        return self._position

    def remaining(self, at: float) -> float:
        """Return the seconds until an attempt may be let through; 0 when one may now."""
        return max(0.0, self._until - at) if self._position is Position.OPEN else 0.0

    def admits(self, at: float) -> bool:
        """Return whether an attempt may be made now; with True it is under way."""
        if self._position is Position.CLOSED:
            return True
        if self._position is Position.HALF_OPEN or at < self._until:
            return False
        self._position = Position.HALF_OPEN
        return True

    def succeeded(self) -> None:
        """Note that an attempt went well: the switch closes, and past failures are forgotten."""
        self._position = Position.CLOSED
        self._failed = 0
        self.reason = ""

    def failed(self, reason: str, at: float, *, rest: float = 0.0) -> None:
        """Note that an attempt failed; one that was to decide opens the switch again.

        `rest` is a time for which the other side has asked to be left alone: it opens the switch
        at once, for at least that long.
        """
        self._failed += 1
        decides = self._position is Position.HALF_OPEN
        if not (decides or rest > 0.0 or self._failed >= self._most):
            return
        until = at + max(self._pause, rest)
        if self._position is not Position.OPEN:
            self.opened += 1
        # An attempt that began earlier must not shorten a rest that was asked for since.
        self._until = max(until, self._until) if self._position is Position.OPEN else until
        self._position = Position.OPEN
        self.reason = reason

    def abandoned(self, at: float) -> None:
        """Note that an attempt was given up without an answer: the next one decides."""
        if self._position is Position.HALF_OPEN:
            self._position = Position.OPEN
            self._until = at
