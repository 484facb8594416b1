"""A home whose vector index is asked, told and hurt: ledger, index and indexer, without a model.

Every answer is compared with an exact one over the same rows of the ledger. Vectors are generated:
200 centres, and neighbours around them.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.domain.memory import SearchPlace
from cortex_actors.errors import CortexError
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.sections import StorageSettings
from cortex_actors.storage import embeddings, passages
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.tables.schema import index_ops, vectors
from cortex_actors.storage.tables.schema import passages as passage_rows
from supervision import ChildSpec, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection
    from supervision import Report

#: The collection that is used, and its vector space.
COLLECTION, MODEL = "cortex_insights", "generated/64"

#: Numbers of a vector: fewer than a model's, so that faults are many and rows cheap.
DIMENSION = 64

#: Neighbours of an answer, and those asked of the index beyond them, as a search does.
LIMIT, SLACK = 10, 20

#: Seconds in which an index that was hurt must be whole again.
HEALED = 120.0


class AgedClock(SystemClock):
    """The machine's clock, which can be moved on: faults then come singly, and not as a storm."""

    def __init__(self) -> None:
        """Show the machine's time."""
        self._more = 0.0

    def monotonic(self) -> float:
        """Return the seconds since some time."""
        return super().monotonic() + self._more

    def age(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._more += seconds


@dataclass(slots=True)
class Answers:
    """What was answered."""

    index: int = 0
    exact: int = 0
    wrong: int = 0
    #: Seconds that an answer took.
    took: list[float] = field(default_factory=list)


class Ground:
    """One home; `hurt` is where to begin."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Make nothing yet."""
        self.home = Home(folder)
        self.chance = random.Random(seed)
        self.clock = AgedClock()
        self.settings = StorageSettings.model_validate({"index_ms": 20})
        self.names = Names()
        self.records = Records(self.names)
        self.answers = Answers()
        #: Restarts of actors: each would be a crash that got out of the index.
        self.restarts: list[str] = []
        self._turn = asyncio.Lock()
        self._noise = np.random.default_rng(seed)
        self._centres = self._noise.standard_normal((200, DIMENSION)).astype(np.float32)
        self._count = 0
        self._vectors = partial(
            NamedActor[Any]("vectors", self.names, timeout=60).ask, Vectors.query
        )
        self.describe = partial(
            NamedActor[Any]("vectors", self.names, timeout=60).ask, Vectors.describe
        )
        self.verify = partial(
            NamedActor[Any]("vectors", self.names, timeout=110).ask, Vectors.verify
        )
        self.actor: Vectors

    async def put(self, count: int) -> None:
        """Let the ledger have so many items more."""
        first, self._count = self._count, self._count + count
        made = [f"text {number}" for number in range(first, self._count)]
        found = {_hash(text): self.vector() for text in made}
        rows = [
            each
            for text in made
            for each in passages.make_passages(
                text, collection=COLLECTION, item_id=f"ins_{text[5:]}"
            )
        ]

        def work(connection: Connection) -> None:
            embeddings.keep_vectors(connection, MODEL, found)
            items = [each.item_id for each in rows]
            passages.replace(connection, COLLECTION, items, rows)

        async with self._turn:
            await self.records.write(work)

    async def drop(self, count: int) -> None:
        """Let the ledger forget some items."""
        ids = [f"ins_{self.chance.randrange(self._count)}" for _ in range(count)]
        async with self._turn:
            await self.records.write(lambda c: passages.drop(c, COLLECTION, ids))

    async def ask(self) -> None:
        """Ask for a vector's neighbours as a search does, and compare with an exact answer."""
        vector, began = self.vector(), time.perf_counter()
        async with self._turn:
            late = await self.records.read(lambda c: pending_ids(c, 2_001))
            try:
                near = (await self._vectors([COLLECTION], vector, LIMIT + SLACK))[COLLECTION]
            except CortexError:
                near = None
            self.answers.took.append(time.perf_counter() - began)
            ids, rows = await self.records.read(lambda c: matrix(c, MODEL))
        exact = _best(vector, ids, rows)
        if near is None or len(late) > 2_000:
            self.answers.exact += 1
            return
        self.answers.index += 1
        named = {*late, *(each for each, _ in near)}
        chosen = [place for place, each in enumerate(ids) if each in named]
        some = _best(vector, [ids[place] for place in chosen], rows[chosen])
        self.answers.wrong += some != exact

    async def whole(self) -> float:
        """Wait until the index is open, complete and found good; return the seconds it took."""
        began = time.perf_counter()
        async with asyncio.timeout(HEALED):
            while not await self._is_whole():  # noqa: ASYNC110 - it is asked by name, as clients do
                await asyncio.sleep(0.02)
        return time.perf_counter() - began

    def vector(self) -> Matrix:
        """Return a vector near one of the centres."""
        centre = self._centres[self.chance.randrange(len(self._centres))]
        vector = centre + 0.8 * self._noise.standard_normal(DIMENSION).astype(np.float32)
        found: Matrix = vector / np.linalg.norm(vector)
        return found

    @property
    def pid(self) -> int | None:
        """The process that holds the index, while there is one."""
        life = self.actor._keeper.life  # noqa: SLF001 - to kill it
        return life.pid if life else None

    async def _is_whole(self) -> bool:
        """Tell whether the index is open, complete and found good."""
        try:
            info = await self.describe()
            waiting = await self.records.read(pending.count_pending)
            if info.state != "ready" or waiting:
                return False
            return bool((await self.verify()).ok)
        except CortexError:
            return False

    def _make_vectors(self) -> Vectors:
        """Return the actor that owns the index."""
        self.actor = Vectors(
            self.home.index,
            self.records,
            settings=self.settings,
            model=MODEL,
            clock=self.clock,
            on_line=lambda _line: None,
        )
        return self.actor

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Ground]:
        """Run the storage branch, supervised as in the tree."""
        # Only the index's time is moved on: a query of the ledger has a deadline of its own.
        clock = SystemClock()
        bus = Bus(LedgerJournal(self.records, clock), clock)
        makes: dict[str, Any] = {
            "ledger": partial(Ledger, self.home, self.settings, clock),
            "vectors": self._make_vectors,
            "indexer": partial(
                Indexer,
                self.records,
                bus,
                model=MODEL,
                embed=_nobody,
                index=NamedActor("vectors", self.names),
                clock=clock,
                settings=self.settings,
            ),
        }
        specs = [
            ChildSpec(name, partial(start_actor, self.names, name, make))
            for name, make in makes.items()
        ]
        branch = Supervisor(specs, name="storage", strategy="rest_for_one", report=self._on_report)
        await branch.start()
        try:
            yield self
        finally:
            await branch.stop(20)

    def _on_report(self, report: Report) -> None:
        """Note an actor that was started again."""
        if report.kind in ("restarted", "gave_up"):
            self.restarts.append(str(report.child))


