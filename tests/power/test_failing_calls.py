"""The Nth system call of a kind fails, for every N: nothing acknowledged is lost, nothing is half.

A ledger, an accumulator and a publisher run under strace, which lets one call on the ledger's files
fail with an error or be the process's last. What is left is opened as the daemon would, and then
the same is done once more without faults, which must bring it to its end.
"""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from cortex_actors.home import Home
from tests.power.injection import Fault, Publishers, publishers
from tests.power.remains import SECTIONS, Remains, remains
from tests.power.reopening import Reopened
from tests.power.strace import need_strace, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.power.injection import Life

# Read when the module is, because no test sees the variables of the user's environment.
#: Which writes fail, of those that a normal run leaves out.
SEED = int(os.environ.get("CORTEX_POWER_SEED", "1988"))

#: Of how many writes one fails, in a normal run: there are a hundred in one life.
STRIDE = 20

#: Calls of one kind after which the sweep would never end.
MANY = 500

#: A call, and every how-manieth of it fails.
SYNCS = ("fdatasync", 1)
WRITES = ("pwrite64", STRIDE)
EVERY_WRITE = ("pwrite64", 1)
CUTS = ("ftruncate", 1)
OPENINGS = ("openat", 1)
REMOVALS = ("/^unlink(at)?$", 1)

#: Calls whose failure nobody may swallow.
_GRAVE = ("fdatasync", "pwrite64")


@dataclass(slots=True)
class Sweep:
    """A home, its copy from before, and what happened in all lives."""

    folder: Path
    publishers: Publishers
    injected: int = 0
    acknowledged: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the line that is printed."""
        return (
            f"{self.injected} faults injected, {self.acknowledged} acknowledged, {self.lost} lost"
        )

    @property
    def home(self) -> Path:
        """Where each life lives."""
        return self.folder / "home"

    def run(self, when: str, kind: tuple[str, int], how: str) -> None:
        """Let every call of a kind fail, one in each life, until a life has no such call."""
        call, stride = kind
        for number in range(1 + SEED % stride, MANY, stride):
            if not self.once(when, Fault(call, how, number)):
                return
        self.problems.append(f"{when}, {call}: there is no end of them")

    def once(self, when: str, fault: Fault) -> bool:
        """Live a life with a fault and judge it; tell whether it had that call."""
        shutil.rmtree(self.home)
        shutil.copytree(self.folder / "before", self.home)
        life = self.publishers.live(self.home, when, fault)
        self._judge(f"{when}, {fault}", life)
        if not life.injected:
            return False
        self.injected += 1
        if problem := _ended_wrongly(fault, when, life):
            self._note(f"{when}, {fault}", problem, life)
        return True

    def _judge(self, where: str, life: Life) -> None:
        """Look at what a life left, then let another one do the rest."""
        left = self._look()
        told = {word for line in life.told for word in line.split()}
        self.acknowledged += sum(word in told for word in ("published", "read"))
        missing = left.event not in told if "published" in told else False
        if missing or ("read" in told and not left.is_read):
            self.lost += 1
            self._note(where, f"lost: {left}", life)
        if not left.is_whole:
            self._note(where, f"half: {left}", life)
        again = self.publishers.live(self.home, "again")
        after = self._look()
        if again.code != 0 or not (after.is_whole and after.is_read):
            self._note(where, f"not finished: {after}", again)
        if left.is_published and after.event != left.event:
            self._note(where, "published twice", again)

    def _look(self) -> Remains:
        with Reopened(Home(self.home).ledger).transaction() as opened:
            return remains(opened)

    def _note(self, where: str, problem: str, life: Life) -> None:
        """Remember what is wrong."""
        self.problems.append(f"{where}: {problem}; {life}")


def _ended_wrongly(fault: Fault, when: str, life: Life) -> str:
    """Return what a life should have done about its fault; "" when it did."""
    match fault.how:
        case "KILL":
            wrong = life.code != -signal.SIGKILL
        case "ENOSPC" if fault.call == "pwrite64" and when == "publishing":
            # It goes on as soon as there is room.
            wrong = life.code != 0 or "read" not in life.told
        case _:
            wrong = when == "publishing" and fault.call in _GRAVE and life.code != 70
    return f"it ended with {life.code}" if wrong else ""


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[Path, Publishers]]:
    """Give a folder with a home that follows a project, and those who live in it."""
    need_strace()
    for folder in scratch():
        (project := folder / "project").mkdir()
        text = "".join(f"## Rule {number}\n\nUse tool {number}.\n\n" for number in range(SECTIONS))
        (project / "CLAUDE.md").write_text(text, encoding="utf-8")
        home = Home(folder / "home")
        home.create()
        with publishers(folder / "strace") as lives:
            assert lives.live(home.root, "preparing").code == 0
            shutil.copytree(home.root, folder / "before")
            yield folder, lives


@pytest.fixture
def sweep(stage: tuple[Path, Publishers]) -> Sweep:
    """Give the stage with nothing found yet."""
    return Sweep(*stage)


def _passed(sweep: Sweep) -> None:
    """Print what was done, and fail with what went wrong."""
    print(f"CORTEX_POWER_SEED={SEED}: {sweep}")  # noqa: T201 - shown with `-rP`

    assert not sweep.problems, "\n".join(sweep.problems[:5])
    assert sweep.injected > 0


class TestBrokenDisk:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [SYNCS, WRITES, CUTS, OPENINGS], ids=str)
    def test_publishing(self, sweep: Sweep, kind: tuple[str, int]) -> None:
        """Whichever call fails for good, what was acknowledged is there after the next start."""
        sweep.run("publishing", kind, "EIO")

        _passed(sweep)

    @pytest.mark.slow
    def test_opening(self, sweep: Sweep) -> None:
        """So it is when the ledger is only being opened."""
        sweep.run("opening", SYNCS, "EIO")

        _passed(sweep)


class TestFullDisk:
    @pytest.mark.slow
    def test_publishing(self, sweep: Sweep) -> None:
        """Whichever write finds no room, it is said so, and done as soon as there is."""
        sweep.run("publishing", WRITES, "ENOSPC")

        _passed(sweep)


class TestKill:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [SYNCS, WRITES, CUTS, REMOVALS], ids=str)
    def test_publishing(self, sweep: Sweep, kind: tuple[str, int]) -> None:
        """Whichever call is the last, what was acknowledged is there after the next start."""
        sweep.run("publishing", kind, "KILL")

        _passed(sweep)

    @pytest.mark.slow
    def test_opening(self, sweep: Sweep) -> None:
        """So it is when the ledger is only being opened."""
        sweep.run("opening", SYNCS, "KILL")

        _passed(sweep)


class TestGuard:
    @pytest.mark.slow
    def test_hasty(self, sweep: Sweep) -> None:
        """A publisher that acknowledges before the commit is found out."""
        sweep.once("hasty", Fault("fdatasync", "KILL", 1))

        assert sweep.lost == 1


class TestAtLength:
    @pytest.mark.soak
    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["EIO", "ENOSPC", "KILL"])
    @pytest.mark.parametrize("when", ["opening", "publishing"])
    def test_every_call(self, sweep: Sweep, when: str, how: str) -> None:
        """All of that holds for every single call."""
        for kind in (SYNCS, EVERY_WRITE, CUTS, OPENINGS, REMOVALS):
            sweep.run(when, kind, how)

        _passed(sweep)
