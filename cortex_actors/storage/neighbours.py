"""Neighbours: the insights whose own texts are nearest to given vectors, found without an index.

One product of matrices in single precision screens all that is held in memory (the matrix that
searches use, or blocks of the ledger where it does not fit), and what passes is compared once more
in double precision: a cosine depends on the two texts and on nothing else, so that a threshold
decides the same whichever of them came first.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cortex_actors.storage import embeddings
from cortex_actors.storage.heldrows import ALONE
from cortex_actors.storage.ledger.connection import driver_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.heldrows import View
    from cortex_actors.storage.matrix import VectorMatrix

#: The collection of passages that insights are found in.
COLLECTION = "cortex_insights"

#: How far a cosine in single precision may be off: more than a hundred roundings of 6e-8.
_MARGIN = 1e-5

#: Rows multiplied at once: 6 MB of vectors, and some MB of cosines with a hundred questions.
_BLOCK = 4_096

#: Questions multiplied at once: cosines of a block with so many take 8 MB.
_ASKED = 512

#: Pairs compared in double precision at once.
_EXACT = 8_192

#: Texts that can be found, where the matrix does not hold them.
_FOUND = (
    "SELECT p.item_id, v.vector FROM passages AS p"
    " CROSS JOIN vectors AS v ON v.text_hash = p.text_hash"
    " WHERE v.model = ? AND p.collection = ? AND p.place <> 'paired'"
)

#: Texts that another one stands for: they cannot be found, so the matrix has none of them. Asked
#: as a range, because for IS NOT NULL SQLite walks all texts there are.
_MERGED = (
    "SELECT i.id, v.vector FROM insights AS i CROSS JOIN vectors AS v"
    " ON v.text_hash = i.text_hash WHERE i.superseded_by > '' AND v.model = ?"
)

_OF_IDS = (
    "SELECT i.id, v.vector FROM insights AS i CROSS JOIN vectors AS v"
    " ON v.text_hash = i.text_hash"
    " WHERE i.id IN (SELECT value FROM json_each(?)) AND v.model = ?"
)


class Near(NamedTuple):
    """An insight near a question."""

    insight_id: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors with their insights; only those at `places` count."""

    items: Sequence[str]
    rows: Matrix
    places: NDArray[np.intp]

    def pieces(self) -> Iterator[tuple[NDArray[np.intp], Matrix]]:
        """Yield places and vectors, gathered some at a time so that it costs no second copy."""
        for start in range(0, len(self.places), _BLOCK):
            some = self.places[start : start + _BLOCK]
            yield some, self.rows[some]


@dataclass(frozen=True, slots=True)
class Texts:
    """The vectors of every insight that some text can be compared with, as of one moment.

    It holds while it is used, whatever is committed meanwhile: nobody changes its rows. What is in
    it may have gone from the ledger; who uses it looks that up.
    """

    parts: tuple[Rows, ...]

    def near(self, rows: Matrix, floor: float) -> list[list[Near]]:
        """Return for each row every insight at least as near as `floor`, in no order.

        Takes a millisecond for 100 rows among 1,000 texts; on a thread.
        """
        found: list[list[Near]] = [[] for _ in rows]
        if not len(rows):
            return found
        for part in self.parts:
            for places, block in part.pieces():
                for start in range(0, len(rows), _ASKED):
                    for row, at, cosine in _passing(rows[start : start + _ASKED], block, floor):
                        found[start + row].append(Near(part.items[places[at]], cosine))
        return found


