"""Wording: a question as the stores are asked it, here and elsewhere, with its vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cortex_actors.errors import (
    ActorAway,
    BadInput,
    DeadlineExceeded,
    EmbedderDown,
    ModelChanged,
    Unembeddable,
)
from cortex_actors.federation.merging import HITS_LIMIT
from cortex_actors.federation.outward import sendable
from cortex_actors.federation.store import Outward

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.federation.hops import Bridge
    from cortex_actors.federation.store import Question
    from cortex_actors.storage.embeddings import Matrix

#: Characters a question may have: a page, not a book.
QUESTION_LIMIT = 4_096

#: Tokens an answer may be allowed: what the largest models read at once.
BUDGET_LIMIT = 1_000_000

#: Times that the stores may be asked for one answer.
HOPS_LIMIT = 4

#: Why nothing leaves this machine where there is nobody else to ask.
_NOBODY = "no other store is asked"


class Embed(Protocol):
    """Turns a question into a vector."""

    def __call__(
        self, texts: Sequence[str], *, urgent: bool, patience: float, model: str
    ) -> Awaitable[Matrix]:
        """Return one row for each text; raises `EmbedderDown` when it cannot in time."""


class Wording:
    """Gives questions their vectors, all in the space of one model.

    What other programs are asked is the question without its secrets, and the vector of that: the
    vector of a text tells most of the text.
    """

    def __init__(self, embed: Embed, *, model: str, patience: float) -> None:
        """Embed with that model, and wait so many seconds for it while it loads."""
        self._embed = embed
        self._model = model
        self._patience = patience

    async def ready(self, question: Question, *, others: bool) -> Question:
        """Return a question with its vector, and with what of it others are asked, if there are.

        Without a vector it says why, and without anything that may leave why that is. Raises
        `ModelChanged` when another model answers by now.
        """
        theirs, why_not = sendable(question.text) if others else ("", _NOBODY)
        return await self._embedded(question, theirs, why_not)

    async def onward(self, question: Question, by: Bridge) -> Question:
        """Return a question with what was found behind it; others hear what they may of that."""
        theirs = ""
        if question.outward is not None and by.theirs:
            theirs, _ = sendable(f"{question.outward.text}\n{by.theirs}")
        return await self._embedded(replace(question, text=f"{question.text}\n{by.ours}"), theirs)

    async def _embedded(self, question: Question, theirs: str, why_not: str = "") -> Question:
        """Return the question with its vectors, or with the reason why it has none."""
        texts = list(dict.fromkeys(filter(None, (question.text, theirs))))
        rows: Matrix | None = None
        why = ""
        try:
            rows = await self._embed(texts, urgent=True, patience=self._patience, model=self._model)
        except ModelChanged:
            raise
        except (EmbedderDown, Unembeddable, ActorAway, DeadlineExceeded) as error:
            why = str(error)
        ours, out = (None, None) if rows is None else (rows[0], rows[-1])
        outward = Outward(theirs, out, self._model) if theirs else None
        return replace(
            question, model=self._model, vector=ours, why=why, outward=outward, why_not=why_not
        )


def admit(question: Question) -> None:
    """Raise `BadInput` for a question that cannot be asked."""
    if not question.text.strip():
        message = "cannot search: the question is empty; say what you are looking for"
        raise BadInput(message)
    if len(question.text) > QUESTION_LIMIT:
        message = (
            f"cannot search: the question has {len(question.text)} characters, the limit is "
            f"{QUESTION_LIMIT}; ask for less"
        )
        raise BadInput(message)
    limit, hops_, budget = question.limit, question.hops, question.budget_tokens
    if limit is not None and not 1 <= limit <= HITS_LIMIT:
        message = f"cannot search: {limit} hits were asked for; ask for 1 to {HITS_LIMIT}"
        raise BadInput(message)
    if hops_ is not None and not 1 <= hops_ <= HOPS_LIMIT:
        message = f"cannot search: hops is {hops_}; the stores are asked 1 to {HOPS_LIMIT} times"
        raise BadInput(message)
    if budget is not None and not 1 <= budget <= BUDGET_LIMIT:
        message = f"cannot search: budget_tokens is {budget}; give 1 to {BUDGET_LIMIT:,}"
        raise BadInput(message)
