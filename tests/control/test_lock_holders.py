"""Who may hold a home's lock besides daemons, and what may lie in its place."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import AlreadyRunning, HomeUnwritable
from cortex_actors.process import lock
from cortex_actors.process.lock import ATTEMPTS, HomeState, LockInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from cortex_actors.home import Home

    Paused = Callable[[Callable[[int], object]], list[int]]

#: A process id that nobody has: above what any kernel gives.
NOBODY = 2**22 + 1


@pytest.fixture
def holder(home: Home) -> Iterator[IO[str]]:
    """Hold the lock without being a daemon, as a command that writes the ledger."""
    with home.lock.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> Paused:
    """Give a way to be called instead of each pause; what it gives counts them."""

    def patch(act: Callable[[int], object]) -> list[int]:
        pauses: list[int] = []

        def pause(_: float) -> None:
            pauses.append(1)
            act(len(pauses))

        monkeypatch.setattr("cortex_actors.process.lock.time.sleep", pause)
        return pauses

    return patch


def wrote(home: Home, state: HomeState, pid: int) -> None:
    """Leave behind what an owner wrote."""
    home.lock.write_text(json.dumps({"pid": pid, "state": state, "epoch": 7, "reason": "r"}))


class TestWaiting:
    def test_for_a_command(self, home: Home, holder: IO[str], paused: Paused) -> None:
        """A start waits for a command that holds the lock for a moment."""
        pauses = paused(lambda n: fcntl.flock(holder, fcntl.LOCK_UN) if n == 3 else None)
        lock.acquire(home).close()

        assert 3 == len(pauses)

    @pytest.mark.parametrize("said", [HomeState.RUNNING, HomeState.STARTING, HomeState.STOPPED])
    def test_after_a_dead_daemon(
        self, home: Home, holder: IO[str], paused: Paused, said: HomeState
    ) -> None:
        """It waits, too, where the file names a daemon that is no more."""
        wrote(home, said, NOBODY)
        pauses = paused(lambda n: fcntl.flock(holder, fcntl.LOCK_UN) if n == 2 else None)
        lock.acquire(home).close()

        assert 2 == len(pauses)

    def test_not_for_ever(self, home: Home, holder: IO[str], paused: Paused) -> None:
        """After two seconds it says that another command holds the lock."""
        pauses = paused(lambda _: None)
        with pytest.raises(AlreadyRunning, match="another command holds the lock"):
            lock.acquire(home)

        assert ATTEMPTS == len(pauses)

    def test_not_for_a_daemon(self, home: Home, holder: IO[str], paused: Paused) -> None:
        """For a daemon it does not wait at all."""
        wrote(home, HomeState.RUNNING, os.getpid())
        pauses = paused(lambda _: None)
        with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"):
            lock.acquire(home)

        assert [] == pauses

    def test_not_for_a_daemon_in_disguise(
        self, home: Home, holder: IO[str], paused: Paused
    ) -> None:
        """Nor where the file is garbage, if somebody listens on the socket."""
        home.lock.write_text("nonsense")
        pauses = paused(lambda _: None)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(home.socket))
            sock.listen()
            with pytest.raises(AlreadyRunning, match="its pid is not written"):
                lock.acquire(home)

        assert [] == pauses

    def test_started_meanwhile(self, home: Home, holder: IO[str], paused: Paused) -> None:
        """A daemon that was faster ends the waiting."""
        pauses = paused(lambda _: wrote(home, HomeState.STARTING, os.getpid()))
        with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"):
            lock.acquire(home)

        assert 1 == len(pauses)


class TestState:
    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (HomeState.RUNNING, HomeState.CRASHED),
            (HomeState.STOPPED, HomeState.STOPPED),
            ("", HomeState.RUNNING),
        ],
    )
    def test_held_by_a_command(
        self, home: Home, holder: IO[str], said: HomeState, told: HomeState
    ) -> None:
        """Meanwhile the state is how the last daemon ended; garbage may be a daemon's."""
        wrote(home, said, NOBODY if said else 0)

        assert told == lock.read_state(home)

    def test_later_owner(self, home: Home) -> None:
        """An owner's last words do not hide a later owner's."""
        first = lock.acquire(home)
        first.take_over(started_at=1, version="1")
        home.lock.write_text(json.dumps({"pid": 2, "state": "running", "epoch": 9}))
        first.say(HomeState.STOPPED, "asked to")
        first.close()

        assert (9, "running") == (lock.read(home).epoch, lock.read(home).state)


class TestOddFiles:
    def test_removed(self, home: Home) -> None:
        """Where a held lock was removed a second owner gets one of its own."""
        first = lock.acquire(home)
        home.lock.unlink()
        second = lock.acquire(home)
        second.take_over(started_at=1, version="1")
        first.close()

        assert HomeState.STARTING == lock.read_state(home)
        second.close()

    def test_replaced_while_it_is_taken(self, home: Home, paused: Paused) -> None:
        """Whoever locked a file that has the name no more takes the one that has it."""
        pauses = paused(lambda _: None)
        taken: list[int] = []
        real = fcntl.flock

        def replace(fd: int, kind: int) -> None:
            if not taken:
                home.lock.unlink()
                home.lock.touch()
            taken.append(fd)
            real(fd, kind)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cortex_actors.process.lock.fcntl.flock", replace)
            owner = lock.acquire(home)

        assert os.path.samestat(os.fstat(owner.fileno()), home.lock.stat())
        assert 1 == len(pauses)
        owner.close()

    def test_huge(self, home: Home) -> None:
        """A huge file says nothing, and is short once it has an owner."""
        home.lock.write_bytes(b"[" * 10_000_000)
        assert (LockInfo(), HomeState.STOPPED) == (lock.read(home), lock.read_state(home))

        owner = lock.acquire(home)
        owner.take_over(started_at=1, version="1")
        owner.close()
        assert 300 > home.lock.stat().st_size

    @pytest.mark.parametrize("make", ["mkdir", "mkfifo"])
    def test_no_file(self, home: Home, make: str) -> None:
        """A folder or a pipe in its place is nobody's lock: 73, and what to do."""
        getattr(os, make)(home.lock)

        assert (LockInfo(), HomeState.STOPPED) == (lock.read(home), lock.read_state(home))
        with pytest.raises(HomeUnwritable, match="remove it"):
            lock.acquire(home)

    def test_unreadable(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A lock that may not be opened is said to be one."""

        def refuse(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        # Root may open anything.
        monkeypatch.setattr("cortex_actors.process.lock.os.open", refuse)

        assert HomeState.STOPPED == lock.read_state(home)
        with pytest.raises(HomeUnwritable, match="check who owns"):
            lock.acquire(home)

    @pytest.mark.parametrize("pid", [0, -1, 2**70])
    def test_no_pid(self, home: Home, holder: IO[str], paused: Paused, pid: int) -> None:
        """A number that no process can have is nobody's."""
        wrote(home, HomeState.RUNNING, pid)
        pauses = paused(lambda _: None)
        with pytest.raises(AlreadyRunning, match="another command"):
            lock.acquire(home)

        assert ATTEMPTS == len(pauses)
