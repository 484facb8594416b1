"""The owner's lock: one daemon for one home.

A daemon is alive while it holds the flock of `cortex.lock`; never because of the process id written
in it, which may long belong to another program. The kernel releases a flock when its owner ends,
however it ends. The file's JSON only tells people more, so garbage in it does no harm; the file is
never unlinked by us, because two processes could then lock two files of one name.

The owner locks exclusively; a process that only looks takes a shared lock for a moment. Besides
daemons, commands that write the ledger of a daemon that is down hold the lock for moments, and
write nothing into the file. A starter waits for both to go; a daemon, by what the file and the
socket say, it does not wait for.

Standard library only, because `cortex status` pays for it.

Who is at the other end of a Unix socket, as the kernel says.

Standard library only. Both sides ask: the daemon refuses other users, and a client refuses a socket
that another user put in a shared folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import struct
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from cortex_actors.errors import AlreadyRunning, HomeUnwritable
from cortex_actors.home import FILE_MODE, Home

#: Attempts to get a lock that others hold for moments, and the seconds between two: 2 s in all.
ATTEMPTS, PAUSE = 200, 0.01

#: Bytes of the file that are read; what the owner writes has some 200.
READ_LIMIT = 4096


class HomeState(StrEnum):
    """What is known of a home's daemon without asking it."""

    RUNNING = "running"
    STARTING = "starting"
    #: The lock is free, but the last owner did not say goodbye.
    CRASHED = "crashed"
    STOPPED = "stopped"


#: The states of a daemon that is there.
HELD = frozenset({HomeState.RUNNING, HomeState.STARTING})

#: What the file says where the last owner did not say goodbye.
_UNENDED = frozenset({HomeState.STARTING, HomeState.RUNNING, HomeState.CRASHED})


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
    #: Which life of the machine that was; empty where the system does not tell.
    boot: str = ""


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
        """Write this process in as the owner that starts at `started_at` (UTC microseconds).

        Where the machine went down under the owner before, the ledger is put under suspicion, so
        that this start reads all of it. Raises `HomeUnwritable` when the disk refuses.
        """
        last, boot = read(self.home), _boot()
        info = LockInfo(
            os.getpid(), started_at, version, HomeState.STARTING, "", last.epoch + 1, boot
        )
        try:
            if last.state in _UNENDED and last.boot != boot:
                self.home.suspect.write_text(
                    f"the machine went down under process {last.pid}\n", encoding="ascii"
                )
            self._write(info)
            os.fsync(self._fd)  # else a power cut soon after shows how the life before ended
        except OSError as error:
            message = f"cannot write the lock {self.home.lock}: {error.strerror}; look at its disk"
            raise HomeUnwritable(message) from error

    def say(self, state: HomeState, reason: str = "") -> None:
        """Write a new state, and why; a disk that refuses costs the words, nothing else.

        So does a later owner: what it wrote stays.
        """
        if read(self.home).epoch <= self.info.epoch:
            with suppress(OSError):
                self._write(replace(self.info, state=state, reason=reason))

    def close(self) -> None:
        """Release it, unless a child inherited the descriptor: then the child is the owner."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, info: LockInfo) -> None:
        """Replace the content: written over first and cut afterwards, so it is never empty."""
        text = json.dumps(asdict(info)).encode() + b"\n"
        os.pwrite(self._fd, text, 0)
        os.ftruncate(self._fd, len(text))
        self.info = info


def acquire(home: Home, *, secure: bool = True) -> Lock:
    """Return the lock of a home that exists, waiting up to 2 s for a holder that is no daemon.

    The home is closed to other users first, unless `secure` is false: for who only looks at it.
    Raises `AlreadyRunning` naming the owner, or `HomeUnwritable`.
    """
    if secure:
        home.secure()
    for _ in range(ATTEMPTS):
        fd = _opened(home, os.O_RDWR | os.O_CREAT)
        if take_lock(fd) and _is_lock(home, fd):
            return Lock(home, fd)
        # Lookers leave room for another shared lock; a file that was replaced is opened again.
        looked_at = take_lock(fd, fcntl.LOCK_SH)
        os.close(fd)
        if not looked_at and is_daemon(home):
            break
        time.sleep(PAUSE)
    raise AlreadyRunning(_refusal(home))


def from_fd(home: Home, fd: int) -> Lock:
    """Return the lock that a parent process took and handed down as a descriptor.

    Raises `AlreadyRunning` when the descriptor is not this home's lock, or not held.
    """
    try:
        held = _is_lock(home, fd) and take_lock(fd)
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
        fd = _opened(home, os.O_RDONLY)
        try:
            text = os.pread(fd, READ_LIMIT, 0).decode()
        finally:
            os.close(fd)
        found, _ = json.JSONDecoder().raw_decode(text)
    except (HomeUnwritable, OSError, ValueError, RecursionError):
        return LockInfo()
    if not isinstance(found, dict):
        return LockInfo()
    # The fields that have the right type; the others keep their defaults.
    kinds = {field.name: type(field.default) for field in fields(LockInfo)}
    known = {name: found[name] for name in kinds if type(found.get(name)) is kinds[name]}
    return LockInfo(**known)


def read_state(home: Home) -> HomeState:
    """Return whether the home's daemon is alive, by trying its lock for a moment."""
    try:
        fd = _opened(home, os.O_RDONLY)
    except HomeUnwritable:
        return HomeState.STOPPED
    try:
        free = take_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)
    said = read(home)
    if free or (said.pid and not _lives(said.pid)):
        # Held by another process than the writer: a command that is done in a moment. And garbage
        # says nothing about how the last owner ended.
        return HomeState.CRASHED if said.state in _UNENDED else HomeState.STOPPED
    return HomeState.STARTING if said.state == HomeState.STARTING else HomeState.RUNNING


