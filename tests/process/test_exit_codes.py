"""The table of exit codes in docs/cli.md, row by row, by running commands."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import PATIENCE, ROOT, Commands

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

#: Words that end with a code while a daemon runs, and while none does.
RUNNING = {
    0: "topics",
    64: "publish custom:x words",
    65: "publish custom:x a:=nonsense",
    66: "init /nowhere",
    73: "start --home /proc/x",
    75: "start",
    77: "publish daemon:ready name=x",
}
DOWN = {69: "recall x", 78: "start"}


def documented() -> set[int]:
    """Return the codes of the table."""
    table = (ROOT / "docs" / "cli.md").read_text("utf-8").split("\n## Exit codes\n")[1]
    return {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}


def interrupted(cortex: Commands) -> int:
    """Return how a command ends that is interrupted as by Ctrl-C."""
    follower = cortex.spawn("logs", "-f")
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=PATIENCE)
    return follower.returncode


def killing(cortex: Commands) -> int:
    """Return how `stop` ends that had to kill: one that is paused cannot end in time by itself."""
    os.kill(cortex.status()["pid"], signal.SIGSTOP)
    return cortex("stop", "--timeout", "0").returncode


def faulty(cortex: Commands) -> int:
    """Return how a daemon with a fault of ours ends."""
    daemon = cortex.fake("fault")
    daemon.communicate(timeout=PATIENCE)
    return daemon.returncode


#: Code -> what ends with it, where words are not enough; in this order, the daemon runs till 1.
OTHERS: dict[int, Callable[[Commands], int]] = {130: interrupted, 1: killing, 70: faulty}


class TestTable:
    def test_every_row(self, cortex: Commands) -> None:
        """Every code of the table is what some command ends with, and each is in the table."""
        assert documented() == {*RUNNING, *OTHERS, *DOWN}

        cortex("start")
        found = {code: cortex(*words.split()).returncode for code, words in RUNNING.items()}
        found |= {code: act(cortex) for code, act in OTHERS.items()}
        cortex.env["CORTEX_EMBEDDING__PROVIDER"] = "magic"
        found |= {code: cortex(*words.split()).returncode for code, words in DOWN.items()}

        assert {code: code for code in documented()} == found
