"""One life of the real daemon, from its start to its kill, and what it leaves running."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from tests.process.commands import PATIENCE, ROOT, until

#: Set in the environment of a life: a child of it has it, too, even when it has lost its parent.
MARK = "TESTED_LIFE"

#: What a daemon says once it answers.
READY = b"READY\n"

#: Makes a daemon's start and its model cheap. What two projects say is a principle at once, and
#: goes into every file of those that want any.
ENVIRONMENT = {
    "CORTEX_EMBEDDING__PROVIDER": "hashing",
    "CORTEX_EMBEDDING__BATCH_MS": "20",
    "CORTEX_RECONCILIATION__PROMOTION_CONFIDENCE": "0",
    "CORTEX_RECONCILIATION__PROMOTION_OBSERVATIONS": "1",
    "CORTEX_RECONCILIATION__PROMOTION_AGE_DAYS": "0",
    "CORTEX_RESOLUTION__LEAST": "0",
    "CORTEX_RESOLUTION__GRACE_S": "0.2",
    "PYTHONPATH": str(ROOT),
}


class Life:
    """A daemon's process."""

    def __init__(self, home: Path, *, program: str = "-mcortex_actors.daemon", **env: str) -> None:
        self._mark = uuid.uuid4().hex
        self._began = time.monotonic()
        self._ready, theirs = os.pipe()
        #: Whether it was seen to be ready.
        self.is_ready = False
        home.mkdir(parents=True, exist_ok=True)
        with (home / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, program, "--home", str(home), "--ready-fd", str(theirs)],
                env={**os.environ, **ENVIRONMENT, **env, MARK: self._mark},
                cwd=ROOT,
                stdout=said,
                stderr=said,
                pass_fds=(theirs,),
            )
        os.close(theirs)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ready(self, within: float = PATIENCE) -> float | None:
        """Return the seconds it took to be ready; None when it is not, or has ended."""
        if not select.select([self._ready], [], [], max(0.0, within))[0]:
            return None
        self.is_ready = os.read(self._ready, len(READY)) == READY
        if not self.is_ready:
            return None
        return time.monotonic() - self._began

    def wait(self, seconds: float) -> None:
        """Let it live for so long, or until it ends by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> bool:
        """Kill it; tell whether it was alive and died of that."""
        return self._end(signal.SIGKILL) == -signal.SIGKILL

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        return self._end(signal.SIGTERM)

    def left(self) -> list[str]:
        """Return the command lines of processes that outlive it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self._mark}".encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:  # it has ended, or is another user's
                continue
        return found

    def alone(self) -> float:
        """Return the seconds until nothing of it was left running; fail when that never comes."""
        began = time.monotonic()
        until(lambda: not self.left(), f"the end of what {self.pid} had started")
        return time.monotonic() - began

    def _end(self, number: int) -> int:
        self._process.send_signal(number)
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._close()

    def _close(self) -> None:
        """Close our end of the pipe, once."""
        if self._ready >= 0:
            os.close(self._ready)
            self._ready = -1