class Neighbours:
    """Finds neighbours in the vectors of one model, through the matrix that searches use."""

    def __init__(self, matrix: VectorMatrix) -> None:
        """Look into that matrix."""
        self._matrix = matrix

    @property
    def model(self) -> str:
        """The model whose vectors are compared."""
        return self._matrix.model

    @property
    def most_mb(self) -> int:
        """How many megabytes of vectors the matrix may hold."""
        return self._matrix.most_mb

    def nearest(
        self,
        connection: Connection,
        rows: Matrix,
        *,
        floor: float,
        most: int = 1,
        but: Collection[str] = (),
    ) -> list[list[Near]]:
        """Return for each row the nearest insights that can be found, best first, ties by id.

        `but` are left out. In a read transaction, on its thread.
        """
        found = self._found(connection).near(rows, floor)
        some = {each.insight_id for near in found for each in near}
        known = _findable(driver_of(connection), some) - set(but)
        return [
            sorted(
                {each for each in near if each.insight_id in known},
                key=lambda each: (-each.cosine, each.insight_id),
            )[:most]
            for near in found
        ]

    def texts(self, connection: Connection) -> Texts:
        """Return all texts that can be found and those that another stands for.

        In a read transaction; what is returned may be used after it.
        """
        merged = _ledger(driver_of(connection), _MERGED, (self.model,))
        return Texts((*self._found(connection).parts, *merged))

    def rows(self, connection: Connection, ids: Collection[str]) -> dict[str, Matrix]:
        """Return the vectors of those insights that have one."""
        driver, bound = driver_of(connection), (json.dumps(sorted(ids)), self.model)
        # One that is asked for alone cannot show that it has another length than all others.
        parts = _ledger(driver, _OF_IDS, bound, length=_length(driver, self.model))
        return {
            part.items[place]: row
            for part in parts
            for places, rows in part.pieces()
            for place, row in zip(places.tolist(), rows, strict=True)
        }

    def _found(self, connection: Connection) -> Texts:
        """Return the texts that can be found."""
        view = self._matrix.view(connection)
        if view is None:
            return Texts(tuple(_ledger(driver_of(connection), _FOUND, (self.model, COLLECTION))))
        return Texts((Rows(view.items, view.rows, _places(view)),))


def cosine(left: Matrix, right: Matrix) -> float:
    """Return the cosine of two unit vectors, as `Texts.near` has it."""
    return _clipped(float(_exact(left[np.newaxis], right[np.newaxis])[0]))


def _places(view: View) -> NDArray[np.intp]:
    """Return the rows that are an insight's own text."""
    wanted = np.array(
        [part.collection == COLLECTION and not part.is_paired for part in view.known], np.bool_
    )
    if not len(wanted):
        return np.zeros(0, np.intp)
    return np.flatnonzero(wanted[view.parts] & ((view.lists & ALONE) != 0) & ~view.gone)


def _passing(asked: Matrix, block: Matrix, floor: float) -> Iterator[tuple[int, int, float]]:
    """Yield (row asked, row of the block, exact cosine) of pairs that are near enough."""
    asks, texts = np.nonzero(asked @ block.T >= floor - _MARGIN)
    for start in range(0, len(asks), _EXACT):
        one, other = asks[start : start + _EXACT], texts[start : start + _EXACT]
        cosines = _exact(asked[one], block[other])
        passed = np.flatnonzero(cosines >= floor)
        yield from zip(
            one[passed].tolist(),
            other[passed].tolist(),
            map(_clipped, cosines[passed].tolist()),
            strict=True,
        )


def _exact(left: Matrix, right: Matrix) -> NDArray[np.float64]:
    """Return cosines that depend on nothing but the two rows: no product of matrices."""
    found: NDArray[np.float64] = np.einsum(
        "ij,ij->i", left.astype(np.float64), right.astype(np.float64)
    )
    return found


def _clipped(value: float) -> float:
    """Return a cosine that rounding has not carried past its bounds."""
    return min(max(value, -1.0), 1.0)


def _length(driver: sqlite3.Connection, model: str) -> int:
    """Return how many bytes the vectors of a model have: most of a sample."""
    query = "SELECT length(vector) FROM vectors WHERE model = ? LIMIT 100"
    lengths = Counter(each for (each,) in driver.execute(query, (model,)))
    sound = [each for each in lengths if each % embeddings.FLOAT == 0]
    return max(sound, key=lambda each: (lengths[each], each), default=0)


def _ledger(
    driver: sqlite3.Connection, query: str, bound: tuple[str, ...], *, length: int = 0
) -> list[Rows]:
    """Return ids and vectors that a query finds; those that are damaged do not count."""
    found = driver.execute(query, bound)
    parts: list[Rows] = []
    while some := found.fetchmany(_BLOCK):
        length = length or embeddings.usual_length(row[1] for row in some)
        rows, sound = embeddings.rows([row[1] for row in some], length)
        parts.append(Rows([row[0] for row in some], rows, np.flatnonzero(sound)))
    return parts


def _findable(driver: sqlite3.Connection, ids: Collection[str]) -> set[str]:
    """Return which of those insights can be found: what has gone may still be in the matrix."""
    query = (
        "SELECT item_id FROM passages WHERE collection = ?"
        " AND item_id IN (SELECT value FROM json_each(?))"
    )
    rows = driver.execute(query, (COLLECTION, json.dumps(sorted(ids))))
    return {item for (item,) in rows}
