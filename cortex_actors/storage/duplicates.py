"""Duplicates: pairs of memories whose texts are nearly the same, by their stored vectors.

Every memory is compared with every other: exact, and the cost grows with the square of their
number (docs/attention.md says what that comes to). Products of matrices in single precision pick
the pairs, which are compared once more in double precision, so that a pair's cosine depends on
nothing but its two texts. It is done a block at a time, so that whoever waits for it can be called
off between two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.storage import blobs
from cortex_actors.storage.schema import memories, memory_apart, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement

    from cortex_actors.storage.blobs import Matrix

#: Memories that are compared at most, the newest: 150 MB of vectors of 384 numbers.
MOST = 100_000

#: Vectors read at once: 3 MB.
READ = 2_000

#: Rows of the two sides that are multiplied at once: 8 MB of cosines.
_ROWS, _BLOCK = 512, 4_096

#: How far a cosine in single precision may be off: more than a hundred roundings of 6e-8.
_MARGIN = 1e-5


class Pair(NamedTuple):
    """Two memories, the lesser id first, and the cosine of their texts."""

    left: str
    right: str
    cosine: float


@dataclass(slots=True)
class Texts:
    """The memories that are compared, in the order of their ids."""

    ids: list[str] = field(default_factory=list)
    parts: list[Matrix] = field(default_factory=list)

    def rows(self) -> Matrix:
        """Return all vectors, one for each id."""
        return np.concatenate(self.parts) if self.parts else np.zeros((0, 0), np.float32)


def page(
    connection: Connection, model: str, before: str | None, *where: ColumnElement[bool]
) -> tuple[list[str], list[bytes]]:
    """Return the next memories before an id that have a vector, newest first, with these."""
    row = memories.c
    query = (
        select(row.id, vectors.c.vector)
        .join(vectors, vectors.c.text_hash == row.text_hash)
        .where(vectors.c.model == model, row.status == MemoryStatus.ACTIVE, *where)
        .order_by(row.id.desc())
        .limit(READ)
    )
    if before is not None:
        query = query.where(row.id < before)
    found = connection.execute(query).all()
    return [each.id for each in found], [each.vector for each in found]


def texts(ids: Sequence[str], some: Sequence[bytes]) -> Texts:
    """Return memories with their vectors, in the order of their ids; damaged ones do not count."""
    length = blobs.usual_length(some[:READ])
    rows, sound = blobs.rows(some, length)
    order = [place for place in np.argsort(np.array(ids)).tolist() if sound[place]]
    return Texts([ids[place] for place in order], [rows[order]] if order else [])


def apart(connection: Connection) -> frozenset[tuple[str, str]]:
    """Return the pairs that somebody has taken apart: they are no duplicates."""
    rows = connection.execute(select(memory_apart.c.left_id, memory_apart.c.right_id))
    return frozenset((left, right) for left, right in rows)


class Search:
    """Finds the nearest pairs among some texts, a step at a time."""

    def __init__(
        self,
        some: Texts,
        *,
        threshold: float,
        limit: int,
        apart: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Look for pairs at least as near as `threshold`; keep the best `limit` of them."""
        self._ids, self._rows = some.ids, some.rows()
        self._threshold = threshold
        self._limit = limit
        places = {each: place for place, each in enumerate(some.ids)}
        known = [pair for pair in apart if places.keys() >= set(pair)]
        #: Pairs that do not count, each as one number.
        self._apart = self._numbers(
            np.array([places[left] for left, _ in known], np.intp),
            np.array([places[right] for _, right in known], np.intp),
        )
        self._best = _none()
        self._total = 0

    def steps(self) -> Iterator[int]:
        """Yield where each step begins."""
        return iter(range(0, len(self._ids), _ROWS))

    def step(self, start: int) -> None:
        """Compare some memories with themselves and all behind them; on a thread."""
        asked = self._rows[start : start + _ROWS]
        for first in range(start, len(self._ids), _BLOCK):
            block = self._rows[first : first + _BLOCK]
            left, right = np.nonzero(asked @ block.T >= self._threshold - _MARGIN)
            left, right = left + start, right + first
            left, right = left[left < right], right[left < right]
            self._keep(left, right)

    def found(self) -> tuple[list[Pair], int]:
        """Return the best pairs, the nearest first, ties by id; and how many there are in all."""
        columns = (column.tolist() for column in self._best)
        pairs = [
            Pair(self._ids[left], self._ids[right], min(cosine, 1.0))
            for left, right, cosine in zip(*columns, strict=True)
        ]
        return pairs, self._total

    def _keep(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> None:
        """Count pairs that are near enough, and keep the best of them and of those before."""
        for start in range(0, len(left), _BLOCK):
            one, other = left[start : start + _BLOCK], right[start : start + _BLOCK]
            cosines = np.einsum(
                "ij,ij->i",
                self._rows[one].astype(np.float64),
                self._rows[other].astype(np.float64),
            )
            near = cosines >= self._threshold
            near &= ~np.isin(self._numbers(one, other), self._apart)
            self._total += int(near.sum())
            some = (one[near], other[near], cosines[near])
            both = tuple(map(np.concatenate, zip(self._best, some, strict=True)))
            order = np.lexsort((both[1], both[0], -both[2]))[: self._limit]
            self._best = (both[0][order], both[1][order], both[2][order])

    def _numbers(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return pairs as one number each."""
        return left * len(self._ids) + right


def _none() -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return no pairs."""
    return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float64)
