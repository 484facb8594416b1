"""Near posts: what agents said that is nearest to a vector, with the vectors it is compared by.

A search by meaning alone, through the matrix that every search shares: what one may not read is
left out before anything is ranked, and nothing is counted as read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select

from cortex_actors.domain.memory import Place
from cortex_actors.errors import IndexDown
from cortex_actors.storage import blobs, memories
from cortex_actors.storage.schema import memories as memory_rows
from cortex_actors.storage.schema import passages, vectors
from cortex_actors.storage.search.dense import Asked, Dense
from cortex_actors.storage.threads import SPOKEN, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.blobs import Matrix
    from cortex_actors.storage.matrix import VectorMatrix

#: The list of a search in which a text stands alone.
_ALONE = "dense_alone"


@dataclass(frozen=True, slots=True, eq=False)
class Post:
    """A post, its vector, and its cosine with what it was looked for by."""

    memory: Memory
    row: Matrix
    cosine: float = 1.0


class NearPosts:
    """Finds posts in the vectors of one model."""

    def __init__(self, matrix: VectorMatrix) -> None:
        """Look into that matrix."""
        self.model = matrix.model
        self._dense = Dense(_no_index, model=matrix.model, matrix=matrix)

    def near(
        self,
        connection: Connection,
        row: Matrix,
        *,
        reader: str | None,
        most: int,
        floor: float,
        but: str | None = None,
    ) -> list[Post]:
        """Return the nearest posts that somebody may read, best first; none below `floor`.

        `but` is an agent whose own posts are left out. In a read transaction, on its thread.
        """
        allowed = (
            select(passages.c.id)
            .join(memory_rows, memory_rows.c.id == passages.c.item_id)
            .where(
                passages.c.collection.in_([memories.COLLECTIONS[realm] for realm in SPOKEN]),
                passages.c.place != Place.PAIRED,
                said(reader),
            )
        )
        if but is not None:
            allowed = allowed.where(memory_rows.c.agent_id != but)
        flat = np.ascontiguousarray(row, np.float32).reshape(-1)
        answer = self._dense.near(connection, Asked(flat, self.model, most), allowed)
        found = {each.item_id: each.score for each in answer.lists[_ALONE] if each.score >= floor}
        known = {each.memory.id: each for each in self.posts(connection, list(found))}
        return [
            Post(known[name].memory, known[name].row, score)
            for name, score in found.items()
            if name in known
        ]

    def posts(self, connection: Connection, ids: Sequence[str]) -> list[Post]:
        """Return those of some memories that may be found and have a vector, in that order."""
        live = memories.by_id(connection, ids)
        query = (
            select(memory_rows.c.id, vectors.c.vector)
            .join(vectors, vectors.c.text_hash == memory_rows.c.text_hash)
            .where(memory_rows.c.id.in_(list(live)), vectors.c.model == self.model)
        )
        found: dict[str, bytes] = {row.id: row.vector for row in connection.execute(query)}
        if not found:
            return []
        rows, sound = blobs.rows(list(found.values()), blobs.usual_length(found.values()))
        whole = {name: rows[at] for at, name in enumerate(found) if sound[at]}
        return [Post(live[each], whole[each]) for each in ids if each in live and each in whole]


async def _no_index(collection: str, vector: Matrix, limit: int) -> list[tuple[str, float]]:
    """Be an index that is not asked: what may be read is few, and compared as it is."""
    raise IndexDown(f"{collection} is not asked for {limit} of {vector.size}")