async def _nobody(texts: Sequence[str], *, model: str) -> Matrix:
    """Embed nothing: every text has its vector."""
    message = f"nothing is embedded here: {len(texts)} texts have no vector of {model}"
    raise RuntimeError(message)


def _hash(text: str) -> bytes:
    """Return what a text's vector is stored under."""
    return hashlib.sha256(text.encode()).digest()


def _best(vector: Matrix, ids: list[str], rows: Matrix) -> list[str]:
    """Return the nearest ids; ties go by id."""
    if not ids:
        return []
    found = sorted(zip((-(rows @ vector)).tolist(), ids, strict=True))
    return [each for _, each in found[:LIMIT]]


def pending_ids(connection: Connection, limit: int) -> list[str]:
    """Return the items the index may be wrong about."""
    query = select(index_ops.c.item_id).distinct().limit(limit)
    return list(connection.execute(query).scalars())


def matrix(
    connection: Connection, model: str, ids: Iterable[str] | None = None
) -> tuple[list[str], Matrix]:
    """Return the vectors of items' own texts (of those ids, or of all), for an exact search."""
    query = (
        select(passage_rows.c.item_id, vectors.c.vector)
        .join(vectors, vectors.c.text_hash == passage_rows.c.text_hash)
        .where(vectors.c.model == model, passage_rows.c.place != SearchPlace.PAIRED)
        .order_by(passage_rows.c.item_id)
    )
    if ids is not None:
        query = query.where(passage_rows.c.item_id.in_(list(ids)))
    found = connection.execute(query).all()
    usual = embeddings.find_usual_length(row.vector for row in found)
    rows, sound = embeddings.to_rows([row.vector for row in found], usual)
    kept = [row.item_id for row, is_sound in zip(found, sound, strict=True) if is_sound]
    return kept, rows[sound]
