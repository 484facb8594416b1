"""Holdings: what a collection of the index must hold, as the ledger has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import and_, func, literal, select

from cortex_actors.storage import embeddings, indexing
from cortex_actors.storage.embeddings import INDEX
from cortex_actors.storage.schema import passages, vectors
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from cortex_actors.storage.embeddings import Matrix

#: Bytes of a vector where the ledger has none yet: 384 numbers.
USUAL_BYTES = 1_536


@dataclass(frozen=True, slots=True)
class Holding:
    """The items that a collection must hold, and those of which a change is on its way."""

    #: In the order in which they came, and as a set.
    order: tuple[str, ...]
    sure: frozenset[str]
    unsure: frozenset[str]


def holding(connection: Connection, collection: str) -> Holding:
    """Return what a collection of the index must hold."""
    order = tuple(indexing.held(connection, collection))
    return Holding(order, frozenset(order), frozenset(indexing.unsure(connection, collection)))


def rows_of(
    connection: Connection, model: str, collection: str, *, ids: Collection[str]
) -> dict[str, Matrix]:
    """Return the vectors that items have in a collection, by id; damaged ones are left out."""
    of_text = and_(vectors.c.text_hash == passages.c.text_hash, vectors.c.model == model)
    query = (
        select(passages.c.item_id, vectors.c.vector)
        .join(vectors, of_text)
        .where(literal(collection) == INDEX)
    )
    found: dict[str, bytes] = {}
    for some in chunks(list(ids)):
        rows = connection.execute(query.where(passages.c.item_id.in_(some)))
        found.update((item_id, blob) for item_id, blob in rows)
    usual = embeddings.usual_length(found.values())
    return {
        item_id: np.frombuffer(blob, np.float32)
        for item_id, blob in found.items()
        if embeddings.is_sound(blob, usual)
    }


def size(connection: Connection, model: str) -> tuple[int, int]:
    """Return how many vectors the whole index may hold, and the bytes of one."""
    count = select(func.count()).select_from(passages)
    length = select(func.length(vectors.c.vector)).where(vectors.c.model == model).limit(1)
    rows = int(connection.execute(count).scalar_one())
    return rows, int(connection.execute(length).scalar() or USUAL_BYTES)
