"""How long the hooks of agents' clients take, as whole processes, against a bare interpreter.

Each hook is a process that gets its JSON, asks the daemon and prints its answer, in turns with
`python -c pass` in the same run. Goals: 300 ms with the daemon's answer, 100 ms for the command's
own start (the hook with `CORTEX_OFF=1`, which asks nobody), or what a slow machine makes of that:
30 and 10 times `python -c pass`. Exits 1 when a median misses both its goals. Last comes a start
that meets no daemon, which has no goal: with the brief, or after 3 s without.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.quick import cortex, in_turn, rounds, timed, wait_for_model
from cortex_actors.client.connection import Client

#: What is remembered: enough that a brief is full and a prompt has something near it.
FACTS = 60

#: Milliseconds that a median may be, and times `python -c pass`: with an answer, and without.
ANSWERED, ALONE = (300.0, 30.0), (100.0, 10.0)

#: A hook that asks no daemon, and one that starts the daemon.
OFF, BEGINS = "hook prompt, CORTEX_OFF=1", "session-start, no daemon"

#: What the client says at each event, beside what it says at all of them.
SAYS: dict[str, dict[str, Any]] = {
    "session-start": {"source": "startup"},
    "prompt": {"prompt": "on which port does service 7 listen"},
    "pre-compact": {"trigger": "auto"},
    "session-end": {"reason": "clear"},
}


def hooked(event: str, folder: Path, *, session: str, **env: str) -> float:
    """Answer one hook and return its milliseconds."""
    said = json.dumps({"session_id": session, "cwd": str(folder), **SAYS[event]})
    begun = time.perf_counter()
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "cortex_actors", "hook", event],
        input=said.encode(),
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.perf_counter() - begun) * 1_000


def begun(folder: Path) -> float:
    """Answer a start that meets no daemon; stop the daemon outside the measured time."""
    took = hooked("session-start", folder, session=f"{time.monotonic_ns()}")
    cortex("stop")
    return took


def report(measured: dict[str, list[float]]) -> int:
    """Print the times, and return 1 if a median misses its goals."""
    bare = statistics.median(measured["python -c pass"])
    missed = False
    for name, times in sorted(measured.items()):
        median = statistics.median(times)
        most, factor = ALONE if name == OFF else ANSWERED
        missed |= name.startswith("hook") and median > max(most, factor * bare)
        print(
            f"{name:28s} min {min(times):7.1f}  median {median:7.1f}  max {max(times):7.1f} ms"
            f"  {median / bare:5.1f} x bare"
        )
    return int(missed)


def main() -> int:
    """Measure, print, and say whether the goals were met."""
    with tempfile.TemporaryDirectory(prefix="cx-") as place:
        home, folder = Path(place, "home"), Path(place, "atlas")
        folder.mkdir()
        os.environ["CORTEX_HOME"] = str(home)
        # As an installed package: compiled once, not at each start.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        cortex("start")
        wait_for_model(home)
        client = Client(home)
        client.call("add_project", path=str(folder))
        for number in range(FACTS):
            text = f"Service {number} listens on port {5_000 + number}."
            client.call("remember", content=text, here=str(folder), merge=False)
        runs = {
            f"hook {event}": partial(hooked, event, folder, session=f"{time.monotonic_ns()}")
            for event in SAYS
        }
        off = partial(hooked, "prompt", folder, session="s", CORTEX_OFF="1")
        measured = in_turn({"python -c pass": partial(timed, "-c", "pass"), **runs, OFF: off})
        cortex("stop")
        measured[BEGINS] = rounds("cortex start", partial(begun, folder))
        failed = (home / "logs" / "hook-failure.json").exists()
        print(f"{BEGINS}: {'not each' if failed else 'each'} gave the brief")
    return report(measured)


if __name__ == "__main__":
    sys.exit(main())
