"""Stores that do as they are told, and a federation that asks them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import Hit
from cortex_actors.domain.payload import Ids
from cortex_actors.embedding.hashing import HashingProvider
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import Answer
from cortex_actors.runtime.names import Names
from cortex_actors.runtime.supervised import start_actor
from cortex_actors.settings import FederationSettings
from cortex_actors.testing import ManualClock, MemoryJournal
from cortex_actors.topics import STORE_DOWN, STORE_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.hit import Recall
    from cortex_actors.domain.payload import Payload
    from cortex_actors.errors import CortexError
    from cortex_actors.federation.roster import StoreHealth
    from cortex_actors.federation.store import Question, RecallStore
    from cortex_actors.storage.indexing import Matrix

#: Whose vectors questions have.
MODEL = "a model"

#: Seconds a store may take here.
PATIENCE = 0.05


class Shelf:
    """A store with fixed hits; it raises what it is told, and answers once its gate is open."""

    def __init__(self, name: str, *hits: tuple[str, float]) -> None:
        self.name = name
        self.hits = [Hit(id_, f"text of {id_}", score, name) for id_, score in hits]
        self.fails: BaseException | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[Question] = []
        self.left_out: tuple[str, ...] = ()

    async def recall(self, question: Question) -> Answer:
        """Return the hits."""
        self.asked.append(question)
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return Answer(tuple(self.hits), self.left_out)


class _Port:
    """The roster, by name."""

    def __init__(self, names: Names) -> None:
        self.stores = names.method("roster", Roster.stores, timeout=5)
        self.note = names.method("roster", Roster.note, timeout=5)


class Village:
    """A federation over some shelves."""

    def __init__(self, stores: Sequence[RecallStore]) -> None:
        self.names = Names()
        self.journal = MemoryJournal(ManualClock())
        self.bus = Bus(self.journal, ManualClock())
        self.said: list[Event[Payload]] = []
        self.bus.subscribe("store:*", self.said.append)
        self.embedding_fails: CortexError | None = None
        self._stores = stores
        self.ask = self.names.method("federation", Federation.recall, timeout=10)
        self.health_of = self.names.method("roster", Roster.health, timeout=5)

    async def begin(self) -> Village:
        """Start the roster, then the federation."""
        settings = FederationSettings(timeout_s=PATIENCE)
        await start_actor(self.names, "roster", Roster, self._stores, self.bus)
        await start_actor(
            self.names,
            "federation",
            Federation,
            _Port(self.names),
            self._embed,
            model=MODEL,
            clock=SystemClock(),
            settings=settings,
        )
        return self

    async def recall(self, text: str = "tabs", limit: int = 10) -> Recall:
        """Ask every store."""
        return await self.ask(text, limit, None)

    async def health(self, name: str) -> StoreHealth:
        """Return how one store has been doing."""
        return next(each for each in await self.health_of() if name == each.name)

    @property
    def flips(self) -> list[tuple[str, str]]:
        """What was said of the stores: up or down, and which."""
        topics = {STORE_UP: "up", STORE_DOWN: "down"}
        pairs = [(topics[event.topic], event.payload) for event in self.said]
        return [(how, ids.ids[0]) for how, ids in pairs if isinstance(ids, Ids)]

    async def _embed(
        self, texts: Sequence[str], *, urgent: bool, patience: float, model: str
    ) -> Matrix:
        """Return a question's vector."""
        assert MODEL == model
        if self.embedding_fails is not None:
            raise self.embedding_fails
        assert urgent
        assert patience > 0
        return np.asarray(await HashingProvider().embed(texts))
