"""The log is followed across the daemon's ends: each record once, and what is gone is counted."""

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
        """`-F` waits for a daemon, through a kill, too; `-f` ends, with 69 and where to go on."""
        cortex("start")
        _say(cortex, 0)
        cortex("stop")
        wanted = ("--json", "--topic", "custom:count", "-n", "1")
        patient = Reader(cortex.spawn("logs", "-F", *wanted))
        patient.until(0)
        cortex("start")
        plain = Reader(cortex.spawn("logs", "-f", *wanted))
        _say(cortex, 1)
        for reader in (patient, plain):
            reader.until(1)
        kill(cortex.status()["pid"])
        _, err = plain.process.communicate(timeout=PATIENCE)
        (since,) = re.findall(r"cortex logs -f --since (\d+)\n$", err)
        cortex("start")
        _say(cortex, 2)
        patient.until(2)
        resumed = cortex("logs", "--since", since, "--json", "--topic", "custom:count")
        patient.process.terminate()
        _, said = patient.process.communicate(timeout=PATIENCE)

        assert 69 == plain.process.returncode
        assert [0, 1, 2] == patient.shown
        assert ["n=2"] == [json.loads(each)["text"] for each in resumed.stdout.splitlines()]
        assert 2 == said.count("the daemon is gone; waiting for it")
