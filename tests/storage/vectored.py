"""Ledgers with passages and vectors, made quickly and without any actor."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.memory import SearchPlace, name_index
from cortex_actors.storage import embeddings, passages
from cortex_actors.storage.ledger import connection as opening
from tests.storage.ledgers import template
from tests.storage.things import put_passages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.storage.embeddings import Matrix

#: The vector space, and its dimension.
MODEL, DIMENSION = "test/8", 8

PRIVATE, VILLAGE = "cortex_private", "cortex_village"


class Vectored:
    """A ledger with a writing and a reading engine."""

    def __init__(self, folder: Path) -> None:
        """Make an empty one."""
        path = folder / "cortex.db"
        path.write_bytes(template())
        self.writing = opening.open_writing(path)
        self.reading = opening.open_reading(path)
        opening.find_driver(self.writing).execute(
            "PRAGMA synchronous = OFF"
        )  # nobody cuts the power here
        self.chance = np.random.default_rng(1)

    def close(self) -> None:
        """Close the file."""
        self.reading.dispose()
        self.writing.dispose()

    def put(
        self, name: str, text: str, *, before: str | None = None, collection: str = PRIVATE
    ) -> None:
        """Let an item be found by a text."""
        made = passages.make_passages(text, collection=collection, item_id=name, before=before)
        with self.writing.begin() as connection:
            put_passages(connection, made)

    def put_all(self, texts: Mapping[str, tuple[str, str | None]]) -> None:
        """Let items be found by a text and the one before it, in one transaction."""
        made = [
            passage
            for name, (text, before) in texts.items()
            for passage in passages.make_passages(
                text, collection=PRIVATE, item_id=name, before=before
            )
        ]
        with self.writing.begin() as connection:
            put_passages(connection, made)

    def drop(self, *names: str, collection: str = PRIVATE) -> None:
        """Let items not be found any more."""
        with self.writing.begin() as connection:
            passages.drop(connection, collection, names)

    def embed(self, *texts: str, model: str = MODEL, rows: Sequence[Matrix] = ()) -> None:
        """Store vectors of texts, at random or as given."""
        given = rows or [self.unit() for _ in texts]
        found = {digest(text): row for text, row in zip(texts, given, strict=True)}
        with self.writing.begin() as connection:
            embeddings.keep_vectors(connection, model, found)

    def run(self, sql: str, *values: object) -> None:
        """Change the ledger past everybody."""
        with self.writing.begin() as connection:
            connection.exec_driver_sql(sql, values)

    def unit(self) -> Matrix:
        """Return a random vector of length 1."""
        vector = self.chance.standard_normal(DIMENSION).astype(np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def digest(text: str) -> bytes:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).digest()


def naive(
    connection: Connection, vector: Matrix, *, model: str, depth: int
) -> dict[str, list[tuple[str, str]]]:
    """Return what is nearest, as plainly as SQL and a loop can say it."""
    rows = connection.exec_driver_sql(
        "SELECT collection, item_id, place, vector FROM passages JOIN vectors USING (text_hash)"
        " WHERE model = ?",
        (model,),
    ).all()
    lists: dict[str, list[tuple[float, str, str]]] = {"dense_alone": [], "dense_paired": []}
    for collection, item, place, blob in rows:
        row = np.frombuffer(blob, np.float32).astype(np.float64)
        if len(row) != len(vector) or not np.isfinite(row).all():
            continue
        entry = (-float(np.einsum("i,i->", row, vector.astype(np.float64))), item, collection)
        if place != SearchPlace.PAIRED:
            lists["dense_alone"].append(entry)
        if place != SearchPlace.ALONE:
            lists["dense_paired"].append(entry)
    return {
        name: [(collection, item) for _, item, collection in sorted(some)[:depth]]
        for name, some in lists.items()
    }


def held_by(connection: Connection, index: str) -> list[tuple[str, Matrix]]:
    """Return what a collection of an index that was told everything holds."""
    rows = connection.exec_driver_sql(
        "SELECT collection, item_id, place, vector FROM passages JOIN vectors USING (text_hash)"
        " WHERE model = ?",
        (MODEL,),
    )
    return [
        (item, np.frombuffer(blob, np.float32))
        for collection, item, place, blob in rows
        if name_index(collection, SearchPlace(place)) == index
    ]
