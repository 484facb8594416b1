"""Matrix: the vectors of every passage in memory, brought up to date by each search.

It is filled when it is first used, and each search brings in what was committed before its own
transaction began: new passages, and vectors that came later than their passages. So a search sees
whatever was written before it. What has gone from the ledger may still be here: the ledger decides
what is shown, and who finds a row gone says so.

It holds the vectors of one model. Nothing in it outlives the process; `forget` drops all of it.

Rows of vectors held in memory, in the order in which they came, and a view of them.

Rows are only ever added behind the others or moved into new arrays, so a view that is used in a
computation stays what it is.

Neighbours: the insights whose own texts are nearest to given vectors, found without an index.

One product of matrices in single precision screens all that is held in memory (the matrix that
searches use, or blocks of the ledger where it does not fit), and what passes is compared once more
in double precision: a cosine depends on the two texts and on nothing else, so that a threshold
decides the same whichever of them came first.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cortex_actors.domain.memory import SearchPlace, name_index
from cortex_actors.storage import embeddings
from cortex_actors.storage.tables.dialect import execute, execute_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.tables.dialect import Cursor


#: Bits of a row's `lists`: it is searched as an item's own text, and as what follows another.
ALONE, PAIRED = 1, 2

#: Rows that room is made for at first.
_LEAST = 256


@dataclass(frozen=True, slots=True)
class CollectionPart:
    """What lies in one collection of the index: items' own texts, or those with another's."""

    collection: str
    is_paired: bool

    @property
    def index(self) -> str:
        """What the index calls it."""
        return name_index(
            self.collection, SearchPlace.PAIRED if self.is_paired else SearchPlace.ALONE
        )


@dataclass(frozen=True, slots=True)
class View:
    """The rows of one moment; they never change.

    Only `gone` may come to say more: a passage that is gone never comes back.
    """

    #: Numbers of passages.
    ids: NDArray[np.int64]
    rows: Matrix
    #: Each row's item; there may be more behind the last row.
    items: Sequence[str]
    #: Each row's part, by its number in `known`.
    parts: NDArray[np.int16]
    known: tuple[CollectionPart, ...]
    lists: NDArray[np.uint8]
    gone: NDArray[np.bool_]
    #: The place of each passage by its number, -1 for none; some may lie behind the last row.
    places: NDArray[np.int32]

    def __len__(self) -> int:
        """Return how many rows there are, with those that are gone."""
        return len(self.ids)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of passages; those that have no row are left out."""
        places = self.places[ids[ids < len(self.places)]]
        return places[(places >= 0) & (places < len(self.ids))].astype(np.int64)

    def count_rows(self) -> dict[CollectionPart, int]:
        """Return how many rows each part has, with those that are gone."""
        numbers = np.bincount(self.parts, minlength=len(self.known)).tolist()
        return dict(zip(self.known, numbers, strict=True))


