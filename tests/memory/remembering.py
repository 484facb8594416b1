"""What the tests of the archivist share: an office in which one remembers, and what it left."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select

from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import Memory, MemoryStatus
from cortex_actors.embedding.provider import scale_rows
from cortex_actors.errors import EmbedderDown, IndexDown, Unembeddable
from cortex_actors.memory.archivist import NAME, Archivist
from cortex_actors.memory.planner import Planner
from cortex_actors.memory.request import Remembered, RememberRequest
from cortex_actors.rules.contradiction import DEFAULTS
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_records
from cortex_actors.storage.search.matrix import VectorMatrix
from cortex_actors.storage.search.similar_memories import Vicinity
from cortex_actors.storage.tables import schema
from cortex_actors.text.summary import split_sentences
from tests.storage.things import active_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.insight import Claim, Judgement
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection
    from tests.pipeline.support import Office

#: Numbers of a planted vector, and the space's name.
DIMENSION, MODEL = 16, "planted-16"


class Planted:
    """Gives each sentence the vector that the test says, and a text the sum of its sentences'."""

    def __init__(self, at: Mapping[str, Sequence[float]] | None = None) -> None:
        self.at = dict(at or {})
        self.is_away = False
        #: A text that no model takes.
        self.refused: str | None = None
        self.calls: list[str] = []

    async def __call__(self, texts: Sequence[str], **_how: object) -> Matrix:
        """Return one row for each text."""
        self.calls += texts
        if self.is_away:
            raise EmbedderDown("the embedder is away")
        if self.refused in texts:
            raise Unembeddable("nobody takes it", (0,))
        return scale_rows(np.array([self._row(each) for each in texts], np.float32))

    def _row(self, text: str) -> Matrix:
        parts = [text] if text in self.at else split_sentences(text)
        rows = [self._known(each) for each in parts]
        found: Matrix = np.sum(rows, axis=0, dtype=np.float32)
        return found

    def _known(self, sentence: str) -> Matrix:
        """Return the vector of one sentence: its words', where nobody says which."""
        key = sentence.rstrip(".")
        if key in self.at:
            given = np.zeros(DIMENSION, np.float32)
            given[: len(self.at[key])] = self.at[key]
            return _of_length_one(given)
        found = np.zeros(DIMENSION, np.float32)
        for word in key.casefold().split():
            found[8 + sum(map(ord, word)) % 8] += 1
        return _of_length_one(found)


class NoJudge:
    """Nobody beyond the rules."""

    is_there = False

    async def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str = ""
    ) -> list[Judgement | None]:
        """Be sure of nothing."""
        del run
        return [None] * len(pairs)

    async def merge(
        self, texts: Sequence[str], *, prefer: str = "equal", run: str = ""
    ) -> str | None:
        """Write nothing."""
        del texts, prefer, run
        return None

    async def summarise(self, text: str, *, most: int, run: str = "") -> str | None:
        """Write nothing."""
        del text, most, run
        return None


async def no_index(
    collections: Sequence[str], vector: Matrix, limit: int
) -> dict[str, list[tuple[str, float]]]:
    """Be an index that does not answer."""
    del collections, vector, limit
    raise IndexDown("there is no index here")


class Remembering:
    """An archivist in an office."""

    def __init__(self, office: Office, embed: Planted, judge: Any = None, **settings: Any) -> None:
        self.office = office
        self.embed = embed
        self.judge = judge or NoJudge()
        self.settings = MemorySettings(**settings)

    async def begin(self) -> Remembering:
        """Have it at work."""
        await self.office.employ(NAME, self._made)
        self._remember = partial(
            NamedActor[Any](NAME, self.office.names, timeout=30).ask, Archivist.remember
        )
        return self

    async def say(self, content: str, **known: Any) -> Remembered:
        """Have something remembered."""
        found: Remembered = await self._remember(
            RememberRequest(content, **{"agent": "CLAUDE", **known})
        )
        return found

    async def plant(self, content: str, **known: Any) -> str:
        """Have something saved as it is; return its id."""
        return (await self.say(content, merge=False, **known)).id

    async def active(self) -> dict[str, str]:
        """Return the texts of what is active, by id."""
        ids = await self.office.read(active_ids)
        return {each.id: each.text for each in (await self.all(*ids)).values()}

    async def all(self, *ids: str) -> dict[str, Memory]:
        """Return memories, whatever their state; all there are, or those."""
        wanted = list(ids) or await self.office.read(_every)
        return await self.office.read(partial(memory_records.read, ids=wanted, states=MemoryStatus))

    async def counts(self) -> tuple[int, int]:
        """Return how many memories are active, and how many there are."""
        return len(await self.active()), len(await self.all())

    async def parts(self, memory_id: str) -> list[str]:
        """Return what a memory was made of, in order."""
        row = schema.memories.c
        query = select(row.id).where(row.merged_into == memory_id).order_by(row.merged_as)
        return list(await self.office.read(lambda c: c.execute(query).scalars().all()))

    async def rows(self, table: Any) -> int:
        """Return how many rows a table has."""
        query = select(func.count()).select_from(table)
        return int(await self.office.read(lambda c: c.execute(query).scalar_one()))

    def said(self, topic: str) -> list[tuple[str, ...]]:
        """Return the ids that events of a topic named."""
        payloads = [each.payload for each in self.office.said if each.topic == topic]
        return [each.ids for each in payloads if isinstance(each, Ids)]

    def _made(self) -> Archivist:
        """Return the archivist with its parts."""
        office, gates = self.office, self.settings.gates
        around = Vicinity(no_index, model=MODEL, matrix=VectorMatrix(MODEL, 100))
        planner = Planner(
            around,
            office.records,
            self.judge,
            embed=self.embed,
            rules=lambda: (DEFAULTS, None),
            gates=gates,
            model=MODEL,
            clock=office.clock,
        )
        return Archivist(
            office.bus, office.records, planner, clock=office.clock, settings=self.settings
        )


def _of_length_one(row: Matrix) -> Matrix:
    """Return a vector with the length that vectors have."""
    found: Matrix = scale_rows(row[np.newaxis])[0]
    return found


def _every(connection: Connection) -> list[str]:
    """Return the ids of all memories."""
    return list(connection.execute(select(schema.memories.c.id)).scalars())
