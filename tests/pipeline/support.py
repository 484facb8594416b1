"""A daemon's ledger, names and bus without the rest, so that one actor can be tried at a time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import func, select

from cortex_actors.bus.bus import Bus
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import FileChanged
from cortex_actors.domain.insight import InsightSource, hash_section, make_insight_id
from cortex_actors.domain.project import Project
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.home import Home
from cortex_actors.pipeline.accumulator import Accumulator
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from cortex_actors.sections import AccumulationSettings, EventsSettings, StorageSettings
from cortex_actors.storage import projects
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.pipeline.insights import Finding
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.storage.tables.schema import deliveries, events, insight_sources, observations
from cortex_actors.testing import ManualClock, eventually
from cortex_actors.topics import FILE_CHANGED
from tests.storage.support import active

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.insight import Insight
    from cortex_actors.errors import CortexError
    from cortex_actors.runtime.actor import ActorHandle, AsyncioActor
    from cortex_actors.storage.embeddings import Matrix

T = TypeVar("T")

#: The vector space of the embedder below.
MODEL = HashingProvider().model_id


#: A file with two sections.
TWO = "## Style\n\nUse tabs.\n\n## Tests\n\nRun pytest.\n"


class Embedder:
    """The hashing embedder behind a gate; `fails` is raised while it is set."""

    def __init__(self) -> None:
        self._provider = HashingProvider()
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails: CortexError | None = None
        self.calls: list[list[str]] = []
        self.busy = 0

    async def close(self) -> None:
        """End the provider's thread, if a large file has needed one."""
        await self._provider.close()

    async def __call__(self, texts: Sequence[str], *, model: str | None = None) -> Matrix:
        """Return one row for each text."""
        self.calls.append(list(texts))
        self.busy += 1
        try:
            await self.gate.wait()
            if self.fails is not None:
                raise self.fails
            return await self._provider.embed(texts)
        finally:
            self.busy -= 1


