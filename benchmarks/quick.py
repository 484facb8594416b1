"""How long commands take, as whole processes, against a bare interpreter in the same run.

Goals: status 100 ms, ordinary commands 250 ms and 16 times `python -c pass`, start 1,500 ms with
the model still loading, lint 2 s for 30 files of 1,900 statements. "... loading" is status in the
seconds in which the model takes every core; it has no goal. Exits 1 when a median misses its goal.

Measured in one run on two cores that others kept busy (`python -c pass` took 58 ms instead of some
10), in times of `python -c pass`: status 4.7, projects 5.9, memory list 8.0, recall 8.4. What each
takes on a quiet machine was not measured.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from collections.abc import Callable

#: Milliseconds a median may be.
GOALS = {"cortex status": 100.0, "cortex start": 1_500.0, "cortex lint": 2_000.0}

#: Commands that people run all day, each with a daemon that has an answer; milliseconds a median
#: may be, and how often it may be that of `python -c pass`: a slow machine has no other measure.
ORDINARY = ("memory list", "recall redis port", "projects")
ORDINARY_GOAL, TIMES_BARE = 250.0, 16.0

#: Words of the rules that lint reads.
VERBS = "Check Update Describe Test Review Keep Document Log Measure Name".split()
THINGS = (
    "schema parser index cache report invoice ledger queue worker session header token page form "
    "layout theme bundle release branch review fixture mock client server socket stream buffer"
).split()

#: Times each command is run.
ROUNDS = {"cortex start": 5, "cortex lint": 5}
MOST_ROUNDS = 15


def timed(*words: str, most: int = 0) -> float:
    """Run a command and return its milliseconds; an exit code above `most` is an error."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, *words], check=False, stdout=subprocess.DEVNULL)  # noqa: S603
    took = (time.perf_counter() - begun) * 1_000
    if not 0 <= done.returncode <= most:
        done.check_returncode()
    return took


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


def write_rules(root: Path) -> None:
    """Write 30 rule files of 63 rules, which share words as those of one project do."""
    draw = random.Random(17)
    folder = root / ".claude" / "rules"
    folder.mkdir(parents=True)
    for number in range(30):
        rules = [
            f"- {draw.choice(VERBS)} the {draw.choice(THINGS)}{draw.choice(THINGS)} of"
            f" `part_{draw.randrange(99)}.py` before the {draw.choice(THINGS)} of the"
            f" {draw.choice(THINGS)}{draw.choice(THINGS)} changes."
            for _ in range(63)
        ]
        text = "\n".join([f"# Part {number}", "", *rules, ""])
        (folder / f"{number:02}.md").write_text(text, "utf-8")


def main() -> int:
    """Measure, print, and say whether the goals were met."""
    with tempfile.TemporaryDirectory(prefix="cx-") as home:
        os.environ["CORTEX_HOME"] = home
        # As an installed package: compiled once, not at each start.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        write_rules(Path(home, "linted"))
        lint = partial(timed, "-m", "cortex_actors", "lint", f"{home}/linted", most=1)
        measured = {"cortex lint": rounds("cortex lint", lint)}
        started()  # the first start makes the ledger and fills the file cache
        measured |= {"cortex start": rounds("cortex start", started)}
        cortex("start")
        measured["... loading"] = rounds("... loading", lambda: cortex("status"))
        wait_for_model(Path(home))
        cortex("remember", "Redis listens on port 6379.")
        measured |= in_turn(
            {
                "python -c pass": partial(timed, "-c", "pass"),
                "cortex status": partial(cortex, "status"),
                **{f"cortex {words}": partial(cortex, *words.split()) for words in ORDINARY},
            }
        )
        cortex("stop")
    return report(measured)


def report(measured: dict[str, list[float]]) -> int:
    """Print the times, and return 1 if a median misses its goal."""
    bare = statistics.median(measured["python -c pass"])
    missed = False
    for name, times in sorted(measured.items()):
        is_ordinary = name.removeprefix("cortex ") in ORDINARY
        median = statistics.median(times)
        goal = ORDINARY_GOAL if is_ordinary else GOALS.get(name)
        missed |= goal is not None and median > goal
        missed |= is_ordinary and median > TIMES_BARE * bare
        text = (
            f"  (goal {goal:.0f}{f', {TIMES_BARE:.0f} x' if is_ordinary else ''})" if goal else ""
        )
        print(
            f"{name:24s} min {min(times):7.1f}  median {median:7.1f}  max {max(times):7.1f} ms"
            f"  {median / bare:5.1f} x bare{text}"
        )
    return int(missed)


def in_turn(commands: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Return the times of commands that take turns: what else the machine does, it does to all."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(MOST_ROUNDS):
        for name, run in commands.items():
            found[name].append(run())
    return found


def rounds(name: str, measure: Callable[[], float]) -> list[float]:
    """Return the times of a command's rounds."""
    return [measure() for _ in range(ROUNDS.get(name, MOST_ROUNDS))]


if __name__ == "__main__":
    sys.exit(main())
