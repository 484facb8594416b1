"""The storage branch below a ledger: the real index in its real child process, and the indexer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import index_ground
from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.errors import CortexError
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.testing import PATIENCE, eventually
from supervision import ChildSpec, Supervisor
from tests.storage.support import MODEL, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.index.life import Spawn
    from cortex_actors.storage.index.vectors import IndexInfo
    from tests.storage.support import Store

INSIGHTS = "cortex_insights"

#: Seconds in which an index must be open and complete: pauses are up to 5 s, a start is 1 to 3.
HEALED = 60.0


#: Neighbours asked of the index beyond those wanted: some may have gone since.
SLACK = 20


class Branch:
    """Vectors and indexer, supervised as in the tree, on a running ledger."""

    def __init__(
        self,
        store: Store,
        model: str = MODEL,
        *,
        clock: Clock | None = None,
        spawn: Spawn = ChildProcess.spawn,
        **settings: Any,
    ) -> None:
        self.store = store
        self.model = model
        self.clock = clock or SystemClock()
        self.lines: list[str] = []
        self.embedded: list[str] = []
        self.restarts: list[str] = []
        self._spawn = spawn
        self._settings = store.settings.model_copy(update={"index_ms": 0, **settings})
        names = store.names
        self.search = partial(
            NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.query
        )
        self.put = partial(NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.put)
        self.drop = partial(NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.drop)
        self.verify = partial(
            NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.verify
        )
        self.renew = partial(NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.renew)
        self.generation = partial(
            NamedActor[Any]("vectors", names, timeout=PATIENCE).ask, Vectors.require_generation
        )
        makes = {"vectors": self._vectors, "indexer": self._indexer}
        specs = [ChildSpec(name, partial(start_actor, names, name, makes[name])) for name in makes]
        self.supervisor = Supervisor(
            specs, name="storage", strategy="rest_for_one", intensity=3, report=self._on_report
        )

    @property
    def folder(self) -> Path:
        """Where generations lie."""
        return self.store.home.index

    @property
    def info(self) -> IndexInfo:
        """How the index is."""
        return self.actor.describe()

    @property
    def pid(self) -> int | None:
        """The process that holds the index, while there is one."""
        life = self.actor._keeper.life
        return life.pid if life else None

    def folders(self) -> list[str]:
        """Return the generations that have a folder."""
        return sorted(path.name.rpartition("-")[0] for path in self.folder.glob("gen-*"))

    async def ready(self, within: float = HEALED) -> int:
        """Wait until the index holds everything; return its generation."""

        async def told() -> bool:
            try:
                await self.generation()
            except CortexError:
                return False
            self.store.clock.advance(1)
            return not await self.store.read(pending.count_pending)

        await eventually(told, within)
        number: int = await self.generation()
        return number

    async def query(
        self, collection: str, vector: Matrix, limit: int, **model: str
    ) -> list[tuple[str, float]]:
        """Return what the index has nearest of one collection."""
        found: dict[str, list[tuple[str, float]]] = await self.search(
            [collection], vector, limit, **model
        )
        return found[collection]

    async def ids(self, *vector: float, limit: int = 10) -> list[str]:
        """Return the nearest ids that the index itself knows."""
        return [each for each, _ in await self.query(INSIGHTS, unit(*vector), limit)]

    async def exact(self, vector: Matrix, limit: int = 10) -> list[str]:
        """Return the nearest ids by comparing every vector of the ledger."""
        ids, rows = await self.store.read(lambda c: index_ground.matrix(c, self.model))
        return _best(vector, ids, rows, limit)

    async def answer(self, vector: Matrix, limit: int = 10) -> tuple[list[str], bool]:
        """Answer as a search does, and tell whether the index helped.

        The index names candidates and the ledger's vectors are compared; what the index has not
        been told yet is compared, too; without an index, every vector is.
        """
        late = await self.store.read(lambda c: index_ground.pending_ids(c, 100_000))
        try:
            near = await self.query(INSIGHTS, vector, limit + SLACK + len(late))
        except CortexError:
            return await self.exact(vector, limit), False
        named = {*late, *(each for each, _ in near)}
        ids, rows = await self.store.read(lambda c: index_ground.matrix(c, self.model, named))
        return _best(vector, ids, rows, limit), True

    async def _embed(self, texts: Sequence[str], *, model: str) -> Matrix:
        """Note what is embedded: in these tests everything has a vector."""
        assert self.model == model
        self.embedded += texts
        return np.stack([unit(1, 2, 3) for _ in texts])

    def _vectors(self) -> Vectors:
        """Return the actor that owns the child."""
        self.actor = Vectors(
            self.folder,
            self.store.records,
            settings=self._settings,
            model=self.model,
            clock=self.clock,
            on_line=self.lines.append,
            spawn=self._spawn,
        )
        return self.actor

    def _indexer(self) -> Indexer:
        """Return the actor that tells the index."""
        store = self.store
        return Indexer(
            store.records,
            Bus(LedgerJournal(store.records, store.clock), store.clock),
            clock=store.clock,
            settings=self._settings,
            model=self.model,
            embed=self._embed,
            index=NamedActor("vectors", store.names, timeout=PATIENCE),
        )

    def _on_report(self, report: Any) -> None:
        """Note who was restarted."""
        if report.kind == "restarted":
            self.restarts.append(report.child)


def _best(vector: Matrix, ids: list[str], rows: Matrix, limit: int) -> list[str]:
    """Return the ids with the largest cosines; ties go by id."""
    cosines: list[float] = (rows @ vector).tolist() if ids else []
    found = sorted(zip(cosines, ids, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [each for _, each in found[:limit]]


@asynccontextmanager
async def running(store: Store, model: str = MODEL, **how: Any) -> AsyncIterator[Branch]:
    """Run the branch."""
    branch = Branch(store, model, **how)
    await branch.supervisor.start()
    try:
        yield branch
    finally:
        await branch.supervisor.stop(20)