class Office:
    """What an actor needs around it, on a clock that the test turns."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.clock = ManualClock()
        self.names = Names()
        self.records = Records(self.names)
        self.journal = LedgerJournal(self.records, self.clock)
        self.bus = Bus(self.journal, self.clock)
        #: Every event that was said, in order.
        self.said: list[Event[Payload]] = []
        self.bus.subscribe("*", self.said.append)
        #: How actors are made that a fixture has prepared.
        self.makers: dict[str, Callable[[], AsyncioActor]] = {}
        self._handles: dict[str, ActorHandle] = {}

    def desk(self, name: str) -> Desk:
        """Return what a consumer is handed."""
        return Desk(name, self.bus, self.journal, self.clock, EventsSettings())

    async def employ(self, name: str, make: Callable[[], AsyncioActor]) -> ActorHandle:
        """Start an actor under its name; it is stopped with the office."""
        self._handles[name] = await start_actor(self.names, name, make)
        return self._handles[name]

    async def hire(self, name: str) -> ActorHandle:
        """Start an actor that a fixture has prepared."""
        return await self.employ(name, self.makers[name])

    async def hire_ledger(self) -> None:
        """Start a ledger."""
        await self.employ("ledger", lambda: Ledger(self.home, StorageSettings(), self.clock))

    async def dismiss(self, name: str) -> None:
        """Kill an actor, as a crash of its process would."""
        handle = self._handles.pop(name)
        handle.kill()
        await handle.exited()

    async def close(self) -> None:
        """Stop whoever is still here, the ledger last."""
        for name in sorted(self._handles, key="ledger".__eq__):
            await self._handles[name].stop(10)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return what the ledger answers."""
        return await self.records.read(query)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        """Change the ledger."""
        return await self.records.write(unit)

    async def follow(self, root: Path) -> Project:
        """Follow a folder, which is made if it is not there."""
        root.mkdir(parents=True, exist_ok=True)
        project = Project.from_root(str(root.resolve()), self.clock.now())
        await self.write(lambda c: projects.add(c, project))
        return project

    async def changed(self, project: Project, *paths: Path) -> None:
        """Say that files have changed and return once the accumulator has handled it."""
        for path in paths:
            self.clock.advance(1)  # so that runs have an order
            payload = FileChanged(project.id, str(path))
            await self.bus.publish(FILE_CHANGED, payload, source="test")
        await self.handled("accumulator")

    async def handled(self, consumer: str) -> None:
        """Return once a consumer has handled everything that was said to it, and all was told."""

        async def nothing() -> bool:
            return 0 == await self.waiting(consumer) and await self.told()

        await eventually(nothing, within=20)

    async def told(self) -> bool:
        """Tell whether every stored event was said: whoever listens hears it after the commit."""
        stored = await self.read(lambda c: set(c.execute(select(events.c.id)).scalars()))
        return stored <= {event.id for event in self.said}

    async def waiting(self, consumer: str) -> int:
        """Return how many events a consumer has still to handle."""
        query = select(func.count()).where(deliveries.c.consumer == consumer)
        return await self.read(lambda c: c.execute(query).scalar_one())

    async def runs(self, kind: str = "accumulator") -> list[projects.PipelineRun]:
        """Return an actor's runs, newest first."""
        found = await self.read(lambda c: projects.list_latest(c, kind, 500))
        return sorted(found, key=lambda run: run.id, reverse=True)

    async def insights(self) -> list[Insight]:
        """Return what is known now, by content."""
        return sorted(await self.read(active), key=lambda each: each.content)

    async def contents(self) -> list[str]:
        """Return the texts of what is known now, in order."""
        return [each.content for each in await self.insights()]

    async def places(self, insight: str) -> list[InsightSource]:
        """Return where an insight stands now."""
        return (await self.read(lambda c: insights.load_sources(c, [insight]))).get(insight, [])

    async def broken(self) -> dict[str, str]:
        """Return why files could not be read, by path."""
        states = await self.read(projects.list_broken)
        return {state.path: state.error or "" for state in states}

    async def evidence(self) -> tuple[int, int]:
        """Return how many sources and how many observations the ledger has ever written."""

        def count(connection: Connection) -> tuple[int, int]:
            tables = (insight_sources, observations)
            found = [connection.execute(select(func.count()).select_from(t)) for t in tables]
            return found[0].scalar_one(), found[1].scalar_one()

        return await self.read(count)

    def topics_said(self) -> list[str]:
        """Return the topics of everything that was said."""
        return [event.topic for event in self.said]

    def accumulator(
        self, embed: Embedder, settings: AccumulationSettings | None = None
    ) -> Callable[[], Consumer]:
        """Return how the accumulator is made."""
        return lambda: Accumulator(
            self.desk("accumulator"),
            self.records,
            settings=settings or AccumulationSettings(),
            model=MODEL,
            embed=embed,
            neighbours=Neighbours(VectorMatrix(MODEL, 64)),
        )


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Office]:
    """Open an office with a ledger in a folder."""
    home = Home.find(folder / "home", {})
    home.create()
    office = Office(home)
    await office.hire_ledger()
    try:
        yield office
    finally:
        await office.close()


def finding(content: str, path: str, *, revision: str = "r1", category: str = "fact") -> Finding:
    """Return a section of a file as the accumulator hands it to the ledger."""
    digest = hash_section(content)
    source = InsightSource(
        insight_id=make_insight_id(digest),
        fragment_id=hash_section(path + content),
        path=path,
        project="",
        heading=None,
        line_start=1,
        line_end=1,
        file_hash=revision,
    )
    text_hash = bytes.fromhex(digest)
    return Finding(
        source.insight_id, content, digest, category, ("a",), "python", text_hash, source
    )


def write(project: Project, text: str, name: str = "CLAUDE.md") -> Path:
    """Write an instruction file of a project."""
    path = Path(project.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
