"""What a recall costs without the embedding, through the product's own search.

Each row of the table is one way to search a ledger of generated memories: by vectors alone or by
vectors and words, with a real index (Chroma in its child process) or without one, as an agent, and
with filters that let one in ten or one in a hundred pass. `first` is the first question, after what
is kept in memory was loaded, as a daemon does when it starts (`loaded`). `cpu` is the median of CPU
time in this process. `agree` is the share of the ten nearest, as comparing with every vector finds
them, that the answer has. `slope` is the exponent by which the median grows with the number of
memories: 1 is linear. As in a daemon that has started, the collector of garbage leaves alone what
was loaded: a full collection would walk through all that this program holds beside the product.

    python -m benchmarks.recall [--sizes 1000,10000,100000] [--questions N] [--no-index]
                                [--plot FILE] [--json]

Exits 1 when fewer than 0.99 of the ten nearest are found. Below the table stand the goals of a
recall that is asked words and meaning; those in milliseconds are for two quiet cores. Telling the
index of 100,000 takes some minutes, everything else seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cortex_actors.daemon import BLAS

os.environ.setdefault(*BLAS)  # as the daemon does, before numpy is imported

import numpy as np

from benchmarks import crossover
from benchmarks.crossover import Crossover
from benchmarks.world import MODEL, THREADS, World, away, world
from cortex_actors.rules.ranking import fusion
from cortex_actors.sections import MemorySettings
from cortex_actors.storage.search.query import Query, Where
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.search.dense import DenseNeighbours

#: Neighbours of a question; the share of them that must be found.
WANTED, GOAL = 10, 0.99

#: Milliseconds of a recall at the largest size: the median, the slowest of a hundred, the first.
P50, P99, FIRST = 30.0, 90.0, 150.0

#: How many times as long ten times as many memories may take, and how many milliseconds the index
#: may add at the smallest size.
GROWTH, ADDED = 2.0, 3.0

#: What repeats a run.
SEED = 5

#: Vectors of each text alone and no words: the settings of `[memory]` that say so.
DENSE = {
    "profile": "custom",
    "weight_words_alone": 0.0,
    "weight_dense_paired": 0.0,
    "weight_words_paired": 0.0,
}


EVERYWHERE = Where()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to search: its name, the settings of `[memory]`, and what is left out.

    `indexed` is whether the index is asked; None where it is, if there is one.
    """

    name: str
    settings: dict[str, object]
    where: Where = EVERYWHERE
    every: int = 1
    indexed: bool | None = False


TEN, HUNDRED = Where(agent_id="A0"), Where(thread="t0")
AGENT = Where(reader="A1")
WAYS = (
    Way("dense, exact", DENSE),
    Way("dense, index", DENSE, indexed=True),
    Way("dense, filter 10 %", DENSE, TEN, 10),
    Way("dense, filter 1 %", DENSE, HUNDRED, THREADS),
    Way("hybrid, exact", {}),
    Way("hybrid, index", {}, indexed=True),
    Way("hybrid, an agent", {}, AGENT, indexed=None),
    Way("hybrid, filter 10 %", {}, TEN, 10, indexed=None),
    Way("hybrid, filter 1 %", {}, HUNDRED, THREADS, indexed=None),
)


@dataclass(slots=True)
class Row:
    """One way at one size; milliseconds."""

    way: str
    memories: int
    plan: str
    loaded_ms: float
    first_ms: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    agree: float | None


@dataclass(slots=True)
class Report:
    """Everything that was measured."""

    rows: list[Row] = field(default_factory=list)
    slopes: dict[str, float] = field(default_factory=dict)
    crossover: Crossover = field(default_factory=Crossover)
    #: Size -> seconds to write the ledger, and to tell the index.
    filled_s: dict[int, float] = field(default_factory=dict)
    told_s: dict[int, float] = field(default_factory=dict)

    @property
    def goals(self) -> list[tuple[str, float, float]]:
        """What is held to a goal, what it is, and the most that it may be."""
        found = []
        for way in dict.fromkeys(row.way for row in self.rows if row.way.startswith("hybrid")):
            *smaller, last = [row for row in self.rows if row.way == way]
            found += [(f"{way}: p50, ms", last.p50_ms, P50), (f"{way}: p99, ms", last.p99_ms, P99)]
            found += [(f"{way}: first, ms", last.first_ms, FIRST)]
            if smaller:
                times = smaller[-1].memories * 10 / last.memories
                grown = round(last.cpu_ms / smaller[-1].cpu_ms * times, 2)
                found.append((f"{way}: CPU of ten times as many, times", grown, GROWTH))
        first = {row.way: row.p50_ms for row in reversed(self.rows)}
        if "hybrid, index" in first:
            added = round(first["hybrid, index"] - first["hybrid, exact"], 2)
            found.append(("the index adds at the smallest size, ms", added, ADDED))
        return found


