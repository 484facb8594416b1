"""What each actor of the tree is handed: the one place where everything is put together.

Actors are handed other actors by name (`NamedActor`) or callables that ask one; none holds a ref.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import SOON, Actors, Call, TreeLife
from cortex_actors.assembly.desk import Practice
from cortex_actors.assembly.embedder import Incumbent
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Desk, Wake
from cortex_actors.domain.agent import OWNER
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.factory import is_compiled
from cortex_actors.embedding.migrator import Migrator
from cortex_actors.embedding.pool import Pool
from cortex_actors.embedding.tokens import Counter, load_pieces
from cortex_actors.errors import MailboxFull
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.changes import StoreChanges
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.local import make_members
from cortex_actors.federation.registry import Overlay, Register
from cortex_actors.federation.roster import Roster
from cortex_actors.gateways.server import Http
from cortex_actors.judging.judge import Judge, QuietJudge
from cortex_actors.memory.archivist import Archivist
from cortex_actors.memory.custodian import AccessReporter, Custodian
from cortex_actors.memory.librarian import Librarian
from cortex_actors.memory.planner import Planner
from cortex_actors.memory.trail import Trail
from cortex_actors.memory.village import Village
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.pipeline.likeness import SecondOpinion
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.reconciler import Reconciler
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.pipeline.resolver import Resolver
from cortex_actors.runtime.names import NamedActor
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import embeddings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Records
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.storage.search.search import Search
from cortex_actors.storage.search.similar_memories import Vicinity
from cortex_actors.watching.watcher import WatcherParts
from cortex_actors.watching.watchlist import Watchlist

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.assembly.context import World
    from cortex_actors.embedding.provider import Row
    from cortex_actors.rules.contradiction import ConflictThresholds
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.settings import Settings
    from cortex_actors.text.lexicon import Lexicon


#: Actors by name, and how each of them is made.
Makers: TypeAlias = "dict[str, Callable[[], AsyncioActor]]"

#: Seconds for which a model may still be loading before a file is written without it.
PATIENCE = 20.0


class Assembly:
    """Every part of one daemon; `make` starts an actor's next life, as the settings are then."""

    def __init__(self, world: World) -> None:
        """Put the parts together; nothing runs yet."""
        self._world = world
        self._clock = world.clock
        self.names = world.names
        self.actors = Actors.from_tree(world.names)
        # Threads that look at files: sweeps and large parses, of all projects together.
        self.threads = Threads("files", 4)
        self.records = Records(self.names)
        self._journal = LedgerJournal(self.records, world.clock)
        self.bus = Bus(self._journal, world.clock)
        self._incumbent = Incumbent(world, self._line("model"))
        self._pool = self.actors.pool
        self._embed = partial(self.actors.cache.limit(None).ask, Cache.embed)
        #: What outlives a crash of the roster: a reload and its own supervisor restart it.
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
        most = settings.storage.matrix_mb
        shared: VectorMatrix | None = getattr(self, "_matrix", None)
        if shared is None or (shared.model, shared.most_mb) != (self.model, most):
            #: The one matrix of vectors in memory: every part that compares them shares it.
            self._matrix = VectorMatrix(self.model, most)
        self.watching = WatcherParts(
            self.bus, self._clock, self.records, self.threads, settings.watching, self.hints
        )
        #: Never raises, and never keeps those waiting who ask it.
        self._judge = QuietJudge(self.actors.judge, settings.judging)
        self._nearest = partial(self.actors.vectors.ask, Vectors.query, model=self.model)
        self.make: Makers = {
            **self._storage(),
            **self._embedding(),
            **self._upward(),
            **self._downward(),
            **self._memory(),
            **self._federation(),
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
                watching=self.hints.describe,
                doctor=self.practice.visit,
                trial=self.practice.trial,
                tree=world.draw,
                crash=world.crash,
                inspect=world.inspect,
                wake=self._wake,
                reload=world.reload,
                door=partial(http.limit(SOON).ask, Http.describe),
                life=TreeLife(clock.now(), clock.monotonic()),
            )
        )

    def _wake(self, consumer: str) -> None:
        """Let a consumer look into the journal; a full mailbox holds a wake-up already."""
        with suppress(MailboxFull):
            self.names.tell(consumer, Wake())

    def _storage(self) -> Makers:
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

    def _embedding(self) -> Makers:
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
                embed=partial(self.actors.pool.limit(None).ask, Pool.embed),
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

    def _upward(self) -> Makers:
        """Return how the actors of the pipeline are made that learn from files."""
        settings, neighbours = self._settings, Neighbours(self._matrix)
        return {
            "accumulator": partial(
                Accumulator,
                self._desk("accumulator"),
                self.records,
                settings=settings.accumulation,
                model=self.model,
                embed=self._embed,
                neighbours=neighbours,
            ),
            "reconciler": partial(
                Reconciler,
                self._desk("reconciler"),
                self.records,
                settings=settings.reconciliation,
                neighbours=neighbours,
                judge=self._judge,
                tables=self._world.home.rules,
                opinion=SecondOpinion(self.records, self._embed, model=self.model),
            ),
        }

    def _downward(self) -> Makers:
        """Return how the actors of the pipeline are made that distil, and write files."""
        settings, world = self._settings, self._world
        return {
            "organiser": partial(
                Organiser,
                self._desk("organiser"),
                self.records,
                settings=settings.organisation,
                promotion=settings.reconciliation,
                neighbours=Neighbours(self._matrix),
                embed=self._embed,
                writer=self._judge,
                tables=world.home.rules,
            ),
            "resolver": partial(
                Resolver,
                self._desk("resolver"),
                self.records,
                settings=settings.resolution,
                reconciliation=settings.reconciliation,
                model=self.model,
                # A person may be waiting, and a model that loads is worth waiting for.
                embed=partial(self._embed, urgent=True, patience=PATIENCE),
                count=Counter(settings.embedding.provider),
                tables=world.home.rules,
                tasks=world.tasks,
            ),
        }

    def _memory(self) -> Makers:
        """Return how the memory branch's actors are made."""
        settings, records, clock = self._settings.memory, self.records, self._clock
        return {
            "archivist": self._archivist(),
            "village": partial(
                Village,
                self.bus,
                records,
                clock=clock,
                settings=settings,
                matrix=self._matrix,
                embed=self._embed,
            ),
            "trail": partial(Trail, self.bus, records, clock=clock),
            "custodian": partial(Custodian, self._desk("custodian"), records, settings=settings),
            "librarian": partial(Librarian, records, clock=clock, settings=settings),
        }

    def _archivist(self) -> Callable[[], Archivist]:
        """Return what makes an archivist with eyes of its own.

        The rules are those that statements of files are judged by, a user's own among them.
        """
        settings, judging = self._settings.memory, self._settings.reconciliation
        near, model, matrix, judge = self._nearest, self.model, self._matrix, self._judge
        records, clock, tables = self.records, self._clock, self._world.home.rules

        def make() -> Archivist:
            planner = Planner(
                Vicinity(near, model=model, matrix=matrix),
                records,
                judge,
                embed=self._embed,
                rules=partial(_rules, Ruling(judging, model, tables)),
                gates=settings.gates,
                model=model,
                clock=clock,
            )
            return Archivist(self.bus, records, planner, clock=clock, settings=settings)

        return make

    def _federation(self) -> Makers:
        """Return how the federation branch's actors are made."""
        return {
            "roster": self._roster(),
            "federation": partial(
                Federation,
                self.actors.roster,
                self._embed,
                model=self.model,
                clock=self._clock,
                settings=self._settings.federation,
            ),
        }

    def _roster(self) -> Callable[[], Roster]:
        """Return what makes a roster with a search of its own, and a register that outlives it."""
        near, model, matrix, world = self._nearest, self.model, self._matrix, self._world
        settings, memory, tls = self._settings.federation, self._settings.memory, self._settings.tls
        folder = world.home.models / model if is_compiled(model) else None

        def make() -> Roster:
            pieces = cache(partial(load_pieces, folder))
            # The first recall need not wait for them.
            asyncio.get_running_loop().run_in_executor(None, pieces)
            search = Search(
                self.records, near, model=model, settings=memory, matrix=matrix, pieces=pieces
            )
            binder = Binder(settings, tls, clock=world.clock, vault=world.outside.vault())
            roster = Roster(
                partial(make_members, search),
                self.bus,
                StoreChanges(self._register, Overlay(world.home.overlay), binder),
                settings=settings,
                tls=tls,
                clock=world.clock,
                load=search.load,
            )
            roster.actor_ref.life.counters = {"searches": search.ways}
            return roster

        return make

    def _others(self) -> Makers:
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
        """Return whether the pool has texts to embed."""
        found = await self._pool.ask(Pool.describe)
        return found.waiting + found.in_flight > 0

    async def _stored(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Row]:
        """Return the vectors the ledger has for texts."""
        return await self.records.read(lambda c: embeddings.find_vectors(c, model, digests=digests))


def _rules(ruling: Ruling) -> tuple[ConflictThresholds, Lexicon | None]:
    """Return the thresholds and tables as they are now (on a thread: it reads the user's file)."""
    ruling.read()
    relations = ruling.make_relations()
    return relations.limits.default, relations.lexicon
