"""How long `cortex status` and `cortex start` take, against a bare interpreter in the same run.

Goals: status under 150 ms, start under 1,500 ms with the model still loading. "... loading" is
status in the seconds in which the model takes every core; it has no goal. Exits 1 when a median
misses its goal.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from collections.abc import Callable

#: Milliseconds a median may be.
GOALS = {"cortex status": 150.0, "cortex start": 1_500.0}

#: Times each command is run.
ROUNDS = {"python -c pass": 15, "cortex status": 15, "... loading": 15, "cortex start": 5}


def timed(*words: str) -> float:
    """Run a command and return its milliseconds; anything but exit code 0 is an error."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return (time.perf_counter() - begun) * 1_000


def cortex(*words: str) -> float:
    """Run the command line."""
    return timed("-m", "cortex_actors", *words)


def wait_for_model(home: Path) -> None:
    """Return once the daemon has loaded its model."""
    client = Client(home)
    while client.call("status")["model"]["state"] == "loading":
        time.sleep(0.1)


def started() -> float:
    """Start a daemon on a home of its own, and stop it outside the measured time."""
    took = cortex("start")
    cortex("stop")
    return took


def main() -> int:
    """Measure, print, and say whether the goals were met."""
    with tempfile.TemporaryDirectory(prefix="cx-") as home:
        os.environ["CORTEX_HOME"] = home
        started()  # the first start makes the ledger and fills the file cache
        measured = {"cortex start": rounds("cortex start", started)}
        cortex("start")
        measured["... loading"] = rounds("... loading", lambda: cortex("status"))
        wait_for_model(Path(home))
        measured["cortex status"] = rounds("cortex status", lambda: cortex("status"))
        measured["python -c pass"] = rounds("python -c pass", lambda: timed("-c", "pass"))
        cortex("stop")
    bare = statistics.median(measured["python -c pass"])
    missed = False
    for name, times in sorted(measured.items()):
        median, goal = statistics.median(times), GOALS.get(name)
        missed |= goal is not None and median > goal
        print(
            f"{name:16s} min {min(times):7.1f}  median {median:7.1f}  max {max(times):7.1f} ms"
            f"  {median / bare:5.1f} x bare" + (f"  (goal {goal:.0f})" if goal else "")
        )
    return int(missed)


def rounds(name: str, measure: Callable[[], float]) -> list[float]:
    """Return the times of a command's rounds."""
    return [measure() for _ in range(ROUNDS[name])]


if __name__ == "__main__":
    sys.exit(main())
