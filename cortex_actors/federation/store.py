"""What a store has to offer to be asked: a port, and the local collections behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cortex_actors.domain.hit import Hit
    from cortex_actors.storage.indexing import Matrix
    from cortex_actors.storage.search import Search

#: The name under which the local collections take part.
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every store; `vector` is the text in the local model's space."""

    text: str
    vector: Matrix
    limit: int
    project_id: str | None = None


class RecallStore(Protocol):
    """One store: local collections, or another program."""

    @property
    def name(self) -> str:
        """What the answer calls it."""

    async def recall(self, question: Question) -> list[Hit]:
        """Return hits, best first; whatever goes wrong is raised."""


class LocalStore:
    """The daemon's own collections: one embedder, so one ranked list."""

    name = LOCAL

    def __init__(self, search: Search) -> None:
        """Answer from the ledger and its index."""
        self._search = search

    async def recall(self, question: Question) -> list[Hit]:
        """Return the nearest insights; the hits keep their collection as their store."""
        return await self._search.insights(
            question.vector, limit=question.limit, project_id=question.project_id
        )
