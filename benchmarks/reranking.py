"""What ranking turns of conversations again costs a recall, without the embedding.

The same questions are asked of the same ledger with and without it, one after the other, so that
both see the same machine. The memories are those of `recall.py`: made up, 40 words each, in 100
threads; the pieces are the shipped tokeniser's with vectors drawn at random, which cost the same.
As in a daemon that has started, what was loaded is read before, and the collector of garbage leaves
it alone.

    python -m benchmarks.reranking [--sizes 1000,10000,100000] [--questions N] [--json]

Exits 1 when the median takes more than 20 ms longer.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from cortex_actors.daemon import BLAS

os.environ.setdefault(*BLAS)  # as the daemon does, before numpy is imported

import numpy as np

from benchmarks.shelves import MODEL as SHIPPED
from benchmarks.world import MODEL, away, world
from cortex_actors.embedding.manifest import TOKENIZER
from cortex_actors.embedding.models import locate
from cortex_actors.embedding.tokens import compress, make_cutter
from cortex_actors.rules.ranking.rerank import Pieces
from cortex_actors.sections import MemorySettings
from cortex_actors.storage.search.query import Query
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.world import World
    from cortex_actors.storage.search.dense import DenseNeighbours

#: Hits of a question, what repeats a run, and how many pieces there are.
WANTED, SEED, PIECES = 10, 5, 30_522

#: Milliseconds that it may take.
GOAL = 20.0


@dataclass(slots=True)
class Row:
    """One size; milliseconds, of the wall and of this process's CPU."""

    memories: int
    without_p50: float
    without_p99: float
    with_p50: float
    with_p99: float
    more_p50: float
    without_cpu: float
    more_cpu: float

    @property
    def ratio(self) -> float:
        """How many times as much CPU the median takes: a busy machine changes it little."""
        return round(1 + self.more_cpu / self.without_cpu, 2)


async def measure(sizes: Sequence[int], questions: int) -> list[Row]:
    """Measure every size."""
    table = np.random.default_rng(SEED).standard_normal((PIECES, 64), dtype=np.float32)
    pieces = Pieces(compress(table), make_cutter(locate(SHIPPED).folder / TOKENIZER))
    rows = []
    for size in sizes:
        async with world(size, seed=SEED, indexed=False) as found:
            rows.append(await _row(found, pieces, questions))
    return rows


async def _row(found: World, pieces: Pieces, questions: int) -> Row:
    """Ask every question both ways, in turns of who is first; the first questions fill memory."""
    ask, settings = cast("DenseNeighbours", away), MemorySettings()
    plain = Search(found.records, ask, model=MODEL, settings=settings)
    ranked = Search(found.records, ask, model=MODEL, settings=settings, pieces=lambda: pieces)
    took: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    await plain.load()
    await ranked.load()
    gc.collect()
    gc.freeze()
    for number in range(questions + 2):
        words, vector = found.question()
        for again in (number % 2 == 0, number % 2 == 1):
            begun, cpu = time.perf_counter(), time.process_time()
            search = ranked if again else plain
            await search.find(Query(words, vector, MODEL, WANTED))
            took[again].append((time.perf_counter() - begun, time.process_time() - cpu))
    without, more = (1_000 * np.array(took[each][2:]) for each in (False, True))
    wall, cpu = np.median(more - without, axis=0)
    figures = (np.percentile(each[:, 0], part) for each in (without, more) for part in (50, 99))
    rest = (wall, np.median(without[:, 1]), cpu)
    return Row(len(found.ids), *(round(float(each), 2) for each in (*figures, *rest)))


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    print(f"{'memories':>9}{'without p50':>13}{'p99':>9}{'with p50':>11}{'p99':>9}", end="")
    print(f"{'more':>8}{'CPU without':>13}{'more':>7}{'ratio':>7}")
    for row in rows:
        print(
            f"{row.memories:>9,}{row.without_p50:>13.2f}{row.without_p99:>9.2f}{row.with_p50:>11.2f}"
            f"{row.with_p99:>9.2f}{row.more_p50:>8.2f}{row.without_cpu:>13.2f}{row.more_cpu:>7.2f}"
            f"{row.ratio:>7.2f}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reranking")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = asyncio.run(measure([int(each) for each in args.sizes.split(",")], args.questions))
    if args.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        show(rows)
    return 0 if max(row.more_p50 for row in rows) <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
