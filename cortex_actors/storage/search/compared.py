"""Compared: the cosines of a question with rows, in memory or in the ledger, and the nearest.

Rows are compared in single precision, all at once or gathered, and each way rounds a little
otherwise. So the nearest are compared once more, row by row in double precision: an answer does not
depend on how it was found, and equal vectors have equal cosines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from cortex_actors.domain.memory import Place
from cortex_actors.rules.fusion import SUBSET_SHARE
from cortex_actors.storage import embeddings
from cortex_actors.storage.heldrows import ALONE, PAIRED, Part

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.heldrows import View

#: How far a cosine in single precision may be off: more than a hundred roundings of 6e-8.
_MARGIN = 1e-5

#: Rows gathered at once: at 384 numbers they fit into a core's own cache.
_GATHER = 1_024

#: Rows read from the ledger at once: 3 MB of vectors.
_READ = 2_000

#: Passages with their vectors; JSON brings any number of them, or of parts, into one statement.
_STREAM = (
    "SELECT p.id, p.item_id, p.collection, p.place, v.vector FROM passages AS p"
    " CROSS JOIN vectors AS v ON v.text_hash = p.text_hash"
    " WHERE v.model = ? AND "
)
_OF_PLACES = "p.collection || '/' || p.place IN (SELECT value FROM json_each(?))"
_OF_IDS = "p.id IN (SELECT value FROM json_each(?))"

#: The lists that a passage is in, by its place.
_LISTS = {Place.ALONE: ALONE, Place.PAIRED: PAIRED, Place.BOTH: ALONE | PAIRED}

#: Which lists of a part are wanted, as bits.
Wanted: TypeAlias = "Mapping[Part, int]"


@dataclass(frozen=True, slots=True)
class Compared:
    """Passages and their cosines; the arrays are of one length."""

    ids: NDArray[np.int64]
    lists: NDArray[np.uint8]
    cosines: NDArray[np.float32]

    def nearest(self, lists: int, depth: int, gone: Sequence[int]) -> NDArray[np.int64]:
        """Return the `depth` nearest passages of a list, and all that may be as near."""
        places = np.flatnonzero(self.lists & lists)
        if gone:
            places = places[~np.isin(self.ids[places], gone)]
        if len(places) > depth:
            cosines = self.cosines[places]
            last = np.partition(cosines, len(places) - depth)[len(places) - depth]
            places = places[cosines >= last - _MARGIN]
        return self.ids[places]


@dataclass(frozen=True, slots=True)
class Row:
    """A passage that is near, compared exactly."""

    passage: int
    item_id: str
    part: Part
    lists: int
    cosine: float


class Rows(Protocol):
    """Where vectors are: in memory or in the ledger."""

    def counts(self, lists: int) -> dict[Part, int]:
        """Return how many rows of a list each part has."""

    def compare(self, vector: Matrix, all_of: Wanted, ids: NDArray[np.int64]) -> Compared:
        """Compare with all of those parts that is in their lists, and with those passages."""

    def rows(self, vector: Matrix, ids: NDArray[np.int64]) -> list[Row]:
        """Return passages that were compared with their exact cosines, in no order."""


class Held:
    """Rows of the matrix."""

    def __init__(self, view: View) -> None:
        """Look at them as they are at this moment."""
        self._view = view

    def counts(self, lists: int) -> dict[Part, int]:
        """Return how many rows of a list each part has."""
        view = self._view
        of_list = view.parts[((view.lists & lists) != 0) & ~view.gone]
        numbers = np.bincount(of_list, minlength=len(view.known)).tolist()
        return dict(zip(view.known, numbers, strict=True))

    def compare(self, vector: Matrix, all_of: Wanted, ids: NDArray[np.int64]) -> Compared:
        """Compare with all rows at once, or gather those that count, whichever is quicker."""
        view = self._view
        places: NDArray[np.intp] = np.unique(view.find(ids))
        if all_of:  # else no more than the list is gone through, however many rows there are
            table = np.array([all_of.get(part, 0) for part in view.known], np.uint8)
            wanted = ((table[view.parts] & view.lists) != 0) & ~view.gone
            wanted[places] = True
            places = np.flatnonzero(wanted)
        cosines = self._cosines(vector, places)
        return Compared(view.ids[places], view.lists[places], cosines)

    def rows(self, vector: Matrix, ids: NDArray[np.int64]) -> list[Row]:
        """Return passages that were compared with their exact cosines, in no order."""
        view = self._view
        places = view.find(ids)
        cosines = exact(view.rows[places], vector)
        return [
            Row(int(view.ids[n]), view.items[n], view.known[view.parts[n]], int(view.lists[n]), c)
            for n, c in zip(places.tolist(), cosines, strict=True)
        ]

    def _cosines(self, vector: Matrix, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the cosines of rows with a vector."""
        rows = self._view.rows
        if len(places) > len(rows) * SUBSET_SHARE:
            every: NDArray[np.float32] = rows @ vector
            return every[places]
        return gathered(rows, vector, places)


