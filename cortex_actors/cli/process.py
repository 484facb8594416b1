"""Another process that is not our child: signalled and waited for by what cannot mean a third one.

That is a pidfd where there are any: a number may be given to another process at any time. Standard
library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from functools import partial
from pathlib import Path
from typing import Protocol

#: Seconds between two looks at a process where there are no pidfds.
POLL = 0.05


class Process(Protocol):
    """One process that is not our child."""

    pid: int

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""

    def wait(self, timeout: float) -> bool:
        """Wait for its end, and say whether it came in time."""


class PidfdProcess:
    """A process by its file descriptor: Linux."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._fd, number)

    def wait(self, timeout: float) -> bool:
        """Wait for its end, and say whether it came in time."""
        return bool(select.select([self._fd], [], [], timeout)[0])


class PolledProcess:
    """A process by its number: where there are no pidfds."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        os.kill(pid, 0)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> bool:
        """Look again and again until it is gone, and say whether that came in time."""
        for _ in range(max(1, int(timeout / POLL))):
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(POLL)
        return False


def found(pid: int) -> Process | None:
    """Return the process that has a number now; None when there is none."""
    try:
        return PidfdProcess(pid) if hasattr(os, "pidfd_open") else PolledProcess(pid)
    except ProcessLookupError:
        return None


def has_open(pid: int, path: Path) -> bool:
    """Say whether a process of ours has a file open; where /proc does not tell (macOS), yes."""
    if not Path("/proc/self/fd").is_dir():
        return True
    try:
        wanted = path.stat()
        return any(map(partial(_is, wanted), Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return False


def _is(wanted: os.stat_result, descriptor: Path) -> bool:
    """Say whether a descriptor is of a file; one that was closed meanwhile is not."""
    try:
        return os.path.samestat(wanted, descriptor.stat())
    except OSError:
        return False


def is_paused(pid: int) -> bool:
    """Say whether a process was stopped by a signal and can be continued; where /proc tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["T"]
