"""Embedding models as the ledger knows them: which one answers, and which one is on its way.

The ledger decides: vectors lie under their model's id, one model is `active` and answers, at most
one is `coming` while its vectors are made, and what was active before is `retired`. Everything here
is a unit of work or a query, but for `read_chosen`, which reads the file before there is a ledger
actor.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, delete, exists, select, update

from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import embeddings
from cortex_actors.storage.index import pending
from cortex_actors.storage.ledger.files import UNREADABLE, list_beside, measure_size, open_reader
from cortex_actors.storage.tables.columns import as_row, put_rows
from cortex_actors.storage.tables.schema import embedding_models, file_vectors, vectors

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


#: Columns of a `ChosenModel`, as `read_chosen` reads them past SQLAlchemy.
_CHOSEN = "SELECT id, provider, name, dimension FROM embedding_models WHERE state = ?"


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model, and what its provider is made of again.

    `name` is None where an earlier version of the ledger did not say it.
    """

    model_id: str
    provider: str
    name: str | None
    dimension: int


@dataclass(frozen=True, slots=True)
class Retired:
    """A model that no longer answers, and since when (UTC microseconds)."""

    model_id: str
    since: int


def read_chosen(path: Path, *, state: str = "active") -> ChosenModel | None:
    """Return the active (or coming) model of a ledger that is not open yet; reads some pages.

    None where there is no ledger, or it is of an earlier version, or cannot be read: what becomes
    of it is decided when the ledger is opened.
    """
    if not measure_size(path):
        return None
    try:
        still = not any(measure_size(each) for each in list_beside(path))
        with closing(open_reader(path, still=still)) as opened:
            row = opened.execute(_CHOSEN, (state,)).fetchone()
    except UNREADABLE:
        return None
    return None if row is None or row[1] is None else ChosenModel(*row)


def find_active(connection: Connection) -> ChosenModel | None:
    """Return the model that answers; None in a home that has none yet."""
    return _one(connection, embedding_models.c.state == "active")


def find_coming(connection: Connection) -> ChosenModel | None:
    """Return the model that is on its way."""
    return _one(connection, embedding_models.c.state == "coming")


def find(connection: Connection, model_id: str) -> ChosenModel | None:
    """Return a model that is known by its id."""
    return _one(connection, embedding_models.c.id == model_id)


def list_retired(connection: Connection) -> list[Retired]:
    """Return the models that no longer answer and have not been forgotten, latest first."""
    query = (
        select(embedding_models.c.id, embedding_models.c.since)
        .where(embedding_models.c.state == "retired")
        .order_by(embedding_models.c.since.desc(), embedding_models.c.id)
    )
    return [Retired(*row) for row in connection.execute(query)]


def settle(connection: Connection, model: ChosenModel, at: int) -> ChosenModel:
    """Write down a model as the active one where there is none; return the active one.

    Of an active model whose name is not known, the name is written down.
    """
    found = find_active(connection)
    if found is None or (found.model_id == model.model_id and found.name is None):
        _set(connection, model, "active", at=at)
        return model
    return found


def begin(connection: Connection, model: ChosenModel, at: int) -> None:
    """Have a model come; its vectors that are stored already count.

    Raises `Refused` when it is the active one, or while another one is on its way.
    """
    current, other = find_active(connection), find_coming(connection)
    if current is not None and current.model_id == model.model_id:
        raise Refused(
            f"cannot migrate to {model.model_id}: it is the model that answers now; "
            "`cortex model migration` shows it"
        )
    if other is not None and other.model_id != model.model_id:
        raise Refused(
            f"cannot migrate to {model.model_id}: the migration to {other.model_id} runs; "
            "wait for it (`cortex model migration`) or end it with: cortex model cancel"
        )
    _set(connection, model, "coming", at=at)


def retarget(connection: Connection, model: ChosenModel, at: int, *, instead_of: str) -> None:
    """Let another model come in place of the one on its way.

    If that one has vectors, of an earlier time, it is retired again, so that they are forgotten.
    Raises `NotFound` when it was cancelled meanwhile.
    """
    found = find_coming(connection)
    if found is None or found.model_id != instead_of:
        raise NotFound(f"the migration to {instead_of} was called off")
    states = embedding_models.c.state
    has = exists().where(vectors.c.model == embedding_models.c.id)
    retired_again = update(embedding_models).where(states == "coming", has)
    connection.execute(retired_again.values({"state": "retired", "since": at}))
    connection.execute(delete(embedding_models).where(states == "coming"))
    current = find_active(connection)
    if current is None or current.model_id != model.model_id:
        _set(connection, model, "coming", at=at)


def switch(connection: Connection, model_id: str, *, but: Collection[bytes], at: int) -> int:
    """Let the coming model answer, if every text has its vector but those of these hashes.

    Retires the active model, activates the coming one and begins a new generation of the index, all
    in the caller's transaction. Returns how many texts are missing; only at 0 has anything changed.
    Raises `NotFound` when that model is not on its way.
    """
    found = find_coming(connection)
    if found is None or found.model_id != model_id:
        raise NotFound(f"cannot switch to {model_id}: no migration to it runs any more")
    missing = set(embeddings.list_missing(connection, model_id, len(but) + 1)) - set(but)
    if missing:
        return len(missing)
    states = embedding_models.c.state
    for before, after in (("active", "retired"), ("coming", "active")):
        changed = update(embedding_models).where(states == before)
        connection.execute(changed.values({"state": after, "since": at}))
    pending.rebuild(connection, model_id)
    return 0


def cancel(connection: Connection, at: int) -> ChosenModel | None:
    """End the running migration, and return its model; what it has made is kept.

    Begun again, it goes on from there, until the model is forgotten.
    """
    found = find_coming(connection)
    if found is not None:
        _set(connection, found, "retired", at=at)
    return found


def forget(connection: Connection, model_id: str, limit: int) -> int:
    """Delete at most so many vectors of a retired model; after the last one it is not known at all.

    Returns how many went; 0 when none was left. Raises `Refused` for a model in use.
    """
    found = select(embedding_models.c.state).where(embedding_models.c.id == model_id)
    state = connection.execute(found).scalar()
    if state in ("active", "coming"):
        raise Refused(f"cannot forget the vectors of {model_id}: that model is {state}")
    rows = select(vectors.c.seq).where(vectors.c.model == model_id).limit(limit)
    gone = connection.execute(delete(vectors).where(vectors.c.seq.in_(rows))).rowcount
    if not gone:
        connection.execute(delete(file_vectors).where(file_vectors.c.model == model_id))
        connection.execute(delete(embedding_models).where(embedding_models.c.id == model_id))
    return gone


def _one(connection: Connection, which: ColumnElement[bool]) -> ChosenModel | None:
    """Return the one model for which a condition holds."""
    row = connection.execute(select(embedding_models).where(which)).one_or_none()
    if row is None:
        return None
    return ChosenModel(row.id, row.provider or "sentence-transformers", row.name, row.dimension)


def _set(connection: Connection, model: ChosenModel, state: str, *, at: int) -> None:
    """Write a model's row."""
    row = as_row(embedding_models, model, id=model.model_id, state=state, since=at)
    put_rows(connection, embedding_models, [row])
