"""What the actors of the federation branch are handed; the rest of the tree's is in parts.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors import byname
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.local import members
from cortex_actors.federation.registry import Books, Overlay
from cortex_actors.federation.roster import Roster
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.bus.bus import Bus
    from cortex_actors.federation.registry import Register
    from cortex_actors.federationsections import FederationSettings, TlsSettings
    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.search.dense import DenseNeighbours
    from cortex_actors.storage.search.matrix import VectorMatrix
    from cortex_actors.world import World


@dataclass(frozen=True, slots=True)
class FederationBranch:
    """What they share, as the settings are now."""

    world: World
    settings: Settings
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
        names = self.world.names
        return partial(
            _roster,
            self.world,
            self.bus,
            register=self.register,
            query=partial(names.method("vectors", Vectors.query), model=self.model),
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
            byname.Roster(self.world.names),
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
        partial(members, search),
        bus,
        books,
        settings=settings,
        tls=tls,
        clock=world.clock,
    )
