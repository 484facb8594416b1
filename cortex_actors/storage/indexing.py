"""What the vector index has to be told, and the vectors themselves, as the ledger keeps them.

A row of `index_ops` is written in the transaction that changes an item. The indexer applies the
rows in order and then moves `applied_seq`; the rows behind it may be dropped. When the index is
lost, a new generation starts from `rebuild`, without embedding anything again.
"""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import InsightStatus
from cortex_actors.storage.schema import index_ops, index_state, insights, vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Rows of unit vectors, one for each text.
Matrix = NDArray[np.float32]

#: Texts looked up in one query: SQLite takes some 32,000 bound values.
_LOOKUP = 1_000


@dataclass(frozen=True, slots=True)
class State:
    """Which generation of the index is in use and up to which row it was told."""

    generation: int
    model: str
    applied_seq: int
    #: Names the generation beside its number, which begins anew in another ledger.
    token: str

    @property
    def folder(self) -> str:
        """The name of the generation's folder."""
        return f"gen-{self.generation}-{self.token}"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to tell the index; `vector` is None when the item is to go."""

    seq: int
    collection: str
    item_id: str
    vector: Matrix | None
    #: The ledger's vector is not as long as the others: it is to be made again.
    damaged: bool = False


def note(
    connection: Connection, collection: str, *, put: Sequence[str] = (), drop: Sequence[str] = ()
) -> None:
    """Write down that items came, changed or went."""
    rows = [{"collection": collection, "item_id": each, "op": "put"} for each in put]
    rows += [{"collection": collection, "item_id": each, "op": "drop"} for each in drop]
    if rows:
        connection.execute(insert(index_ops), rows)


def keep_vectors(connection: Connection, model: str, found: Mapping[bytes, Matrix]) -> None:
    """Store vectors by the hash of their text; one that is there already stays.

    Vectors are never changed: a damaged one is dropped by `applied` and then made again.
    """
    rows = [
        {"model": model, "text_hash": digest, "vector": vector.astype(np.float32).tobytes()}
        for digest, vector in found.items()
    ]
    if rows:
        connection.execute(insert(vectors).on_conflict_do_nothing(), rows)


def stored_vectors(
    connection: Connection, model: str, digests: Sequence[bytes]
) -> dict[bytes, Matrix]:
    """Return the vectors the ledger has for texts, by hash."""
    found: dict[bytes, Matrix] = {}
    for start in range(0, len(digests), _LOOKUP):
        query = select(vectors.c.text_hash, vectors.c.vector).where(
            vectors.c.model == model, vectors.c.text_hash.in_(digests[start : start + _LOOKUP])
        )
        for digest, blob in connection.execute(query):
            found[digest] = np.frombuffer(blob, np.float32)
    return found


def unembedded(connection: Connection, model: str, limit: int) -> list[tuple[str, str, bytes]]:
    """Return (id, text to embed, its hash) of active insights that have no vector yet.

    Whatever has no vector waits to be told to the index, so only what waits is looked at.
    """
    query = (
        select(insights.c.id, insights.c.heading, insights.c.content, insights.c.text_hash)
        .where(insights.c.id.in_(select(index_ops.c.item_id)))
        .where(insights.c.status == InsightStatus.ACTIVE, ~_has_vector(model))
        .order_by(insights.c.id)
        .limit(limit)
    )
    return [
        (row.id, embedded_text(row.heading, row.content), row.text_hash)
        for row in connection.execute(query)
    ]


def count_unembedded(connection: Connection, model: str) -> int:
    """Return how many active insights have no vector of the model."""
    query = (
        select(func.count())
        .where(insights.c.id.in_(select(index_ops.c.item_id)))
        .where(insights.c.status == InsightStatus.ACTIVE, ~_has_vector(model))
    )
    return int(connection.execute(query).scalar_one())


def embedded_text(heading: str | None, content: str) -> str:
    """Return what stands for an insight in vector space: its heading is part of what it says."""
    return f"{heading}\n{content}" if heading else content


def state(connection: Connection) -> State | None:
    """Return the index's state; None before the first generation."""
    query = select(
        index_state.c.generation,
        index_state.c.model,
        index_state.c.applied_seq,
        index_state.c.token,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else State(*row)


def rebuild(connection: Connection, model: str) -> State:
    """Begin a new generation: everything that lives is to be told to it again."""
    before = state(connection)
    generation = (before.generation if before else 0) + 1
    connection.execute(delete(index_ops))
    query = select(insights.c.id).where(insights.c.status == InsightStatus.ACTIVE)
    ids = connection.execute(query).scalars().all()
    note(connection, "cortex_insights", put=ids)
    token = secrets.token_hex(4)
    row = {
        "one": 1,
        "generation": generation,
        "token": token,
        "model": model,
        "applied_seq": 0,
    }
    statement = insert(index_state).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["one"], set_=row))
    return State(generation, model, 0, token)


