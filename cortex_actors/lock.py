"""The owner's lock: one daemon for one home.

A daemon is alive while it holds the flock of `cortex.lock`; never because of the process id written
in it, which may long belong to another program. The kernel lets go of a flock when its owner ends,
however it ends. The file's JSON only tells people more, so garbage in it does no harm; the file is
never unlinked, because two processes could then lock two files of one name.

The owner locks exclusively; whoever only looks takes a shared lock for a moment. A starter that
finds shared locks alone waits for them to go; an exclusive one is another daemon.

Standard library only, because `cortex status` pays for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from cortex_actors.errors import AlreadyRunning, HomeUnwritable

if TYPE_CHECKING:
    from cortex_actors.home import Home

#: Attempts to get a lock that others hold only to look, and the seconds between two: 2 s in all.
ATTEMPTS, PAUSE = 200, 0.01

#: Bytes of the file that are read; what the owner writes has some 200.
READ_LIMIT = 4096


class State(StrEnum):
    """What is known of a home's daemon without asking it."""

    RUNNING = "running"
    STARTING = "starting"
    #: Nobody holds the lock, but the last owner did not say goodbye.
    CRASHED = "crashed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LockInfo:
    """What the last owner wrote into the lock file; empty where it cannot be read."""

    pid: int = 0
    #: UTC microseconds.
    started_at: int = 0
    version: str = ""
    state: str = ""
    reason: str = ""
    #: Counts the owners of this home; a later owner has a greater one.
    epoch: int = 0


class Lock:
    """The flock, held until `close` or the end of every process that inherited it."""

    def __init__(self, home: Home, fd: int) -> None:
        self.home = home
        self._fd = fd
        self.info = read(home)

    def fileno(self) -> int:
        """Return the descriptor, to hand it to a child."""
        return self._fd

    def take_over(self, *, started_at: int, version: str) -> None:
        """Write this process in as the owner that is starting.

        Args:
            started_at: UTC microseconds.
            version: the program's.

        """
        epoch = read(self.home).epoch + 1
        self._write(LockInfo(os.getpid(), started_at, version, State.STARTING, "", epoch))

    def say(self, state: State, reason: str = "") -> None:
        """Write a new state, and why."""
        self._write(replace(self.info, state=state, reason=reason))

    def close(self) -> None:
        """Let go, unless a child inherited the descriptor: then the child is the owner."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, info: LockInfo) -> None:
        """Replace the content: written over first and cut afterwards, so it is never empty."""
        text = json.dumps(asdict(info)).encode() + b"\n"
        os.pwrite(self._fd, text, 0)
        os.ftruncate(self._fd, len(text))
        self.info = info


def acquire(home: Home) -> Lock:
    """Return the lock of a home that exists.

    Raises `AlreadyRunning` naming the owner, or `HomeUnwritable`.
    """
    try:
        fd = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"cannot open the lock {home.lock}: {error.strerror}; check who owns the folder"
        raise HomeUnwritable(message) from error
    if _exclusive(fd):
        return Lock(home, fd)
    os.close(fd)
    owner = read(home)
    whose = f"pid {owner.pid}" if owner.pid else "its pid is not written in the lock"
    message = f'a daemon already runs for {home.root}, {whose}; end it with "cortex stop"'
    raise AlreadyRunning(message)


def from_fd(home: Home, fd: int) -> Lock:
    """Return the lock that a parent process took and handed down as a descriptor.

    Raises `AlreadyRunning` when the descriptor is not this home's lock, or not held.
    """
    try:
        ours = os.path.samestat(os.fstat(fd), home.lock.stat())
        held = ours and _try(fd, fcntl.LOCK_EX)
    except OSError:
        held = False
    if not held:
        message = f"the descriptor {fd} is not the lock of {home.root}; start without --lock-fd"
        raise AlreadyRunning(message)
    # A grandchild that kept it would keep a dead daemon "running".
    os.set_inheritable(fd, False)  # noqa: FBT003 - takes no keywords
    return Lock(home, fd)


def read(home: Home) -> LockInfo:
    """Return what the lock file says, without taking the lock; never raises."""
    try:
        with home.lock.open("rb") as file:
            text = file.read(READ_LIMIT).decode()
        found, _ = json.JSONDecoder().raw_decode(text)
    except (OSError, ValueError, RecursionError):
        return LockInfo()
    return _info(found) if isinstance(found, dict) else LockInfo()


def state(home: Home) -> State:
    """Return whether the home's daemon is alive, by trying its lock for a moment."""
    try:
        fd = os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return State.STOPPED
    try:
        free = _try(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)
    said = read(home).state
    if free:
        # Garbage says nothing about how the last owner ended.
        ended_badly = said in {State.STARTING, State.RUNNING, State.CRASHED}
        return State.CRASHED if ended_badly else State.STOPPED
    return State.STARTING if said == State.STARTING else State.RUNNING


def _exclusive(fd: int) -> bool:
    """Take the lock, waiting only while others merely look; say whether it is ours."""
    for _ in range(ATTEMPTS):
        if _try(fd, fcntl.LOCK_EX):
            return True
        if not _try(fd, fcntl.LOCK_SH):
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(PAUSE)
    return False


def _try(fd: int, kind: int) -> bool:
    """Take a lock if it is free now."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _info(found: dict[str, object]) -> LockInfo:
    """Return the fields that have the right type; the others keep their defaults."""
    kinds = {field.name: type(field.default) for field in fields(LockInfo)}
    known = {name: found[name] for name in kinds if type(found.get(name)) is kinds[name]}
    return replace(LockInfo(), **known)  # type: ignore[arg-type]
