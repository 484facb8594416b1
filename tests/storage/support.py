"""What the storage tests share: a ledger in a folder, and findings as a file would say them."""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cortex_actors.domain.insight import InsightSource, hash_section, make_insight_id
from cortex_actors.domain.project import Fragment, Project
from cortex_actors.home import Home
from cortex_actors.runtime.actor import ActorHandle, start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import StorageSettings
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.pipeline.insight_lists import InsightFilter, list_insights
from cortex_actors.storage.pipeline.insights import Finding
from cortex_actors.testing import EPOCH, ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Insight
    from cortex_actors.storage.embeddings import Matrix

T = TypeVar("T")

#: The vector space of the tests.
MODEL = "test/3"

ATLAS = Project.from_root("/projects/atlas", EPOCH)
HARBOR = Project.from_root("/projects/harbor", EPOCH)


class Store:
    """A running ledger, and the way to it."""

    def __init__(self, folder: Path, **settings: float) -> None:
        """Keep the ledger in a folder."""
        self.home = Home(folder)
        self.clock = ManualClock()
        self.names = Names()
        self.records = Records(self.names)
        self.settings = StorageSettings.model_validate(settings)
        self.handle: ActorHandle

    async def open(self) -> ActorHandle:
        """Start the ledger's actor."""
        make = partial(Ledger, self.home, self.settings, self.clock)
        self.handle = await start_actor(self.names, "ledger", make)
        return self.handle

    async def write(self, unit: Callable[[Connection], T]) -> T:
        """Run a unit of work."""
        return await self.records.write(unit)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query."""
        return await self.records.read(query)

    async def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        return await self.read(
            lambda connection: [tuple(row) for row in connection.exec_driver_sql(sql)]
        )

    async def says(
        self,
        path: str,
        *contents: str,
        project: Project = ATLAS,
        at: int = EPOCH,
        revision: str | None = None,
    ) -> list[str]:
        """Let a file say that, as the accumulator would write it; return what changed."""
        found = findings(path, contents, project, revision)

        def work(connection: Connection) -> list[str]:
            projects.add(connection, project)
            changed = insights.compare_file(connection, path, project.id, found)
            insights.learn(connection, found, project_id=project.id, path=path, at=at)
            return changed

        return await self.write(work)

    async def embed(self, **vectors: Sequence[float]) -> None:
        """Store vectors for insights, by their content."""
        found = {text_hash(text): unit(*vector) for text, vector in vectors.items()}
        await self.write(lambda c: embeddings.keep_vectors(c, MODEL, found))


@asynccontextmanager
async def opened(folder: Path, **settings: float) -> AsyncIterator[Store]:
    """Run a ledger in a folder, and end it."""
    store = Store(folder, **settings)
    await store.open()
    try:
        yield store
    finally:
        await store.handle.stop(10)


def learn(connection: Connection, path: str, *contents: str, project: Project = ATLAS) -> list[str]:
    """Let a file say that; return the ids of what it says."""
    projects.add(connection, project)
    found = findings(path, contents, project)
    insights.learn(connection, found, project_id=project.id, path=path, at=EPOCH)
    return [id_of(each) for each in contents]


def active(connection: Connection, *, project_id: str | None = None) -> list[Insight]:
    """Return live insights, most believed first."""
    return list_insights(connection, InsightFilter(project_id=project_id, limit=10_000))


def unit(*values: float) -> Matrix:
    """Return a vector of length 1."""
    vector = np.array(values, np.float32)
    return vector / np.linalg.norm(vector)


def text_hash(content: str) -> bytes:
    """Return what a text's vector is stored under."""
    return hashlib.sha256(content.encode()).digest()


def id_of(content: str) -> str:
    """Return the id of an insight that says that."""
    return make_insight_id(hash_section(content))


def findings(
    path: str, contents: Sequence[str], project: Project, revision: str | None = None
) -> list[Finding]:
    """Return what a file says, three lines for each section."""
    sha = revision or hashlib.sha256("\n".join(contents).encode()).hexdigest()
    return [
        _finding(Fragment(content, path, project.name, None, line, line + 2, 0, 0, sha))
        for line, content in zip(range(1, 3 * len(contents) + 1, 3), contents, strict=True)
    ]


def _finding(fragment: Fragment) -> Finding:
    """Return a fragment as an insight."""
    digest = hash_section(fragment.content)
    return Finding(
        insight_id=make_insight_id(digest),
        content=fragment.content,
        content_hash=digest,
        category="convention",
        tags=("python",),
        domain=None,
        text_hash=text_hash(fragment.content),
        source=InsightSource.from_fragment(make_insight_id(digest), fragment),
    )
