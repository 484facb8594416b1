"""Dense: the passages whose vectors are nearest to a question's.

The vector index names candidates where it is quicker, and everything else is compared exactly. It
never decides what is found: what it names is looked up in the ledger and compared again, what it
does not hold yet is compared with it, and where it names too few it is not believed.

Compared: the cosines of a question with rows, in memory or in the ledger, and the nearest.

Rows are compared in single precision, all at once or gathered, and each way rounds a little
otherwise. So the nearest are compared once more, row by row in double precision: an answer does not
depend on how it was found, and equal vectors have equal cosines.
"""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from cortex_actors.domain.memory import SearchPlace
from cortex_actors.errors import ActorAway, DeadlineExceeded, IndexDown
from cortex_actors.rules.ranking.fusion import (
    MOST_WAITING,
    SUBSET_SHARE,
    FusionKind,
    FusionPlan,
    plan,
)
from cortex_actors.storage import embeddings
from cortex_actors.storage.search.matrix import (
    ALONE,
    MARGIN,
    PAIRED,
    CollectionPart,
    VectorMatrix,
    View,
)
from cortex_actors.storage.search.query import ListedItem
from cortex_actors.storage.tables.dialect import execute, execute_for, find_newest
from cortex_actors.storage.tables.schema import passages

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import CompoundSelect, Connection, Select

    from cortex_actors.storage.embeddings import Matrix


#: Rows from which on a second thread compares half of them: one alone does not use all of the
#: memory's speed (100,000 rows: 13.1 ms, with two 7.9).
_HALVED = 20_000

#: Rows gathered at once: at 384 numbers they fit into a core's own cache.
_GATHER = 1_024

#: Rows read from the ledger at once: 3 MB of vectors.
_READ = 2_000

#: Passages with their vectors; JSON brings any number of them, or of parts, into one statement.
_STREAM = (
    "SELECT p.id, p.item_id, p.collection, p.place, v.vector FROM passages AS p"
    " CROSS JOIN vectors AS v ON v.text_hash = p.text_hash"
    " WHERE v.model = ?2 AND "
)
_OF_IDS = "p.id IN :numbers"
_OF_PLACES = "(p.collection || '/' || p.place IN (SELECT value FROM :each(?3) AS some) OR {})"

#: The lists that a passage is in, by its place.
_LISTS = {SearchPlace.ALONE: ALONE, SearchPlace.PAIRED: PAIRED, SearchPlace.BOTH: ALONE | PAIRED}

#: Which lists of a part are wanted, as bits.
Wanted: TypeAlias = "Mapping[CollectionPart, int]"


class Compared(NamedTuple):
    """Passages and their cosines; the arrays are of one length."""

    ids: NDArray[np.int64]
    lists: NDArray[np.uint8]
    cosines: NDArray[np.float32]

    def find_nearest(self, lists: int, depth: int, gone: Sequence[int]) -> NDArray[np.int64]:
        """Return the `depth` nearest passages of a list, and all that may be as near."""
        mine = (self.lists & lists) != 0
        if gone:
            mine &= ~np.isin(self.ids, gone)
        if np.count_nonzero(mine) > depth:
            cosines = np.where(mine, self.cosines, np.float32(-np.inf))
            last = np.partition(cosines, len(cosines) - depth)[len(cosines) - depth]
            mine = cosines >= last - MARGIN
        return self.ids[np.flatnonzero(mine)]


class DenseRow(NamedTuple):
    """A passage that is near, compared exactly."""

    passage: int
    item_id: str
    part: CollectionPart
    lists: int
    cosine: float


