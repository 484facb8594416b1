"""What the actors of the memory and federation branches are handed; for others see wiring.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.federation.binding import Binder
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.local import members
from cortex_actors.federation.registry import Books, Overlay
from cortex_actors.federation.roster import Roster
from cortex_actors.memory.archivist import Archivist
from cortex_actors.memory.custodian import Custodian
from cortex_actors.memory.librarian import Librarian
from cortex_actors.memory.planner import Looking, Phrasing, Planner
from cortex_actors.memory.trail import Trail
from cortex_actors.memory.village import Village
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.search.search import Search
from cortex_actors.storage.similar_memories import Vicinity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.api.registry import Actors
    from cortex_actors.assembly.context import World
    from cortex_actors.bus.bus import Bus
    from cortex_actors.bus.consumer import Desk
    from cortex_actors.federation.registry import Register
    from cortex_actors.judging.judge import QuietJudge
    from cortex_actors.rules.contradiction import Thresholds
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import (
        FederationSettings,
        MemorySettings,
        ReconciliationSettings,
        TlsSettings,
    )
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.search.dense import DenseNeighbours
    from cortex_actors.storage.search.matrix import VectorMatrix
    from cortex_actors.text.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class MemoryBranch:
    """What they share, as the settings are now."""

    world: World
    settings: Settings
    vectors: NamedActor[Vectors]
    records: Records
    bus: Bus
    #: What a consumer of that name is handed.
    desk: Callable[[str], Desk]
    #: The id of the vector space that answers.
    model: str
    #: Asks the cache for vectors.
    embed: Callable[..., Awaitable[Matrix]]
    judge: QuietJudge
    matrix: VectorMatrix

    def makers(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the actors are made, by name."""
        return {
            "archivist": self._archivist(),
            "village": self._village(),
            "trail": partial(Trail, self.bus, self.records, clock=self.world.clock),
            "custodian": self._custodian(),
            "librarian": self._librarian(),
        }

    def _archivist(self) -> Callable[[], AsyncioActor]:
        return partial(
            _archivist,
            self,
            model=self.model,
            settings=self.settings.memory,
            judging=self.settings.reconciliation,
            judge=self.judge,
            query=partial(self.vectors.ask, Vectors.query, model=self.model),
            matrix=self.matrix,
        )

    def _village(self) -> Callable[[], AsyncioActor]:
        return partial(
            Village,
            self.bus,
            self.records,
            clock=self.world.clock,
            settings=self.settings.memory,
            matrix=self.matrix,
            embed=self.embed,
        )

    def _custodian(self) -> Callable[[], AsyncioActor]:
        return partial(
            Custodian, self.desk("custodian"), self.records, settings=self.settings.memory
        )

    def _librarian(self) -> Callable[[], AsyncioActor]:
        return partial(
            Librarian, self.records, clock=self.world.clock, settings=self.settings.memory
        )


def _archivist(
    branch: MemoryBranch,
    *,
    model: str,
    settings: MemorySettings,
    judging: ReconciliationSettings,
    judge: QuietJudge,
    query: DenseNeighbours,
    matrix: VectorMatrix,
) -> Archivist:
    """Return an archivist with eyes of its own.

    The rules are those that statements of files are judged by, a user's own among them.
    """
    clock, phrasing = branch.world.clock, Phrasing(judge)
    ruling = Ruling(judging, model, branch.world.home.rules)
    around = Vicinity(query, model=model, matrix=matrix)
    planner = Planner(
        Looking(around, gates=settings.gates, rules=partial(_rules, ruling)),
        branch.records,
        phrasing,
        embed=branch.embed,
        gates=settings.gates,
        model=model,
        clock=clock,
    )
    return Archivist(
        branch.bus,
        branch.records,
        planner,
        phrasing=phrasing,
        embed=branch.embed,
        model=model,
        clock=clock,
        settings=settings,
    )


def _rules(ruling: Ruling) -> tuple[Thresholds, Lexicon | None]:
    """Return the thresholds and tables as they are now (on a thread: it reads the user's file)."""
    ruling.read()
    relations = ruling.relations()
    return relations.limits.default, relations.lexicon


@dataclass(frozen=True, slots=True)
class FederationBranch:
    """What they share, as the settings are now."""

    world: World
    settings: Settings
    actors: Actors
    records: Records
    bus: Bus
    #: The id of the vector space that answers.
    model: str
    #: Asks the cache for vectors.
    embed: Callable[..., Awaitable[Matrix]]
    matrix: VectorMatrix
    #: What outlives a crash of the roster.
    register: Register

    def makers(self) -> dict[str, Callable[[], AsyncioActor]]:
        """Return how the actors are made, by name."""
        return {"roster": self._roster(), "federation": self._federation()}

    def _roster(self) -> Callable[[], AsyncioActor]:
        return partial(
            _roster,
            self.world,
            self.bus,
            register=self.register,
            query=partial(self.actors.vectors.ask, Vectors.query, model=self.model),
            model=self.model,
            memory=self.settings.memory,
            settings=self.settings.federation,
            tls=self.settings.tls,
            records=self.records,
            matrix=self.matrix,
        )

    def _federation(self) -> Callable[[], AsyncioActor]:
        return partial(
            Federation,
            self.actors.roster,
            self.embed,
            model=self.model,
            clock=self.world.clock,
            settings=self.settings.federation,
        )


def _roster(
    world: World,
    bus: Bus,
    *,
    register: Register,
    query: DenseNeighbours,
    model: str,
    memory: MemorySettings,
    settings: FederationSettings,
    tls: TlsSettings,
    records: Records,
    matrix: VectorMatrix,
) -> Roster:
    """Return a roster with a search of its own, and books that outlive it."""
    search = Search(records, query, model=model, settings=memory, matrix=matrix)
    vault = world.outside.vault()
    binder = Binder(settings, tls, clock=world.clock, vault=vault)
    books = Books(register, Overlay(world.home.overlay), binder)
    return Roster(
        partial(members, search), bus, books, settings=settings, tls=tls, clock=world.clock
    )
