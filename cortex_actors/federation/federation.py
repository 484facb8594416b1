"""Federation: asks every store the same question at once and makes one answer of it.

hears   -
says    -
asks    roster (whose stores ask others), cache (the question's vector)
keeps   - (a question in hand is lost on a crash; whoever asked is told)
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cortex_actors.domain.hit import Hit, Recall
from cortex_actors.errors import (
    ActorAway,
    BadInput,
    CortexError,
    DeadlineExceeded,
    EmbedderDown,
    ModelChanged,
    Unembeddable,
)
from cortex_actors.federation.store import Answer, Question, RecallStore
from cortex_actors.rules.fusion import Ranked, fuse
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.settings import FederationSettings
    from cortex_actors.storage.indexing import Matrix

log = logging.getLogger("cortex.federation")

#: Characters a question may have: a page, not a book.
QUESTION_LIMIT = 4_096

#: Hits that may be asked for at once.
HITS_LIMIT = 200


class Embed(Protocol):
    """Turns a question into a vector."""

    def __call__(
        self, texts: Sequence[str], *, urgent: bool, patience: float, model: str
    ) -> Awaitable[Matrix]:
        """Return one row for each text; raises `EmbedderDown` when it cannot in time."""


class RosterPort(Protocol):
    """What the federation needs of the roster."""

    async def stores(self) -> tuple[RecallStore, ...]:
        """Return the stores to ask."""

    async def note(self, name: str, reason: str) -> None:
        """Take down how an ask ended."""


class Federation(AsyncioActor):
    """Answers questions, several at a time; a store that fails or is late costs only its part."""

    #: Questions not yet begun, asked by people and agents: a hundred at once are a flood, and wait.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        roster: RosterPort,
        embed: Embed,
        *,
        model: str,
        clock: Clock,
        settings: FederationSettings,
    ) -> None:
        """Remember whom to ask; `model` is the one whose vectors questions are to have."""
        super().__init__()
        self._model = model
        self._roster = roster
        self._embed = embed
        self._clock = clock
        self._settings = settings

    def recall(
        self, text: str, limit: int, project_id: str | None = None, *, explain: bool = False
    ) -> asyncio.Task[Recall]:
        """Return what the stores know about a question; the mailbox goes on meanwhile.

        Raises `BadInput` for a question that is empty or too long, and `ModelChanged` when another
        model answers by now. While no text can be embedded, words alone are searched, and why is
        under `skipped`; a store that does not answer is under `failed`.
        """
        question = Question(text, None, limit, project_id, model=self._model, explain=explain)
        return self.spawn(self._recall(question), name="recall")

    async def _recall(self, question: Question) -> Recall:
        """Ask every store at once and fuse what they say."""
        _admit(question.text, question.limit)
        begun = self._clock.monotonic()
        question = await self._embedded(question)
        stores = await self._roster.stores()
        answers = await asyncio.gather(*(self._ask(store, question) for store in stores))
        told = {store.name: answer for store, answer in zip(stores, answers, strict=True)}
        answered = {name: each for name, each in told.items() if isinstance(each, Answer)}
        failed = [(name, each) for name, each in told.items() if not isinstance(each, Answer)]
        lists = {name: each.hits for name, each in answered.items()}
        return Recall(
            query=question.text,
            hits=tuple(self._fused(lists, question.limit)),
            failed=tuple(failed),
            skipped=tuple((name, why) for name, each in answered.items() for why in each.skipped),
            took_ms=(self._clock.monotonic() - begun) * 1_000,
        )

    async def _embedded(self, question: Question) -> Question:
        """Return the question with its vector, or with the reason why it has none."""
        patience = self._settings.patience_s
        try:
            rows = await self._embed(
                [question.text], urgent=True, patience=patience, model=self._model
            )
        except ModelChanged:
            raise
        except (EmbedderDown, Unembeddable, ActorAway, DeadlineExceeded) as error:
            return replace(question, why=str(error))
        return replace(question, vector=rows[0])

    async def _ask(self, store: RecallStore, question: Question) -> Answer | str:
        """Return a store's answer, or why there is none."""
        answer: Answer | None = None
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                answer, reason = await store.recall(question), ""
        except TimeoutError:
            reason = f"no answer within {self._settings.timeout_s:g} s"
        except Exception as error:
            reason = str(error) or type(error).__name__
            if not isinstance(error, CortexError):
                log.warning("the store %s failed", store.name, exc_info=error)
        try:
            await self._roster.note(store.name, reason)
        except CortexError as error:
            log.warning("how %s answered was not noted: %s", store.name, error)
        return reason if answer is None else answer

    def _fused(self, lists: Mapping[str, Sequence[Hit]], limit: int) -> list[Hit]:
        """Return one list; a single store's own order and scores are kept as they are."""
        if len(lists) == 1:
            (only,) = lists.values()
            return list(only[:limit])
        known = {f"{name}/{hit.id}": hit for name, hits in lists.items() for hit in hits}
        ranked = {
            name: [Ranked(f"{name}/{hit.id}", hit.score) for hit in hits]
            for name, hits in lists.items()
        }
        fused = fuse(ranked, k=self._settings.k, limit=limit)
        return [replace(known[each.id], score=each.score) for each in fused]


def _admit(text: str, limit: int) -> None:
    """Raise `BadInput` for a question that cannot be asked."""
    if not text.strip():
        message = "cannot recall: the question is empty; say what you are looking for"
        raise BadInput(message)
    if len(text) > QUESTION_LIMIT:
        message = (
            f"cannot recall: the question has {len(text)} characters, the limit is "
            f"{QUESTION_LIMIT}; ask for less"
        )
        raise BadInput(message)
    if not 1 <= limit <= HITS_LIMIT:
        message = f"cannot recall: {limit} hits were asked for; ask for 1 to {HITS_LIMIT}"
        raise BadInput(message)