class HeldRows:
    """Arrays that grow; the caller that changes them sees to it that no other does."""

    def __init__(self, dimension: int) -> None:
        """Hold no row yet."""
        self.count = 0
        self._items: list[str] = []
        self._known: list[CollectionPart] = []
        self._places = np.zeros(0, np.int32)
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

    def make_view(self) -> View:
        """Return the rows as they are now."""
        n = self.count
        return View(
            ids=self._ids[:n],
            rows=self._rows[:n],
            items=self._items,
            parts=self._parts[:n],
            known=tuple(self._known),
            lists=self._lists[:n],
            gone=self._gone[:n],
            places=self._places,
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
        pairs = list(zip(collections, lists, strict=True))
        numbers = {pair: self._number(*pair) for pair in set(pairs)}
        self._parts[start:end] = [numbers[pair] for pair in pairs]
        self._gone[start:end] = False
        self._items.extend(items)
        self.count = end
        self._place(start)

    def mark_gone(self, ids: NDArray[np.int64]) -> None:
        """Note that passages are gone."""
        self._gone[self.make_view().find(ids)] = True

    def discard(self, ids: NDArray[np.int64]) -> None:
        """Take out the rows of passages at once: others of the same come in their place."""
        if len(places := self.make_view().find(ids)):
            self._move(np.delete(np.arange(self.count), places), self.room)

    def keep(self, ids: NDArray[np.int64]) -> None:
        """Move the rows of those passages together, and those that are newer than all of them."""
        newest = int(ids.max(initial=0))
        here = self._ids[: self.count]
        kept = (np.isin(here, ids) | (here > newest)) & ~self._gone[: self.count]
        self._move(np.flatnonzero(kept), self.room)

    def _number(self, collection: str, lists: int) -> int:
        """Return the number of a part."""
        part = CollectionPart(collection, not lists & ALONE)
        if part not in self._known:
            self._known.append(part)
        return self._known.index(part)

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
        self._places, self.count = np.zeros(0, np.int32), count
        self._place(0)

    def _place(self, start: int) -> None:
        """Note the places of the rows from one on."""
        new = self._ids[start : self.count]
        if (most := int(new.max(initial=-1)) + 1) > len(self._places):
            room = np.full(2 * most, -1, np.int32)
            room[: len(self._places)] = self._places
            self._places = room
        self._places[new] = np.arange(start, self.count)


#: Rows read at once: 3 MB of vectors.
_READ = 2_000

#: Passages of which vectors are loaded at once while no search waits: 30 ms of a thread.
_LOADED = 5_000

#: Rows that may be gone before the others are moved together: as a share, and at least.
_GONE_SHARE, _GONE_LEAST = 0.2, 1_000

#: Bytes of a megabyte, as the setting counts them.
_MB = 1_000_000

#: Text is read as bytes: decoding many at once takes a tenth of the time.
_COLUMNS = (
    "SELECT p.id, CAST(p.item_id AS BLOB), CAST(p.collection AS BLOB),"
    f" (p.place <> 'paired') * {ALONE} + (p.place <> 'alone') * {PAIRED}, v.text_hash, v.vector"
)

#: Passages that were not looked at yet, where they have a vector.
_NEW = (
    f"{_COLUMNS} FROM passages AS p CROSS JOIN vectors AS v ON v.text_hash = p.text_hash"
    " WHERE p.id > ? AND p.id <= ? AND v.model = ? ORDER BY p.id"
)

#: Vectors that came later than their passages. `+` keeps SQLite from the index of the model, in
#: which it would go through all of its vectors for each change.
_LATE = (
    f"{_COLUMNS} FROM vectors AS v CROSS JOIN passages AS p ON p.text_hash = v.text_hash"
    " WHERE v.seq > ? AND +v.model = ? AND p.id <= ? ORDER BY v.seq, p.id"
)

#: The newest of either, looked up and not searched for; and whose the ledger is: another owner may
#: have recovered it, and then its numbers mean something else.
_NEWEST = (
    "SELECT coalesce((SELECT max(id) FROM passages), 0),"
    " coalesce((SELECT max(seq) FROM vectors), 0), coalesce((SELECT max(epoch) FROM owner), 0)"
)

#: The model's dimension; where none is written, what most of some vectors have (4 bytes each).
_DIMENSION = (
    "SELECT coalesce((SELECT dimension FROM embedding_models WHERE id = ?1),"
    " (SELECT length(vector) / 4 FROM (SELECT vector FROM vectors WHERE model = ?1 LIMIT 1000)"
    " GROUP BY length(vector) ORDER BY count(*) DESC LIMIT 1), 0)"
)


class VectorMatrix:
    """The rows of one model; several threads may ask, and one at a time changes it."""

    def __init__(self, model: str, most_mb: int) -> None:
        """Hold the vectors of a model, in at most so many megabytes.

        Growing takes the memory of the old rows beside that of the new ones, for a moment.
        """
        self.model = model
        self.most_mb = most_mb
        self._most = most_mb * _MB
        self._lock = threading.Lock()
        self._damaged: set[bytes] = set()
        self._counts: Mapping[CollectionPart, int] = {}
        self._is_over = False
        self._epoch = 0
        self._reset()

    def find_view(self, connection: Connection) -> View | None:
        """Return the rows that the connection's transaction sees, and perhaps some later ones.

        None when they are more than fit: then they are read from the ledger each time.
        """
        with self._lock:
            if self._is_over and not self._fits(connection):
                return None
            self._is_over = not self._bring(connection)
            if self._is_over:
                self._reset()
                return None
            return self._held.make_view()

    def bring_more(self, connection: Connection) -> bool:
        """Bring in the next rows that a search would; True when there are no more."""
        with self._lock:
            before = self._passage
            self._is_over = not self._bring(connection, most=_LOADED)
            if self._is_over:
                self._reset()
            return self._is_over or self._passage == before

    def get_counts(self) -> Mapping[CollectionPart, int]:
        """Return how many rows each part had when it was last looked."""
        return self._counts

    def mark_gone(self, ids: Iterable[int]) -> None:
        """Note that the ledger has no such passages any more."""
        with self._lock:
            self._held.mark_gone(np.fromiter(ids, np.int64))

    def take_damaged(self) -> list[bytes]:
        """Return the hashes of texts whose vectors were found damaged since it was asked last."""
        with self._lock:
            found, self._damaged = sorted(self._damaged), set()
        return found

    def forget(self) -> None:
        """Drop all rows; the next search reads them again."""
        with self._lock:
            self._reset()

    def describe(self) -> dict[str, Any]:
        """Return how many rows it holds, in how many bytes, and whether they are too many."""
        with self._lock:
            rows = self._held.count - self._held.gone
            return {"rows": rows, "bytes": self._held.nbytes, "is_over": self._is_over}

    def _reset(self) -> None:
        """Hold nothing, and know nothing of the ledger."""
        self._dimension = self._passage = self._vector = 0
        self._held = HeldRows(0)

    def _fits(self, connection: Connection) -> bool:
        """Tell whether all rows would fit now; counting them is the least that a search pays."""
        (dimension,) = execute(connection, _DIMENSION, self.model).fetchone()
        (count,) = execute(connection, "SELECT count(*) FROM passages").fetchone()
        return bool(count * dimension * embeddings.FLOAT <= self._most)

    def _bring(self, connection: Connection, most: int | None = None) -> bool:
        """Bring in what came since, of at most so many passages; False when there is no room."""
        passage, vector, epoch = execute(connection, _NEWEST).fetchone()
        if epoch != self._epoch:
            self._reset()
            self._epoch = epoch
        if passage <= self._passage and vector <= self._vector:
            return True
        if most is not None:
            passage = min(passage, self._passage + most)
        if not self._dimension:
            (self._dimension,) = execute(connection, _DIMENSION, self.model).fetchone()
            self._held = HeldRows(self._dimension)
        if self._dimension and not self._bring_rows(connection, passage):
            return False
        self._passage, self._vector = max(passage, self._passage), max(vector, self._vector)
        self._counts = self._held.make_view().count_rows()
        return True

    def _bring_rows(self, connection: Connection, upto: int) -> bool:
        """Read the rows that came since, up to a passage; False when not all of them would fit."""
        since = "SELECT count(*) FROM passages WHERE id > ?"
        (new,) = execute(connection, since, self._passage).fetchone()
        if not self._make_room(connection, new):
            return False
        late = execute(connection, _LATE, self._vector, self.model, self._passage)
        if not self._read(connection, late, is_late=True):
            return False
        found = execute(connection, _NEW, self._passage, upto, self.model)
        return self._read(connection, found, is_late=False)

    def _read(self, connection: Connection, found: Cursor, *, is_late: bool) -> bool:
        """Add rows that a query finds; False when they do not fit."""
        while some := found.fetchmany(_READ):
            ids, items, collections, lists, digests, vectors = zip(*some, strict=True)
            items, collections = _texts(items), _texts(collections)
            rows, sound = embeddings.to_rows(vectors, self._dimension * embeddings.FLOAT)
            if is_late:
                self._held.discard(np.array(ids))  # where a vector was made again
            if not sound.all():
                whole = np.flatnonzero(sound).tolist()
                self._damaged.update(set(digests) - {digests[each] for each in whole})
                ids, items, collections, lists = (
                    tuple(column[each] for each in whole)
                    for column in (ids, items, collections, lists)
                )
                rows = rows[sound]
            if not ids:
                continue
            if not self._make_room(connection, len(ids)):
                return False
            self._held.add(ids, rows, items=items, collections=collections, lists=lists)
        return True

    def _make_room(self, connection: Connection, new: int) -> bool:
        """Make room for so many rows more; False when there is none.

        Before the rows are moved into larger arrays, those that have gone are left behind.
        """
        held, most = self._held, self._most // (self._dimension * embeddings.FLOAT)
        many = max(_GONE_LEAST, held.count * _GONE_SHARE)
        if held.count and (held.count + new > held.room or held.gone > many):
            living = execute(connection, "SELECT id FROM passages").fetchall()
            held.keep(np.fromiter((each for (each,) in living), np.int64, len(living)))
        if held.count + new > most:
            return False
        held.reserve(held.count + new, most)
        return True


def _texts(some: Sequence[bytes]) -> tuple[str, ...]:
    """Return texts as the ledger gives them; none of them holds a NUL."""
    return tuple(b"\0".join(some).decode("utf-8", "surrogateescape").split("\0"))


#: The collection of passages that insights are found in.
COLLECTION = "cortex_insights"

#: How far a cosine in single precision may be off: more than a hundred roundings of 6e-8.
MARGIN = 1e-5

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

#: Texts that another one represents: they cannot be found, so the matrix has none of them. Asked
#: as a range, because for IS NOT NULL SQLite walks all texts there are.
_MERGED = (
    "SELECT i.id, v.vector FROM insights AS i CROSS JOIN vectors AS v"
    " ON v.text_hash = i.text_hash WHERE i.superseded_by > '' AND v.model = ?"
)

_OF_IDS = (
    "SELECT i.id, v.vector FROM insights AS i CROSS JOIN vectors AS v"
    " ON v.text_hash = i.text_hash"
    " WHERE i.id IN :ids AND v.model = ?2"
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

    def split_pieces(self) -> Iterator[tuple[NDArray[np.intp], Matrix]]:
        """Yield places and vectors, some at a time; a copy only of what does not lie together."""
        for start in range(0, len(self.places), _BLOCK):
            some = self.places[start : start + _BLOCK]
            first, last = int(some[0]), int(some[-1])
            is_whole = np.array_equal(some, np.arange(first, last + 1))
            yield some, self.rows[first : last + 1] if is_whole else self.rows[some]


@dataclass(frozen=True, slots=True)
class InsightVectors:
    """The vectors of every insight that some text can be compared with, as of one moment.

    It holds while it is used, whatever is committed meanwhile: its rows never change. What is in
    it may have gone from the ledger; who uses it looks that up.
    """

    parts: tuple[Rows, ...]

    def find_near(self, rows: Matrix, floor: float) -> list[list[Near]]:
        """Return for each row every insight at least as near as `floor`, in no order.

        Takes a millisecond for 100 rows among 1,000 texts; on a thread.
        """
        found: list[list[Near]] = [[] for _ in rows]
        if not len(rows):
            return found
        for part in self.parts:
            for places, block in part.split_pieces():
                for start in range(0, len(rows), _ASKED):
                    for row, at, cosine in _passing(rows[start : start + _ASKED], block, floor):
                        found[start + row].append(Near(part.items[places[at]], cosine))
        return found


class Neighbours:
    """Finds neighbours in the vectors of one model, through the matrix that searches use."""

    def __init__(self, matrix: VectorMatrix) -> None:
        """Look into that matrix."""
        self._matrix = matrix
        #: The model whose vectors are compared, and the megabytes of them that the matrix may hold.
        self.model, self.most_mb = matrix.model, matrix.most_mb

    def find_nearest(
        self, connection: Connection, rows: Matrix, *, floor: float, most: int = 1
    ) -> list[list[Near]]:
        """Return for each row the nearest insights that can be found, best first, ties by id.

        In a read transaction, on its thread.
        """
        found = self.load_found(connection).find_near(rows, floor)
        some = {each.insight_id for near in found for each in near}
        # What has gone may still be in the matrix.
        findable = "SELECT item_id FROM passages WHERE collection = ?2 AND item_id IN :ids"
        known = {item for (item,) in execute_for(connection, findable, some, COLLECTION)}
        return [
            sorted(
                {each for each in near if each.insight_id in known},
                key=lambda each: (-each.cosine, each.insight_id),
            )[:most]
            for near in found
        ]

    def load_texts(self, connection: Connection) -> InsightVectors:
        """Return all texts that can be found and those that another represents.

        In a read transaction; what is returned may be used after it.
        """
        merged = _ledger(execute(connection, _MERGED, self.model))
        return InsightVectors((*self.load_found(connection).parts, *merged))

    def load_rows(self, connection: Connection, ids: Collection[str]) -> dict[str, Matrix]:
        """Return the vectors of those insights that have one."""
        # One that is asked for alone cannot show that it has another length than all others.
        sample = "SELECT vector FROM vectors WHERE model = ? LIMIT 100"
        length = embeddings.find_usual_length(
            row[0] for row in execute(connection, sample, self.model)
        )
        parts = _ledger(execute_for(connection, _OF_IDS, ids, self.model), length=length)
        return {
            part.items[place]: row
            for part in parts
            for places, rows in part.split_pieces()
            for place, row in zip(places.tolist(), rows, strict=True)
        }

    def load_found(self, connection: Connection) -> InsightVectors:
        """Return the texts that can be found, in a read transaction; it may be used after it."""
        view = self._matrix.find_view(connection)
        if view is None:
            return InsightVectors(
                tuple(_ledger(execute(connection, _FOUND, self.model, COLLECTION)))
            )
        own = [part.collection == COLLECTION and not part.is_paired for part in view.known]
        wanted = np.array(own or [False], np.bool_)
        places = np.flatnonzero(wanted[view.parts] & ((view.lists & ALONE) != 0) & ~view.gone)
        return InsightVectors((Rows(view.items, view.rows, places),))


def cosine(left: Matrix, right: Matrix) -> float:
    """Return the cosine of two unit vectors, as `InsightVectors.find_near` has it."""
    return _clipped(float(compute_pairs(left[np.newaxis], right[np.newaxis])[0]))


def _passing(asked: Matrix, block: Matrix, floor: float) -> Iterator[tuple[int, int, float]]:
    """Yield (row asked, row of the block, exact cosine) of pairs that are near enough."""
    asks, texts = np.nonzero(asked @ block.T >= floor - MARGIN)
    for start in range(0, len(asks), _EXACT):
        one, other = asks[start : start + _EXACT], texts[start : start + _EXACT]
        cosines = compute_pairs(asked[one], block[other])
        passed = np.flatnonzero(cosines >= floor)
        yield from zip(
            one[passed].tolist(),
            other[passed].tolist(),
            map(_clipped, cosines[passed].tolist()),
            strict=True,
        )


def compute_pairs(left: Matrix, right: Matrix) -> NDArray[np.float64]:
    """Return cosines that depend on nothing but the two rows: no product of matrices."""
    found: NDArray[np.float64] = np.einsum(
        "ij,ij->i", left.astype(np.float64), right.astype(np.float64)
    )
    return found


def _clipped(value: float) -> float:
    """Return a cosine that rounding has not carried past its bounds."""
    return min(max(value, -1.0), 1.0)


def _ledger(found: Cursor, *, length: int = 0) -> list[Rows]:
    """Return ids and vectors that a query finds; those that are damaged do not count."""
    parts: list[Rows] = []
    while some := found.fetchmany(_BLOCK):
        length = length or embeddings.find_usual_length(row[1] for row in some)
        rows, sound = embeddings.to_rows([row[1] for row in some], length)
        parts.append(Rows([row[0] for row in some], rows, np.flatnonzero(sound)))
    return parts
