"""Starting and stopping the daemon's process; standard library only.

`start` takes the lock itself and hands it down, so that of several starts at once exactly one wins
and at no moment is the home without an owner. `stop` waits on a pidfd, which means this process and
never another one that got its number.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cortex_actors import __version__, lock
from cortex_actors.client import Client, known
from cortex_actors.errors import CortexError, DaemonDown, DeadlineExceeded, InternalError

if TYPE_CHECKING:
    from cortex_actors.home import Home

#: What the daemon writes to its pipe.
READY = b"READY\n"

#: Seconds a daemon has to answer `shutdown`, before it gets a signal instead.
SHUTDOWN_TIMEOUT = 3.0

#: Seconds a stop may take before the process is killed, unless the user says otherwise.
STOP_TIMEOUT = 10.0

#: Seconds between two looks at a process where there are no pidfds, and until a killed one is gone.
POLL, KILLED = 0.05, 5.0

#: Bytes after which `stderr.log` begins anew.
STDERR_LIMIT = 1024 * 1024


def user() -> str:
    """Return a name for whoever calls, without reading the user database."""
    return os.environ.get("USER") or str(os.getuid())


def pause(seconds: float) -> None:
    """Wait between two looks at something that cannot be waited for."""
    time.sleep(seconds)


def start(home: Home, *, timeout: float, as_json: bool) -> int:
    """Start a daemon and say how long it took."""
    child, took = launch(home, timeout=timeout)
    if as_json:
        print(json.dumps({"state": "running", "pid": child.pid, "took_s": round(took, 3)}))
    else:
        print(f"started, pid {child.pid}, in {took:.2f} s")
    return 0


def launch(home: Home, *, timeout: float) -> tuple[Child, float]:
    """Start a daemon and return it, and the seconds until it answered.

    Raises `HomeUnwritable`, `AlreadyRunning`, or the error it ended with, with its last words.
    """
    from cortex_actors.clock import SystemClock  # noqa: PLC0415 - loads asyncio

    clock = SystemClock()
    begun = clock.monotonic()
    home.create()
    owner = lock.acquire(home)
    try:
        owner.take_over(started_at=clock.now(), version=__version__)
        child = Child(home, owner)
    finally:
        # The child has inherited it; from here on it is the owner.
        owner.close()
    code = child.wait_ready(timeout)
    if code is not None:
        kind = "signal" if code < 0 else "exit code"
        text = f"the daemon did not start: {child.reason()} ({kind} {abs(code)})"
        raise known(text, exit_code=code if code > 0 else InternalError.exit_code)
    return child, clock.monotonic() - begun


def stop(home: Home, *, timeout: float, as_json: bool) -> int:
    """Stop the daemon if it runs, and say how long it took."""
    pid = lock.read(home).pid
    took = end(home, timeout=timeout)
    if as_json:
        found = {} if took is None else {"pid": pid, "took_s": round(took, 3)}
        print(json.dumps({"state": "stopped", **found}))
    else:
        print("not running" if took is None else f"stopped, pid {pid}, in {took:.2f} s")
    return 0


def end(home: Home, *, timeout: float) -> float | None:
    """Stop the daemon and return the seconds it took; None when none was running.

    Raises `DeadlineExceeded` after killing one that took longer than `timeout` seconds.
    """
    from cortex_actors.clock import SystemClock  # noqa: PLC0415 - loads asyncio

    clock = SystemClock()
    begun = clock.monotonic()
    if (process := _owner(home)) is None:
        return None
    try:
        Client(home, timeout=min(SHUTDOWN_TIMEOUT, timeout)).call("shutdown")
    except (DaemonDown, DeadlineExceeded):
        process.send(signal.SIGTERM)
    if not process.wait(max(0.0, timeout - (clock.monotonic() - begun))):
        process.send(signal.SIGKILL)
        process.wait(KILLED)
        message = (
            f"the daemon, pid {process.pid}, did not stop within {timeout:g} s and was killed; "
            f"{home.logs}/stderr.log may say what it was doing"
        )
        raise DeadlineExceeded(message)
    return clock.monotonic() - begun


class Child:
    """A daemon's process that we start, detached from this terminal."""

    def __init__(self, home: Home, owner: lock.Lock) -> None:
        self._stderr = home.logs / "stderr.log"
        self._before = self._stderr.stat().st_size if self._stderr.exists() else 0
        if self._before > STDERR_LIMIT:
            self._stderr.unlink()
            self._before = 0
        self._pipe, ready = os.pipe()
        try:
            self._process = self._spawn(home, owner.fileno(), ready)
        finally:
            os.close(ready)
        self.pid = self._process.pid

    def _spawn(self, home: Home, lock_fd: int, ready: int) -> subprocess.Popen[bytes]:
        """Start the process."""
        words = [sys.executable, "-m", "cortex_actors.daemon", "--home", str(home.root)]
        words += ["--lock-fd", str(lock_fd), "--ready-fd", str(ready)]
        with self._stderr.open("ab") as errors:
            return subprocess.Popen(  # noqa: S603 - our own program
                words,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                pass_fds=(lock_fd, ready),
                cwd="/",
                env=_environment(),
            )

    def wait_ready(self, timeout: float) -> int | None:
        """Wait until it answers; return None, or the exit code of one that does not."""
        try:
            readable, _, _ = select.select([self._pipe], [], [], timeout)
            if readable and os.read(self._pipe, len(READY)) == READY:
                # It outlives us: Popen must not complain that nobody waited for it.
                self._process.returncode = 0
                return None
            if not readable:
                self._process.terminate()
            return self._process.wait()
        except BaseException:
            self._process.terminate()
            raise
        finally:
            os.close(self._pipe)

    def reason(self) -> str:
        """Return the last line it wrote to its standard error."""
        with self._stderr.open("rb") as file:
            file.seek(self._before)
            lines = file.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        if not said:
            return f"it gave no reason; see {self._stderr}"
        return said[-1].removeprefix("cortex: ")


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


def _owner(home: Home) -> Process | None:
    """Return the process that holds the lock; None when nobody does."""
    alive = {lock.State.RUNNING, lock.State.STARTING}
    if lock.state(home) not in alive:
        return None
    pid = _pid(home)
    try:
        process = PidfdProcess(pid) if hasattr(os, "pidfd_open") else PolledProcess(pid)
    except ProcessLookupError:
        return None
    # Looked at again with the process in hand: the number was its own while it held the lock.
    return process if lock.state(home) in alive else None


def _pid(home: Home) -> int:
    """Return the owner's process id, from the kernel if it answers, else from the lock."""
    with contextlib.suppress(CortexError):
        if pid := Client(home, timeout=SHUTDOWN_TIMEOUT).pid():
            return pid
    if pid := lock.read(home).pid:
        return pid
    message = (
        f"cannot tell which process holds {home.lock}: its content was changed and the socket is "
        "silent; find it with: fuser " + str(home.lock)
    )
    raise CortexError(message)


def _environment() -> dict[str, str]:
    """Return the child's environment, in which a checkout that is not installed is importable."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").exists():
        return dict(os.environ)
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(root), *([known] if known else [])])
    return {**os.environ, "PYTHONPATH": path}
