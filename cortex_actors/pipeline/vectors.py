"""Vectors: those of what a file says, as far as there is a model that makes them now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cortex_actors.errors import ActorAway, BadInput, DeadlineExceeded, EmbedderDown, MailboxFull

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insights import Finding

#: Why a text is kept without a vector for now.
UNEMBEDDED = (EmbedderDown, BadInput, MailboxFull, ActorAway, DeadlineExceeded)


class Embed(Protocol):
    """Turns texts into unit vectors."""

    def __call__(self, texts: Sequence[str], *, model: str | None = None) -> Awaitable[Matrix]:
        """Return one row of that model for each text; raises one of `UNEMBEDDED` if it cannot."""


async def vectors(embed: Embed, findings: Sequence[Finding], *, model: str) -> dict[bytes, Matrix]:
    """Return what can be embedded now, by the hash of the text; nothing when that is nothing."""
    texts = {each.text_hash: each.embedded for each in findings}
    if not texts:
        return {}
    try:
        rows = await embed(list(texts.values()), model=model)
    except UNEMBEDDED:
        return {}
    return dict(zip(texts, rows, strict=True))
