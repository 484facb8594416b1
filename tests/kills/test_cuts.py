"""A kill between any two steps: right before and right after each commit of a whole story."""

from __future__ import annotations

import json
import os
import shutil
import signal
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

#: The commits of the story are shared out among so many tests, which may run at the same time.
SHARES = 4

#: More commits than the story has.
ENDLESS = 1_000

pytestmark = pytest.mark.slow


class Stage:
    """A folder of projects, always the same, because what is known of them names its path."""

    def __init__(self, root: Path, lives: subprocess.Popen[str], *, tale: str = story.UP) -> None:
        self._lives = lives
        self._tale = tale
        self.folder = root / "projects"
        self.home = root / "home"
        self._template = root / "template"

    def begin(self, *, migrated: bool = True) -> None:
        """Begin with the first files, and a witnessed ledger or none."""
        story.write(self.folder)
        self.home.mkdir()
        if migrated:
            make(self.home)
        self._keep()

    def go_on(self) -> None:
        """Begin where the story that goes up has ended, with the other one."""
        self.begin()
        assert 0 == self.live()
        self._keep()
        self._tale = story.DOWN

    def prepare(self) -> None:
        """Put everything back to how it began."""
        for each in (self.folder, self.home):
            shutil.rmtree(each)
            shutil.copytree(self._template / each.name, each)

    def _keep(self) -> None:
        """Remember how everything is now, as the beginning."""
        shutil.rmtree(self._template, ignore_errors=True)
        for each in (self.folder, self.home):
            shutil.copytree(each, self._template / each.name)

    def live(self, commit: int = 0, side: str = "") -> int:
        """Live one life, cut at a commit; return how it ended."""
        words = {
            "home": str(self.home),
            "folder": str(self.folder),
            "commit": commit,
            "side": side,
            "tale": self._tale,
        }
        assert self._lives.stdin is not None
        assert self._lives.stdout is not None
        self._lives.stdin.write(json.dumps(words) + "\n")
        self._lives.stdin.flush()
        return int(self._lives.stdout.readline())

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


def _sweep(stage: Stage, first: int, sides: Sequence[str]) -> tuple[int, int]:
    """Cut the story at every so many commits; return how many cuts there were, and commits."""
    assert 0 == stage.live()
    once = stage.told()
    cuts = 0
    for commit in range(first, ENDLESS, SHARES):
        ends = [_cut(stage, commit, side, once) for side in sides]
        cuts += ends.count(-signal.SIGKILL)
        if 0 in ends:
            return cuts, commit
    pytest.fail("the story has no end")


def _cut(stage: Stage, commit: int, side: str, once: dict[str, Rows]) -> int:
    """Tell the story with one cut, and compare what is known in the end with the clean run."""
    stage.prepare()
    ended = stage.live(commit, side)
    if ended:
        assert -signal.SIGKILL == ended
        assert 0 == stage.live(), f"no life after a cut {side} commit {commit}"
    assert [] == differences(once, stage.told()), f"cut {side} commit {commit}"
    return ended


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
        cuts, commits = _sweep(stage, first, sides)

        print(f"{cuts} cuts landed, every {SHARES}th of {commits} commits from {first} on")  # noqa: T201
        assert cuts >= len(sides) * (commits // SHARES - 1)

    def test_while_the_ledger_is_made(self, stage: Stage) -> None:
        """A first start that is cut while it makes the ledger costs nothing but itself."""
        stage.begin(migrated=False)
        assert 0 == stage.live()
        once = stage.told(witnessed=False)
        for commit in (1, 2):
            for side in SIDES:
                stage.prepare()
                assert -signal.SIGKILL == stage.live(commit, side)
                assert 0 == stage.live()
                assert [] == differences(once, stage.told(witnessed=False)), (commit, side)
