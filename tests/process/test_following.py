"""The log is followed to the daemon's end, and from there on after it: each record once."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING

import pytest

from tests.process.commands import PATIENCE, Commands, kill

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.slow


class Reader:
    """A follower in a process of its own, and what it has shown."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Begin with nothing shown."""
        self.process = process
        self.shown: list[int] = []

    def until(self, number: int) -> None:
        """Read until the event of that number is shown."""
        assert self.process.stdout is not None
        out: IO[str] = self.process.stdout
        while number not in self.shown:
            record = json.loads(out.readline())
            self.shown.append(int(record["text"].removeprefix("n=")))


def _say(cortex: Commands, number: int) -> None:
    """Publish one event."""
    assert 0 == cortex("publish", "custom:count", f"n:={number}", "--transient").returncode


class TestEnds:
    def test_goes_on(self, cortex: Commands) -> None:
        """`-f` ends with a daemon that is killed, with 69 and where to go on."""
        cortex("start")
        _say(cortex, 0)
        reader = Reader(cortex.spawn("logs", "-f", "--json", "--topic", "custom:count", "-n", "1"))
        reader.until(0)
        _say(cortex, 1)
        reader.until(1)
        kill(cortex.status()["pid"])
        _, err = reader.process.communicate(timeout=PATIENCE)
        (since,) = re.findall(r"cortex logs -f --since (\d+)\n$", err)
        cortex("start")
        _say(cortex, 2)
        resumed = cortex("logs", "--since", since, "--json", "--topic", "custom:count")

        assert 69 == reader.process.returncode
        assert [0, 1] == reader.shown
        assert ["n=2"] == [json.loads(each)["text"] for each in resumed.stdout.splitlines()]
