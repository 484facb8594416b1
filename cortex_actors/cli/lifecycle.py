"""Starting and stopping the daemon's process; standard library only.

`start` takes the lock itself and hands it down, so that of several starts at once exactly one wins
and at no moment is the home without an owner.

Another process that is not our child: signalled and waited for by what cannot mean a third one.

That is a pidfd where there are any: a number may be given to another process at any time. Standard
library only.
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
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cortex_actors import __version__, errors
from cortex_actors.client.connection import Client, make_error
from cortex_actors.home import Home, open_private
from cortex_actors.process import lock

#: Seconds between two looks at a process where there are no pidfds.
POLL = 0.05


class Process:
    """One process that is not our child; by its number where there are no pidfds."""

    def __init__(self, pid: int) -> None:
        """Raise `ProcessLookupError` where there is none."""
        self.pid = pid
        self._fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        if self._fd is None:
            os.kill(pid, 0)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            if self._fd is None:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(self._fd, number)

    def wait(self, timeout: float) -> bool:
        """Wait for its end, and say whether it came in time."""
        if self._fd is not None:
            return bool(select.select([self._fd], [], [], timeout)[0])
        for _ in range(max(1, int(timeout / POLL))):
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(POLL)
        return False


def has_open(pid: int, path: Path) -> bool:
    """Say whether a process of ours has a file open; where /proc does not tell (macOS), yes."""
    if not Path("/proc/self/fd").is_dir():
        return True
    try:
        return any(map(partial(_is, path.stat()), Path(f"/proc/{pid}/fd").iterdir()))
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


#: What the daemon writes to its pipe.
READY = b"READY\n"

#: Seconds a daemon has to answer `shutdown`, before it gets a signal instead.
SHUTDOWN_TIMEOUT = 3.0

#: Seconds a stop may take before the process is killed, unless the user says otherwise.
STOP_TIMEOUT = 10.0

#: Seconds until a killed process is gone.
KILLED = 5.0

#: Bytes after which `stderr.log` is begun again.
STDERR_LIMIT = 1024 * 1024


def suggest_topics(name: str, *, to_say: bool) -> str:
    """Return the topics, or those that a person may publish, that look like one there is not."""
    import difflib  # noqa: PLC0415 - only for a mistyped topic

    from cortex_actors.topics import TOPICS  # noqa: PLC0415 - as above

    known = [topic.name for topic in TOPICS if not (to_say and topic.owner_only)]
    some = difflib.get_close_matches(name, known)
    return f"; near it: {', '.join(some)}" if some else ""


def find_user() -> str:
    """Return a name for the user, without reading the user database."""
    return os.environ.get("USER") or str(os.getuid())


def pause(seconds: float) -> None:
    """Wait between two looks at something that cannot be waited for."""
    time.sleep(seconds)


def start(home: Home, *, timeout: float, as_json: bool) -> int:
    """Start a daemon and say how long it took, and what it recovered."""
    before = _recoveries(home)
    child, took = launch(home, timeout=timeout)
    report = max(_recoveries(home) - before, default=None)
    if as_json:
        found = {"state": "running", "pid": child.pid, "took_s": round(took, 3)}
        found |= {} if report is None else {"recovered": str(report)}
        print(json.dumps(found))
        return 0
    print(f"started, pid {child.pid}, in {took:.2f} s")
    if report is not None:
        from cortex_actors.storage.ledger import recovery  # noqa: PLC0415 - seldom needed

        print(recovery.format_sentence(recovery.read(report)))
    return 0


def launch(home: Home, *, timeout: float) -> tuple[subprocess.Popen[bytes], float]:
    """Start a daemon and return its process, and the seconds until it answered.

    Raises `HomeUnwritable`, `AlreadyRunning`, or the error it ended with, with its last words.
    """
    from cortex_actors.clock import SystemClock  # noqa: PLC0415 - loads asyncio

    clock = SystemClock()
    begun = clock.monotonic()
    home.create()
    owner, (pipe, ready) = lock.acquire(home), os.pipe()
    try:
        owner.take_over(started_at=clock.now(), version=__version__)
        process, before = spawn(home, lock_fd=owner.fileno(), ready=ready)
    finally:
        # The child has inherited both; from here on it is the owner.
        owner.close()
        os.close(ready)
    code = _wait_ready(process, pipe, timeout=timeout)
    if code is not None:
        kind = "signal" if code < 0 else "exit code"
        text = f"the daemon did not start: {_find_reason(home, before)} ({kind} {abs(code)})"
        raise make_error(text, exit_code=code if code > 0 else errors.InternalError.exit_code)
    return process, clock.monotonic() - begun


def stop(home: Home, *, timeout: float, as_json: bool) -> int:
    """Stop the daemon if it runs, and say how long it took."""
    ended = end(home, timeout=timeout)
    if as_json:
        found = {} if ended is None else {"pid": ended.pid, "took_s": round(ended.took, 3)}
        asked = {"signal": "SIGTERM", "reason": ended.why} if ended and ended.why else {}
        print(json.dumps({"state": "stopped", **found, **asked}))
    elif ended is None:
        print("not running")
    else:
        how = f"; SIGTERM was sent, because {ended.why}" if ended.why else ""
        print(f"stopped, pid {ended.pid}, in {ended.took:.2f} s{how}")
    return 0


class StoppedDaemon(NamedTuple):
    """A daemon that was stopped."""

    pid: int
    #: Seconds.
    took: float
    #: Why it was asked by SIGTERM rather than over the socket; empty when it was not.
    why: str


def end(home: Home, *, timeout: float) -> StoppedDaemon | None:
    """Stop the daemon and return what ended; None when none was running.

    Raises `DeadlineExceeded` after killing one that took longer than `timeout` seconds.
    """
    from cortex_actors.clock import SystemClock  # noqa: PLC0415 - loads asyncio

    clock = SystemClock()
    begun, why = clock.monotonic(), ""
    if (process := _owner(home)) is None:
        return None
    try:
        Client(home, timeout=min(SHUTDOWN_TIMEOUT, timeout)).call("shutdown")
    except (errors.DaemonDown, errors.DeadlineExceeded, errors.TooManyConnections) as error:
        why = str(error)
        process.send(signal.SIGTERM)
    if not process.wait(max(0.0, timeout - (clock.monotonic() - begun))):
        process.send(signal.SIGKILL)
        process.wait(KILLED)
        raise errors.DeadlineExceeded(
            f"the daemon, pid {process.pid}, did not stop within {timeout:g} s and was killed; "
            f"{home.logs}/stderr.log may say what it was doing"
        )
    return StoppedDaemon(process.pid, clock.monotonic() - begun, why)


def spawn(home: Home, *, lock_fd: int, ready: int) -> tuple[subprocess.Popen[bytes], int]:
    """Start a daemon's process, detached from this terminal.

    Return it, and where in `stderr.log` its words begin.
    """
    said = home.logs / "stderr.log"
    before = said.stat().st_size if said.exists() else 0
    if before > STDERR_LIMIT:
        said.unlink()
        before = 0
    words = [sys.executable, "-m", "cortex_actors.daemon", "--home", str(home.root)]
    words += ["--lock-fd", str(lock_fd), "--ready-fd", str(ready)]
    # Only its owner may read it, whatever the umask; never through a link.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    with os.fdopen(open_private(said, flags), "ab") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own program
            words,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
            pass_fds=(lock_fd, ready),
            cwd="/",
            env=make_environment(),
        )
    return process, before


def _wait_ready(process: subprocess.Popen[bytes], pipe: int, *, timeout: float) -> int | None:
    """Wait until a daemon answers; return None, or the exit code of one that does not."""
    try:
        readable, _, _ = select.select([pipe], [], [], timeout)
        if readable and os.read(pipe, len(READY)) == READY:
            # It outlives us: Popen must not complain that it was not waited for.
            process.returncode = 0
            return None
        if not readable:
            process.terminate()
        return process.wait()
    except BaseException:
        process.terminate()
        raise
    finally:
        os.close(pipe)


def _find_reason(home: Home, before: int) -> str:
    """Return the last line that a daemon wrote to its standard error; on a full disk, to the lock.

    Its words begin at the byte `before`.
    """
    path = home.logs / "stderr.log"
    lines = path.read_bytes()[before:].decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    known = said[-1].removeprefix("cortex: ") if said else lock.read(home).reason
    return known or f"it gave no reason; see {path}"


def _recoveries(home: Home) -> set[Path]:
    """Return the reports of recoveries; nothing for a folder that is not there, or is closed."""
    return set(home.backups.glob("recovery-*.json"))


def _owner(home: Home) -> Process | None:
    """Return the process of the home's daemon; None when there is none."""
    if (pid := find_owner(home)) is None:
        return None
    try:
        process = Process(pid)
    except ProcessLookupError:
        return None
    # Looked at again once the process is open: the number was its own while it was the owner.
    return process if find_owner(home) == pid else None


