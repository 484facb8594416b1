"""The process that test_kill.py kills: a consumer on a real ledger that gives itself its work.

`python killed_consumer.py HOME COUNT`: publishes COUNT events if there are none, handles them, and
ends when all are handled. Each effect is a row; each is answered with an event that is handled too.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.domain.event import AccumulationComplete, FileChanged
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import EventsSettings, StorageSettings
from cortex_actors.storage import events, projects
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger.actor import Ledger, Records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.event import Event
    from cortex_actors.storage.ledger.actor import Connection


class Accumulator(Consumer):
    """Writes a row for each changed file, and says so."""

    hears: ClassVar[Mapping[str, str]] = {topics.FILE_CHANGED: "on_changed"}
    concurrency = 8

    async def on_changed(self, event: Event[FileChanged]) -> Outcome:
        """Write a row."""
        run = projects.PipelineRun(
            f"run_{make_ulid(event.at)}", "accumulator", 0, 0, path=event.payload.path
        )
        done = AccumulationComplete(run.id, None, (event.payload.path,))
        say = [self.say(topics.ACCUMULATION_COMPLETE, done)]
        return Outcome(lambda connection: projects.record(connection, run), say)


class Reconciler(Consumer):
    """Writes a row for each path it is told of."""

    hears: ClassVar[Mapping[str, str]] = {topics.ACCUMULATION_COMPLETE: "on_complete"}

    async def on_complete(self, event: Event[AccumulationComplete]) -> Outcome:
        """Write rows."""
        rows = [
            projects.PipelineRun(f"run_{make_ulid(event.at)}", "reconciler", 0, 0, path=path)
            for path in event.payload.changed_ids
        ]

        def record(connection: Connection) -> None:
            for row in rows:
                projects.record(connection, row)

        return Outcome(record)


async def work(folder: str, count: int) -> None:
    """Handle everything."""
    clock, names, records = SystemClock(), Names(), None
    records = Records(names)
    store = LedgerJournal(records, clock)
    bus = Bus(store, clock)
    settings = StorageSettings()
    ledger = await start_actor(
        names, "ledger", partial(Ledger, Home(Path(folder)), settings, clock)
    )
    events = [
        bus.make_event(topics.FILE_CHANGED, FileChanged("prj_1", f"/{n}"), source="test")
        for n in range(count)
    ]
    # All at once or none: a kill in between must not make some of them twice.
    if await records.read(_none_yet):
        await store.append(events)
    print("ready", flush=True)  # noqa: T201 - tells the test that killing is worth while
    handles = [
        await start_actor(
            names, name, partial(kind, Desk(name, bus, store, clock, EventsSettings()))
        )
        for name, kind in (("accumulator", Accumulator), ("reconciler", Reconciler))
    ]
    while await records.read(_waiting):
        await asyncio.sleep(0.01)
    for handle in (*reversed(handles), ledger):
        await handle.stop(10)


def _none_yet(connection: Connection) -> bool:
    """Tell whether nothing was published yet."""
    return not connection.exec_driver_sql("SELECT count(*) FROM events").scalar()


def _waiting(connection: Connection) -> int:
    """Return how much waits for those who are here (nobody is the organiser)."""
    return events.count_waiting(connection)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
