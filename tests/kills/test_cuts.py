"""A kill between any two steps: right before and right after each commit of a whole story."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kills import audit, story
from tests.kills.ledger_file import Rows, copied, differences, make
from tests.process.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Where a cut falls. Right before a commit the ledger is what it was right after the one before,
#: and the files are as far as they come: a normal run cuts there only, a soak on both sides.
SIDES = ("before", "after")
BEFORE = SIDES[:1]

#: What a life says that has stopped.
STOPPED = "stopped\n"

#: The commits of the story are shared out among so many tests, which may run at the same time.
SHARES = 4

#: More commits than the story has.
ENDLESS = 1_000

#: Cuts that each share of a story has at least, on either side.
LEAST = 5

#: A cut's name, and the folder with what a kill would have left.
Cut = tuple[str, Path]

pytestmark = pytest.mark.slow


class Stage:
    """A folder of projects, always the same, because what is known of them names its path."""

    def __init__(self, root: Path, lives: subprocess.Popen[str], *, tale: str = story.UP) -> None:
        self._lives = lives
        self._tale = tale
        self.folder = root / "projects"
        self.home = root / "home"
        self._root = root

    def begin(self, *, migrated: bool = True) -> None:
        """Begin with the first files, and a witnessed ledger or none."""
        story.write(self.folder)
        self.home.mkdir()
        if migrated:
            make(self.home)

    def go_on(self) -> None:
        """Begin where the story that goes up has ended, with the other one."""
        self.begin()
        self.live()
        self._tale = story.DOWN

    def restore(self, kept: Path) -> None:
        """Put everything back to how it was at a cut."""
        for each in (self.folder, self.home):
            shutil.rmtree(each)
            (kept / each.name).rename(each)

    def live(self, commits: range = range(0), sides: Sequence[str] = BEFORE) -> list[Cut]:
        """Live one life to its end; return what a kill at each of those commits would have left.

        What is on the disk when all threads have stopped is what they would leave if they ended.
        """
        words = {
            "home": str(self.home),
            "folder": str(self.folder),
            "commits": [commits.start, commits.stop, commits.step],
            "sides": sides,
            "tale": self._tale,
        }
        cuts: list[Cut] = []
        answer = self._ask(json.dumps(words))
        while answer == STOPPED:
            kept = self._root / f"cut {len(cuts)}"
            for each in (self.folder, self.home):
                shutil.copytree(each, kept / each.name)
            number, side = divmod(len(cuts), len(sides))
            cuts.append((f"{sides[side]} commit {commits[number]}", kept))
            answer = self._ask("on")
        assert "0\n" == answer
        return cuts

    def _ask(self, line: str) -> str:
        """Return the answer of what lives lives."""
        assert self._lives.stdin is not None
        assert self._lives.stdout is not None
        self._lives.stdin.write(f"{line}\n")
        self._lives.stdin.flush()
        return self._lives.stdout.readline()

    def told(self, *, witnessed: bool = True) -> dict[str, Rows]:
        """Return what the ledger and the files hold at the story's end, after an audit."""
        with copied(self.home) as ledger:
            problems = audit.examine(ledger).problems
            if witnessed:
                problems += audit.once(ledger)
            assert [] == problems
            return ledger.content() | {"on the disk": self._files()}

    def _files(self) -> Rows:
        """Return every file of the projects."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return [(str(path.relative_to(self.folder)), path.read_bytes()) for path in files]


@pytest.fixture(scope="module")
def lives() -> Iterator[subprocess.Popen[str]]:
    """Give a process that lives lives: to load the program and tell both stories takes long."""
    with living() as found:
        yield found


@pytest.fixture
def stage(tmp_path: Path, lives: subprocess.Popen[str]) -> Stage:
    """Give a stage, and a process that lives lives on it."""
    return Stage(tmp_path, lives)


@contextmanager
def living(*tales: str) -> Iterator[subprocess.Popen[str]]:
    """Give a process that lives lives, quickly those of the stories that are named."""
    script = str(Path(__file__).with_name("cut_lives.py"))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, script, *tales],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _sweep(
    stage: Stage, commits: range, sides: Sequence[str], *, witnessed: bool = True
) -> Sequence[Cut]:
    """Cut the story at commits, and compare what is known in the end with a life without."""
    cuts = stage.live(commits, sides)
    once = stage.told(witnessed=witnessed)
    for name, kept in cuts:
        stage.restore(kept)
        stage.live()
        assert [] == differences(once, stage.told(witnessed=witnessed)), f"cut {name}"
    return cuts


class TestCuts:
    @pytest.mark.parametrize("first", range(1, SHARES + 1))
    def test_every_commit(self, stage: Stage, first: int) -> None:
        """Whichever commit a life is cut at, the next one ends with what a clean run knows."""
        stage.begin()
        self.sweep(stage, first, BEFORE)

    @pytest.mark.parametrize("first", range(1, SHARES + 1, 2))
    def test_while_files_are_written(self, stage: Stage, first: int) -> None:
        """The same for what is written into files, at every second commit (a soak: at all)."""
        stage.go_on()
        self.sweep(stage, first, BEFORE)

    @pytest.mark.soak
    @pytest.mark.parametrize("begin", [Stage.begin, Stage.go_on])
    @pytest.mark.parametrize("first", range(1, SHARES + 1))
    def test_both_sides(self, stage: Stage, first: int, begin: Callable[[Stage], None]) -> None:
        """A commit that was done and that nobody heard of is no other cut."""
        begin(stage)
        self.sweep(stage, first, SIDES)

    def sweep(self, stage: Stage, first: int, sides: Sequence[str]) -> None:
        """Cut a share of the commits, and say how many cuts there were."""
        cuts = len(_sweep(stage, range(first, ENDLESS, SHARES), sides))

        print(f"{cuts} cuts landed, every {SHARES}th commit from {first} on")  # noqa: T201
        assert cuts >= LEAST * len(sides)

    def test_while_the_ledger_is_made(self, stage: Stage) -> None:
        """A first start that is cut while it makes the ledger costs nothing but itself."""
        stage.begin(migrated=False)

        assert 4 == len(_sweep(stage, range(1, 3), SIDES, witnessed=False))