def find_owner(home: Home) -> int | None:
    """Return the process id of the home's daemon, from the kernel if it answers, else by the lock.

    One whose lock was removed is found by its socket. None when there is no daemon; raises
    `CortexError` when there is one and nothing tells which process it is.
    """
    if pid := find_listener(home):
        return pid
    if lock.read_state(home) not in lock.HELD:
        return None
    pid = lock.read(home).pid
    # A number outlives its process: another one that has it by now must get no signal of ours.
    if pid > 0 and has_open(pid, home.lock):
        return pid
    raise errors.CortexError(
        f"cannot tell which process holds {home.lock}: the one it names, pid {pid}, does not, and "
        f"the socket is silent; nothing was done: find it with: fuser {home.lock}"
    )


def find_listener(home: Home) -> int | None:
    """Return the process id of the listener on the home's socket, as the kernel says."""
    try:
        return Client(home, timeout=SHUTDOWN_TIMEOUT).find_pid()
    except errors.CortexError:
        return None


def make_environment() -> dict[str, str]:
    """Return the child's environment, in which a checkout that is not installed is importable."""
    known = filter(None, (find_checkout(), os.environ.get("PYTHONPATH")))
    return {**os.environ, **({"PYTHONPATH": os.pathsep.join(known)} if find_checkout() else {})}


def find_checkout() -> str:
    """Return the folder of a checkout that is not installed; "" where nothing has to be added."""
    root = Path(__file__).resolve().parents[2]
    return str(root) if (root / "pyproject.toml").exists() else ""
