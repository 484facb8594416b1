"""A judge beside a real ledger, with an entailment layer that says what a test tells it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.judging.chat import LanguageLayer
from cortex_actors.judging.judge import Judge, QuietJudge
from cortex_actors.judging.layer import LayerInfo, LayerState, QuestionKind
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.tables.columns import count_rows
from cortex_actors.storage.tables.schema import verdicts
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.judging.layer import Answer, JudgeInfo, JudgeQuestion, JudgingLayer, Told
    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.sections import JudgingSettings
    from tests.embedding.support import ManualClock
    from tests.storage.support import Store


class Entailing:
    """An entailment layer that is sure of what it was told to be, pair by pair."""

    decider, edition, bulk, at_once, is_metered = Decider.NLI, 1, 16, 1, False
    kinds = frozenset({QuestionKind.COMPARE})

    def __init__(self, *sure: str) -> None:
        self.model_id = "nli@1"
        self.sure = sure
        self.asked: list[int] = []

    async def live(self) -> None:
        await asyncio.Event().wait()

    async def answer_all(self, questions: Sequence[JudgeQuestion]) -> list[Told]:
        self.asked.append(len(questions))
        return [{"sure": any(text in str(each.quoted) for text in self.sure)} for each in questions]

    def accepts(self, kind: QuestionKind, answer: object) -> bool:
        return kind is QuestionKind.COMPARE and isinstance(answer, dict) and "sure" in answer

    def read_judgement(self, answer: Answer) -> Judgement | None:
        if not answer["sure"]:
            return None
        return Judgement(Relation.CONTRADICTION, Decider.NLI, "sure", Conflict.DIRECT)

    def describe(self) -> LayerInfo:
        return LayerInfo("nli", self.model_id, LayerState.READY, "", {})


class Bench:
    """A judge beside a real ledger, and the way to it."""

    def __init__(self, store: Store, clock: ManualClock, settings: JudgingSettings) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings
        self.judge = QuietJudge(NamedActor("judge", store.names), settings)
        self.handle: ActorHandle
        self.lines: list[str] = []

    async def start(self, *layers: JudgingLayer) -> None:
        """Start a judge with these layers, and the language model of the settings."""

        def made(
            settings: JudgingSettings, clock: Clock, *, on_line: Callable[[str], None]
        ) -> tuple[JudgingLayer, ...]:
            on_line("layers were made")
            language = LanguageLayer(settings, clock, chance=lambda: 1.0)
            return (*layers, *([language] if settings.model else []))

        make = partial(
            Judge,
            made,
            self.store.records,
            clock=self.clock,
            settings=self.settings,
            on_line=self.lines.append,
        )
        self.handle = await start_actor(self.store.names, "judge", make)

    async def describe(self) -> JudgeInfo:
        """Return how it is."""
        return await NamedActor[Any]("judge", self.store.names).ask(Judge.describe)

    async def kept(self) -> int:
        """Return how many answers the ledger has."""
        return await self.store.read(lambda c: count_rows(c, verdicts))

    async def has_kept(self) -> bool:
        """Return whether the ledger has an answer."""
        return await self.kept() > 0


@asynccontextmanager
async def judging(
    folder: Path, clock: ManualClock, settings: JudgingSettings, *layers: JudgingLayer
) -> AsyncIterator[Bench]:
    """Give a judge at work."""
    async with opened(folder) as store:
        bench = Bench(store, clock, settings)
        await bench.start(*layers)
        try:
            yield bench
        finally:
            await bench.handle.stop(10)


def relations(found: Sequence[Judgement | None]) -> list[str | None]:
    """Return who judged and what."""
    return [None if each is None else f"{each.decider} {each.relation}" for each in found]
