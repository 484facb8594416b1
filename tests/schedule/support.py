"""What the tests of the schedule share: a scheduler beside a real ledger, turned by hand."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import select

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SECOND
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.sections import MemorySettings, OrganisationSettings, ScheduleSettings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger import backups
from cortex_actors.storage.tables.schema import events
from cortex_actors.testing import EPOCH, eventually
from tests.storage.support import Store, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from cortex_actors.runtime.actor import ActorHandle

#: Asks an actor by name.
Ask: TypeAlias = "Callable[..., Coroutine[Any, Any, Any]]"

#: Tries the daemon.
Trial: TypeAlias = "Callable[[], Coroutine[Any, Any, dict[str, Any]]]"

#: Every job there is without a trial, in the order of the table.
JOBS = (
    *("scan", "reconcile", "organise", "decay", "digest", "backup", "prune", "check"),
    *("attention", "promotions", "archive"),
)

#: Seconds of one day.
DAY = 86_400

#: What makes the ledger a written one, without a word to anybody.
WRITE = "UPDATE owner SET pid = pid + 1"


class Watched:
    """A scheduler beside a real ledger, on a clock that is turned by hand."""

    def __init__(
        self, store: Store, *, chance: float = 0.0, trial: Trial | None = None, **settings: float
    ) -> None:
        """Choose the settings, what chance always says, and what tries the daemon."""
        self.store = store
        self.clock = store.clock
        self.settings = ScheduleSettings.model_validate(settings)
        self.bus = Bus(LedgerJournal(store.records, store.clock), store.clock)
        self.chance = chance
        self.trial = trial
        self.memory = MemorySettings()
        self._jobs = len(JOBS) + (trial is not None)
        self.handle: ActorHandle
        self.ask: Ask = partial(
            NamedActor[Any]("scheduler", store.names, timeout=None).ask, Scheduler.run_now
        )
        self.failing: Ask = partial(
            NamedActor[Any]("scheduler", store.names).ask, Scheduler.describe
        )

    async def start(self) -> None:
        """Start it and wait until all its timers are set."""
        make = partial(
            Scheduler,
            self.store.home,
            self.store.records,
            self.bus,
            clock=self.clock,
            settings=self.settings,
            keep_days=30,
            organisation=OrganisationSettings(),
            memory=self.memory,
            trial=self.trial,
            chance=lambda: self.chance,
        )
        before = self.clock.sleepers
        self.handle = await start_actor(self.store.names, "scheduler", make)
        await eventually(lambda: self.clock.sleepers >= before + self._jobs)

    async def turn(self, seconds: float) -> None:
        """Let time pass and everything end that was due."""
        self.clock.advance(seconds)
        await eventually(lambda: self.clock.sleepers >= self._jobs)

    async def restart(self, away: float = 0.0) -> None:
        """End it, let time pass, and start it again, as a daemon would be."""
        await self.handle.stop(10)
        self.clock.advance(away)
        await self.start()

    async def written(self) -> None:
        """Let somebody write the ledger."""
        await self.store.write(lambda c: c.exec_driver_sql(WRITE).rowcount)

    async def job(self, name: str) -> dict[str, Any]:
        """Return one row of the table, as a client gets it."""
        table = await NamedActor[Any]("scheduler", self.store.names).ask(Scheduler.list_jobs)
        return next(each for each in table if each["name"] == name)

    async def said_at(self, topic: str) -> list[int]:
        """Return when events of a topic were said, UTC microseconds."""
        query = select(events.c.at).where(events.c.topic == topic).order_by(events.c.seq)
        return await self.store.read(lambda c: list(c.execute(query).scalars()))

    async def said(self, topic: str) -> int:
        """Return how many events of a topic are stored."""
        return len(await self.said_at(topic))

    def copies(self) -> list[int]:
        """Return when the backups were made, oldest first, in seconds."""
        found = backups.list_backups(self.store.home.backups)
        return sorted((each.at - EPOCH) // SECOND for each in found)


@asynccontextmanager
async def scheduled(
    folder: Path, *, chance: float = 0.0, trial: Trial | None = None, **settings: float
) -> AsyncIterator[Watched]:
    """Run a scheduler, and end it."""
    async with opened(folder) as store:
        watched = Watched(store, chance=chance, trial=trial, **settings)
        await watched.start()
        try:
            yield watched
        finally:
            await watched.handle.stop(10)
