"""How late the loop is, and the message that tells systemd we live.

A loop that is late froze for that long: something blocked it. The gauge is in `cortex status`.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.clock import Clock

#: Seconds between two beats.
BEAT = 0.25

#: Beats that are remembered: ten seconds, so that a freeze can be seen by a person who looks.
BEATS = 40

#: Milliseconds of lateness that are worth a line in the log.
LATE_MS = 250.0


class Heartbeat:
    """Beats on the loop, and notes how late each beat is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late: deque[float] = deque([0.0], maxlen=BEATS)

    def lag_ms(self) -> float:
        """Return by how many milliseconds the latest beat of the last ten seconds was late."""
        return round(max(self._late), 3)

    async def beat(self) -> float:
        """Wait for one beat and return how late it was, in milliseconds."""
        begun = self._clock.monotonic()
        await self._clock.sleep(BEAT)
        late = max(0.0, (self._clock.monotonic() - begun - BEAT) * 1_000)
        self._late.append(late)
        return late


def notify(message: str, environ: Mapping[str, str] | None = None) -> None:
    """Send one line of sd_notify(3): `READY=1`, `STOPPING=1`, `WATCHDOG=1`; no-op elsewhere."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if address[:1] not in {"/", "@"}:
        return
    # "@" stands for the first byte of an abstract address.
    target = f"\0{address[1:]}" if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)  # noqa: FBT003 - takes no keywords
        sock.sendto(message.encode(), target)
