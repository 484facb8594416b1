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
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.federation.store import Question, RecallStore
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

    def __call__(self, texts: Sequence[str], *, urgent: bool, patience: float) -> Awaitable[Matrix]:
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
        self, roster: RosterPort, embed: Embed, *, clock: Clock, settings: FederationSettings
    ) -> None:
        """Remember whom to ask."""
        super().__init__()
        self._roster = roster
        self._embed = embed
        self._clock = clock
        self._settings = settings

    def recall(self, text: str, limit: int, project_id: str | None = None) -> asyncio.Task[Recall]:
        """Return what the stores know about a question; the mailbox goes on meanwhile.

        Raises `BadInput` for a question that is empty or too long, and `EmbedderDown` when it
        cannot be turned into a vector. A store that does not answer is under `failed`.
        """
        return self.spawn(self._recall(text, limit, project_id), name="recall")

    async def _recall(self, text: str, limit: int, project_id: str | None) -> Recall:
        """Ask every store at once and fuse what they say."""
        _admit(text, limit)
        begun = self._clock.monotonic()
        rows = await self._embed([text], urgent=True, patience=self._settings.patience_s)
        question = Question(text, rows[0], limit, project_id)
        stores = await self._roster.stores()
        answers = await asyncio.gather(*(self._ask(store, question) for store in stores))
        lists = {store.name: hits for store, (hits, _) in zip(stores, answers, strict=True)}
        failed = {store.name: why for store, (_, why) in zip(stores, answers, strict=True) if why}
        answered = {name: hits for name, hits in lists.items() if name not in failed}
        return Recall(
            query=text,
            hits=tuple(self._fused(answered, limit)),
            failed=tuple(failed.items()),
            took_ms=(self._clock.monotonic() - begun) * 1_000,
        )

    async def _ask(self, store: RecallStore, question: Question) -> tuple[list[Hit], str]:
        """Return a store's hits and why there are none, if it failed."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                hits, reason = await store.recall(question), ""
        except TimeoutError:
            hits, reason = [], f"no answer within {self._settings.timeout_s:g} s"
        except Exception as error:
            hits, reason = [], str(error) or type(error).__name__
            if not isinstance(error, CortexError):
                log.warning("the store %s failed", store.name, exc_info=error)
        try:
            await self._roster.note(store.name, reason)
        except CortexError as error:
            log.warning("how %s answered was not noted: %s", store.name, error)
        return hits, reason

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
