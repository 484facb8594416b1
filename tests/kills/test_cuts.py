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
from tests.kills.ledger_file import NAME, Rows, copied, differences, make
from tests.process.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Where a cut falls.
SIDES = ("before", "after")

#: The commits of the story are shared out among so many tests, which may run at the same time.
SHARES = 4

#: More commits than the story has.
ENDLESS = 1_000

pytestmark = pytest.mark.slow


class Stage:
    """A folder of projects, always the same, because what is known of them names its path."""

    def __init__(self, root: Path, lives: subprocess.Popen[str]) -> None:
        self._lives = lives
        self.folder = root / "projects"
        self.home = root / "home"
        self._template = root / "template"

    def prepare(self, *, migrated: bool = True) -> None:
        """Begin anew: the first files, and a witnessed ledger or none."""
        for each in (self.folder, self.home):
            shutil.rmtree(each, ignore_errors=True)
        story.write(self.folder)
        self.home.mkdir()
        if migrated:
            if not (self._template / NAME).exists():
                make(self._template)
            shutil.copyfile(self._template / NAME, self.home / NAME)

    def live(self, commit: int = 0, side: str = "") -> int:
        """Live one life, cut at a commit; return how it ended."""
        words = {"home": str(self.home), "folder": str(self.folder), "commit": commit, "side": side}
        assert self._lives.stdin is not None
        assert self._lives.stdout is not None
        self._lives.stdin.write(json.dumps(words) + "\n")
        self._lives.stdin.flush()
        return int(self._lives.stdout.readline())

    def told(self, *, witnessed: bool = True) -> dict[str, Rows]:
        """Return what the ledger holds at the story's end, after an audit."""
        with copied(self.home) as ledger:
            problems = audit.examine(ledger).problems
            if witnessed:
                problems += audit.once(ledger)
            assert [] == problems
            return ledger.content()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Give a stage, and a process that lives lives on it."""
    with _living() as lives:
        yield Stage(tmp_path, lives)


@contextmanager
def _living() -> Iterator[subprocess.Popen[str]]:
    script = str(Path(__file__).with_name("cut_lives.py"))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _sweep(stage: Stage, first: int) -> tuple[int, int]:
    """Cut the story at every so many commits; return how many cuts there were, and commits."""
    stage.prepare()
    assert 0 == stage.live()
    once = stage.told()
    cuts = 0
    for commit in range(first, ENDLESS, SHARES):
        ends = [_cut(stage, commit, side, once) for side in SIDES]
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
        cuts, commits = _sweep(stage, first)

        print(f"{cuts} cuts landed, every {SHARES}th of {commits} commits from {first} on")  # noqa: T201
        assert cuts >= 2 * (commits // SHARES - 1)

    def test_while_the_ledger_is_made(self, stage: Stage) -> None:
        """A first start that is cut while it makes the ledger costs nothing but itself."""
        stage.prepare(migrated=False)
        assert 0 == stage.live()
        once = stage.told(witnessed=False)
        for commit in (1, 2):
            for side in SIDES:
                stage.prepare(migrated=False)
                assert -signal.SIGKILL == stage.live(commit, side)
                assert 0 == stage.live()
                assert [] == differences(once, stage.told(witnessed=False)), (commit, side)
