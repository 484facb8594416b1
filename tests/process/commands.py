"""Runs the program as a user would: as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.lock import HomeState

if TYPE_CHECKING:
    from collections.abc import Callable

#: The folder that holds pyproject.toml.
ROOT = Path(__file__).parents[2]

#: Seconds that anything may take before a test gives up on it.
PATIENCE = 30.0


class Commands:
    """The command line, for one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "CORTEX_EMBEDDING__PROVIDER": "hashing",
            "CORTEX_HOME": str(home),
        }
        self._running: list[subprocess.Popen[str]] = []

    def __call__(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "cortex_actors", *words],
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
            check=False,
        )

    def spawn(
        self, *words: str, program: str = "-mcortex_actors", cwd: Path = ROOT
    ) -> subprocess.Popen[str]:
        """Start a command that goes on; it is killed after the test."""
        process = subprocess.Popen(
            [sys.executable, program, *words],
            env=self.env,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        return process

    def adopt(self, process: subprocess.Popen[str]) -> None:
        """Take a process that a test started by itself: it is killed after the test."""
        self._running.append(process)

    def fake(self, what: str, *words: str) -> subprocess.Popen[str]:
        """Start a daemon with a tree that goes wrong as `tests/process/fake_tree.py` says."""
        self.env["FAKE"] = what
        return self.spawn(*words, program=str(ROOT / "tests/process/fake_tree.py"))

    def status(self) -> dict[str, Any]:
        """Return what `status --json` says, with its exit code as `code`."""
        done = self("status", "--json")
        assert done.stdout, done.stderr
        found: dict[str, Any] = {**json.loads(done.stdout), "code": done.returncode}
        return found

    def wait(self) -> None:
        """Return once a daemon answers; a look at its lock costs no process."""
        until(lambda: HomeState.RUNNING == lock.read(Home(self.home)).state, "a daemon")
        until(lambda: 0 == self.status()["code"], "an answer")

    def clean_up(self) -> None:
        """End every process that the test started."""
        for process in self._running:
            process.kill()
            if process.stdout is not None and not process.stdout.closed:
                process.communicate()
            elif process.stderr is not None:
                process.stderr.close()
            process.wait(PATIENCE)
        if alive(lock.read(Home(self.home)).pid or 0):
            self("stop", "--timeout", "3")


def until(condition: Callable[[], object], what: str, *, within: float = PATIENCE) -> None:
    """Look until a condition holds; fail after a while."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def kill(pid: int) -> None:
    """Kill a process that is not our child, and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), f"the end of {pid}")


def alive(pid: int) -> bool:
    """Say whether a process runs; one that ended and was not waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return _answers(pid) and not Path("/proc").is_dir()


def _answers(pid: int) -> bool:
    """Say whether a process has that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
