"""The changes that wait for the vector index, and the vectors themselves, as the ledger keeps them.

What is indexed are passages: an item's own text in the collection of the item, its text with the
predecessor's in `<collection>_paired`, and the id there is the item's. A row of `index_ops` is
written in the transaction that changes a passage. The indexer applies the rows in order and then
moves `applied_seq`; the rows behind it may be dropped. When the index is lost, a new generation
starts from `rebuild`, without embedding anything again.

Holdings: what a collection of the index must hold, as the ledger says it.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from cortex_actors.storage import embeddings
from cortex_actors.storage.embeddings import INDEX, Matrix, remake
from cortex_actors.storage.tables.columns import count_rows, make_entity, put_rows, select_in
from cortex_actors.storage.tables.dialect import execute_for, execute_many
from cortex_actors.storage.tables.schema import index_ops, index_state, passages, vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


_FORGET = "DELETE FROM index_ops WHERE collection = ?2 AND item_id IN :ids"
_NOTE = "INSERT INTO index_ops (collection, item_id, op) VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class IndexState:
    """Which generation of the index is in use and up to which row it is current."""

    generation: int
    model: str
    applied_seq: int
    #: Names the generation beside its number, which begins at 1 again in another ledger.
    token: str

    @property
    def folder(self) -> str:
        """The name of the generation's folder."""
        return f"gen-{self.generation}-{self.token}"


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One thing to tell the index; `vector` is None when the item is to go."""

    seq: int
    collection: str
    item_id: str
    vector: Matrix | None
    #: The model and the text's hash of a vector that is damaged in the ledger: it is made again.
    damaged: tuple[str, bytes] | None = None


def note(
    connection: sa.Connection, collection: str, *, put: Sequence[str] = (), drop: Sequence[str] = ()
) -> None:
    """Write down that items came, changed or went; of what waits for an item the last word counts.

    One row an item, so that they do not grow in number while the index is away.
    """
    if not (put or drop):
        return
    execute_for(connection, _FORGET, [*put, *drop], collection)
    rows = [(collection, each, "put") for each in put]
    execute_many(connection, _NOTE, [*rows, *((collection, each, "drop") for each in drop)])


def load_state(connection: sa.Connection) -> IndexState | None:
    """Return the index's state; None before the first generation."""
    row = connection.execute(sa.select(index_state)).one_or_none()
    return None if row is None else make_entity(IndexState, row)


def rebuild(connection: sa.Connection, model: str) -> IndexState:
    """Begin a new generation: everything that lives is sent to it again."""
    before = load_state(connection)
    generation = (before.generation if before else 0) + 1
    connection.execute(sa.delete(index_ops))
    everything = sa.select(INDEX, passages.c.item_id, sa.literal("put")).order_by(passages.c.id)
    columns = ["collection", "item_id", "op"]
    connection.execute(sa.insert(index_ops).from_select(columns, everything))
    token = secrets.token_hex(4)
    row = {"one": 1, "generation": generation, "token": token, "model": model, "applied_seq": 0}
    put_rows(connection, index_state, [row])
    return IndexState(generation, model, 0, token)


def list_changes(connection: sa.Connection, model: str, limit: int) -> list[IndexChange]:
    """Return what to tell the index next, in order.

    The list ends before the first item that has no vector yet, so that `applied_seq` never passes
    something that was not applied. Items that are gone again are sent as gone, and so are those
    whose vector is damaged, until there is another. Nothing, when the generation in use is another
    model's: the caller was made before a switch, and would send it to the generation before.
    """
    if _is_of_another(connection, model):
        return []
    query = (
        sa.select(*index_ops.c["seq", "collection", "item_id"])
        .add_columns(passages.c.text_hash, vectors.c.vector)
        .select_from(index_ops)
        .outerjoin(passages, _waits())
        .outerjoin(vectors, embeddings.match_text(passages, model))
        .order_by(index_ops.c.seq)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    usual = embeddings.find_usual_length(row.vector for row in rows)
    ready = itertools.takewhile(lambda row: row.text_hash is None or row.vector is not None, rows)
    found = []
    for row in ready:
        is_there = row.text_hash is not None
        is_sound = is_there and embeddings.is_sound(row.vector, usual)
        vector = np.frombuffer(row.vector, np.float32) if is_sound else None
        damaged = (model, row.text_hash) if is_there and not is_sound else None
        found.append(IndexChange(row.seq, row.collection, row.item_id, vector, damaged))
    return found


def note_applied(
    connection: sa.Connection, told: Sequence[IndexChange], *, model: str | None = None
) -> None:
    """Note that the index has applied those changes, the last of which is the newest.

    A damaged vector is dropped, and its item waits to be embedded and sent again. Nothing is noted
    when the generation in use is not `model`'s any more: the changes went to another one.
    """
    if model is not None and _is_of_another(connection, model):
        return
    seq = told[-1].seq
    connection.execute(sa.update(index_state).values({"applied_seq": seq}))
    connection.execute(sa.delete(index_ops).where(index_ops.c.seq <= seq))
    for owner, digest in {change.damaged for change in told if change.damaged is not None}:
        remake(connection, owner, [digest])


def count_pending(connection: sa.Connection) -> int:
    """Return how many changes wait for the index."""
    return count_rows(connection, index_ops)


def _is_of_another(connection: sa.Connection, model: str) -> bool:
    """Say whether the generation in use holds another model's vectors."""
    now = load_state(connection)
    return now is not None and now.model != model


def _waits() -> sa.ColumnElement[bool]:
    """Return the condition that a row of `index_ops` is about a passage."""
    return sa.and_(index_ops.c.item_id == passages.c.item_id, index_ops.c.collection == INDEX)


#: Bytes of a vector where the ledger has none yet: 384 numbers.
USUAL_BYTES = 1_536


@dataclass(frozen=True, slots=True)
class Holding:
    """The items that a collection must hold, and those of which a change is on its way."""

    #: In the order in which they came, and as a set.
    order: tuple[str, ...]
    sure: frozenset[str]
    unsure: frozenset[str]


def load_holding(connection: sa.Connection, collection: str) -> Holding:
    """Return what a collection of the index must hold."""
    settled = sa.literal(collection) == INDEX, ~sa.exists().where(_waits())
    query = sa.select(passages.c.item_id).where(*settled).order_by(passages.c.id)
    order = tuple(connection.execute(query).scalars())
    waiting = sa.select(index_ops.c.item_id).where(index_ops.c.collection == collection)
    return Holding(order, frozenset(order), frozenset(connection.execute(waiting).scalars()))


def load_rows(
    connection: sa.Connection, model: str, collection: str, *, ids: Collection[str]
) -> dict[str, Matrix]:
    """Return the vectors that items have in a collection, by id; damaged ones are left out."""
    query = (
        sa.select(passages.c.item_id, vectors.c.vector)
        .join(vectors, embeddings.match_text(passages, model))
        .where(sa.literal(collection) == INDEX)
    )
    rows = select_in(connection, query, passages.c.item_id, ids)
    found: dict[str, bytes] = {row.item_id: row.vector for row in rows}
    return embeddings.keep_sound(found)


def measure_index(connection: sa.Connection, model: str) -> tuple[int, int]:
    """Return how many vectors the whole index may hold, and the bytes of one."""
    length = sa.select(sa.func.length(vectors.c.vector)).where(vectors.c.model == model).limit(1)
    bytes_of_one = int(connection.execute(length).scalar() or USUAL_BYTES)
    return count_rows(connection, passages), bytes_of_one
