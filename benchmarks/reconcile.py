"""What a reconciliation costs when 100 of so many insights change, and how that grows.

`python -m benchmarks.reconcile [--sizes 1000,10000,100000] [--changed 100] [--json]`. The insights
are made up: unit vectors, of which one in five has planted neighbours, with texts that disagree,
say the same or have nothing to do with each other. A change is one file that says 100 other
statements than before. Everything runs through the product's own code, on a ledger on the disk.

Exits 1 when 100 times as many insights make a change more than ten times as dear.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np

from cortex_actors.clock import SystemClock
from cortex_actors.domain.insight import Granularity, InsightSource, hash_statement, make_insight_id
from cortex_actors.domain.project import Project
from cortex_actors.pipeline.promotion import Tools
from cortex_actors.pipeline.reconciler import Comparing
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import ReconciliationSettings
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.pipeline.insights import Finding
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from cortex_actors.pipeline.reconciliation import Reconciliation
    from cortex_actors.storage.ledger.actor import Records

T = TypeVar("T")

#: A statement and its vector.
Said: TypeAlias = "tuple[str, NDArray[np.float32]]"

#: How much dearer a change may be among 100 times as many.
GOAL = 10.0

#: Numbers of a vector, as the default model has.
DIMENSION = 384

#: What the made-up vectors are said to be of.
MODEL = "made-up"

#: Statements of one file.
FILE = 100

#: Of so many statements, one begins a family: the next ones are near it.
FAMILY = 5

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds, medians; `compared` is how many texts a change led to."""

    insights: int
    full_s: float
    change_s: float
    nearest_s: float
    write_s: float
    compared: int


class Direct:
    """The ledger's file without the actor: what is measured is the reconciler's own work."""

    def __init__(self, folder: Path) -> None:
        """Open a new ledger."""
        path = folder / "cortex.db"
        self._writing = connection.open_writing(path)
        migrate(self._writing, path)
        self._reading = connection.open_reading(path)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query."""
        with self._reading.begin() as opened:
            return query(opened)

    async def write(self, unit: Callable[[Connection], T], **_how: bool) -> T:
        """Run a unit of work; here each is as vital as any."""
        with self._writing.begin() as opened:
            return unit(opened)

    def close(self) -> None:
        """Close it."""
        self._reading.dispose()
        self._writing.dispose()


class Stock:
    """Statements with vectors, as many as one likes, the same in every run."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(7)
        self._count = 0

    def more(self, count: int) -> list[Said]:
        """Return so many new statements."""
        return [next(self._made()) for _ in range(count)]

    def _made(self) -> Iterator[Said]:
        """Yield the next statement: of a family of four every twenty, else alone."""
        number, self._count = self._count, self._count + 1
        family, place = divmod(number, FAMILY * 4)
        if place >= FAMILY - 1:
            text = f"Keep the {_word(number)} of {_word(number + 1)} near {_word(number + 2)}."
            yield text, _unit(self._chance.normal(size=DIMENSION))
            return
        centre = np.random.default_rng(family).normal(size=DIMENSION)
        forms = ("Use {} in {}.", "Always use {} in {}.", "Never use {} in {}.", "{} suits {}.")
        text = forms[place].format(_word(family), _word(family + 7))
        yield text, _unit(centre + self._chance.normal(size=DIMENSION) * 0.4)


async def learn(records: Direct, project: Project, name: str, said: Sequence[Said]) -> list[str]:
    """Have a file say those statements; return which insights changed."""
    path, at = f"{project.root}/{name}", CLOCK.now()
    found = [_finding(text, path, n) for n, (text, _) in enumerate(said)]
    rows = {finding.text_hash: row for finding, (_, row) in zip(found, said, strict=True)}

    def unit(opened: Connection) -> list[str]:
        insights.learn(opened, found, project_id=project.id, path=path, at=at)
        embeddings.keep_vectors(opened, MODEL, rows)
        return sorted({each.source.said for each in found})

    return await records.write(unit)


