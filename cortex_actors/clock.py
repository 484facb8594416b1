"""The only place that reads the time.

Wall-clock times are integers: microseconds since 1970 in UTC, as the ledger stores them. They name
a moment for people; nothing is ordered by them (order is the ledger's `seq`), because wall clocks
jump. Durations are measured on the monotonic clock. Everything that decays, waits or flushes is
handed a `Clock`, so that a test can turn the hands itself.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import Protocol

#: Microseconds in one second.
SECOND = 1_000_000

#: Microseconds in one day.
DAY = 86_400 * SECOND

#: Crockford's base 32, the alphabet of a ULID: no I, L, O or U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

#: Any byte -> one character of the alphabet, each as often as any other.
_CHARACTER = (_ALPHABET * 8).encode()

#: Two characters of the alphabet at once: ten bits.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)

#: Random characters of a ULID, 80 bits; the other 10 are 48 bits of milliseconds.
_RANDOM = 16


def count_days(count: float) -> str:
    """Return a number of days in words: `1 day`, `2.5 days`."""
    return f"{count:g} day" if count == 1 else f"{count:g} days"


class Clock(Protocol):
    """What the time is, and how to wait for it."""

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        import asyncio  # noqa: PLC0415 - `cortex start` reads the time and runs no loop

        await asyncio.sleep(seconds)


def make_ulid(at: int) -> str:
    """Return a new ULID: 48 bits of milliseconds, 80 random bits, 26 characters.

    Sorts by time to the millisecond only; the ledger's `seq` is the order that counts. (Source:
    the ULID specification. A library was not taken for ten lines.)

    Args:
        at: a wall-clock time in UTC microseconds.

    """
    return _head(at // 1_000) + os.urandom(_RANDOM).translate(_CHARACTER).decode()


def start_ulid(at: int) -> str:
    """Return what the ULIDs of a wall-clock time (UTC microseconds) begin with, to compare ids."""
    return _head(max(0, at) // 1_000)


def iso(at: int) -> str:
    """Return a wall-clock time as ISO 8601 text in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at / SECOND))


def format_span(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


@lru_cache(1)
def _head(ms: int) -> str:
    """Return the milliseconds of a ULID; several ids are made in most of them."""
    return "".join(_PAIRS[(ms >> shift) & 1023] for shift in (40, 30, 20, 10, 0))
