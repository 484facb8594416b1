"""A whole tree whose ledger holds many memories: what `remember.py` adds to.

A text names its topic and itself in made-up words, and its vector is computed of these: memories of
one topic lie at cosines of about .5, where what is alike has to be judged, and another wording of
one memory at .98 from it. So however many there are, it is known which of them a text says again.
There is no index: what the search compares within a scope it compares exactly.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from sqlalchemy import delete

from cortex_actors.assembly.context import Outside
from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.domain.memory import Layer, Memory, MemoryType, Realm
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.provider import scale_rows
from cortex_actors.errors import ChildProcessDown
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.settings import Settings
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.tables.schema import index_ops
from cortex_actors.tree import grow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.embedding.provider import Row, Vectors
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

#: Numbers of a vector, as MiniLM's.
DIMENSION = 384

#: Memories of one topic.
TOPIC = 20

#: How far a memory lies from its topic, and a wording from its memory: cosines of .5 and .98.
OWN, WORDING = 1.0, 0.15

#: Memories of one transaction while the ledger is filled.
CHUNK = 1_000

#: Words that say nothing, in every text.
_FILLERS = "keeps holds needs takes gives shows makes finds moves turns opens waits".split()

#: Microseconds between two memories; the first is of a time long ago.
_STEP, _FIRST = 1_000_000, 1_600_000_000_000_000


@dataclass(frozen=True, slots=True)
class Spread:
    """Over how many agents and threads of each the memories go."""

    name: str
    agents: int
    threads: int

    def place(self, number: int) -> dict[str, str]:
        """Return whose memory one is, and of which thread."""
        thread = number // self.agents % self.threads
        return {
            "agent": f"A{number % self.agents}",
            "thread": f"t{thread}" if self.threads > 1 else "",
        }


class Planted(HashingProvider):
    """Gives each text the vector that its first two words ask for."""

    def __init__(self) -> None:
        super().__init__(DIMENSION)
        self.model_id = f"planted-{DIMENSION}"

    def _rows(self, texts: Sequence[str]) -> Vectors:
        return scale_rows(np.array([_vector(text) for text in texts]))


def text(topic: int, item: int, *, wording: int = 0) -> str:
    """Return what one memory says, or another wording of the same, which says it and more."""
    said = [_FILLERS[(item + place) % len(_FILLERS)] for place in range(6)]
    more = f" and {_FILLERS[wording % len(_FILLERS)]} {_word('z', wording)}" if wording else ""
    return f"{_word('q', topic)} {_word('x', item)} {' '.join(said)}{more}"


@asynccontextmanager
async def hoard(count: int, spread: Spread) -> AsyncIterator[tuple[Tree, float]]:
    """Run a tree that knows so many memories; give it and the seconds that filling it took."""
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        home, clock = Home(Path(folder)), SystemClock()
        home.create()
        logs = LogStream(home.logs / "cortex.ndjson", clock)
        settings = Settings.model_validate({"embedding": {"provider": "hashing", "batch_ms": 5}})
        outside = Outside(provider=lambda *_, **__: Planted(), spawn=_nowhere)
        tree = await grow(home, settings, clock, logs, outside=outside).start()
        try:
            yield tree, await _fill(tree, count, spread)
        finally:
            await tree.stop(10)
            logs.close()


async def _fill(tree: Tree, count: int, spread: Spread) -> float:
    """Write the memories with their vectors, as if the index had been told; return the seconds."""
    begun = time.perf_counter()
    for start in range(0, count, CHUNK):
        places = range(start, min(start + CHUNK, count))
        some = [_memory(number, spread) for number in places]
        await tree.parts.records.write(partial(_kept, some=some, model=tree.parts.model))
    return time.perf_counter() - begun


def _kept(connection: Connection, *, some: Sequence[Memory], model: str) -> None:
    """Write memories, and the vectors of every text by which they are found."""
    memory_records.save(connection, some)
    while missing := embeddings.list_unembedded(connection, model, CHUNK):
        rows = scale_rows(np.array([_vector(said) for _, said, _ in missing]))
        digests = [digest for *_, digest in missing]
        embeddings.keep_vectors(connection, model, dict(zip(digests, rows, strict=True)))
    connection.execute(delete(index_ops))


def _memory(number: int, spread: Spread) -> Memory:
    """Return one memory of the hoard."""
    place = spread.place(number)
    return Memory(
        id=f"mem_{make_ulid(_FIRST + number * _STEP)}",
        realm=Realm.PRIVATE,
        agent_id=place["agent"],
        thread=place["thread"],
        text=text(number // TOPIC, number),
        created_at=_FIRST + number * _STEP,
        layer=Layer.WORKING,
        type=MemoryType.FACT,
    )


def _vector(said: str) -> Row:
    """Return the vector of a text: its topic's, moved by the memory's own, and by the wording."""
    words = [*itertools.islice(said.split(), 2), "", ""]
    row: Row = _drawn(words[0]) + OWN * _drawn(f"{words[0]} {words[1]}") + WORDING * _drawn(said)
    return row


def _drawn(name: str) -> Row:
    """Return a direction that belongs to a name."""
    seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    found = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
    row: Row = found / np.float32(np.sqrt(DIMENSION))
    return row


def _word(head: str, number: int) -> str:
    """Return a word for a number, without a digit: numbers that differ are a contradiction."""
    tail = ""
    while number:
        number, rest = divmod(number, 26)
        tail += chr(ord("a") + rest)
    return f"{head}{tail}{head}"


async def _nowhere(*_args: object, **_more: object) -> NoReturn:
    """Start no child process: there is no index in this measurement."""
    raise ChildProcessDown("there is no index in this measurement")
