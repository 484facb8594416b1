"""What each actor of the tree is handed: the one place where everything is put together.

Actors are handed other actors by name (`NamedActor`) or callables that ask one; none holds a ref.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import SOON, Actors, Call, Life
from cortex_actors.assembly import branches
from cortex_actors.assembly.desk import Practice
from cortex_actors.assembly.embedder import Incumbent
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Desk, Wake
from cortex_actors.domain.agent import OWNER
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.migrator import Migrator
from cortex_actors.embedding.pool import Pool
from cortex_actors.errors import MailboxFull
from cortex_actors.federation.registry import Register
from cortex_actors.gateways.server import Http
from cortex_actors.judging.judge import Judge, QuietJudge
from cortex_actors.memory.custodian import AccessReporter
from cortex_actors.runtime.names import NamedActor
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import embeddings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Records
from cortex_actors.storage.search.matrix import VectorMatrix
from cortex_actors.watching.watcher import WatcherParts
from cortex_actors.watching.watchlist import Watchlist

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.assembly.context import World
    from cortex_actors.embedding.provider import Row
    from cortex_actors.settings import Settings


#: Threads that look at files: sweeps and large parses, of all projects together.
FILE_THREADS = 4


class Assembly:
    """Every part of one daemon; `make` starts an actor's next life, as the settings are then."""

    def __init__(self, world: World) -> None:
        """Put the parts together; nothing runs yet."""
        self._world = world
        self._clock = world.clock
        self.names = world.names
        self.actors = Actors.of(world.names)
        self.threads = Threads("files", FILE_THREADS)
        self.records = Records(self.names)
        self._journal = LedgerJournal(self.records, world.clock)
        self.bus = Bus(self._journal, world.clock)
        self._incumbent = Incumbent(world, self._line("model"))
        self._pool = self.actors.pool
        self._embed = partial(self.actors.cache.within(None).ask, Cache.embed)
        #: What outlives a crash of the roster: a reload and its own supervisor begin it anew.
        self._register = Register()
        self.hints = world.outside.hints(world.clock, world.settings.watching)
        self.adopt(world.settings)
        self.practice = Practice(
            world,
            self.bus,
            actors=self.actors,
            records=self.records,
            settings=lambda: self._settings,
        )
        self.cortex = self._front_desk()

    def adopt(self, settings: Settings) -> None:
        """Hand these settings to every life that begins from now on."""
        self._settings = settings
        self._incumbent.adopt(settings.embedding)
        self.hints.adopt(settings.watching)
        self._matrix = self._one_matrix()
        self.watching = WatcherParts(
            self.bus, self._clock, self.records, self.threads, settings.watching, self.hints
        )
        parts = branches.BranchParts(
            self._world,
            settings,
            self.actors,
            self.records,
            self.bus,
            self._desk,
            self.model,
            self._embed,
            QuietJudge(self.actors.judge, settings.judging),
            self._matrix,
            self._register,
        )
        self.make: branches.Makers = {
            **self._storage(),
            **self._embedding(),
            **branches.upward(parts),
            **branches.downward(parts),
            **branches.memory(parts),
            **branches.federation(parts),
            **self._others(),
        }

    @property
    def model(self) -> str:
        """The id of the vector space everything is embedded in."""
        return self._incumbent.provider.model_id

    def _front_desk(self) -> FrontDesk:
        """Return the operations, with actors by name and what else they use."""
        world, clock = self._world, self._clock
        http: NamedActor[Http] = NamedActor("http", self.names)
        return FrontDesk(
            Call(
                caller=OWNER,
                actors=self.actors,
                home=world.home,
                clock=clock,
                bus=self.bus,
                records=self.records,
                model=lambda: self.model,
                settings=lambda: self._settings,
                accesses=AccessReporter(self.actors.custodian),
                tasks=world.tasks,
                watching=self.hints.described,
                doctor=self.practice.visit,
                trial=self.practice.trial,
                tree=world.draw,
                crash=world.crash,
                inspect=world.inspect,
                wake=self._wake,
                reload=world.reload,
                door=partial(http.within(SOON).ask, Http.describe),
                life=Life(clock.now(), clock.monotonic()),
            )
        )

    def _wake(self, consumer: str) -> None:
        """Let a consumer look into the journal; a full mailbox holds a wake-up already."""
        with suppress(MailboxFull):
            self.names.tell(consumer, Wake())

    def _one_matrix(self) -> VectorMatrix:
        """Return the one matrix of vectors in memory: whoever compares them shares it."""
        most = self._settings.storage.matrix_mb
        now: VectorMatrix | None = getattr(self, "_matrix", None)
        if now is not None and (now.model, now.most_mb) == (self.model, most):
            return now
        return VectorMatrix(self.model, most)

    def _storage(self) -> branches.Makers:
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
                index=self.actors.vectors,
            ),
        }

    def _embedding(self) -> branches.Makers:
        """Return how the actors are made that hold models."""
        settings = self._settings.embedding
        return {
            "judge": partial(
                Judge,
                self._world.outside.layers,
                self.records,
                clock=self._clock,
                settings=self._settings.judging,
                on_line=self._line("judge"),
            ),
            "cache": partial(
                Cache,
                self._incumbent.provider,
                entries=settings.cache_entries,
                stored=self._stored,
                embed=partial(self.actors.pool.within(None).ask, Pool.embed),
            ),
            "pool": partial(
                Pool,
                self._incumbent.provider,
                self._clock,
                items=settings.batch_items,
                seconds=settings.batch_ms / 1_000,
                limit=settings.queue_limit,
            ),
            "migrator": partial(
                Migrator,
                self.records,
                self._incumbent,
                clock=self._clock,
                compiles=settings.compile,
                busy=self._busy,
                tasks=self._world.tasks,
            ),
        }

    def _others(self) -> branches.Makers:
        """Return how the actors are made that are alone in their branch, or nearly so."""
        return {
            "watchlist": partial(
                Watchlist,
                self._desk("watchlist"),
                self.records,
                settings=self._settings.watching,
                threads=self.threads,
                watchers=self._world.watchers,
            ),
            "http": partial(
                Http,
                self._world.home,
                lambda: self.cortex,
                logs=self._world.logs,
                clock=self._clock,
                settings=self._settings.http,
            ),
            "scheduler": partial(
                Scheduler,
                self._world.home,
                self.records,
                self.bus,
                clock=self._clock,
                settings=self._settings.schedule,
                keep_days=self._settings.events.keep_days,
                journal_days=self._settings.resolution.journal_days,
                organisation=self._settings.organisation,
                memory=self._settings.memory,
                trial=lambda: self.cortex.round_trip(),  # noqa: PLW0108 - the desk comes later
                tasks=self._world.tasks,
            ),
        }

    def _desk(self, name: str) -> Desk:
        """Return what a consumer is handed."""
        return Desk(name, self.bus, self._journal, self._clock, self._settings.events)

    def _line(self, actor: str) -> Callable[[str], None]:
        """Return what takes the lines a child process writes."""
        return lambda text: self._world.logs.write("info", text, actor=actor)

    async def _busy(self) -> bool:
        """Return whether the pool has texts in hand."""
        found = await self._pool.ask(Pool.describe)
        return found.waiting + found.in_flight > 0

    async def _stored(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Row]:
        """Return the vectors the ledger has for texts."""
        return await self.records.read(lambda c: embeddings.stored_vectors(c, model, digests))