class Stored:
    """Rows of the ledger, read whenever they are needed: slow, and however many there are."""

    def __init__(self, driver: sqlite3.Connection, model: str) -> None:
        """Read a model's vectors."""
        self._driver = driver
        self._model = model

    def counts(self, lists: int) -> dict[Part, int]:
        """Return how many passages of a list each part has, with or without vectors."""
        query = "SELECT collection, place, count(*) FROM passages GROUP BY collection, place"
        found: dict[Part, int] = {}
        for collection, place, count in self._driver.execute(query):
            part = Part(collection, place == Place.PAIRED)
            found[part] = found.get(part, 0) + (count if _LISTS[place] & lists else 0)
        return found

    def compare(self, vector: Matrix, all_of: Wanted, ids: NDArray[np.int64]) -> Compared:
        """Compare with all of those parts that is in their lists, and with those passages."""
        places = [
            f"{part.collection}/{place}"
            for part, lists in all_of.items()
            for place in ((Place.PAIRED,) if part.is_paired else (Place.ALONE, Place.BOTH))
            if _LISTS[place] & lists
        ]
        wanted = ids.tolist()
        if places:
            blocks = list(self._read(vector, f"({_OF_PLACES} OR {_OF_IDS})", places, wanted))
        else:
            blocks = list(self._read(vector, _OF_IDS, wanted))
        return Compared(
            ids=np.array([row[0] for some, _ in blocks for row in some], np.int64),
            lists=np.array([_LISTS[row[3]] for some, _ in blocks for row in some], np.uint8),
            cosines=np.concatenate([np.zeros(0, np.float32), *(each for _, each in blocks)]),
        )

    def rows(self, vector: Matrix, ids: NDArray[np.int64]) -> list[Row]:
        """Return passages that were compared with their exact cosines, in no order."""
        return [
            Row(row[0], row[1], Part(row[2], row[3] == Place.PAIRED), _LISTS[row[3]], cosine)
            for some, rows in self._blocks(_OF_IDS, ids.tolist())
            for row, cosine in zip(some, exact(rows, vector), strict=True)
        ]

    def _read(
        self, vector: Matrix, where: str, *values: object
    ) -> Iterator[tuple[list[Any], NDArray[np.float32]]]:
        """Yield passages with their cosines; the vectors are let go of."""
        for some, rows in self._blocks(where, *values):
            yield some, rows @ vector

    def _blocks(self, where: str, *values: object) -> Iterator[tuple[list[Any], Matrix]]:
        """Yield passages with their vectors; those that are damaged are left out."""
        bound = [json.dumps(each) for each in values]
        found = self._driver.execute(_STREAM + where, (self._model, *bound))
        length = 0
        while some := found.fetchmany(_READ):
            length = length or embeddings.usual_length(row[-1] for row in some)
            rows, sound = embeddings.rows([row[-1] for row in some], length)
            yield [row[:-1] for row, good in zip(some, sound, strict=True) if good], rows[sound]


def gathered(rows: Matrix, vector: Matrix, places: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the cosines of some rows, gathered a piece at a time so that it stays in a cache."""
    found = np.empty(len(places), np.float32)
    for start in range(0, len(places), _GATHER):
        some = places[start : start + _GATHER]
        found[start : start + len(some)] = rows[some] @ vector
    return found


def exact(rows: Matrix, vector: Matrix) -> list[float]:
    """Return cosines that depend on nothing but the row and the vector: no product of matrices."""
    if not len(rows):  # they have no length then, which einsum would compare
        return []
    found: list[float] = np.einsum(
        "ij,j->i", rows.astype(np.float64), vector.astype(np.float64)
    ).tolist()
    return found
