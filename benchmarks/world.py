"""A ledger of generated memories with a real index: what `recall.py` asks.

Vectors are of length 1 and lie around topics, twenty memories each, so that a question that lies
near a topic has more neighbours worth finding than are asked for: what lies outside of the topic is
equally far, and which of that is nearest is chance. Texts are words drawn like those of a language,
of which few are frequent.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import insert

from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.errors import IndexDown
from cortex_actors.home import Home
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.sections import StorageSettings
from cortex_actors.storage import embeddings, passages
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.tables.schema import agents, memories

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from sqlalchemy import Connection

    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.storage.embeddings import Matrix

#: The vector space, and how many numbers a vector has.
MODEL, DIMENSION = "bench/384", 384

#: Memories of one topic, and how far they lie from it: cosines of about .8 within a topic.
TOPIC, SPREAD = 20, 0.5

#: Every tenth memory is of one agent, every hundredth in one thread.
AGENTS, THREADS = 10, 100

#: Different words, and words of a text and of a question.
WORDS, LONG, SHORT = 30_000, 40, 6

#: Rows of one transaction, and changes that the index is told at once.
CHUNK, TOLD = 5_000, 2_000


@dataclass(slots=True)
class World:
    """Memories, their vectors, and the way to both."""

    records: Records
    rows: Matrix
    ids: list[str]
    chance: np.random.Generator
    names: Names
    #: Seconds that filling the ledger and telling the index took.
    filled_s: float = 0.0
    told_s: float = 0.0

    def question(self) -> tuple[str, Matrix]:
        """Return a question near one of the topics."""
        near = self.rows[self.chance.integers(len(self.rows))]
        return text(self.chance, SHORT), around(self.chance, near[None])[0]

    def nearest(self, vector: Matrix, limit: int, *, every: int = 1) -> list[str]:
        """Return the nearest memories by comparing with each; `every` is the filter's share."""
        places = np.arange(0, len(self.rows), every)
        cosines = self.rows[places].astype(np.float64) @ vector.astype(np.float64)
        return [self.ids[places[each]] for each in np.argsort(-cosines, kind="stable")[:limit]]

    async def neighbours(
        self, collections: Sequence[str], vector: Matrix, limit: int, model: str | None = None
    ) -> dict[str, list[tuple[str, float]]]:
        """Ask the index, as the product does."""
        ask = partial(NamedActor[Any]("vectors", self.names, timeout=5.0).ask, Vectors.query)
        found: dict[str, list[tuple[str, float]]] = await ask(collections, vector, limit, model)
        return found


async def away(
    _collections: Sequence[str], _vector: Matrix, _limit: int, _model: str | None = None
) -> dict[str, list[tuple[str, float]]]:
    """Be an index that does not answer."""
    raise IndexDown("there is no index in this measurement")


def around(chance: np.random.Generator, centres: Matrix) -> Matrix:
    """Return a vector of length 1 near each of those."""
    noise = chance.standard_normal(centres.shape, dtype=np.float32) * np.float32(
        SPREAD / np.sqrt(DIMENSION)
    )
    rows = centres + noise
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def text(chance: np.random.Generator, words: int) -> str:
    """Return words of which few are frequent."""
    return " ".join(f"word{each % WORDS}" for each in chance.zipf(1.2, words))


@asynccontextmanager
async def world(count: int, *, seed: int, indexed: bool) -> AsyncIterator[World]:
    """Run a ledger with so many memories, and an index that was told of all of them."""
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        home, names = Home(Path(folder)), Names()
        home.create()
        settings = StorageSettings()
        ledger = await start_actor(names, "ledger", partial(Ledger, home, settings, SystemClock()))
        index: ActorHandle | None = None
        found = World(Records(names, timeout=600), np.zeros((0, 0), np.float32), [], chance, names)
        try:
            await _fill(found, count)
            if indexed:
                index = await _tell(found, home, settings)
            yield found
        finally:
            for each in (index, ledger):
                if each is not None:
                    await each.stop(10)


async def _fill(found: World, count: int) -> None:
    """Write the memories, some thousand to a transaction."""
    begun = time.perf_counter()
    centres = found.chance.standard_normal((-(-count // TOPIC), DIMENSION), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    found.rows = around(found.chance, np.repeat(centres, TOPIC, axis=0)[:count])
    found.ids = [f"mem_{make_ulid(1_000 * number)}" for number in range(1, count + 1)]
    await found.records.write(_agents)
    for start in range(0, count, CHUNK):
        await found.records.write(partial(_memories, found=found, start=start))
    found.filled_s = time.perf_counter() - begun


def _agents(connection: Connection) -> None:
    """Write who says something."""
    rows = [{"id": f"A{number}", "display_name": "a", "symbol": "a"} for number in range(AGENTS)]
    connection.execute(insert(agents), [{**row, "registered_at": 1} for row in rows])


def _memories(connection: Connection, *, found: World, start: int) -> None:
    """Write some memories with their passages, words and vectors."""
    places = range(start, min(start + CHUNK, len(found.ids)))
    texts = [f"{place} {text(found.chance, LONG)}" for place in places]
    digests = [hashlib.sha256(each.encode()).digest() for each in texts]
    rows = [
        {
            "id": found.ids[place],
            "realm": "village",
            "agent_id": f"A{place % AGENTS}",
            "thread": f"t{place % THREADS}",
            "layer": "working",
            "type": "fact",
            "text": said,
            "abstract": "",
            "summary": "",
            "text_hash": digest,
            "created_at": place,
            "layer_since": place,
        }
        for place, said, digest in zip(places, texts, digests, strict=True)
    ]
    connection.execute(insert(memories), rows)
    made = [
        passage
        for place, said in zip(places, texts, strict=True)
        for passage in passages.make_passages(
            said, collection="cortex_village", item_id=found.ids[place]
        )
    ]
    items = [found.ids[place] for place in places]
    passages.replace(connection, "cortex_village", items, made)
    vectors = dict(zip(digests, found.rows[places.start : places.stop], strict=True))
    embeddings.keep_vectors(connection, MODEL, vectors)


async def _tell(found: World, home: Home, settings: StorageSettings) -> ActorHandle:
    """Start the index and tell it everything."""
    begun = time.perf_counter()
    make = partial(
        Vectors,
        home.root / "index",
        found.records,
        settings=settings,
        model=MODEL,
        clock=SystemClock(),
        on_line=print,
    )
    handle = await start_actor(found.names, "vectors", make)
    put = partial(NamedActor[Any]("vectors", found.names, timeout=600.0).ask, Vectors.put)
    generation = partial(
        NamedActor[Any]("vectors", found.names, timeout=5.0).ask, Vectors.require_generation
    )
    while True:
        try:
            await generation()
            break
        except IndexDown:
            await asyncio.sleep(0.1)
    while some := await found.records.read(lambda c: pending.list_changes(c, MODEL, TOLD)):
        for name in dict.fromkeys(each.collection for each in some):
            mine = [each for each in some if each.collection == name]
            rows = np.stack([each.vector for each in mine if each.vector is not None])
            await put(name, [each.item_id for each in mine], rows)
        await found.records.write(partial(pending.note_applied, told=some))
    found.told_s = time.perf_counter() - begun
    return handle