async def reconcile(
    records: Direct, neighbours: Neighbours, threads: Threads, ids: Sequence[str]
) -> Reconciliation:
    """Compare what changed."""
    comparing = Comparing(
        Tools(cast("Records", records), neighbours, threads),
        Ruling(ReconciliationSettings(), MODEL),
        name="reconciler",
        run="run_bench",
        at=CLOCK.now(),
    )
    return await comparing.compare(ids)


async def measure(size: int, changed: int, rounds: int) -> Row:
    """Return what a change among so many costs."""
    with tempfile.TemporaryDirectory(prefix="cortex-reconcile-") as folder:
        records, threads, stock = Direct(Path(folder)), Threads("bench", 1), Stock()
        neighbours = Neighbours(VectorMatrix(MODEL, 1_024))
        project = Project.from_root("/somewhere/atlas", CLOCK.now())
        await records.write(partial(projects.add, project=project))
        for number in range(size // FILE):
            await learn(records, project, f"{number}/CLAUDE.md", stock.more(FILE))
        begun = time.perf_counter()
        found = await reconcile(records, neighbours, threads, ())
        await records.write(found.write)
        full = time.perf_counter() - begun
        times = [
            await _change(records, neighbours, threads, stock.more(changed), project)
            for _ in range(rounds)
        ]
        records.close()
        threads.close()
    change, near, write, compared = (statistics.median(each) for each in zip(*times, strict=True))
    return Row(size, full, change, near, write, int(compared))


async def _change(
    records: Direct,
    neighbours: Neighbours,
    threads: Threads,
    said: Sequence[Said],
    project: Project,
) -> tuple[float, float, float, int]:
    """Change one file; return what comparing took, the product in it, writing, and its texts."""
    ids = await learn(records, project, "0/CLAUDE.md", said)
    rows = np.stack([row for _, row in said])
    held = await records.read(
        neighbours.load_texts
    )  # also brings the new rows in, as a search would
    begun = time.perf_counter()
    held.find_near(rows, 0.5)
    near = time.perf_counter() - begun
    begun = time.perf_counter()
    found = await reconcile(records, neighbours, threads, ids)
    compared = time.perf_counter()
    await records.write(found.write)
    ended = time.perf_counter()
    return ended - begun, near, ended - compared, len(found.visited)


def _finding(text: str, path: str, place: int) -> Finding:
    """Return a statement of a file."""
    digest = hash_statement(text)
    source = InsightSource(
        insight_id=make_insight_id(digest),
        fragment_id=hashlib.sha256(f"{path}{text}".encode()).hexdigest(),
        path=path,
        project="atlas",
        heading=None,
        line_start=place + 1,
        line_end=place + 1,
        file_hash=digest[:12],
        ordinal=place,
    )
    return Finding(
        insight_id=source.insight_id,
        content=text,
        content_hash=digest,
        category="fact",
        tags=(),
        domain=None,
        text_hash=hashlib.sha256(text.encode()).digest(),
        source=source,
        granularity=Granularity.STATEMENT,
    )


def _word(number: int) -> str:
    """Return a made-up noun of that number."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return "".join("bdfgklmnprstvzaeiou"[int(each, 16)] for each in digest[:9])


def _unit(row: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a row with length 1."""
    found: NDArray[np.float32] = (row / np.linalg.norm(row)).astype(np.float32)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments and measure; 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--changed", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    sizes = [int(each) for each in options.sizes.split(",")]
    rows = [asyncio.run(measure(size, options.changed, options.rounds)) for size in sizes]
    growth = rows[-1].change_s / rows[0].change_s
    allowed = GOAL * max(rows[-1].insights / rows[0].insights / 100, 1.0)
    if options.json:
        shown = {"rows": [asdict(each) for each in rows], "growth": growth, "goal": allowed}
        print(json.dumps(shown, indent=2))
    else:
        print("insights  everything (s)  a change (ms)  product (ms)  write (ms)  texts compared")
        for each in rows:
            print(
                f"{each.insights:>8} {each.full_s:>15.2f} {1e3 * each.change_s:>14.1f} "
                f"{1e3 * each.nearest_s:>13.1f} {1e3 * each.write_s:>11.1f} {each.compared:>15}"
            )
        print(f"a change grows {growth:.1f} times (goal: at most {allowed:g})")
    return 0 if growth <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
