"""Embeddable texts: everything that a model must have a vector of before it may answer.

That is each passage, by which something is found today, and what each memory says, whatever has
become of it: those that were merged, superseded or archived have no passage, but are found as of a
date on which they held, and come back. A text counts once, however many have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import exists, func, literal_column, select, union

from cortex_actors.storage.schema import memories, passages, vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, Connection, Exists

#: The number of a memory's row: its id is no number, and units go on behind one.
_ROW: ColumnElement[int] = literal_column("memories.rowid")


@dataclass(frozen=True, slots=True)
class Progress:
    """How many distinct texts there are to be embedded, and how many have a vector of a model."""

    total: int
    done: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that has no vector of a model yet, and the number of the row that has it."""

    row: int
    text: str
    digest: bytes


def progress(connection: Connection, model_id: str) -> Progress:
    """Return how far a model's vectors are; reads two keys of each text."""
    texts = _hashes().subquery()
    done = select(func.count()).select_from(texts).where(_has(model_id, texts.c.text_hash))
    total = select(func.count()).select_from(texts)
    return Progress(
        int(connection.execute(total).scalar_one()), int(connection.execute(done).scalar_one())
    )


def without(connection: Connection, model_id: str, *, after: int, limit: int) -> list[Waiting]:
    """Return the next passages whose text has no vector of a model, past one of them."""
    row = passages.c
    query = select(row.id, row.text, row.text_hash).where(row.id > after)
    query = query.where(~_has(model_id, row.text_hash)).order_by(row.id).limit(limit)
    return [Waiting(*each) for each in connection.execute(query)]


def unheard(connection: Connection, model_id: str, *, after: int, limit: int) -> list[Waiting]:
    """Return the next memories whose text has no vector of a model, past one of them."""
    row = memories.c
    query = select(_ROW, row.text, row.text_hash).where(after < _ROW)
    query = query.where(~_has(model_id, row.text_hash)).order_by(_ROW).limit(limit)
    return [Waiting(*each) for each in connection.execute(query)]


def missing(connection: Connection, model_id: str, limit: int) -> Sequence[bytes]:
    """Return hashes of texts that have no vector of a model."""
    texts = _hashes().subquery()
    query = select(texts.c.text_hash).where(~_has(model_id, texts.c.text_hash)).limit(limit)
    return connection.execute(query).scalars().all()


def _hashes() -> CompoundSelect[tuple[bytes]]:
    """Return the query for the hashes of all texts, each once."""
    return union(select(passages.c.text_hash), select(memories.c.text_hash))


def _has(model_id: str, text_hash: ColumnElement[bytes]) -> Exists:
    """Return the condition that a text has a vector of a model."""
    return exists().where(vectors.c.model == model_id, vectors.c.text_hash == text_hash)
