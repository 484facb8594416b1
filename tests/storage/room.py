"""A room to search in: the ledger's tables in memory, an index, and what stands in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cortex_actors.sections import MemorySettings
from cortex_actors.storage import documents, embeddings, memory_records, projects
from cortex_actors.storage.index import pending
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.search.matrix import VectorMatrix
from cortex_actors.storage.search.query import Query
from cortex_actors.storage.search.search import Search
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, MODEL, findings, text_hash, unit
from tests.storage.things import document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.memory import Memory
    from cortex_actors.domain.project import Project
    from cortex_actors.rules.ranking.rerank import Pieces
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.query import SearchHits
    from tests.storage.things import Tables

T = TypeVar("T")

#: A file of the project Atlas.
HERE = "/projects/atlas/CLAUDE.md"


class Records:
    """The way to the tables, as everybody has it to the ledger."""

    def __init__(self, tables: Tables) -> None:
        """Use these tables."""
        self._tables = tables
        self.writes = 0

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query."""
        return query(self._tables.connection)

    async def write(self, unit: Callable[[Connection], T], *, vital: bool = False) -> T:
        """Run a unit of work."""
        assert not vital
        self.writes += 1
        return unit(self._tables.connection)


class Index:
    """An index in memory that holds what it was told, or is away."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Matrix]] = {}
        self.error: Exception | None = None
        self.asked: list[str] = []

    async def __call__(
        self, collections: Sequence[str], vector: Matrix, limit: int
    ) -> dict[str, list[tuple[str, float]]]:
        """Return the nearest."""
        self.asked += collections
        if self.error is not None:
            raise self.error
        found = {}
        for name in collections:
            near = [(each, float(row @ vector)) for each, row in self.rows.get(name, {}).items()]
            found[name] = sorted(near, key=lambda pair: -pair[1])[:limit]
        return found


class Room:
    """What is known, and a search over it."""

    def __init__(self, tables: Tables, **settings: Any) -> None:
        """Search these tables; `settings` are those of `[memory]`."""
        self.tables = tables
        self.records = Records(tables)
        self.index = Index()
        self._settings = MemorySettings(**settings)
        #: The vectors that the search keeps in memory.
        self.matrix = VectorMatrix(MODEL, 100)
        self.search = self.again()

    def again(self, *, pieces: Pieces | None = None, **settings: Any) -> Search:
        """Return another search over the same things."""
        chosen = MemorySettings(**settings) if settings else self._settings
        return Search(
            self.records,  # type: ignore[arg-type]  # a fake ledger
            self.index,
            model=MODEL,
            settings=chosen,
            matrix=self.matrix if not settings else None,
            pieces=lambda: pieces,
        )

    def says(
        self, *texts: str, path: str = HERE, project: Project = ATLAS, at: int = EPOCH
    ) -> None:
        """Let a file say that."""
        found = findings(path, texts, project)
        connection = self.tables.connection
        projects.add(connection, project)
        insights.learn(connection, found, project_id=project.id, path=path, at=at)

    def remember(self, *some: Memory) -> None:
        """Save memories."""
        memory_records.save(self.tables.connection, some)

    def read(self, source: str, *texts: str, **given: Any) -> None:
        """Learn a document."""
        documents.learn_chunks(self.tables.connection, source, document(source, *texts, **given))

    def embed(self, **vectors: Sequence[float]) -> None:
        """Store vectors for passages, by their text."""
        found = {text_hash(text): unit(*vector) for text, vector in vectors.items()}
        embeddings.keep_vectors(self.tables.connection, MODEL, found)

    def tell(self) -> None:
        """Let the index be told everything that waits."""
        connection = self.tables.connection
        while told := pending.list_changes(connection, MODEL, 1_000):
            for change in told:
                rows = self.index.rows.setdefault(change.collection, {})
                if change.vector is None:
                    rows.pop(change.item_id, None)
                else:
                    rows[change.item_id] = change.vector
            pending.note_applied(connection, told)

    async def ask(self, text: str, *vector: float, **given: Any) -> SearchHits:
        """Search."""
        row = unit(*vector) if vector else None
        fields: dict[str, Any] = {"model": MODEL, "limit": 10}
        return await self.search.find(Query(text, row, **(fields | given)))

    async def texts(self, text: str, *vector: float, **given: Any) -> list[str]:
        """Return the texts that are found, best first."""
        return [hit.text for hit in (await self.ask(text, *vector, **given)).hits]


def spread(number: int, of: int) -> list[float]:
    """Return one of several directions, each a little further from the first."""
    angle = np.pi * number / (2 * of)
    return [float(np.cos(angle)), float(np.sin(angle)), 0.0]
