"""What remembering costs as memories become many, and how a daemon stands a minute of use.

The first table is `remember` through the front desk at each size, everything of one agent's scope
or spread over agents and threads: a text that is like nothing, one among others of its topic, and
another wording of something known, which has to become one with it; then many at once. `slope` is
the exponent by which the median grows with the number of memories: 1 is linear. The second table is
a daemon in a process of its own, asked over its control socket, at a rate that does not wait for
answers; a time there counts from when the request was due.

    python -m benchmarks.remember [--sizes 1000,10000,100000] [--rounds N] [--only sizes|minute]
                                  [--seconds N] [--rate N] [--data DIR] [--provider hashing]
                                  [--models DIR] [--json]

Exits 1 when a planted wording was not merged or a text of its own was, when a hundred times as many
memories make remembering more than three times as dear, and when the minute has an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.daemon import BLAS

os.environ.setdefault(*BLAS)  # as the daemon does, before numpy is imported

import numpy as np

from benchmarks.hoard import TOPIC, Spread, hoard, text
from benchmarks.sustained import Minute, minute

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.tree import Tree

#: Everything in one scope; and as several agents and their conversations would have it.
SPREADS = (Spread("one scope", 1, 1), Spread("10 agents", 10, 100))

#: Instruction files that are shipped as samples.
SAMPLES = Path(__file__).resolve().parents[1] / "data" / "projects"

#: Requests that are in flight together where many are.
MANY = 32

#: What a text is to those that are there: like nothing, of a known topic, a known one reworded.
KINDS = ("new", "alike", "again")

#: Times that the median may grow when memories become a hundred times as many: what is compared
#: with all is a product of matrices, which grows, beside what does not.
GOAL = 3.0


@dataclass(slots=True)
class Row:
    """One kind of text at one size; milliseconds each."""

    spread: str
    kind: str
    memories: int
    p50_ms: float
    p99_ms: float
    #: Of all threads, on average: what does not depend on what else the machine does.
    cpu_ms: float
    #: Share of the answers that are as planted: merged if it says a known one again, else not.
    right: float


@dataclass(slots=True)
class Report:
    """Everything that was measured."""

    rows: list[Row] = field(default_factory=list)
    #: Spread and kind -> the exponent by which the median grows.
    slopes: dict[str, float] = field(default_factory=dict)
    filled_s: dict[str, float] = field(default_factory=dict)
    minute: Minute | None = None


async def measure(sizes: Sequence[int], rounds: int) -> Report:
    """Measure every kind of text at every size."""
    report = Report()
    for spread in SPREADS:
        for size in sizes:
            async with hoard(size, spread) as (tree, seconds):
                report.filled_s[f"{spread.name}, {size:,}"] = round(seconds, 1)
                for kind in KINDS:
                    report.rows.append(await _row(tree, spread, size, kind=kind, rounds=rounds))
                report.rows.append(await _together(tree, spread, size, rounds=rounds))
    for name in dict.fromkeys((row.spread, row.kind) for row in report.rows):
        mine = [row for row in report.rows if (row.spread, row.kind) == name]
        if len(mine) > 1:
            report.slopes[", ".join(name)] = _slope(mine)
    return report


async def _row(tree: Tree, spread: Spread, size: int, *, kind: str, rounds: int) -> Row:
    """Remember texts of one kind, one after another; the first finds nothing in memory."""
    took, right, spent = [], [], 0.0
    for number in range(rounds + 1):
        said, place = _said(kind, number, size), spread.place(_near(number, size))
        begun, spent = time.perf_counter(), spent if number > 1 else time.process_time()
        is_merged = await _is_merged(tree, said, place)
        took.append((time.perf_counter() - begun) * 1_000)
        right.append(is_merged is (kind == "again"))
    cpu = (time.process_time() - spent) / rounds
    return _summed(spread, kind, size, took=took[1:], right=right, cpu=cpu)


async def _together(tree: Tree, spread: Spread, size: int, *, rounds: int) -> Row:
    """Remember new texts, many at once: what one costs when they share the disk."""
    took: list[float] = []
    right: list[bool] = []
    spent = time.process_time()
    for start in range(0, rounds, MANY):
        begun = time.perf_counter()
        some = [
            _is_merged(
                tree, _said("new", number + 2 * rounds, size), spread.place(_near(number, size))
            )
            for number in range(start, start + MANY)
        ]
        right += [not each for each in await asyncio.gather(*some)]
        took.append((time.perf_counter() - begun) * 1_000 / MANY)
    cpu = (time.process_time() - spent) / len(right)
    return _summed(spread, f"{MANY} at once", size, took=took, right=right, cpu=cpu)


async def _is_merged(tree: Tree, said: str, place: dict[str, str]) -> bool:
    """Remember a text; say whether it became one with others."""
    saved = await tree.cortex.remember(
        said, type="fact", layer="working", agent=place["agent"], thread=place["thread"]
    )
    return bool(saved["merged"])


def _near(number: int, size: int) -> int:
    """Return the memory that a text of a measurement is near to, another for each."""
    return number * 7 % size


def _said(kind: str, number: int, size: int) -> str:
    """Return a text for a measurement."""
    near = _near(number, size)
    if kind == "again":
        return text(near // TOPIC, near, wording=1 + number)
    return text(near // TOPIC if kind == "alike" else size + number, size + number)


def _summed(
    spread: Spread, kind: str, size: int, *, took: list[float], right: list[bool], cpu: float
) -> Row:
    """Return the row of a measurement; `cpu` is in seconds."""
    p50, p99 = (round(float(each), 2) for each in np.percentile(took, (50, 99)))
    share = round(float(np.mean(right)), 4)
    return Row(spread.name, kind, size, p50, p99, round(cpu * 1_000, 2), share)


def _slope(rows: Sequence[Row]) -> float:
    """Return the exponent by which the median grows with the number of memories."""
    sizes = np.log([row.memories for row in rows])
    return round(float(np.polyfit(sizes, np.log([row.p50_ms for row in rows]), 1)[0]), 2)


def show(report: Report) -> None:
    """Print the tables."""
    if report.rows:
        print(
            f"{'scope':12}{'text':12}{'memories':>9}{'p50 ms':>9}{'p99 ms':>9}{'cpu ms':>8}"
            "  right  slope"
        )
    for row in report.rows:
        slope = report.slopes.get(f"{row.spread}, {row.kind}", 0.0)
        print(
            f"{row.spread:12}{row.kind:12}{row.memories:>9,}{row.p50_ms:>9.2f}{row.p99_ms:>9.2f}"
            f"{row.cpu_ms:>8.2f}  {row.right:.3f}  {slope:>5.2f}"
        )
    if report.minute is not None:
        report.minute.show()


def met(report: Report) -> bool:
    """Say whether the goals are met."""
    grown = [100.0**slope <= GOAL for slope in report.slopes.values()]
    kept = report.minute is None or report.minute.is_well
    return kept and all(grown) and all(row.right == 1.0 for row in report.rows)


@contextmanager
def _warnings_unsaid() -> Iterator[None]:
    """Keep our warnings from the output meanwhile; tests run this in a process of others, too."""
    logger = logging.getLogger("cortex")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remember")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", choices=("sizes", "minute"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=int, default=20, help="of each kind, a second")
    parser.add_argument("--data", type=Path, default=SAMPLES, metavar="DIR")
    parser.add_argument("--provider", default="sentence-transformers")
    parser.add_argument("--models", type=Path, metavar="DIR", help="keeps the compiled model")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    report = Report()
    if args.only != "minute":
        sizes = [int(each) for each in args.sizes.split(",")]
        with _warnings_unsaid():
            report = asyncio.run(measure(sizes, args.rounds))
    if args.only != "sizes":
        report.minute = minute(
            args.data,
            rate=args.rate,
            seconds=args.seconds,
            provider=args.provider,
            models=args.models,
        )
    if args.json:
        shown = asdict(report)
        shown["minute"] = report.minute.plain() if report.minute else None
        print(json.dumps(shown, indent=1))
    else:
        show(report)
    return 0 if met(report) else 1


if __name__ == "__main__":
    sys.exit(main())
