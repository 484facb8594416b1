"""Says where a loop is stuck while it is: a thread that looks at its heart.

A handler that waits wrongly can be cancelled (runtime/watchdog.py); one that computes or blocks on
the loop's own thread cannot, because nothing else runs there. All that can be done from inside is
to say what it is doing, which is what is missing afterwards. Where systemd started us it ends the
process, since the loop feeds its watchdog no longer.

Not seen: a freeze inside C code that holds Python's global lock, for then this thread stands still
too; systemd's watchdog sees that as well, and the abort it sends shows the stacks.

What systemd is told of the daemon: sd_notify(3), in a few lines and without a library.

Nothing is said where systemd did not start us. Its watchdog is fed from the loop's heartbeat and
from nowhere else, so that a loop which does not turn starves it; systemd then aborts the process,
which leaves every stack in the journal (faulthandler), and starts it again.

Nothing asks for a longer stop (EXTEND_TIMEOUT_USEC): the daemon ends within 9.5 s by itself, and
an extension could only hide that it does not.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.clock import Clock


#: Seconds without a beat after which the loop is called frozen, and between two looks: each wakes
#: an idle daemon.
FROZEN, LOOK = 5.0, 1.0

#: Told what the loop does (a task's name), for how many seconds, and its stack.
Tell = Callable[[str, float, str], None]


@dataclass(eq=False)
class FreezeWatch:
    """A thread that tells, once for each freeze, what the loop of the thread it was made on does.

    A crash of `tell` ends nothing. The thread is a daemon: a freeze must not outlive the process.
    """

    clock: Clock
    #: Gives when the loop last beat, in seconds of the clock's `monotonic`.
    last_beat: Callable[[], float]
    _: KW_ONLY
    #: Is called in the thread, and must neither block nor need the loop.
    tell: Tell
    #: Seconds without a beat that are a freeze, and between two looks.
    frozen: float = FROZEN
    look: float = LOOK

    def __post_init__(self) -> None:
        """Watch the running loop."""
        self._loop = asyncio.get_running_loop()
        self._ident = threading.get_ident()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cortex-freeze", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        # Seconds the thread has to end.
        self._thread.join(2.0)

    def _run(self) -> None:
        """Look until closed; a beat that was told of is not told of again.

        A look that is late itself says nothing of the loop: the whole process stood still.
        """
        told, looked = None, self.clock.monotonic()
        while not self._ended.wait(self.look):
            last, now = self.last_beat(), self.clock.monotonic()
            late, looked = now - looked >= self.frozen, now
            if now - last >= self.frozen and last != told and not late:
                told = last
                self._report(now - last)

    def _report(self, silent: float) -> None:
        """Tell what the loop does now."""
        frame = sys._current_frames().get(self._ident)  # noqa: SLF001 - documented, there is no other
        try:
            # Outermost first; the loop's own machinery above it included.
            stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
            # An actor's name, or what one of its tasks does.
            task = asyncio.current_task(self._loop)
            name = "a callback of the loop" if task is None else task.get_name()
            self.tell(name, silent, stack)
        except Exception:  # noqa: BLE001 - the next freeze must be seen as well
            traceback.print_exc()


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
        # "@" stands for the first byte of an abstract address.
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
