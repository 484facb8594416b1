"""A small disk of a daemon's own, system calls that fail on it, and what the ledger then holds."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from cortex_actors.client.connection import Client
from cortex_actors.errors import CortexError
from tests.power.strace import need_strace
from tests.process.commands import Commands, alive, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Events are said on this topic: nobody handles it, so only the ledger is asked.
TOPIC = "custom:fault"

#: What the daemon of a test is told: a full disk is to be felt, not to be seen coming.
SETTINGS = {"CORTEX_STORAGE__LOW_WATER_MB": "0", "CORTEX_STORAGE__BUSY_TIMEOUT_S": "4"}

#: Seconds that strace may take to let go of a process.
PATIENCE = 10.0


def need_root() -> None:
    """Skip the test where no disk can be mounted, except as root on a machine to test all."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small disk can only be mounted by root")
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if tried.returncode == 0:
        return
    if os.environ.get("CI"):
        pytest.fail("root may not mount a disk here: these tests need the right to (CAP_SYS_ADMIN)")
    pytest.skip("root may not mount a disk here")


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Path]:
    """Give a disk of that size, in memory."""
    need_root()
    options = f"size={megabytes}m,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "cortex-test", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def remount(folder: Path, options: str) -> None:
    """Change how a disk is mounted."""
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def fill(folder: Path) -> Path:
    """Use up a disk; return the file to delete."""
    file = folder / "filler"
    with file.open("wb", buffering=0) as filling:
        for size in (1_048_576, 4_096):
            try:
                while filling.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return file


@contextmanager
def failing(pid: int, calls: str, *paths: Path) -> Iterator[None]:
    """Let system calls of a process fail for a while (on these files, or all)."""
    need_strace()
    only = [word for path in paths for word in ("-P", str(path))]
    command = ["strace", "-f", "-p", str(pid), *only, "-e", f"inject={calls}", "-o", "/dev/null"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracing:
        assert tracing.stderr is not None
        _require_attached(tracing.stderr.readline())
        try:
            yield
        finally:
            _let_go(tracing)


def _let_go(tracing: subprocess.Popen[str]) -> None:
    """End strace, which at times waits for ever for a thread that has ended with its process."""
    tracing.terminate()
    try:
        tracing.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        tracing.kill()
        tracing.communicate()


def _require_attached(said: str) -> None:
    """Skip the test where a process may not be traced, except on a machine to test all."""
    if "attached" in said:
        return
    if os.environ.get("CI"):
        pytest.fail(f"strace may not attach to a process here: {said}")
    pytest.skip(f"strace may not attach to a process here: {said}")


class Said:
    """Says events to a daemon, and remembers what it acknowledged and what it refused."""

    def __init__(self, home: Path) -> None:
        self._client = Client(home)
        self._path = home / "cortex.db"
        self.acknowledged: list[str] = []
        self.refused: list[CortexError] = []

    def say(self, times: int = 1) -> None:
        """Say some events."""
        for number in range(times):
            payload = {"number": number, "text": "x" * 500}
            try:
                answer = self._client.call("publish", topic=TOPIC, payload=payload)
            except CortexError as error:
                self.refused.append(error)
            else:
                self.acknowledged.append(answer["id"])

    def accepted(self) -> bool:
        """Say one event; tell whether it was acknowledged."""
        before = len(self.acknowledged)
        self.say()
        return len(self.acknowledged) > before

    def status(self) -> dict[str, object]:
        """Ask how the daemon is."""
        return self._client.call("status")

    def lost(self) -> set[str]:
        """Return what was acknowledged and is not in the ledger."""
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as ledger:
            query = "SELECT id FROM events WHERE topic = ?"
            found = {row[0] for row in ledger.execute(query, (TOPIC,))}
        return set(self.acknowledged) - found

    def report(self, injected: str) -> None:
        """Print what was done and what was lost."""
        print(  # noqa: T201 - what a run of these tests is for
            f"injected: {injected}; acknowledged: {len(self.acknowledged)}, refused: "
            f"{len(self.refused)}, lost: {len(self.lost())}"
        )


def started(cortex: Commands, **env: str) -> int:
    """Start a home's daemon; return its process id."""
    done = cortex("start", "--json", **SETTINGS, **env)
    assert done.returncode == 0, done.stderr
    return int(cortex.status()["pid"])


def ended(pid: int) -> None:
    """Wait for the end of a process."""
    until(lambda: not alive(pid), f"the end of {pid}")
