"""What systemd hears of the daemon: sd_notify(3), in a few lines and without a library.

Nothing is said where systemd did not start us. Its watchdog is fed from the loop's heartbeat and
from nowhere else, so that a loop which does not turn starves it; systemd then aborts the process,
which leaves every stack in the journal (faulthandler), and starts it again.

Nothing asks for a longer stop (EXTEND_TIMEOUT_USEC): the daemon ends within 9.5 s by itself, and
an extension could only hide that it does not.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping


#: Microseconds in a second: systemd's unit.
_SECOND = 1_000_000


class Systemd:
    """The socket that systemd listens on, and how often its watchdog wants to hear of us."""

    def __init__(self, address: str = "", interval: float | None = None) -> None:
        """Speak to an address; an empty one, or one of no Unix socket, hears nothing.

        Args:
            address: a path, or "@" and the name of an abstract socket.
            interval: seconds after which the watchdog gives us up; None without a watchdog.

        """
        # "@" is written for the first byte of an abstract address.
        abstract = address.startswith("@")
        self._address = f"\0{address[1:]}" if abstract else address if address[:1] == "/" else ""
        self._interval = interval
        self._due = 0.0

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Systemd:
        """Return what the environment names, and take it out: no child may speak in our name."""
        address = environ.pop("NOTIFY_SOCKET", "")
        usec, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = pid in ("", str(os.getpid()))
        wanted = int(usec) if ours and usec.isdecimal() else 0
        return cls(address, wanted / _SECOND if wanted else None)

    @property
    def meal(self) -> float | None:
        """Seconds between two meals of the watchdog; None without one."""
        # Meals in one interval of the watchdog. Less than half of it may pass between two; with
        # four, one heartbeat's delay stays below that.
        return None if self._interval is None else self._interval / 4

    def ready(self, status: str) -> None:
        """Say that everything answers now."""
        self._send("READY=1", _status(status))

    def stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1", _status(status))

    def status(self, text: str) -> None:
        """Say how it is, on one line; from any thread."""
        self._send(_status(text))

    def feed(self, now: float) -> None:
        """Tell the watchdog that the loop turns, if it has not been told for a while.

        Args:
            now: seconds on a clock that never goes back.

        """
        if self.meal is not None and now >= self._due:
            self._due = now + self.meal
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        """Send one datagram; a manager that is gone or full does not matter."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)  # noqa: FBT003 - takes no keywords
            sock.sendto("\n".join(lines).encode(), self._address)


def _status(text: str) -> str:
    """Return a status on one line: a second one would be another message."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    # Characters of a status line; `systemctl status` shows one line.
    return f"STATUS={' '.join(shown.split())[:300]}"
