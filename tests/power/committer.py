"""The program whose power is cut: commits units of work and says on standard output what is kept.

`python committer.py HOME FIRST LAST SEED` commits the units from FIRST to before LAST.
`POWER_SYNCHRONOUS=NORMAL` makes it trust the disk more than the product does, which a test must
notice; with `POWER_CRASH=1` it ends without closing anything.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from random import Random

from cortex_actors.bus.commits import Delivery, Outcome
from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import StorageSettings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger import connection, writer
from cortex_actors.storage.ledger.actor import Ledger, Records
from tests.power import workload

#: Pages of the log after which they go into the ledger, instead of a thousand: so that a short run
#: does it often.
CHECKPOINT = 40


async def live(home: Home, numbers: range, random: Random, *, crash: bool) -> None:
    """Open a ledger, commit units, and close it or not."""
    names, clock = Names(), SystemClock()
    make = partial(Ledger, home, StorageSettings(low_water_mb=0), clock)
    handle = await start_actor(names, "ledger", make)
    records = Records(names)
    await commit(LedgerJournal(records, clock), records, numbers, random)
    if crash:
        os._exit(0)
    await handle.stop(10)


async def commit(store: LedgerJournal, records: Records, numbers: range, random: Random) -> None:
    """Commit units, several at a time, and acknowledge some of their events."""
    left = list(numbers)
    while left:
        group, left = left[: (size := random.choice((1, 2, 6)))], left[size:]
        async with asyncio.TaskGroup() as tasks:
            for number in group:
                tasks.create_task(_store(records, number))
        found = await store.find_next(workload.ACCUMULATOR)
        if isinstance(found, Delivery):
            await _settle(store, found)


async def _store(records: Records, number: int) -> None:
    await records.write(partial(workload.store, number=number))
    _tell(f"unit {number}")


async def _settle(store: LedgerJournal, delivery: Delivery) -> None:
    seq = delivery.seqs[0]
    await store.settle(delivery, Outcome(partial(workload.settle, seq=seq), [workload.said(seq)]))
    _tell(f"settled {seq}")


def _tell(what: str) -> None:
    """Acknowledge: from here on it may not be lost."""
    os.write(1, f"{what}\n".encode())


def _hasten(synchronous: str) -> None:
    """Checkpoint often, and sync as the test says."""
    writer.FIRST = 1
    writer.PAGES = CHECKPOINT
    kept = [each for each in connection._PRAGMAS if "synchronous" not in each]
    pragmas: tuple[str, ...] = (*kept, f"PRAGMA synchronous = {synchronous}")
    setattr(connection, "_PRAGMAS", pragmas)  # noqa: B010 - its length is its type


async def main(folder: str, first: str, last: str, seed: str) -> None:
    """Live one life that ends in a crash, or two that do not."""
    home, random = Home(Path(folder)), Random(seed)
    numbers = range(int(first), int(last))
    home.create()
    if os.environ.get("POWER_CRASH"):
        await live(home, numbers, random, crash=True)
    half = len(numbers) // 2
    for part in (numbers[:half], numbers[half:]):
        await live(home, part, random, crash=False)


if __name__ == "__main__":
    _hasten(os.environ.get("POWER_SYNCHRONOUS", "FULL"))
    asyncio.run(main(*sys.argv[1:]))