def changes(connection: Connection, model: str, limit: int) -> list[Change]:
    """Return what to tell the index next, in order.

    The list ends before the first item that has no vector yet, so that `applied_seq` never passes
    something that was not applied. Items that are gone again are told as gone, and so are those
    whose vector is damaged, until there is another.
    """
    query = (
        select(
            index_ops.c.seq,
            index_ops.c.collection,
            index_ops.c.item_id,
            insights.c.status,
            vectors.c.vector,
        )
        .select_from(index_ops)
        .outerjoin(insights, insights.c.id == index_ops.c.item_id)
        .outerjoin(
            vectors, and_(vectors.c.text_hash == insights.c.text_hash, vectors.c.model == model)
        )
        .order_by(index_ops.c.seq)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    usual = _usual_length(row.vector for row in rows)
    ready = itertools.takewhile(
        lambda row: row.status != InsightStatus.ACTIVE or row.vector is not None, rows
    )
    return [_change(row, usual) for row in ready]


def applied(connection: Connection, told: Sequence[Change]) -> None:
    """Note that the index was told those changes, the last of which is the newest.

    A damaged vector is dropped, and its item waits to be embedded and told again.
    """
    seq = told[-1].seq
    connection.execute(update(index_state).values({"applied_seq": seq}))
    connection.execute(delete(index_ops).where(index_ops.c.seq <= seq))
    for change in told:
        if change.damaged:
            hashes = select(insights.c.text_hash).where(insights.c.id == change.item_id)
            connection.execute(delete(vectors).where(vectors.c.text_hash.in_(hashes)))
            note(connection, change.collection, put=[change.item_id])


def pending(connection: Connection) -> int:
    """Return how many changes the index has not been told."""
    return int(connection.execute(select(func.count()).select_from(index_ops)).scalar_one())


def told(connection: Connection) -> int:
    """Return how many insights the index must hold: those that wait for no change are in it."""
    query = select(func.count()).where(
        insights.c.status == InsightStatus.ACTIVE,
        insights.c.id.not_in(select(index_ops.c.item_id)),
    )
    return int(connection.execute(query).scalar_one())


def unsure(connection: Connection) -> list[str]:
    """Return the items that `told` leaves out: the index may hold them or not."""
    return list(connection.execute(select(index_ops.c.item_id).distinct()).scalars())


def pending_ids(connection: Connection, limit: int) -> list[str]:
    """Return the items the index may be wrong about."""
    query = select(index_ops.c.item_id).distinct().limit(limit)
    return list(connection.execute(query).scalars())


def matrix(
    connection: Connection, model: str, ids: Iterable[str] | None = None
) -> tuple[list[str], Matrix]:
    """Return the vectors of active insights (of those ids, or of all), for an exact search."""
    query = (
        select(insights.c.id, vectors.c.vector)
        .join(vectors, vectors.c.text_hash == insights.c.text_hash)
        .where(vectors.c.model == model, insights.c.status == InsightStatus.ACTIVE)
        .order_by(insights.c.id)
    )
    if ids is not None:
        query = query.where(insights.c.id.in_(list(ids)))
    found = connection.execute(query).all()
    usual = _usual_length(row.vector for row in found)
    rows = [row for row in found if len(row.vector) == usual]
    if not rows:
        return [], np.zeros((0, 0), np.float32)
    joined = b"".join(row.vector for row in rows)
    return [row.id for row in rows], np.frombuffer(joined, np.float32).reshape(len(rows), -1)


def _change(row: Any, usual: int) -> Change:
    """Return one waiting row as a change; `usual` is the length of a vector that is whole."""
    if row.status != InsightStatus.ACTIVE:
        return Change(row.seq, row.collection, row.item_id, None)
    if len(row.vector) != usual:
        return Change(row.seq, row.collection, row.item_id, None, damaged=True)
    return Change(row.seq, row.collection, row.item_id, np.frombuffer(row.vector, np.float32))


def _usual_length(blobs: Iterable[bytes | None]) -> int:
    """Return the bytes that most vectors have: one that has others is damaged."""
    lengths = Counter(len(blob) for blob in blobs if blob is not None)
    return lengths.most_common(1)[0][0] if lengths else 0


def _has_vector(model: str) -> ColumnElement[bool]:
    """Return the condition that an insight's text has a vector of the model."""
    return exists().where(vectors.c.model == model, vectors.c.text_hash == insights.c.text_hash)
