"""Moments as people and programs give them: microseconds, dates, and how long ago.

A date is its first moment and a time without a zone is one of UTC, as the daemon prints them. A
span counts back from now: "7d", "2h", "90 minutes ago".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from cortex_actors.domain.agent import shown
from cortex_actors.errors import BadInput

#: The first moment, from which microseconds are counted.
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECOND: Final = timedelta(microseconds=1)

#: The latest moment that is understood: the end of the year 9999.
LATEST: Final = (datetime(9999, 12, 31, tzinfo=UTC) - _FIRST) // _MICROSECOND

#: Seconds of each unit of a span.
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

#: How units are written.
_WORDS: Final = {
    **{unit: unit for unit in _UNITS},
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}

_SPAN: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+)(?:\s+ago)?", re.ASCII)

#: Microseconds as text: more digits than a date has.
_DIGITS: Final = re.compile(r"\d{9,20}", re.ASCII)

#: What is said of what is none of these.
_FORMS: Final = 'give a date (2026-03-01), a time (2026-03-01T09:30:00Z) or a span ("7d", "2h ago")'


def moment(value: object, now: int, *, name: str) -> int:
    """Return a moment in UTC microseconds; `now` is the one that spans are counted from.

    Whole numbers are microseconds already. Raises `BadInput` that says which `name` is wrong, for
    anything else and for what lies before 1970 or after 9999.
    """
    found = value if isinstance(value, int) else _text(str(value).strip(), now)
    if found is None or isinstance(value, bool) or not isinstance(value, int | str):
        raise BadInput(f"{name} {shown(value)} is no moment: {_FORMS}")
    if not 0 <= found <= LATEST:
        raise BadInput(f"{name} {shown(value)} lies before 1970 or after 9999: {_FORMS}")
    return found


def _text(text: str, now: int) -> int | None:
    """Return what a text means; None for nothing that is understood."""
    if _DIGITS.fullmatch(text):
        return int(text)
    span = _SPAN.fullmatch(text.lower())
    if span and span[2] in _WORDS:
        return now - round(float(span[1]) * _UNITS[_WORDS[span[2]]] * 1_000_000)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (_in_utc(found) - _FIRST) // _MICROSECOND


def _in_utc(found: datetime) -> datetime:
    """Return a time with its zone; without one it is UTC's."""
    return found if found.tzinfo else found.replace(tzinfo=UTC)
