"""What kill -9 and damaged files do to the vector index, and to everybody else: nothing.

    python -m benchmarks.index_faults --rounds 50 [--rows 2000] [--seed 1] [--json]

Each round hurts the index in one way while it is being asked and told, and waits until it is whole
again: open, complete, and found to hold and to find what the ledger says. Wrong answers, restarts
of actors and the end of the branch are counted; the goal is none. Between two rounds the clock is
moved on, because pauses grow when faults follow one another (`--storm` leaves it alone).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.index_ground import Ground
from cortex_actors.storage.index.life import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: What is done to one file of a generation's, all of them Chroma's.
FILES = (
    *("data_level0.bin", "link_lists.bin", "header.bin", "length.bin"),
    *("index_metadata.pickle", "chroma.sqlite3"),
)

#: Rows from which on Chroma writes its HNSW files: before, there is only its log to damage.
SYNCED = 1_000


@dataclass(slots=True)
class Figures:
    """What a run came to."""

    seed: int
    rows: int
    #: Faults by kind.
    faults: dict[str, int] = field(default_factory=dict)
    #: Seconds until the index was whole again, by kind.
    healed: dict[str, list[float]] = field(default_factory=dict)
    by_index: int = 0
    exactly: int = 0
    wrong: int = 0
    #: Milliseconds that the index's part of an answer took, or to learn that it is away.
    asked_p50_ms: float = 0.0
    asked_max_ms: float = 0.0
    actor_restarts: int = 0
    child_deaths: int = 0
    generations_given_up: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing happened that must not."""
        return not (self.wrong or self.actor_restarts)


def truncated(path: Path) -> None:
    """Cut a file in half, as a power cut does to one that was being written."""
    os.truncate(path, path.stat().st_size // 2)


def flipped(path: Path) -> None:
    """Turn over fifty bytes, spread over a file."""
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), max(1, len(content) // 50)):
        content[place] ^= 0xFF
    path.write_bytes(content)


def emptied(path: Path) -> None:
    """Leave a file without content."""
    os.truncate(path, 0)


#: What can happen to a file.
HARM: dict[str, Callable[[Path], None]] = {
    "truncated": truncated,
    "flipped": flipped,
    "emptied": emptied,
    "deleted": Path.unlink,
}


class Rounds:
    """Round after round of harm on one ground."""

    def __init__(self, ground: Ground, figures: Figures, *, storm: bool = False) -> None:
        """Begin with a ground that has its rows."""
        self._ground = ground
        self._figures = figures
        self._storm = storm
        self._counts: Counter[str] = Counter()

    async def run(self, kinds: Sequence[str]) -> None:
        """Do those kinds of harm, one after another, while somebody asks all the time."""
        ground = self._ground
        await ground.whole()
        asking = asyncio.create_task(self._ask_for_ever())
        try:
            for kind in kinds:
                await self._one(kind)
        finally:
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
        self._report(await ground.describe())

    async def _one(self, kind: str) -> None:
        """Do one kind of harm and wait until the index is whole again."""
        ground, chance = self._ground, self._ground.chance
        await ground.put(chance.randint(1, 60))
        await ground.drop(3)
        # The moment is chance's: in the midst of a put, a question, or of nothing.
        await asyncio.sleep(chance.random() * 0.3)
        if kind == "killed while it opens":
            self._kill()
            await self._until_it_runs()
            await asyncio.sleep(chance.random() * 2)
        self._kill()
        if not kind.startswith("killed"):
            self._hurt(kind)
        self._counts[kind] += 1
        self._figures.healed.setdefault(kind, []).append(round(await ground.whole(), 3))
        if not self._storm:
            ground.clock.age(MEMORY + 1)

    def _kill(self) -> None:
        """Kill the child."""
        if (pid := self._ground.pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _until_it_runs(self) -> None:
        """Wait until there is another child."""
        before = self._ground.pid
        while self._ground.pid in (None, before):  # noqa: ASYNC110 - a process, not a task
            await asyncio.sleep(0.005)

    def _hurt(self, kind: str) -> None:
        """Damage the files of the generation in use; the child is dead and its memory with it."""
        harm, _, name = kind.partition(" ")
        for folder in self._ground.home.index.glob("gen-*"):
            if name == "folder":
                shutil.rmtree(folder, ignore_errors=True)
                continue
            for path in folder.rglob(name):
                HARM[harm](path)

    async def _ask_for_ever(self) -> None:
        """Ask, and ask again."""
        while True:
            await self._ground.ask()
            await asyncio.sleep(0.01)

    def _report(self, info: object) -> None:
        """Take down what the run came to."""
        figures, answers = self._figures, self._ground.answers
        figures.faults = dict(self._counts)
        figures.by_index, figures.exactly = answers.index, answers.exact
        figures.wrong = answers.wrong
        figures.asked_p50_ms = round(median(answers.took) * 1_000, 2)
        figures.asked_max_ms = round(max(answers.took) * 1_000, 1)
        figures.actor_restarts = len(self._ground.restarts)
        figures.child_deaths = getattr(info, "deaths", 0)
        figures.generations_given_up = getattr(info, "given_up", 0)


def kinds(rounds: int) -> list[str]:
    """Return what to do in so many rounds: every second one a kill alone, the others files."""
    files = [f"{harm} {name}" for name in FILES for harm in HARM] + ["deleted folder"]
    found = []
    for number in range(rounds):
        kill = "killed" if number % 4 else "killed while it opens"
        found.append(files[number // 2 % len(files)] if number % 2 else kill)
    return found


async def hurt(
    folder: Path, wanted: Sequence[str], *, rows: int, seed: int, storm: bool = False
) -> Figures:
    """Run rounds of harm in a folder and return what they came to."""
    figures = Figures(seed, rows)
    ground = Ground(folder, seed)
    async with ground.running():
        await ground.put(rows)
        await Rounds(ground, figures, storm=storm).run(wanted)
    return figures


def tell(figures: Figures) -> None:
    """Print a run as a table."""
    print(f"seed {figures.seed}, {figures.rows:,} rows at first")
    print(f"{'fault':32} {'times':>5} {'whole again after, s: p50':>26} {'worst':>7}")
    for kind, count in sorted(figures.faults.items()):
        took = figures.healed[kind]
        print(f"{kind:32} {count:5} {median(took):26.2f} {max(took):7.2f}")
    every = [each for took in figures.healed.values() for each in took]
    print(f"{'all':32} {len(every):5} {median(every):26.2f} {max(every):7.2f}")
    print(
        f"answers: {figures.by_index} with the index, {figures.exactly} by comparing every vector, "
        f"{figures.wrong} wrong (goal: 0); asking took {figures.asked_p50_ms} ms (median), "
        f"{figures.asked_max_ms} ms at worst"
    )
    print(
        f"the child died {figures.child_deaths} times, {figures.generations_given_up} generations "
        f"were given up; restarts of actors: {figures.actor_restarts} (goal: 0), of the daemon: 0"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds; 1 when an answer was wrong or anybody but the index was hurt."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2 * SYNCED)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--storm", action="store_true", help="let pauses grow")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        wanted = kinds(chosen.rounds)
        figures = asyncio.run(
            hurt(Path(folder), wanted, rows=chosen.rows, seed=chosen.seed, storm=chosen.storm)
        )
    if chosen.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        tell(figures)
    return 0 if figures.sound else 1


if __name__ == "__main__":
    sys.exit(main())
