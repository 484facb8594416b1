"""What a store has to offer to be asked: a port, and the local collections behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cortex_actors.storage.search.query import Query, Where

if TYPE_CHECKING:
    from cortex_actors.domain.hit import Hit
    from cortex_actors.storage.blobs import Matrix
    from cortex_actors.storage.search.search import Search

#: The name under which the local collections take part.
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every store.

    Attributes:
        vector: the text in the space of `model`; None while the embedder is away.
        why: why there is no vector.
        explain: let each hit say how it was found.

    """

    text: str
    vector: Matrix | None
    limit: int
    project_id: str | None = None
    model: str = ""
    why: str = ""
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a store knows, best first, and what of it did not take part, and why."""

    hits: tuple[Hit, ...]
    skipped: tuple[str, ...] = ()


class RecallStore(Protocol):
    """One store: local collections, or another program."""

    @property
    def name(self) -> str:
        """What the answer calls it."""

    async def recall(self, question: Question) -> Answer:
        """Return hits, best first; whatever goes wrong is raised."""


class LocalStore:
    """The daemon's own collections: one embedder, so one ranked list."""

    name = LOCAL

    def __init__(self, search: Search) -> None:
        """Answer from the ledger and its index."""
        self._search = search

    async def recall(self, question: Question) -> Answer:
        """Return what is nearest in all collections; each hit keeps its own as its store."""
        query = Query(
            question.text,
            question.vector,
            question.model,
            question.limit,
            where=Where(project_id=question.project_id),
            explain=question.explain,
            why=question.why,
        )
        found = await self._search.find(query)
        return Answer(found.hits, tuple(reason for _, reason in found.skipped))
