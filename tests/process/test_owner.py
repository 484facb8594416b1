"""One owner for one home, whoever comes at once, is paused, or loses its lock."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress

import pytest

from cortex_actors.home import Home
from cortex_actors.process import lock
from tests.process.commands import PATIENCE, Commands

#: Daemons that are started at once.
CROWD = 20

pytestmark = pytest.mark.slow


class TestCrowd:
    def test_twenty_at_once(self, cortex: Commands) -> None:
        """Of twenty starts at once one wins; the others say 75 and its pid, soon."""
        begun = time.monotonic()
        started = [cortex.spawn("start") for _ in range(CROWD)]
        ended = [(process, process.communicate(timeout=2 * PATIENCE)) for process in started]
        took = time.monotonic() - begun
        owner = cortex.status()
        told = [err for process, (_, err) in ended if process.returncode == 75]
        print(f"{CROWD} starts at once: {len(told)} refused, all ended in {took:.1f} s")  # noqa: T201

        assert [0, *[75] * (CROWD - 1)] == sorted(process.returncode for process, _ in ended)
        assert 0 == owner["code"]
        # Whoever comes before the daemon has its own pid is told that of its starter.
        pids = {int(re.findall(r"pid (\d+)", err)[0]) for err in told}
        winner = next(process.pid for process, _ in ended if process.returncode == 0)
        assert pids <= {owner["pid"], winner}

        begun = time.monotonic()
        late = cortex("run")
        # Most of it is Python's own start, which a busy machine draws out.
        assert (75, True) == (late.returncode, time.monotonic() - begun < 5)
        assert f"pid {owner['pid']}" in late.stderr


class TestPaused:
    def test_is_silent_until_killed(self, cortex: Commands) -> None:
        """A paused owner is 4, with the reason; nobody takes its home, and `stop` kills it."""
        cortex("start")
        pid = lock.read(Home(cortex.home)).pid
        os.kill(pid, signal.SIGSTOP)
        try:
            found = json.loads(cortex("status", "--json", "--timeout", "0.3").stdout)
            shown = cortex("status", "--timeout", "0.3")
            refused = cortex("start")
            stopped = cortex("stop", "--timeout", "0.5")
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        assert ("running", pid, 4) == (found["state"], found["pid"], shown.returncode)
        assert f"it is paused (SIGSTOP): kill -CONT {pid}" in found["reason"]
        assert (75, 1) == (refused.returncode, stopped.returncode)
        assert f"pid {pid}, did not stop within 0.5 s and was killed" in stopped.stderr
        assert (1, "crashed") == (cortex.status()["code"], cortex.status()["state"])


class TestWithoutItsLock:
    def test_is_found(self, cortex: Commands) -> None:
        """A daemon whose lock was removed is degraded, and `stop` finds it, even paused."""
        cortex("start")
        pid = cortex.status()["pid"]
        (cortex.home / "cortex.lock").unlink()
        found = cortex.status()
        os.kill(pid, signal.SIGSTOP)
        try:
            paused = cortex("status", "--timeout", "0.3")
            stopped = cortex("stop", "--timeout", "0.5")
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        assert (0, "degraded", pid) == (found["code"], found["state"], found["pid"])
        assert "its lock" in found["reasons"][-1]
        assert (4, 1) == (paused.returncode, stopped.returncode)
        assert f"pid {pid}, did not stop" in stopped.stderr
