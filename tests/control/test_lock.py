"""The owner's lock."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import AlreadyRunning, HomeUnwritable
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.lock import HomeState, LockInfo
from cortex_actors.storage.ledger import faults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def owner(home: Home) -> Iterator[lock.Lock]:
    """Hold the lock, as a daemon that is starting."""
    owner = lock.acquire(home)
    owner.take_over(started_at=1_000_000, version="1.2.3")
    yield owner
    owner.close()


class TestOwnership:
    def test_is_exclusive(self, home: Home, owner: lock.Lock) -> None:
        """A second owner is refused, and told the first one's pid."""
        with pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"):
            lock.acquire(home)

    def test_lookers_do_not_keep_it(self, home: Home) -> None:
        """Somebody who looks all the time does not make a start fail."""
        looks = []
        with home.lock.open("w") as file, pytest.MonkeyPatch.context() as patch:
            fcntl.flock(file, fcntl.LOCK_SH)

            def look(_: float) -> None:
                looks.append("looked")
                if len(looks) == 3:
                    fcntl.flock(file, fcntl.LOCK_UN)

            patch.setattr("cortex_actors.process.lock.time.sleep", look)
            lock.acquire(home).close()

        assert 3 == len(looks)

    def test_ends_with_its_holder(self, home: Home, owner: lock.Lock) -> None:
        """Whoever lets go leaves the file, and the next owner counts one up."""
        owner.close()
        after = lock.acquire(home)
        after.take_over(started_at=2, version="2")
        after.close()

        assert home.lock.exists()
        assert 2 == lock.read(home).epoch

    @pytest.mark.parametrize(
        ("state", "boot", "doubted"),
        [
            (HomeState.RUNNING, "another", True),
            (HomeState.STARTING, "another", True),
            (HomeState.CRASHED, "another", True),
            (HomeState.RUNNING, "", True),  # an earlier version did not say
            (HomeState.STOPPED, "another", False),
            (HomeState.RUNNING, None, False),
        ],
    )
    def test_machine_went_down(
        self, home: Home, owner: lock.Lock, state: HomeState, boot: str | None, doubted: bool
    ) -> None:
        """The ledger is doubted where the machine went down under the owner before, else not."""
        owner.say(state)
        owner.close()
        said = json.loads(home.lock.read_text())
        assert said["boot"]
        if boot is not None:
            home.lock.write_text(json.dumps({**said, "boot": boot}))
        after = lock.acquire(home)
        after.take_over(started_at=2, version="2")
        after.take_over(started_at=2, version="2")  # by the child, in whose name it was taken
        after.close()

        assert doubted == home.suspect.exists()
        assert home.suspect == faults.name_marker(home.ledger)
        assert said["boot"] == lock.read(home).boot

    def test_is_handed_down(self, home: Home, owner: lock.Lock) -> None:
        """A descriptor of the lock is the lock, and no child of the child gets it."""
        fd = os.dup(owner.fileno())
        os.set_inheritable(fd, True)
        child = lock.from_fd(home, fd)
        owner.close()

        assert not os.get_inheritable(fd)
        assert HomeState.STARTING == lock.read_state(home)
        child.close()

    def test_other_descriptor(self, home: Home, owner: lock.Lock, tmp_path: Path) -> None:
        """A descriptor of another file, or of nothing, is refused."""
        with (tmp_path / "other").open("w") as file:
            for fd in (file.fileno(), 99_999):
                with pytest.raises(AlreadyRunning, match="is not the lock"):
                    lock.from_fd(home, fd)

    def test_folder_is_gone(self, tmp_path: Path) -> None:
        """A lock that cannot be made says so."""
        with pytest.raises(HomeUnwritable, match="cannot open the lock"):
            lock.acquire(Home(tmp_path / "nowhere"))


class TestState:
    def test_no_file(self, home: Home) -> None:
        """A home without a lock file is stopped."""
        assert HomeState.STOPPED == lock.read_state(home)

    def test_held(self, home: Home, owner: lock.Lock) -> None:
        """While the lock is held, its owner says whether it is ready."""
        before = lock.read_state(home)
        owner.say(HomeState.RUNNING)

        assert (HomeState.STARTING, HomeState.RUNNING) == (before, lock.read_state(home))

    @pytest.mark.parametrize("said", [HomeState.STARTING, HomeState.RUNNING, HomeState.CRASHED])
    def test_let_go_without_a_word(self, home: Home, owner: lock.Lock, said: HomeState) -> None:
        """An owner that is gone and did not say that it stopped has crashed."""
        owner.say(said)
        owner.close()

        assert HomeState.CRASHED == lock.read_state(home)

    def test_stopped(self, home: Home, owner: lock.Lock) -> None:
        """An owner that said so has stopped, and its reason is kept."""
        owner.say(HomeState.STOPPED, "asked to")
        owner.close()

        assert HomeState.STOPPED == lock.read_state(home)
        assert "asked to" == lock.read(home).reason


class TestInfo:
    @pytest.mark.parametrize(
        "garbage",
        [b"", b"\xff\xfe", b"[]", b"null", b"[" * 4_000, b'{"pid": "x", "epoch": true}', b"{"],
    )
    def test_garbage(self, home: Home, owner: lock.Lock, garbage: bytes) -> None:
        """Garbage in the file reads as nothing known, and the lock is held all the same."""
        home.lock.write_bytes(garbage)

        assert LockInfo() == lock.read(home)
        assert HomeState.RUNNING == lock.read_state(home)

    def test_shorter_text(self, home: Home, owner: lock.Lock) -> None:
        """What a longer text left behind does not spoil a shorter one."""
        owner.say(HomeState.STOPPED, "x" * 500)
        owner.say(HomeState.STOPPED, "y")

        assert "y" == lock.read(home).reason
        assert 1 == home.lock.read_text().count("\n")
