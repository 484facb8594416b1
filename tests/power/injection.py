"""Lives of `publisher.py`, in which the Nth call of a kind fails or is the last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.power.strace import PATIENCE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

_PUBLISHER = Path(__file__).with_name("publisher.py")

#: What lies in a home that the ledger writes; the folder itself is synced, too.
_FILES = ("", "cortex.db", "cortex.db-wal", "cortex.db-journal")


@dataclass(frozen=True, slots=True)
class Fault:
    """Which call fails, how, and the how-manieth of each thread it is."""

    call: str
    how: str
    number: int

    def __str__(self) -> str:
        """Return it as a failing test names it."""
        return f"{self.call} number {self.number}: {self.how}"

    @property
    def option(self) -> str:
        """The words of strace for it."""
        how = "signal=SIGKILL" if self.how == "KILL" else f"error={self.how}"
        return f"inject={self.call}:{how}:when={self.number}"


@dataclass(slots=True)
class Life:
    """What one life told, how it ended, and the calls in it that failed."""

    told: list[str] = field(default_factory=list)
    code: int = 0
    injected: list[str] = field(default_factory=list)


class Publishers:
    """Starts lives; each is a fork, because importing everything takes a second."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def live(self, home: Path, when: str, fault: Fault | None = None) -> Life:
        """Live once; a fault counts from the moment `when` says (`opening`, `publishing`)."""
        life = Life()
        self._say(f"{home} {when}")
        tracer = None
        for line in self._lines():
            word, _, rest = line.partition(" ")
            if word == "stopped":
                tracer = self._trace(int(rest), home, fault)
            elif word == "ended":
                life.code = int(rest)
                break
            else:
                life.told.append(line)
        if tracer is not None:
            tracer.communicate(timeout=PATIENCE)
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            life.injected = [each for each in lines if "INJECTED" in each]
            if life.code == -signal.SIGKILL:
                life.injected.append("KILL")
        return life

    def _trace(self, pid: int, home: Path, fault: Fault | None) -> subprocess.Popen[str] | None:
        """Put strace on a life that waits for it, and let it go on."""
        tracer = None
        if fault is not None:
            paths = [word for name in _FILES for word in ("-P", str(home / name))]
            options = ["-e", f"trace={fault.call}", "-e", fault.option, *paths]
            tracer = subprocess.Popen(
                ["strace", "-f", "-y", "-o", str(self._log), *options, "-p", str(pid)],
                stderr=subprocess.PIPE,
                text=True,
            )
            assert tracer.stderr is not None
            said = tracer.stderr.readline()
            if "attached" not in said:
                os.kill(pid, signal.SIGKILL)  # it would wait for ever
                raise AssertionError(said + tracer.communicate()[1])
        os.kill(pid, signal.SIGCONT)
        return tracer

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.strip()
        raise AssertionError("the publisher has ended")


@contextmanager
def publishers(log: Path) -> Iterator[Publishers]:
    """Have publishers as long as they are needed; strace's words go to a file."""
    process = subprocess.Popen(
        [sys.executable, str(_PUBLISHER)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Publishers(process, log)
    finally:
        # It ends when there is nothing more to read, after the life in hand.
        process.communicate(timeout=PATIENCE)
