"""How long to wait before a request is tried again: growing pauses, and what the server asked for.

Pure: chance and the time are handed in.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cortex_actors.clock import SECOND

#: Seconds before the first repetition, before jitter.
FIRST = 0.5

#: How much longer each further pause is.
GROWTH = 2.0

#: Seconds that one pause lasts at most, before jitter.
LONGEST = 8.0

#: Seconds that a server may ask for, at most: a wrong date must not silence an endpoint for a year.
LONGEST_REST = 3_600.0

#: A number of seconds, as RFC 9110 (10.2.3) has it; some servers send a fraction.
_SECONDS = re.compile(r"\d{1,9}(\.\d{0,9})?", re.ASCII)


def pause(attempt: int, chance: float) -> float:
    """Return the seconds to wait after the first (0), second (1) ... attempt.

    Half of it is certain and half is up to `chance`, from 0 to 1 ("equal jitter", Brooker 2015), so
    that clients that failed together do not come back together.
    """
    full = min(FIRST * GROWTH**attempt, LONGEST)
    return full / 2 + full / 2 * chance


def rest_asked(header: str | None, now: int) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, at most an hour.

    It holds seconds or an HTTP date; None when there is none that can be understood, 0.0 when the
    date is over. `now` is the wall-clock time in UTC microseconds: the only one a date can be
    compared with.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), LONGEST_REST)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    if date.tzinfo is None:  # "-0000": no zone is known, and RFC 9110 has all of them in GMT
        date = date.replace(tzinfo=UTC)
    ahead = (date - datetime.fromtimestamp(now / SECOND, UTC)).total_seconds()
    return min(max(0.0, ahead), LONGEST_REST)
