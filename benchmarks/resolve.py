"""What it costs to distil principles and to bring them into a file, and how that grows.

`python -m benchmarks.resolve [--sizes 100,1000,10000] [--changed 100] [--rounds 5] [--json]`. The
statements and their vectors are those of `reconcile.py`, and each of them is a principle; the file
is one of the samples. Everything runs through the product's own code, on a ledger and a file on the
disk: organising everything from nothing, organising after a file says 100 other statements,
finding out that a file need not be looked at, showing what it would get, and writing it. Then one
statement of a file of 100 is another one than before, and each stage that follows is measured:
reading it, reconciling, organising, and writing a file of another project.

Exits 1 when 10 times as many principles make a change of 100 more than five times as dear, or a
stage of one changed statement more than twice, from the first size to the last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from benchmarks.reconcile import CLOCK, DIMENSION, FILE, MODEL, Direct, Said, Stock, learn
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Desk
from cortex_actors.domain.event import Nothing, ReconciliationComplete
from cortex_actors.domain.principle import ResolutionWish
from cortex_actors.domain.project import Project
from cortex_actors.files.place import Pace
from cortex_actors.files.writer import FileWriter
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.promotion import Tools
from cortex_actors.pipeline.reconciler import Comparing
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.pipeline.resolution import Maker, Resolving
from cortex_actors.pipeline.resolver import FileUpdater
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import (
    EventsSettings,
    OrganisationSettings,
    ReconciliationSettings,
    ResolutionSettings,
)
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import principles
from cortex_actors.storage.projects import Writes
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.testing import ManualClock
from cortex_actors.topics import ORGANISATION_REQUESTED, RECONCILIATION_COMPLETE
from tests.bus.journal import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records

#: How much dearer a change may be among 10 times as many.
GOAL = 5.0

#: How much dearer a stage of one changed statement may be from the first size to the last.
STAGE_GOAL = 2.0

#: The stages of one changed statement.
STAGES = ("read_s", "reconciled_s", "organised_s", "wrote_s")

#: The file that principles are brought into.
SAMPLE = Path(__file__).parent.parent / "data" / "projects" / "atlas-api" / "CLAUDE.md"

#: Where the project lies: a root is a real path.
REAL = Path(tempfile.gettempdir()).resolve()

#: Everything that was learned is a principle.
EARNED = ReconciliationSettings(
    promotion_confidence=0,
    promotion_observations=1,
    promotion_age_days=0,
    promotion_projects=1,
)

#: Every principle may be given; nobody saves the file meanwhile, so it need not come to rest.
GIVEN = ResolutionSettings(least=0, settle_ms=0, grace_s=0, unapproved=True)


@dataclass(frozen=True, slots=True)
class Row:
    """CPU seconds of the process, medians, but for `everything_s`, of which there is one."""

    principles: int
    everything_s: float
    change_s: float
    unchanged_s: float
    shown_s: float
    written_s: float
    read_s: float
    reconciled_s: float
    organised_s: float
    wrote_s: float


class World:
    """A ledger, an organiser and what resolves, without the rest of the tree."""

    def __init__(self, folder: Path, threads: Threads, pool: Threads) -> None:
        self.records = Direct(folder)
        self.threads = threads
        self.neighbours = Neighbours(VectorMatrix(MODEL, 1_024))
        self.learned = Project.from_root("/somewhere/atlas", CLOCK.now())
        self.project = Project.from_root(str(folder / "project"), CLOCK.now())
        self.path = folder / "project" / SAMPLE.name
        self.path.parent.mkdir()
        shutil.copyfile(SAMPLE, self.path)
        self._said: dict[str, list[Said]] = {}
        self._chance = np.random.default_rng(3)
        records, clock = cast("Records", self.records), ManualClock()
        journal = MemoryJournal(clock)
        desk = Desk("organiser", Bus(journal, clock), journal, CLOCK, EventsSettings())
        self._bus = desk.bus
        self._organiser = Organiser(
            desk,
            records,
            settings=OrganisationSettings(),
            promotion=EARNED,
            neighbours=self.neighbours,
            embed=self._embed,
        )
        self._pool = pool
        maker = Maker(GIVEN, MODEL, Ruling(EARNED, MODEL), lambda text: len(text) // 4)
        writer = FileWriter(
            Writes(records, CLOCK),
            CLOCK,
            spawn=self._spawn,
            pace=Pace(0, 1, 0),
            threads=pool,
        )
        resolving = Resolving(writer, maker, embed=self._embed, threads=pool)
        self._errands = FileUpdater(records, resolving, maker, clock=CLOCK)
        self._tasks: set[asyncio.Task[None]] = set()

    async def learn(self, stock: Stock, name: str, count: int) -> list[str]:
        """Have a file say new statements; return which insights changed."""
        self._said[name] = stock.more(count)
        return await learn(self.records, self.learned, name, self._said[name])

    async def change_one(self, stock: Stock, number: int) -> tuple[float, ...]:
        """Have a file say one other statement; return the CPU seconds of each of `STAGES`."""
        name = f"{(number + 1) % len(self._said)}/CLAUDE.md"
        said = self._said[name] = [*stock.more(1), *self._said[name][1:]]
        begun = time.process_time()
        ids = await learn(self.records, self.learned, name, said)
        read = time.process_time()
        found = await self.weighed(ids)
        compared = time.process_time()
        organised = await self.organise(found)
        return read - begun, compared - read, organised, await self.resolve(dry=False)

    async def weighed(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Reconcile what changed; return what may be a principle."""
        records = cast("Records", self.records)
        found = await Comparing(
            Tools(records, self.neighbours, self.threads),
            Ruling(EARNED, MODEL),
            name="reconciler",
            run="run_bench",
            at=CLOCK.now(),
        ).compare(ids)
        await self.records.write(found.write)
        return (*found.weighed.candidates, *found.derived)

    async def organise(self, ids: Sequence[str] | None) -> float:
        """Organise what is named, or everything; return the CPU seconds."""
        if ids is None:
            event = self._bus.make_event(ORGANISATION_REQUESTED, Nothing(), source="bench")
            handle: Callable[[Any], Any] = self._organiser.on_requested
        else:
            payload = ReconciliationComplete("run_bench", tuple(ids))
            event = self._bus.make_event(RECONCILIATION_COMPLETE, payload, source="bench")
            handle = self._organiser.on_candidates
        begun = time.process_time()
        outcome = await handle(event)
        await self.records.write(outcome.work)
        return time.process_time() - begun

    async def resolve(self, *, dry: bool) -> float:
        """Bring principles into the file, or show them; return the CPU seconds."""
        if not dry:
            shutil.copyfile(SAMPLE, self.path)
        begun = time.process_time()
        (done,) = await self._errands.grant(
            self.project, ResolutionWish(str(self.path), dry_run=dry)
        )
        took = time.process_time() - begun
        assert done.resolved is not None
        assert done.resolved.bullets, done
        await self.records.write(done.write)
        return took

    async def unchanged(self) -> float:
        """Find out that the file need not be looked at; return the CPU seconds."""
        begun = time.process_time()
        due = await self._errands.list_changed(self.project, await self._errands.offer_name())
        took = time.process_time() - begun
        assert not due
        return took

    async def close(self) -> None:
        """Let what is watched come to its end, and close the ledger."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        self._organiser._threads.close()  # noqa: SLF001 - its life does, and it has none here
        self.records.close()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _embed(self, texts: Sequence[str], **_how: object) -> Matrix:
        """Return made-up vectors: what is near to what is chance."""
        rows = self._chance.normal(size=(len(texts), DIMENSION)).astype(np.float32)
        found: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return found


async def measure(size: int, changed: int, rounds: int) -> Row:
    """Return what everything costs among so many."""
    threads, pool = Threads("bench", 1), Threads("pool", 2)
    with tempfile.TemporaryDirectory(prefix="cortex-resolve-", dir=REAL) as folder:
        world, stock = World(Path(folder), threads, pool), Stock()
        for project in (world.learned, world.project):
            await world.records.write(partial(projects.add, project=project))
        for number in range(max(size // FILE, 1)):
            await world.learn(stock, f"{number}/CLAUDE.md", min(FILE, size))
        await world.weighed(())
        everything = await world.organise(None)
        changes = [await _change(world, stock, changed) for _ in range(rounds)]
        written = [await world.resolve(dry=False) for _ in range(rounds)]
        unchanged = [await world.unchanged() for _ in range(rounds)]
        shown = [await world.resolve(dry=True) for _ in range(rounds)]
        await world.change_one(stock, 0)
        stages = [await world.change_one(stock, number) for number in range(rounds)]
        count = await world.records.read(principles.count)
        await world.close()
    threads.close()
    pool.close()
    lists = (changes, unchanged, shown, written, *zip(*stages, strict=True))
    medians = map(statistics.median, lists)
    return Row(count, everything, *medians)


async def _change(world: World, stock: Stock, changed: int) -> float:
    """Have a file say other statements; return what organising that costs."""
    ids = await world.learn(stock, "0/CLAUDE.md", changed)
    return await world.organise(await world.weighed(ids))


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments and measure; 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--changed", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    sizes = [int(each) for each in options.sizes.split(",")]
    rows = [asyncio.run(measure(size, options.changed, options.rounds)) for size in sizes]
    # Of the smallest one a change is everything: the others tell how it grows.
    growth = rows[-1].change_s / rows[-2 if len(rows) > 1 else -1].change_s
    stages = {each: getattr(rows[-1], each) / getattr(rows[0], each) for each in STAGES}
    if options.json:
        shown = {
            "rows": [asdict(each) for each in rows],
            "growth": growth,
            "goal": GOAL,
            "stages": stages,
        }
        print(json.dumps(shown, indent=2))
    else:
        print("principles  everything (s)  a change (ms)  unchanged (ms)  shown (ms)  written (ms)")
        for each in rows:
            print(
                f"{each.principles:>10} {each.everything_s:>15.2f} {1e3 * each.change_s:>14.1f} "
                f"{1e3 * each.unchanged_s:>15.1f} {1e3 * each.shown_s:>11.1f} "
                f"{1e3 * each.written_s:>13.1f}"
            )
        print(f"a change grows {growth:.1f} times (goal: at most {GOAL:g})")
        print("one statement, ms:  " + "  ".join(each.removesuffix("_s") for each in STAGES))
        for each in rows:
            taken = "  ".join(f"{1e3 * getattr(each, stage):.1f}" for stage in STAGES)
            print(f"{each.principles:>10}          {taken}")
        grown = "  ".join(f"{each:.1f}" for each in stages.values())
        print(f"it grows            {grown} times (goal: at most {STAGE_GOAL:g})")
    is_met = growth <= GOAL and max(stages.values()) <= STAGE_GOAL
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