async def measure(sizes: Sequence[int], questions: int, *, indexed: bool) -> Report:
    """Measure every way at every size."""
    report = Report()
    for size in sizes:
        async with world(size, seed=SEED, indexed=indexed) as found:
            report.filled_s[size], report.told_s[size] = found.filled_s, found.told_s
            for way in WAYS:
                if indexed or not way.indexed:
                    report.rows.append(await _row(found, way, questions, indexed=indexed))
            if indexed:
                await crossover.asked(found, report.crossover)
            if size == max(sizes):
                vector = found.question()[1]
                crossover.gathered(found.rows, vector, found.chance, report.crossover)
    for way in WAYS:
        mine = [row for row in report.rows if row.way == way.name]
        if len(mine) > 1:
            report.slopes[way.name] = _slope(mine)
    return report


async def _row(found: World, way: Way, questions: int, *, indexed: bool) -> Row:
    """Ask one way's questions."""
    ask = found.neighbours if indexed and way.indexed is not False else away
    settings = MemorySettings.model_validate(way.settings)
    search = Search(found.records, cast("DenseNeighbours", ask), model=MODEL, settings=settings)
    begun = time.perf_counter()
    await search.load()
    loaded = (time.perf_counter() - begun) * 1_000
    gc.collect()
    gc.freeze()
    took, used, plans, asked = [], [], [], []
    for _ in range(questions + 1):
        words, vector = found.question()
        query = Query(words, vector, MODEL, WANTED, where=way.where)
        begun, busy = time.perf_counter(), time.process_time()
        answer = await search.find(query)
        took.append((time.perf_counter() - begun) * 1_000)
        used.append((time.process_time() - busy) * 1_000)
        # What an agent is told says nothing of how vectors were compared.
        plans.append("-" if answer.plan is None else str(answer.plan.kind))
        asked.append((vector, {hit.id for hit in answer.hits}))
    # Afterwards: it takes 0.5 GB a question, and what follows that is slow.
    nearest = [set(found.nearest(vector, WANTED, every=way.every)) for vector, _ in asked]
    agreed = [len(ids & some) / len(some) for (_, ids), some in zip(asked, nearest, strict=True)]
    first, *rest = took
    return Row(
        way.name,
        len(found.ids),
        max(plans[1:], key=plans[1:].count),
        round(loaded, 2),
        round(first, 2),
        round(float(np.percentile(rest, 50)), 2),
        round(float(np.percentile(rest, 99)), 2),
        round(float(np.median(used[1:])), 2),
        round(float(np.mean(agreed[1:])), 4) if way.settings else None,
    )


def _slope(rows: Sequence[Row]) -> float:
    """Return the exponent by which the median grows with the number of memories."""
    sizes = np.log([row.memories for row in rows])
    return round(float(np.polyfit(sizes, np.log([row.p50_ms for row in rows]), 1)[0]), 2)


def show(report: Report) -> None:
    """Print the tables."""
    heads = "".join(f"{each:>9}" for each in ("loaded", "first", "p50", "p99", "cpu"))
    print(f"{'way':22}{'memories':>9}  {'plan':7}{heads}  agree  slope")
    for row in report.rows:
        agree = "    -" if row.agree is None else f"{row.agree:.3f}"
        slope = report.slopes.get(row.way, 0.0)
        print(
            f"{row.way:22}{row.memories:>9,}  {row.plan:7}{row.loaded_ms:>9.1f}{row.first_ms:>9.1f}"
            f"{row.p50_ms:>9.2f}{row.p99_ms:>9.2f}{row.cpu_ms:>9.2f}  {agree}  {slope:>5.2f}"
        )
    for what, figure, goal in report.goals:
        print(f"{'met   ' if figure <= goal else 'MISSED'} {what}: {figure:g} (goal: {goal:g})")
    found = report.crossover
    if found.index:
        print("\nrows: compared with all, index asked (ms)")
        for count, exact in found.exact.items():
            print(f"{count:>9,}  {exact:>8.2f}  {found.index[count]:>8.2f}")
        print(f"the index is cheaper from {found.index_from} rows")
    print(f"\nshare of {found.rows:,} rows: gathered, compared with all (ms)")
    for share, gather in found.gather.items():
        print(f"{share:>9.0%}  {gather:>8.2f}  {found.full[share]:>8.2f}")
    print(f"gathering is cheaper up to {found.subset_share:.0%} (used: {fusion.SUBSET_SHARE:.0%})")
    for size, seconds in report.filled_s.items():
        print(f"{size:,} memories: written in {seconds:.1f} s, told in {report.told_s[size]:.1f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--no-index", action="store_true", help="do not start Chroma")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    sizes = [int(each) for each in args.sizes.split(",")]
    report = asyncio.run(measure(sizes, args.questions, indexed=not args.no_index))
    if args.json:
        print(json.dumps(asdict(report), indent=1))
    else:
        show(report)
    if args.plot:
        from benchmarks.plot import recall  # noqa: PLC0415 - matplotlib only where it is wanted

        recall(report, args.plot)
    agreed = [row.agree for row in report.rows if row.agree is not None]
    return 0 if min(agreed) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
