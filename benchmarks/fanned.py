"""A federation over stores of our own making: what `federation.py` asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from benchmarks.world import DIMENSION, MODEL, World, away
from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import RankedHit
from cortex_actors.endpoint.client import Guard
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.federation.adapters.seren import SerenMemory
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.local import LocalStore
from cortex_actors.federation.remote import RemoteStore
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import (
    Answer,
    AskOutcome,
    ByTopic,
    Fan,
    Member,
    Question,
    StoreSpec,
)
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import FederationSettings, MemorySettings
from cortex_actors.storage.search.search import Search

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.domain.hit import Recall
    from cortex_actors.federation.store import RecallStore
    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.runtime.names import Names
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.dense import DenseNeighbours

#: The collection that the world fills, and hits of a store that is ready at once.
VILLAGE, READY = "cortex_village", 20

#: Seconds a question may take in all.
PATIENCE = 60.0


class Shelf(LocalStore):
    """One of several searches of the same memories."""

    def __init__(self, search: Search, number: int) -> None:
        """Take a number as the name."""
        super().__init__(search, VILLAGE)
        self.name = f"shelf{number}"


class Ready:
    """A store that answers at once."""

    kind, most, has_topics = "ready", 1_000, False

    def __init__(self, name: str) -> None:
        """Know some hits."""
        self.name = name
        self._answer = Answer(
            tuple(
                RankedHit(f"{name}-{n}", "text", 0, name, base_relevance=1 / (n + 2))
                for n in range(READY)
            )
        )

    def explain_unmet(self, question: Question) -> str:
        """Be able to answer everything."""
        return ""

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Answer."""
        return self._answer

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Have nothing under any topic."""
        return Answer(())


@dataclass(slots=True)
class Table:
    """The roster: who is asked, and how long each of them took."""

    fan_: Fan
    outcomes: list[tuple[AskOutcome, ...]] = field(default_factory=list)

    async def ask(self, method: Any, *args: Any) -> Any:  # noqa: ANN401 - as a named actor
        """Return who is asked, or take down how one question's asks ended."""
        if method is Roster.get_fan:
            return self.fan_
        self.outcomes.append(*args)
        return None


@dataclass(slots=True)
class Fanned:
    """A federation over some stores, and what it noted of them."""

    ask: Callable[[Question], Awaitable[Recall]]
    table: Table
    actor: ActorHandle

    async def stop(self) -> None:
        """Stop the federation, and let go of the stores."""
        await self.actor.stop(PATIENCE)
        for each in self.table.fan_.members:
            if isinstance(each.store, RemoteStore):
                await each.store.close()

    @property
    def stores(self) -> int:
        """How many there are."""
        return len(self.table.fan_.members)

    @property
    def slowest(self) -> list[float]:
        """The seconds that the slowest store of each question took."""
        return [max(one.seconds for one in each) for each in self.table.outcomes]


async def fanned(names: Names, stores: Sequence[RecallStore], *, seed: int) -> Fanned:
    """Start a federation over those stores; its questions cost no embedding."""
    row = np.random.default_rng(seed).standard_normal((1, DIMENSION), dtype=np.float32)
    row /= np.linalg.norm(row)
    table = Table(
        Fan(tuple(Member(each) for each in stores), FederationSettings(edges_enabled=False))
    )

    async def embed(texts: Sequence[str], *, urgent: bool, patience: float, model: str) -> Matrix:
        """Return the same vector for every text."""
        del urgent, patience, model
        return np.repeat(row, len(texts), axis=0)

    actor = await start_actor(
        names,
        "federation",
        Federation,
        cast("NamedActor[Roster]", table),
        embed,
        model=MODEL,
        clock=SystemClock(),
        settings=FederationSettings(),
    )
    return Fanned(
        partial(NamedActor[Any]("federation", names, timeout=PATIENCE).ask, Federation.recall),
        table,
        actor,
    )


def searching(found: World) -> Search:
    """Return a search of the ledger without an index."""
    ask = cast("DenseNeighbours", away)
    return Search(found.records, ask, model=MODEL, settings=MemorySettings())


def remote(name: str, url: str) -> RemoteStore:
    """Return a store on loopback, as the product asks one."""
    clock, settings = SystemClock(), FederationSettings()
    spec = StoreSpec(name, "seren_memory", url)
    guard = Guard(
        clock,
        at_once=settings.at_once,
        failures=settings.breaker_failures,
        pause=settings.breaker_pause_s,
    )
    return RemoteStore(spec, SerenMemory(spec, StoreConnection(url, clock)), guard)
