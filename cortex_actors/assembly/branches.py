"""What the actors of pipeline, memory and federation are handed; for others see wiring.py."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from cortex_actors.embedding.factory import is_compiled
from cortex_actors.embedding.tokens import Counter, word_pieces
from cortex_actors.federation.binding import Binder
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.local import members
from cortex_actors.federation.registry import Books, Overlay
from cortex_actors.federation.roster import Roster
from cortex_actors.memory.archivist import Archivist
from cortex_actors.memory.custodian import Custodian
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
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.search.matrix import Neighbours
from cortex_actors.storage.search.search import Search
from cortex_actors.storage.search.similar_memories import Vicinity

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
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.search.dense import DenseNeighbours
    from cortex_actors.storage.search.matrix import VectorMatrix
    from cortex_actors.text.lexicon import Lexicon


#: Actors by name, and how each of them is made.
Makers: TypeAlias = "dict[str, Callable[[], AsyncioActor]]"

#: Seconds for which a model may still be loading before a file is written without it.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class BranchParts:
    """What actors are made from, as the settings are now."""

    world: World
    settings: Settings
    actors: Actors
    records: Records
    bus: Bus
    #: What a consumer of that name is handed.
    desk: Callable[[str], Desk]
    #: The id of the vector space that answers.
    model: str
    #: Asks the cache for vectors.
    embed: Callable[..., Awaitable[Matrix]]
    #: Never raises, and never keeps those waiting who ask it.
    judge: QuietJudge
    matrix: VectorMatrix
    #: What outlives a crash of the roster.
    register: Register


def upward(parts: BranchParts) -> Makers:
    """Return how the actors of the pipeline are made that learn from files."""
    settings, records = parts.settings, parts.records
    return {
        "accumulator": partial(
            Accumulator,
            parts.desk("accumulator"),
            records,
            settings=settings.accumulation,
            model=parts.model,
            embed=parts.embed,
            neighbours=Neighbours(parts.matrix),
        ),
        "reconciler": partial(
            Reconciler,
            parts.desk("reconciler"),
            records,
            settings=settings.reconciliation,
            neighbours=Neighbours(parts.matrix),
            judge=parts.judge,
            tables=parts.world.home.rules,
            opinion=SecondOpinion(records, parts.embed, model=parts.model),
        ),
    }


def downward(parts: BranchParts) -> Makers:
    """Return how the actors of the pipeline are made that distil, and write files."""
    settings, world = parts.settings, parts.world
    return {
        "organiser": partial(
            Organiser,
            parts.desk("organiser"),
            parts.records,
            settings=settings.organisation,
            promotion=settings.reconciliation,
            neighbours=Neighbours(parts.matrix),
            embed=parts.embed,
            writer=parts.judge,
            tables=world.home.rules,
        ),
        "resolver": partial(
            Resolver,
            parts.desk("resolver"),
            parts.records,
            settings=settings.resolution,
            reconciliation=settings.reconciliation,
            model=parts.model,
            # A person may be waiting, and a model that loads is worth waiting for.
            embed=partial(parts.embed, urgent=True, patience=PATIENCE),
            count=Counter(settings.embedding.provider),
            tables=world.home.rules,
            tasks=world.tasks,
        ),
    }


def memory(parts: BranchParts) -> Makers:
    """Return how the memory branch's actors are made."""
    settings, records, clock = parts.settings.memory, parts.records, parts.world.clock
    return {
        "archivist": _archivist(parts),
        "village": partial(
            Village,
            parts.bus,
            records,
            clock=clock,
            settings=settings,
            matrix=parts.matrix,
            embed=parts.embed,
        ),
        "trail": partial(Trail, parts.bus, records, clock=clock),
        "custodian": partial(Custodian, parts.desk("custodian"), records, settings=settings),
        "librarian": partial(Librarian, records, clock=clock, settings=settings),
    }


def _archivist(parts: BranchParts) -> Callable[[], Archivist]:
    """Return what makes an archivist with eyes of its own.

    The rules are those that statements of files are judged by, a user's own among them.
    """
    settings, judging = parts.settings.memory, parts.settings.reconciliation
    bus, records, embed, judge = parts.bus, parts.records, parts.embed, parts.judge
    query, model, matrix, world = _neighbours(parts), parts.model, parts.matrix, parts.world

    def make() -> Archivist:
        planner = Planner(
            Vicinity(query, model=model, matrix=matrix),
            records,
            judge,
            embed=embed,
            rules=partial(_rules, Ruling(judging, model, world.home.rules)),
            gates=settings.gates,
            model=model,
            clock=world.clock,
        )
        return Archivist(bus, records, planner, clock=world.clock, settings=settings)

    return make


def _rules(ruling: Ruling) -> tuple[Thresholds, Lexicon | None]:
    """Return the thresholds and tables as they are now (on a thread: it reads the user's file)."""
    ruling.read()
    relations = ruling.relations()
    return relations.limits.default, relations.lexicon


def federation(parts: BranchParts) -> Makers:
    """Return how the federation branch's actors are made."""
    settings = parts.settings
    return {
        "roster": _roster(parts),
        "federation": partial(
            Federation,
            parts.actors.roster,
            parts.embed,
            model=parts.model,
            clock=parts.world.clock,
            settings=settings.federation,
        ),
    }


def _roster(parts: BranchParts) -> Callable[[], Roster]:
    """Return what makes a roster with a search of its own, and books that outlive it."""
    records, query, model, matrix = parts.records, _neighbours(parts), parts.model, parts.matrix
    memory, settings, tls = parts.settings.memory, parts.settings.federation, parts.settings.tls
    world, bus, register = parts.world, parts.bus, parts.register
    folder = world.home.models / model if is_compiled(model) else None

    def make() -> Roster:
        pieces = cache(partial(word_pieces, folder))
        asyncio.get_running_loop().run_in_executor(None, pieces)  # the first recall need not wait
        search = Search(records, query, model=model, settings=memory, matrix=matrix, pieces=pieces)
        binder = Binder(settings, tls, clock=world.clock, vault=world.outside.vault())
        books = Books(register, Overlay(world.home.overlay), binder)
        found = partial(members, search)
        roster = Roster(
            found, bus, books, settings=settings, tls=tls, clock=world.clock, load=search.load
        )
        roster.actor_ref.life.counters = {"searches": search.ways}
        return roster

    return make


def _neighbours(parts: BranchParts) -> DenseNeighbours:
    """Return what asks the vector index."""
    return partial(parts.actors.vectors.ask, Vectors.query, model=parts.model)
