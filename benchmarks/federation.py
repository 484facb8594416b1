"""What the fan over several stores costs beside the slowest of them.

Eight searches of the ledger, each a store of its own, and four stores on loopback that take their
time; then one search and those four. Each row is so many askers, each of whom asks again as soon as
it is answered. `slowest` is what the slowest store of a question took, `over` what the answer took
longer than that. The row `ready` has as many stores that answer at once, without any work: what is
left is the fan itself.

    python -m benchmarks.federation [--memories N] [--locals N] [--remotes MS,MS...]
                                    [--askers 1,8,32] [--questions N] [--json]

Exits 1 when a question of one asker takes more than 3 ms longer than its slowest store, at the
median, or when any answer lacks a store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cortex_actors.daemon import BLAS

os.environ.setdefault(*BLAS)  # as the daemon does, before numpy is imported

import numpy as np

from benchmarks.fanned import Fanned, Ready, Shelf, fanned, remote, searching
from benchmarks.remotes import remotes
from benchmarks.world import world
from cortex_actors.federation.store import Question
from cortex_actors.runtime.names import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.federation.store import RecallStore

#: Milliseconds that the fan may take beside its slowest store.
GOAL = 3.0

#: What repeats a run.
SEED = 11

#: Different words of the questions.
WORDS = 1_000


@dataclass(slots=True)
class Row:
    """So many askers; milliseconds."""

    name: str
    askers: int
    stores: int
    questions: int
    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    slowest_ms: float | None = None
    over_p50_ms: float | None = None
    over_p99_ms: float | None = None
    short: int = 0


@dataclass(slots=True)
class Askers:
    """So many who ask at once, each again as soon as it is answered."""

    fan: Fanned
    chance: np.random.Generator

    async def row(self, name: str, askers: int, questions: int) -> Row:
        """Let them ask so many questions together, after each has asked one."""
        await asyncio.gather(*(self._asks(1) for _ in range(askers)))
        self.fan.table.outcomes.clear()
        begun, spent = time.perf_counter(), time.process_time()
        told = await asyncio.gather(*(self._asks(questions // askers) for _ in range(askers)))
        seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
        took = [each for some, _ in told for each in some]
        row = Row(
            name,
            askers,
            self.fan.stores,
            len(took),
            per_s=round(len(took) / seconds, 1),
            p50_ms=_at(took, 50),
            p99_ms=_at(took, 99),
            cpu_ms=round(cpu * 1_000 / len(took), 2),
            short=sum(short for _, short in told),
        )
        if askers == 1:
            slowest = self.fan.slowest
            over = [whole - one for whole, one in zip(took, slowest, strict=True)]
            row.slowest_ms = _at(slowest, 50)
            row.over_p50_ms, row.over_p99_ms = _at(over, 50), _at(over, 99)
        return row

    async def _asks(self, questions: int) -> tuple[list[float], int]:
        """Return the seconds each question took, and how many answers lack a store."""
        took, short = [], 0
        for _ in range(questions):
            text = " ".join(f"word{each}" for each in self.chance.integers(WORDS, size=3))
            begun = time.perf_counter()
            found = await self.fan.ask(Question(text))
            took.append(time.perf_counter() - begun)
            short += self.fan.stores != len(found.asked)
        return took, short


async def measure(
    *, memories: int, shelves: int, waits: Sequence[float], askers: Sequence[int], questions: int
) -> list[Row]:
    """Measure the fan over stores that are ready, then over real ones, with so many askers."""
    chance = np.random.default_rng(SEED)
    ready: list[RecallStore] = [Ready(f"ready{n}") for n in range(shelves + len(waits))]
    fan = await fanned(Names(), ready, seed=SEED)
    rows = [await Askers(fan, chance).row("ready", 1, questions)]
    await fan.stop()
    with remotes(waits) as urls:
        async with world(memories, seed=SEED, indexed=False) as found:
            for count in dict.fromkeys((shelves, 1)):
                stores: list[RecallStore] = [Shelf(searching(found), n) for n in range(count)]
                stores += [remote(f"remote{n}", url) for n, url in enumerate(urls)]
                fan = await fanned(found.names, stores, seed=SEED)
                who, name = Askers(fan, chance), f"{count} + {len(urls)}"
                rows += [await who.row(name, each, questions) for each in askers]
                await fan.stop()
    return rows


def _at(seconds: Sequence[float], share: float) -> float:
    """Return the milliseconds within which that share of them lies."""
    return round(float(np.percentile(seconds, share)) * 1_000, 2)


def _shown(row: Row) -> str:
    """Return a row as a line of the table."""
    text = (
        f"{row.name:<8}{row.stores:>7}{row.askers:>8}{row.per_s:>11.1f}{row.p50_ms:>9.2f}"
        f"{row.p99_ms:>9.2f}{row.cpu_ms:>9.2f}"
    )
    if row.slowest_ms is None:
        return text
    return f"{text}{row.slowest_ms:>9.2f}{row.over_p50_ms:>9.2f}{row.over_p99_ms:>9.2f}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the goal is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--locals", type=int, default=8, dest="shelves")
    parser.add_argument("--remotes", default="1,2,5,10", help="milliseconds that each one takes")
    parser.add_argument("--askers", default="1,8,32")
    parser.add_argument("--questions", type=int, default=320)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    rows = asyncio.run(
        measure(
            memories=given.memories,
            shelves=given.shelves,
            waits=[float(each) / 1_000 for each in given.remotes.split(",")],
            askers=[int(each) for each in given.askers.split(",")],
            questions=given.questions,
        )
    )
    over = max(row.over_p50_ms or 0.0 for row in rows)
    good = over <= GOAL and not any(row.short for row in rows)
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "goal_ms": GOAL}))
    else:
        print(
            "         stores  askers questions/s   p50 ms   p99 ms   cpu ms  slowest over p50  p99"
        )
        print(*map(_shown, rows), sep="\n")
        print(f"{over:.2f} ms over the slowest store at the median (goal: {GOAL:g})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
