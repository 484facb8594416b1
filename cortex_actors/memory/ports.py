"""Whom the archivist asks beside the ledger: handed in, so that this branch knows no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cortex_actors.errors import (
    ActorAway,
    BadInput,
    DeadlineExceeded,
    EmbedderDown,
    MailboxFull,
    ModelChanged,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.domain.insight import Claim, Judgement
    from cortex_actors.rules.contradiction import Thresholds
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.text.lexicon import Lexicon

#: Why a text has no vector for now.
UNEMBEDDED = (EmbedderDown, BadInput, MailboxFull, ActorAway, DeadlineExceeded, ModelChanged)


class Embed(Protocol):
    """Turns texts into unit vectors."""

    def __call__(
        self, texts: Sequence[str], *, urgent: bool = False, patience: float = 0.0, model: str
    ) -> Awaitable[Matrix]:
        """Return one row of that model for each text; raises one of `UNEMBEDDED` if it cannot."""


class JudgePort(Protocol):
    """Judges where the rules leave it open; never raises, and None is that nobody is sure."""

    #: Whether there is any model to ask.
    is_there: bool

    def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str = ""
    ) -> Awaitable[Sequence[Judgement | None]]:
        """Return what each pair of claims is to each other."""

    def merged(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> Awaitable[str | None]:
        """Return one text that says all that several say."""

    def summarise(self, text: str, *, most: int, run: str = "") -> Awaitable[str | None]:
        """Return a text in at most so many letters."""


class Rules(Protocol):
    """By which thresholds and tables two texts are judged now; called on a thread."""

    def __call__(self) -> tuple[Thresholds, Lexicon | None]:
        """Return both; None are the product's own tables."""
