"""Trying the daemon in earnest by the clock, where that tells anything new.

A trial writes into the ledger, and a ledger that nobody writes must stay as it is, or it would be
copied every hour for nothing. So after a trial that went well there is none while nobody writes,
but for one a day.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import DAY, SECOND
from cortex_actors.errors import RoundTripFailed
from cortex_actors.schedule.jobs import Done
from cortex_actors.storage.ledger import backups

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from cortex_actors.clock import Clock

#: Microseconds after a trial in which the index is told of it, which is written, too.
_SETTLING = 10 * SECOND


class Trying:
    """Tries the daemon, and knows when that went well last."""

    def __init__(
        self,
        trial: Callable[[], Awaitable[Mapping[str, Any]]],
        look: Callable[[Callable[[], float | None]], Awaitable[float | None]],
        ledger: Path,
        clock: Clock,
    ) -> None:
        """Try with `trial`; `look` runs what looks at the disk, on a thread."""
        self._trial = trial
        self._look = look
        self._ledger = ledger
        self._clock = clock
        #: When the last trial that went well ended, UTC microseconds.
        self._well_at: int | None = None

    async def run(self) -> Done:
        """Try it, unless nobody has written since it went well; tell only what did not.

        Raises `RoundTripFailed`, so that it is tried again soon.
        """
        if self._well_at is not None and await self._is_idle(self._well_at):
            return Done()
        found = await self._trial()
        self._well_at = self._clock.now() if found["state"] == "ok" else None
        if found["state"] == "failed":
            raise RoundTripFailed(str(found["reason"]))
        return Done(str(found["reason"]))

    async def _is_idle(self, since: int) -> bool:
        """Tell whether nobody has written since a time that is not long ago."""
        if not 0 <= self._clock.now() - since < DAY:
            return False
        return bool(await self._look(partial(_is_untouched, self._ledger, since + _SETTLING)))


def _is_untouched(ledger: Path, since: int) -> float:
    """Return 1 where a ledger was not written after a time (on a thread)."""
    return float(backups.written(ledger) <= since)