class MatrixRows:
    """Rows of the matrix."""

    def __init__(self, view: View, allowed: NDArray[np.int64] | None = None) -> None:
        """Look at them as they are at this moment, and at those passages alone; None for all."""
        self._view = view
        self._seen = ~view.gone
        if allowed is not None:
            mine = np.zeros(len(view), np.bool_)
            mine[view.find(allowed)] = True
            self._seen &= mine

    def find(self, ids: Sequence[int]) -> set[int]:
        """Return which of those passages are looked at."""
        places = self._view.find(np.array(ids, np.int64))
        return set(self._view.ids[places[self._seen[places]]].tolist())

    def count_rows(self, lists: int) -> dict[CollectionPart, int]:
        """Return how many rows of a list each part has."""
        view = self._view
        mine = ((view.lists & lists) != 0) & self._seen
        # There are few parts: each is counted, so that no rows are gathered.
        many = (np.count_nonzero(mine & (view.parts == at)) for at in range(len(view.known)))
        return dict(zip(view.known, map(int, many), strict=True))

    def compare(self, vector: Matrix, all_of: Wanted, ids: NDArray[np.int64]) -> Compared:
        """Compare with all rows at once, or gather those that count, whichever is quicker."""
        view = self._view
        # Some lists in order, one behind the other: "stable" sees that, 0.1 ms instead of 4.
        places: NDArray[np.intp] = np.sort(view.find(ids), kind="stable")
        if all_of:  # else no more than the list is gone through, however many rows there are
            table = np.array([all_of.get(part, 0) for part in view.known], np.uint8)
            wanted = ((table[view.parts] & view.lists) != 0) & self._seen
            wanted[places] = True
            places = np.flatnonzero(wanted)
        if len(places) > len(view.rows) * SUBSET_SHARE:
            every = _compared_all(view.rows, vector)
            if len(places) == len(every):  # gathering them would take 1 ms of 100,000
                return Compared(view.ids, view.lists, every)
            cosines = every[places]
        else:
            cosines = gather_cosines(view.rows, vector, places)
        return Compared(view.ids[places], view.lists[places], cosines)

    def score_rows(self, vector: Matrix, ids: NDArray[np.int64]) -> list[DenseRow]:
        """Return passages that were compared with their exact cosines, in no order."""
        view, known, items = self._view, self._view.known, self._view.items
        places = view.find(ids)
        columns = (each[places].tolist() for each in (view.ids, view.parts, view.lists))
        found = zip(
            places.tolist(), *columns, compute_exact(view.rows[places], vector), strict=True
        )
        return [DenseRow(each, items[at], known[part], b, c) for at, each, part, b, c in found]


def _compared_all(rows: Matrix, vector: Matrix) -> NDArray[np.float32]:
    """Return the cosines of all rows."""
    every, half = np.empty(len(rows), np.float32), len(rows) // 2
    if len(rows) < _HALVED:
        return np.matmul(rows, vector, out=every)
    with ThreadPoolExecutor(1, "compare") as second:  # 0.2 ms; no thread is left behind
        first = second.submit(np.matmul, rows[:half], vector, every[:half])
        np.matmul(rows[half:], vector, out=every[half:])
        first.result()
    return every


class Stored:
    """Rows of the ledger, read whenever they are needed: slow, and however many there are."""

    def __init__(self, connection: Connection, model: str) -> None:
        """Read a model's vectors."""
        self._connection = connection
        self._model = model

    def count_rows(self, lists: int) -> dict[CollectionPart, int]:
        """Return how many passages of a list each part has, with or without vectors."""
        query = "SELECT collection, place, count(*) FROM passages GROUP BY collection, place"
        found: dict[CollectionPart, int] = {}
        for collection, place, count in execute(self._connection, query):
            part = CollectionPart(collection, place == SearchPlace.PAIRED)
            found[part] = found.get(part, 0) + (count if _LISTS[place] & lists else 0)
        return found

    def find(self, ids: Sequence[int]) -> set[int]:
        """Return those passages: all are looked at."""
        return set(ids)

    def compare(self, vector: Matrix, all_of: Wanted, ids: NDArray[np.int64]) -> Compared:
        """Compare with all of those parts that is in their lists, and with those passages."""
        places = [
            f"{part.collection}/{place}"
            for part, lists in all_of.items()
            for place in (
                (SearchPlace.PAIRED,) if part.is_paired else (SearchPlace.ALONE, SearchPlace.BOTH)
            )
            if _LISTS[place] & lists
        ]
        where = _OF_PLACES.format(_OF_IDS) if places else _OF_IDS
        found: list[Any] = []
        cosines = [np.zeros(0, np.float32)]
        for some, rows in self._blocks(where, ids, *([json.dumps(places)] if places else [])):
            found += some
            cosines.append(rows @ vector)
        return Compared(
            ids=np.array([row[0] for row in found], np.int64),
            lists=np.array([_LISTS[row[3]] for row in found], np.uint8),
            cosines=np.concatenate(cosines),
        )

    def score_rows(self, vector: Matrix, ids: NDArray[np.int64]) -> list[DenseRow]:
        """Return passages that were compared with their exact cosines, in no order."""
        return [
            DenseRow(
                row[0],
                row[1],
                CollectionPart(row[2], row[3] == SearchPlace.PAIRED),
                _LISTS[row[3]],
                cosine,
            )
            for some, rows in self._blocks(_OF_IDS, ids)
            for row, cosine in zip(some, compute_exact(rows, vector), strict=True)
        ]

    def _blocks(
        self, where: str, ids: NDArray[np.int64], *more: str
    ) -> Iterator[tuple[list[Any], Matrix]]:
        """Yield passages with their vectors; those that are damaged are left out."""
        query = _STREAM + where
        given = json.dumps(ids.tolist()), self._model, *more
        found = execute(self._connection, query, *given)
        length = 0
        while some := found.fetchmany(_READ):
            length = length or embeddings.find_usual_length(row[-1] for row in some)
            rows, sound = embeddings.to_rows([row[-1] for row in some], length)
            yield [row[:-1] for row, good in zip(some, sound, strict=True) if good], rows[sound]


