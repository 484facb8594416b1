"""A gauge of the ledger: since when writing fails, and why; to read it nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.errors import LedgerDown


class Gauge:
    """Set by the thread that writes, read by any."""

    def __init__(self, clock: Clock) -> None:
        """Show that all is well."""
        self._clock = clock
        #: Seconds of the monotonic clock when it began, and the latest failure.
        self._found: tuple[float, LedgerDown] | None = None

    @property
    def error(self) -> LedgerDown | None:
        """Return what writing fails with now; None while it does not."""
        found = self._found
        return None if found is None else found[1]

    def fails(self, error: LedgerDown) -> None:
        """Show that nothing can be written."""
        since = self._clock.monotonic() if self._found is None else self._found[0]
        self._found = since, error

    def works(self) -> None:
        """Show that something was written."""
        self._found = None

    def describe(self) -> dict[str, Any]:
        """Return it as data: `state`, and while writing fails `reason`, `error` and `for_s`."""
        found = self._found
        if found is None:
            return {"state": "ok"}
        since, error = found
        seconds = max(0.0, self._clock.monotonic() - since)
        return {
            "state": "failing",
            "error": type(error).__name__,
            "reason": str(error),
            "for_s": round(seconds, 3),
        }
