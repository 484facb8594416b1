"""Stores that do as they are told, and a federation that asks them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.clock import SystemClock
from cortex_actors.domain.hit import RankedHit
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.federation.federation import Federation
from cortex_actors.federation.store import Answer, ByTopic, Fan, Member, Question
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.sections import FederationSettings
from tests.fakes import FakeActor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.hit import Recall
    from cortex_actors.errors import CortexError
    from cortex_actors.federation.store import AskOutcome, RecallStore
    from cortex_actors.storage.embeddings import Matrix

#: Whose vectors questions have.
MODEL = "a model"

#: Seconds a store may take that is to be late.
PATIENCE = 0.05


class Shelf:
    """A store with fixed hits; it raises what it is told, and answers once its gate is open."""

    most = 100
    has_topics = False

    def __init__(self, name: str, *hits: tuple[str, float], kind: str = "shelf") -> None:
        self.name = name
        self.kind = kind
        self.hits = [
            RankedHit(id_, f"text of {id_}", score, name, base_relevance=score)
            for id_, score in hits
        ]
        self.fails: BaseException | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[Question] = []
        self.limits: list[int] = []
        self.left_out: tuple[str, ...] = ()
        self.knows: tuple[str, ...] | None = None

    def explain_unmet(self, question: Question) -> str:
        """Return which condition it does not know, if it does not know all there are."""
        if self.knows is None:
            return ""
        strange = [each for each in question.conditions if each not in self.knows]
        return f"it cannot narrow its answer by {', '.join(strange)}" if strange else ""

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return the hits."""
        assert seconds > 0
        self.asked.append(question)
        self.limits.append(limit)
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return Answer(tuple(self.hits), self.left_out)

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Have nothing under any topic."""
        del asked, question
        return Answer(())


class Port:
    """A roster that always says the same, and takes down how the stores did."""

    def __init__(self, fan: Fan) -> None:
        self.now = fan
        self.outcomes: list[AskOutcome] = []
        self.fails: Exception | None = None

    async def get_fan(self) -> Fan:
        """Return who is asked."""
        return self.now

    async def note_outcomes(self, outcomes: tuple[AskOutcome, ...]) -> None:
        """Take down how the asks of one question ended."""
        if self.fails is not None:
            raise self.fails
        self.outcomes += outcomes


class Village:
    """A federation over some stores, with a roster that never changes its mind."""

    def __init__(
        self,
        stores: Sequence[RecallStore],
        *,
        clock: Clock | None = None,
        model: str = MODEL,
        row: Matrix | None = None,
        knobs: FederationSettings | None = None,
        weights: Mapping[str, float] | None = None,
        floors: Mapping[str, float] | None = None,
        unbindable: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Ask these stores; `row` is the vector that every question has."""
        self.clock = clock or SystemClock()
        self.model = model
        self._row = row
        self.names = Names()
        self.embedding_fails: CortexError | None = None
        self.embedded: list[str] = []
        members = tuple(
            Member(each, (weights or {}).get(each.name, 1.0), (floors or {}).get(each.name, 0.0))
            for each in stores
        )
        self.roster = Port(Fan(members, knobs or FederationSettings(), unbindable))
        self.ask = partial(
            NamedActor[Any]("federation", self.names, timeout=10).ask, Federation.recall
        )

    async def begin(self) -> Village:
        """Start the federation."""
        await start_actor(
            self.names,
            "federation",
            Federation,
            FakeActor(self.roster),
            self._embed,
            model=self.model,
            clock=self.clock,
            settings=FederationSettings(),
        )
        return self

    async def recall(self, text: str = "tabs", limit: int | None = 10, **more: Any) -> Recall:
        """Ask every store."""
        found: Recall = await self.ask(Question(text, limit, **more))
        return found

    async def _embed(
        self, texts: Sequence[str], *, urgent: bool, patience: float, model: str
    ) -> Matrix:
        """Return a question's vector."""
        assert self.model == model
        self.embedded += texts
        if self.embedding_fails is not None:
            raise self.embedding_fails
        assert urgent
        assert patience > 0
        if self._row is not None:
            return np.stack([self._row for _ in texts])
        return np.asarray(await HashingProvider().embed(texts))