def is_daemon(home: Home) -> bool:
    """Say whether it is a daemon that holds the lock, as far as can be known."""
    said = read(home)
    alive = said.state in HELD and _lives(said.pid)
    return alive or _listens(home)


def _opened(home: Home, how: int) -> int:
    """Return a descriptor of the lock file; raises `HomeUnwritable` for what can be none."""
    try:
        # A pipe in its place must not keep us waiting for a writer, and a link
        # must not have us write where it leads.
        how |= os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        fd = os.open(home.lock, how, FILE_MODE)
    except OSError as error:
        wrong = os.path.isdir(home.lock) or os.path.islink(home.lock)  # noqa: PTH112, PTH114 - never raise
        advice = "remove it" if wrong else "check who owns the folder and the file"
        message = f"cannot open the lock {home.lock}: {error.strerror}; {advice}"
        raise HomeUnwritable(message) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise HomeUnwritable(f"the lock {home.lock} is no file; remove it")
    return fd


def _is_lock(home: Home, fd: int) -> bool:
    """Say whether a descriptor is that of the file that has the lock's name now."""
    try:
        return os.path.samestat(os.fstat(fd), home.lock.stat())
    except OSError:
        return False


def _boot() -> str:
    """Return what this life of the machine is called; empty where the system does not tell."""
    try:
        # Where Linux says which life of the machine this is.
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _lives(pid: int) -> bool:
    """Say whether a process has that number."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        # Another user's.
        return True
    return True


def _listens(home: Home) -> bool:
    """Say whether a process listens on the home's socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.setblocking(False)  # noqa: FBT003 - takes no keywords
        try:
            sock.connect(str(home.socket))
        except BlockingIOError:
            # Its queue of callers is full.
            return True
        except OSError:
            return False
    return True


def _refusal(home: Home) -> str:
    """Return why the lock is not to be had, and what to do."""
    if not is_daemon(home):
        return (
            f"another command holds the lock {home.lock}, such as a restore; wait for its end, or "
            f"find it with: fuser {home.lock}"
        )
    owner = read(home)
    whose = f"pid {owner.pid}" if owner.pid else "its pid is not written in the lock"
    return f'a daemon already runs for {home.root}, {whose}; end it with "cortex stop"'


def take_lock(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Take a lock on a file if it is free now; say whether it was."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


#: macOS: the level of a local socket's options (SOL_LOCAL of sys/un.h).
_SOL_LOCAL = 0

#: macOS: options that give the peer's credentials and its process id (sys/un.h).
_LOCAL_PEERCRED, _LOCAL_PEERPID = 1, 2

#: macOS: bytes of `struct xucred`; version and uid are its first two 32-bit words.
_XUCRED_BYTES = 76

#: Linux: pid, uid and gid, three 32-bit words (`struct ucred`).
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end when the connection was made."""

    pid: int | None
    uid: int | None

    @property
    def ours(self) -> bool:
        """Whether it runs as the same user; a platform that cannot tell leaves it to mode 0600."""
        return self.uid is None or self.uid == os.getuid()


def find_peer(sock: socket.socket) -> Peer:
    """Return who is at the other end; unknown parts are None. Raises `OSError` on a dead socket."""
    if sys.platform == "darwin":
        raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        return Peer(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), struct.unpack_from("2I", raw)[1])
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        pid, uid, _ = _UCRED.unpack(raw)
        return Peer(pid, uid)
    return Peer(None, None)
