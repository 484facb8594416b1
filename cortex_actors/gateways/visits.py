"""Visits: what the log says of requests.

Refusals, faults and what took long have a line; what went well has none. Somebody who knocks a
thousand times a second costs a few lines. No line holds a token, a query string or a body.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Scope

    from cortex_actors.clock import Clock
    from cortex_actors.process.logs import LogStream

#: Seconds from which on an answer counts as slow.
SLOW: Final = 1.0

#: Lines within so many seconds; those above are counted and told with the next one.
LINES, WINDOW = 20, 10.0

#: Characters of a path that are shown.
_PATH: Final = 120

#: Status from which on something is refused, and from which on it is our own fault.
_REFUSED, _FAILED = 400, 500

#: Who writes here.
_ACTOR: Final = "http"

#: Who writes what an owner looks for when somebody was let in who should not be.
_AUDIT: Final = "audit"


class Visits:
    """Writes down what an owner would want to know."""

    def __init__(self, logs: LogStream, clock: Clock) -> None:
        """Begin with an empty page."""
        self._logs = logs
        self._clock = clock
        self._since = clock.monotonic()
        self._written = 0
        self._unsaid = 0

    def begin(self) -> float:
        """Return when a request came."""
        return self._clock.monotonic()

    def ended(self, scope: Scope, status: int, begun: float) -> None:
        """Take down how a request ended, if that is worth a line."""
        took = self._clock.monotonic() - begun
        if status < _REFUSED and took < SLOW:
            return
        level = "error" if status >= _FAILED else "warning" if status >= _REFUSED else "info"
        slow = " [slow]" if took >= SLOW else ""
        path = ascii(scope["path"][:_PATH])[1:-1]
        self._say(level, f"{scope['method']} {path} -> {status} ({took * 1_000:.0f} ms){slow}")

    def stranger(self) -> None:
        """Take down that a token was shown that is nobody's."""
        self._say("warning", "a token that is nobody's was shown over http", actor=_AUDIT)

    def fault(self, error: Exception) -> None:
        """Take down what failed inside, with its traceback."""
        trace = "".join(traceback.format_exception(error))
        self._say("error", "a request failed inside", traceback=trace)

    def _say(
        self, level: str, text: str, *, actor: str = _ACTOR, traceback: str | None = None
    ) -> None:
        """Write a line, unless there were many."""
        now = self._clock.monotonic()
        if now - self._since >= WINDOW:
            self._since, self._written = now, 0
        if self._written >= LINES:
            self._unsaid += 1
            return
        self._written += 1
        more = f" ({self._unsaid} more were not written down)" if self._unsaid else ""
        self._unsaid = 0
        self._logs.write(level, text + more, actor=actor, traceback=traceback)
