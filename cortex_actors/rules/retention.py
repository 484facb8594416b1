"""Which backups are kept: many of today, few of last week, and never too few.

Times are UTC microseconds. Hours and days are those of UTC, and only ones that have a backup count:
a machine that was off for a month still has its last hours and days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.clock import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Microseconds in one hour.
HOUR = 3_600 * SECOND


def kept(times: Iterable[int], now: int, *, hourly: int = 24, daily: int = 7) -> frozenset[int]:
    """Return the times of the backups to keep; the others may be deleted.

    Kept are the newest of each of the last `hourly` hours that have one, the newest of each of the
    last `daily` days that have one, and the newest of all. Times that lie ahead of `now` are kept:
    the wall clock has jumped, and which way it was wrong cannot be known here.
    """
    known = set(times)
    past = sorted((each for each in known if each <= now), reverse=True)
    ahead = {each for each in known if each > now}
    newest = set(past[:1])
    return frozenset(ahead | newest | _newest(past, HOUR, hourly) | _newest(past, DAY, daily))


def _newest(times: Sequence[int], span: int, count: int) -> set[int]:
    """Return the newest time of each of the last spans that have one; newest comes first."""
    found: dict[int, int] = {}
    for each in times:
        found.setdefault(each // span, each)
    return set(list(found.values())[:count])