#: Where vectors are: in memory or in the ledger.
Rows: TypeAlias = MatrixRows | Stored


def gather_cosines(rows: Matrix, vector: Matrix, places: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the cosines of some rows, gathered a piece at a time so that it stays in a cache."""
    found = np.empty(len(places), np.float32)
    for start in range(0, len(places), _GATHER):
        some = places[start : start + _GATHER]
        found[start : start + len(some)] = rows[some] @ vector
    return found


def compute_exact(rows: Matrix, vector: Matrix) -> list[float]:
    """Return cosines that depend on nothing but the row and the vector: no product of matrices."""
    if not len(rows):  # they have no length then, which einsum would compare
        return []
    found: list[float] = np.einsum(
        "ij,j->i", rows.astype(np.float64), vector.astype(np.float64)
    ).tolist()
    return found


log = logging.getLogger("cortex.search")

#: The lists, and the bit of the rows that are in them.
LISTS = {"dense_alone": ALONE, "dense_paired": PAIRED}

#: Neighbours asked of the index beyond those wanted: some may have gone, or the index lacks them.
SLACK = 20

#: Filters of which is remembered whether most rows pass them.
_FILTERS = 256

#: Times the nearest are looked up on their own; then all that is gone is looked for at once.
_TRIES = 2


class DenseNeighbours(Protocol):
    """Asks the index for the nearest items of collections."""

    async def __call__(
        self, collections: Sequence[str], vector: Matrix, limit: int
    ) -> Mapping[str, list[tuple[str, float]]]:
        """Return (id, cosine) by collection, best first; raises `IndexDown` when it cannot."""


@dataclass(frozen=True, slots=True)
class DenseQuestion:
    """A question, and what the index named before the ledger was read."""

    vector: Matrix
    model: str
    depth: int
    #: Empty for all.
    collections: tuple[str, ...] = ()
    #: What leaves passages out; None for nothing.
    narrowed: Hashable = None
    #: What the index named, where it was asked and answered.
    named: Mapping[CollectionPart, Sequence[str]] = field(default_factory=dict)


class DenseResult(NamedTuple):
    """The nearest of each list, best first and ties by item, and how they were found."""

    plan: FusionPlan
    lists: Mapping[str, list[ListedItem]]


class Dense:
    """Finds the nearest passages of one model; a question of another is compared without it."""

    def __init__(self, neighbours: DenseNeighbours, *, model: str, matrix: VectorMatrix) -> None:
        """Ask the index through `neighbours`, and compare in the matrix, which is the model's."""
        self._neighbours = neighbours
        self._model = model
        self._matrix = matrix
        #: Whether the index answered when it was asked last.
        self.has_index = False
        #: Rows of each part where they do not fit into memory, and which filters most rows pass.
        self._stored: Mapping[CollectionPart, int] = {}
        self._broad: dict[Hashable, bool] = {}

    async def ask(
        self,
        vector: Matrix,
        *,
        model: str,
        depth: int,
        narrowed: Hashable = None,
        collections: tuple[str, ...] = (),
    ) -> DenseQuestion:
        """Ask the index if it helps; return what `find_nearest` needs. Reads nothing, never fails.

        `depth` is how many neighbours each list is to have, `narrowed` what leaves passages out:
        where most passed it the last time, the index is asked for twice as many, and else it is of
        no use.
        """
        flat = np.ascontiguousarray(vector, np.float32).reshape(-1)
        is_asked = model == self._model and (narrowed is None or self._broad.get(narrowed, False))
        parts = [
            part
            for part, count in (self._matrix.get_counts() or self._stored).items()
            if is_asked and count and (not collections or part.collection in collections)
        ]
        limit = (depth + SLACK) * (1 if narrowed is None else 2)
        named = await self._named(parts, flat, limit) if parts else {}
        return DenseQuestion(flat, model, depth, collections, narrowed, named)

    def find_nearest(
        self,
        connection: Connection,
        asked: DenseQuestion,
        allowed: Select[Any] | CompoundSelect[Any] | NDArray[np.int64] | None,
    ) -> DenseResult:
        """Return the nearest (in a read transaction, on its thread).

        `allowed` selects the numbers of the passages that may be found, or is these; None for all.
        """
        view = self._matrix.find_view(connection) if asked.model == self._model else None
        if allowed is not None and not isinstance(allowed, np.ndarray):
            allowed = np.array(connection.execute(allowed).scalars().all(), np.int64)
        rows = Stored(connection, asked.model) if view is None else MatrixRows(view, allowed)
        if allowed is None:
            if view is None and asked.model == self._model:
                self._stored = rows.count_rows(ALONE | PAIRED)
            return self._with_index(connection, rows, asked)
        is_broad = view is not None and len(allowed) > len(view) * SUBSET_SHARE
        is_new = not self._broad.get(asked.narrowed, False)
        if asked.narrowed is not None:
            if len(self._broad) >= _FILTERS:
                self._broad.clear()
            self._broad[asked.narrowed] = is_broad
        if is_broad and asked.named:
            return self._with_index(connection, rows, asked)
        return _among(rows if view is None else MatrixRows(view), asked, allowed, is_new=is_new)

    def load(self, connection: Connection) -> bool:
        """Read some of the vectors that are kept in memory; True when there are no more."""
        return self._matrix.bring_more(connection)

    def compute_cosines(
        self, connection: Connection, asked: DenseQuestion, *, ids: NDArray[np.int64]
    ) -> dict[int, float]:
        """Return the exact cosines of passages, by their numbers, of those that have a vector."""
        view = self._matrix.find_view(connection) if asked.model == self._model else None
        rows = MatrixRows(view) if view is not None else Stored(connection, asked.model)
        return {each.passage: each.cosine for each in rows.score_rows(asked.vector, ids)}

    def take_damaged(self) -> list[bytes]:
        """Return the hashes of texts whose vectors were found damaged since it was asked last."""
        return self._matrix.take_damaged()

    async def _named(
        self, parts: Sequence[CollectionPart], vector: Matrix, limit: int
    ) -> dict[CollectionPart, list[str]]:
        """Return the items that the index names; none when it does not answer."""
        try:
            found = await self._neighbours([part.index for part in parts], vector, limit)
        except (IndexDown, ActorAway, DeadlineExceeded) as error:
            log.debug("every vector is compared instead: %s", error)
            self.has_index = False
            return {}
        self.has_index = True
        return {part: [item for item, _ in found[part.index]] for part in parts}

    def _with_index(self, connection: Connection, rows: Rows, asked: DenseQuestion) -> DenseResult:
        """Return the nearest of those rows, with what the index named."""
        whole, named, chosen = _choose(connection, rows, asked)
        compared = rows.compare(asked.vector, whole, np.array(named, np.int64))
        known = "SELECT id FROM passages WHERE id IN :numbers"
        gone: list[int] = []
        lists: dict[str, list[ListedItem]] = {}
        for name, bit in LISTS.items():
            ids = compared.find_nearest(bit, asked.depth, gone)
            for tries in range(_TRIES + 1):
                # Those that the ledger does not have.
                wanted = (compared.ids if tries == _TRIES else ids).tolist()
                there = {each for (each,) in execute_for(connection, known, wanted)}
                left = [each for each in wanted if each not in there]
                if not left:
                    break
                gone += left
                ids = compared.find_nearest(bit, asked.depth, gone)
            lists[name] = _best(rows.score_rows(asked.vector, ids), asked.depth)
        if gone:  # what this transaction does not see yet has not
            last = find_newest(connection, passages)
            self._matrix.mark_gone(each for each in gone if each <= last)
        return DenseResult(chosen, lists)


def _choose(
    connection: Connection, rows: Rows, asked: DenseQuestion
) -> tuple[dict[CollectionPart, int], list[int], FusionPlan]:
    """Return which rows a broad question is compared with, for each part and either list of it.

    These are lists of parts that are compared as a whole, passages that the index named or does not
    hold, and how the largest list is searched.
    """
    exact: dict[CollectionPart, int] = {}
    chosen, largest = FusionPlan(FusionKind.EXACT, "there is nothing to compare with"), 0
    looked = {
        part: _look_up(connection, part, rows=rows, items=items)
        for part, items in asked.named.items()
    }
    for bit in LISTS.values():
        for part, total in rows.count_rows(bit).items():
            if not total or (asked.collections and part.collection not in asked.collections):
                continue
            (waiting, _, settled), most = looked.get(part, (0, [], {})), asked.depth
            found = plan(total, waiting=waiting, index_ready=part in looked)
            is_exact = part not in looked or found.kind is FusionKind.EXACT
            if not is_exact and settled[bit] < min(most, total - waiting):
                why = f"the index names too few; all {total} rows are compared"
                found = FusionPlan(FusionKind.EXACT, why, "index names too few")
            if found.kind is FusionKind.EXACT:
                exact[part] = exact.get(part, 0) | bit
            if total > largest:
                chosen, largest = found, total
    return exact, [each for _, ids, _ in looked.values() for each in ids], chosen


def _look_up(
    connection: Connection, part: CollectionPart, *, rows: Rows, items: Sequence[str]
) -> tuple[int, list[int], dict[int, int]]:
    """Return what the ledger says about the rows that the index named of a part.

    How many items the index lacks, the passages of these and of what it named, and how many of
    each list it holds and named.
    """
    waits = "SELECT DISTINCT item_id FROM index_ops WHERE collection = ? LIMIT ?"
    late = {each for (each,) in execute(connection, waits, part.index, MOST_WAITING + 1)}
    query = (
        "SELECT id, item_id, place FROM passages WHERE collection = ?2"
        " AND (place = 'paired') = ?3 AND item_id IN :ids"
    )
    known = execute_for(connection, query, {*items, *late}, part.collection, part.is_paired)
    found = known.fetchall()
    seen = rows.find([each for each, _, _ in found])
    lists = [_LISTS[place] for each, item, place in found if each in seen and item not in late]
    settled = {bit: sum(bool(each & bit) for each in lists) for bit in LISTS.values()}
    return len(late), sorted(seen), settled


def _among(
    rows: Rows, asked: DenseQuestion, ids: NDArray[np.int64], *, is_new: bool
) -> DenseResult:
    """Return the nearest of some passages, which the same transaction has found.

    `is_new` says that the index was not to be asked for those.
    """
    total = max(sum(rows.count_rows(bit).values()) for bit in LISTS.values())
    compared = rows.compare(asked.vector, {}, ids)
    lists = {
        name: _best(
            rows.score_rows(asked.vector, compared.find_nearest(bit, asked.depth, ())), asked.depth
        )
        for name, bit in LISTS.items()
    }
    return DenseResult(plan(max(total, len(ids)), len(ids), index_ready=is_new), lists)


def _best(rows: list[DenseRow], depth: int) -> list[ListedItem]:
    """Return the nearest rows, ties by item."""
    rows.sort(key=lambda row: (-row.cosine, row.item_id, row.part.collection))
    return [ListedItem(row.part.collection, row.item_id, row.cosine) for row in rows[:depth]]
