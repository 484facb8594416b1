"""What each actor of the tree is handed: the one place where everything is put together.

Actors are handed callables that find other actors by name at each use; nobody holds a ref.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Desk
from cortex_actors.domain.payload import plain
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.pool import Pool
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import LocalStore
from cortex_actors.frontdesk import front_desk
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.reconciler import Reconciler
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import indexing
from cortex_actors.storage.indexer import Indexer
from cortex_actors.storage.journal import LedgerJournal
from cortex_actors.storage.records import Records
from cortex_actors.storage.search import Search
from cortex_actors.storage.vectors import Vectors
from cortex_actors.watching.watcher import WatcherParts
from cortex_actors.watching.watchlist import Watchlist

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.bus.subscription import Deliver
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.domain.project import Project
    from cortex_actors.embedding.provider import Row
    from cortex_actors.home import Home
    from cortex_actors.logs import LogStream
    from cortex_actors.outside import Outside
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.runtime.names import Names
    from cortex_actors.settings import Settings

#: Threads that look at files: sweeps and large parses, of all projects together.
FILE_THREADS = 4

#: Characters of a payload that a log line shows; the event itself is in the ledger.
TEXT_LIMIT = 300


class Watchers(Protocol):
    """What the tree offers the watchlist."""

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project."""

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project."""

    def watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""


@dataclass(frozen=True, slots=True)
class World:
    """What the parts are put together from."""

    home: Home
    settings: Settings
    clock: Clock
    logs: LogStream
    names: Names
    watchers: Watchers
    draw: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    outside: Outside


class Assembly:
    """Every part of one daemon; `make` starts an actor's next life, as the settings are then."""

    def __init__(self, world: World) -> None:
        """Put the parts together; nothing runs yet."""
        self._world = world
        self._clock = world.clock
        self.names = world.names
        self.threads = Threads("files", FILE_THREADS)
        self.records = Records(self.names)
        self._journal = LedgerJournal(self.records, world.clock)
        self.bus = Bus(self._journal, world.clock)
        outside = world.outside
        self._provider = outside.provider(
            world.settings.embedding, world.clock, self._line("model")
        )
        self._embed = self.names.method("cache", Cache.embed, timeout=None)
        self.hints = outside.hints(world.clock, world.settings.watching)
        self.adopt(world.settings)
        self.cortex = front_desk(world, self.bus, records=self.records, model=self.model)

    def adopt(self, settings: Settings) -> None:
        """Hand these settings to every life that begins from now on."""
        self._settings = settings
        self.hints.adopt(settings.watching)
        self.watching = WatcherParts(
            self.bus, self._clock, self.records, self.threads, settings.watching, self.hints
        )
        self.make: dict[str, Callable[[], AsyncioActor]] = {
            **self._storage(),
            **self._embedding(),
            **self._pipeline(),
            **self._federation(),
            **self._watching(),
            **self._schedule(),
        }

    @property
    def model(self) -> str:
        """The id of the vector space everything is embedded in."""
        return self._provider.model_id

    def _storage(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the storage branch's actors are made."""
        world = self._world
        return {
            "ledger": partial(
                world.outside.ledger, world.home, self._settings.storage, world.clock
            ),
            "vectors": partial(
                Vectors,
                world.home.index,
                self.records,
                settings=self._settings.storage,
                model=self.model,
                clock=world.clock,
                on_line=self._line("vectors"),
                spawn=world.outside.spawn,
            ),
            "indexer": partial(
                Indexer,
                self.records,
                self.bus,
                clock=world.clock,
                settings=self._settings.storage,
                model=self.model,
                embed=self._embed,
                index=_Index(self.names),
            ),
        }

    def _embedding(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the embedding branch's actors are made."""
        settings = self._settings.embedding
        return {
            "cache": partial(
                Cache,
                self._provider,
                entries=settings.cache_entries,
                stored=self._stored,
                embed=self.names.method("pool", Pool.embed, timeout=None),
            ),
            "pool": partial(
                Pool,
                self._provider,
                self._clock,
                items=settings.batch_items,
                seconds=settings.batch_ms / 1_000,
                limit=settings.queue_limit,
            ),
        }

    def _pipeline(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the pipeline's actors are made."""
        return {
            "accumulator": partial(
                Accumulator,
                self._desk("accumulator"),
                self.records,
                settings=self._settings.accumulation,
                model=self.model,
                embed=self._embed,
            ),
            "reconciler": partial(
                Reconciler,
                self._desk("reconciler"),
                self.records,
                settings=self._settings.reconciliation,
            ),
            "organiser": partial(Organiser, self._desk("organiser"), self.records),
        }

    def _federation(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the federation branch's actors are made."""
        query = self.names.method("vectors", Vectors.query)
        local = LocalStore(Search(self.records, query, self.model))
        return {
            "roster": partial(Roster, (local,), self.bus),
            "federation": partial(
                Federation,
                _Roster(self.names),
                self._embed,
                clock=self._clock,
                settings=self._settings.federation,
            ),
        }

    def _watching(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the watching branch's actors are made."""
        return {
            "watchlist": partial(
                Watchlist,
                self._desk("watchlist"),
                self.records,
                settings=self._settings.watching,
                threads=self.threads,
                watchers=self._world.watchers,
            )
        }

    def _schedule(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the schedule branch's actor is made."""
        return {
            "scheduler": partial(
                Scheduler,
                self._world.home,
                self.records,
                clock=self._clock,
                settings=self._settings.schedule,
                keep_days=self._settings.events.keep_days,
            )
        }

    def _desk(self, name: str) -> Desk:
        """Return what a consumer is handed."""
        return Desk(name, self.bus, self._journal, self._clock, self._settings.events)

    def _line(self, actor: str) -> Callable[[str], None]:
        """Return what takes the lines a child process writes."""
        return lambda text: self._world.logs.write("info", text, actor=actor)

    async def _stored(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Row]:
        """Return the vectors the ledger has for texts."""
        return await self.records.read(lambda c: indexing.stored_vectors(c, model, digests))


class _Index:
    """The vectors actor as the indexer sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.put = names.method("vectors", Vectors.put)
        self.drop = names.method("vectors", Vectors.drop)


class _Roster:
    """The roster as the federation sees it: by name."""

    def __init__(self, names: Names) -> None:
        """Remember the names."""
        self.stores = names.method("roster", Roster.stores)
        self.note = names.method("roster", Roster.note)


def scribe(logs: LogStream) -> Deliver:
    """Return a receiver that writes every event into the log stream."""

    def write(event: Event[Payload]) -> None:
        fields = plain(event.payload)
        text = " ".join([f"{key}={given}" for key, given in fields.items() if given or given == 0])
        logs.write("info", text[:TEXT_LIMIT], actor=event.source, topic=event.topic, event=event.id)

    return write
