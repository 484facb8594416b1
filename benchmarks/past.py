"""What a look at the past costs beside a search of the present, at several sizes of a ledger.

The present has an index, full-text tables and vectors in memory; the past is read memory by memory.
Each question is asked in four ways in turn: now, as of a moment at which everything was believed,
the same of one agent's memories (a tenth), and what was said (`original_only`). Vectors and texts
are generated. Run it from the root: `python -m benchmarks.past`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, cast

from benchmarks.world import MODEL, away, world
from cortex_actors.sections import MemorySettings
from cortex_actors.storage.search.query import EVERYTHING, Past, Query, Where
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from benchmarks.world import World
    from cortex_actors.storage.search.dense import DenseNeighbours

#: Later than anything that is generated.
LATER = 10**15

#: How each question is asked.
WAYS: dict[str, tuple[Past | None, Where]] = {
    "now": (None, EVERYTHING),
    "as_of": (Past(LATER), EVERYTHING),
    "as_of, one agent": (Past(LATER), Where(agent_id="A0")),
    "original_only": (Past(original=True), EVERYTHING),
}

#: Hits that are asked for.
LIMIT = 10


def _believed(connection: Connection) -> None:
    """Let everything be believed since it was said."""
    connection.exec_driver_sql(
        "INSERT INTO beliefs (memory_id, began_at) SELECT id, created_at FROM memories"
    )


async def _asked(found: World, questions: int) -> dict[str, float]:
    """Return the median of each way in milliseconds of CPU: other programs do not count."""
    index = cast("DenseNeighbours", away)
    search = Search(found.records, index, model=MODEL, settings=MemorySettings())
    took: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(questions + 1):
        text, vector = found.question()
        for name, (past, where) in WAYS.items():
            begun = time.process_time()
            query = Query(text, vector, MODEL, LIMIT, where=where, past=past, now=LATER)
            assert (await search.find(query)).hits
            if number:  # the first fills the matrix
                took[name].append((time.process_time() - begun) * 1_000)
    return {name: round(statistics.median(each), 1) for name, each in took.items()}


async def measure(sizes: Sequence[int], questions: int) -> dict[int, dict[str, float]]:
    """Return the medians for each size."""
    found = {}
    for size in sizes:
        async with world(size, seed=5, indexed=False) as made:
            await made.records.write(_believed)
            found[size] = await _asked(made, questions)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="for a program")
    args = parser.parse_args(words)
    sizes = [int(each) for each in args.sizes.split(",")]
    found = asyncio.run(measure(sizes, args.questions))
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{'memories':>10}" + "".join(f"{name:>20}" for name in WAYS) + "   (ms of CPU, medians)")
    for size, took in found.items():
        print(f"{size:>10,}" + "".join(f"{took[name]:>20.1f}" for name in WAYS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
