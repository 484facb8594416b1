"""Rows of vectors held in memory, in the order in which they came, and a view of them.

Rows are only ever added behind the others or moved into new arrays, so a view that somebody
computes with stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.memory import Place, index_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cortex_actors.storage.embeddings import Matrix

#: Bits of a row's `lists`: it is searched as an item's own text, and as what follows another.
ALONE, PAIRED = 1, 2

#: Rows that room is made for at first.
_LEAST = 256


@dataclass(frozen=True, slots=True)
class Part:
    """What lies in one collection of the index: items' own texts, or those with another's."""

    collection: str
    is_paired: bool

    @property
    def index(self) -> str:
        """What the index calls it."""
        return index_of(self.collection, Place.PAIRED if self.is_paired else Place.ALONE)


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one moment; nobody changes them.

    Only `gone` may come to say more: a passage that is gone never comes back.
    """

    #: Numbers of passages.
    ids: NDArray[np.int64]
    rows: Matrix
    #: Each row's item; there may be more behind the last row.
    items: Sequence[str]
    #: Each row's part, by its number in `known`.
    parts: NDArray[np.int16]
    known: tuple[Part, ...]
    lists: NDArray[np.uint8]
    gone: NDArray[np.bool_]
    #: The rows in the order of their ids; None where they lie so.
    order: NDArray[np.int64] | None

    def __len__(self) -> int:
        """Return how many rows there are, with those that are gone."""
        return len(self.ids)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of passages; those that have no row are left out."""
        if not len(self.ids):
            return np.zeros(0, np.int64)
        near = np.searchsorted(self.ids, ids, sorter=self.order)
        near = np.minimum(near, len(self.ids) - 1)
        places = near if self.order is None else self.order[near]
        found: NDArray[np.int64] = places[self.ids[places] == ids]
        return found

    def counts(self) -> dict[Part, int]:
        """Return how many rows each part has, with those that are gone."""
        numbers = np.bincount(self.parts, minlength=len(self.known)).tolist()
        return dict(zip(self.known, numbers, strict=True))


class HeldRows:
    """Arrays that grow; whoever changes them sees to it that nobody else does."""

    def __init__(self, dimension: int) -> None:
        """Hold no row yet."""
        self.count = 0
        self._items: list[str] = []
        self._known: list[Part] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._last = 0
        self._is_ordered = True
        self._order: NDArray[np.int64] | None = None
        self._ids = np.zeros(0, np.int64)
        self._rows: Matrix = np.zeros((0, dimension), np.float32)
        self._parts = np.zeros(0, np.int16)
        self._lists = np.zeros(0, np.uint8)
        self._gone = np.zeros(0, np.bool_)

    @property
    def room(self) -> int:
        """How many rows fit before they are moved into larger arrays."""
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """How many bytes the vectors take, with the room for more."""
        return self._rows.nbytes

    @property
    def gone(self) -> int:
        """How many rows are known to be gone."""
        return int(np.count_nonzero(self._gone[: self.count]))

    def view(self) -> View:
        """Return the rows as they are now."""
        n = self.count
        if not self._is_ordered and self._order is None:
            self._order = np.argsort(self._ids[:n], kind="stable")
        return View(
            ids=self._ids[:n],
            rows=self._rows[:n],
            items=self._items,
            parts=self._parts[:n],
            known=tuple(self._known),
            lists=self._lists[:n],
            gone=self._gone[:n],
            order=self._order,
        )

    def reserve(self, count: int, most: int) -> None:
        """Make room for so many rows: twice as much as there is, if that is no more than `most`."""
        if count > self.room:
            room = max(count, min(most, max(2 * self.room, _LEAST)))
            self._move(np.arange(self.count), room)

    def add(
        self,
        ids: Sequence[int],
        rows: Matrix,
        *,
        items: Sequence[str],
        collections: Sequence[str],
        lists: Sequence[int],
    ) -> None:
        """Add rows behind the others; there must be room."""
        start, end = self.count, self.count + len(ids)
        self._ids[start:end] = ids
        self._rows[start:end] = rows
        self._lists[start:end] = lists
        self._parts[start:end] = list(map(self._number, collections, lists))
        self._gone[start:end] = False
        self._items.extend(items)
        self._is_ordered &= ids[0] > self._last and bool(np.all(np.diff(ids) > 0))
        self._last, self._order, self.count = max(self._last, *ids), None, end

    def mark_gone(self, ids: NDArray[np.int64]) -> None:
        """Note that passages are gone."""
        self._gone[self.view().find(ids)] = True

    def discard(self, ids: NDArray[np.int64]) -> None:
        """Take out the rows of passages at once: others of the same come in their place."""
        if len(places := self.view().find(ids)):
            self._move(np.delete(np.arange(self.count), places), self.room)

    def keep(self, ids: NDArray[np.int64]) -> None:
        """Move the rows of those passages together, and those that are newer than all of them."""
        newest = int(ids.max(initial=0))
        here = self._ids[: self.count]
        kept = (np.isin(here, ids) | (here > newest)) & ~self._gone[: self.count]
        self._move(np.flatnonzero(kept), self.room)

    def _number(self, collection: str, lists: int) -> int:
        """Return the number of a part."""
        part = self._numbers.get((collection, lists))
        if part is None:
            each = Part(collection, not lists & ALONE)
            if each not in self._known:
                self._known.append(each)
            part = self._numbers[collection, lists] = self._known.index(each)
        return part

    def _move(self, places: NDArray[np.intp], room: int) -> None:
        """Put those rows, in that order, into new arrays."""
        count = len(places)
        for name in ("_ids", "_rows", "_parts", "_lists", "_gone"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), old.dtype)
            np.take(old, places, axis=0, out=new[:count], mode="clip")
            setattr(self, name, new)
        items = self._items
        self._items = [items[place] for place in places.tolist()]
        self._order, self.count = None, count
