"""Dense: the passages whose vectors are nearest to a question's.

The vector index names candidates where it is quicker, and everything else is compared exactly. It
never decides what is found: what it names is looked up in the ledger and compared again, what it
has not been told yet is compared with it, and where it names too few it is not believed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cortex_actors.errors import ActorAway, DeadlineExceeded, IndexDown
from cortex_actors.rules.fusion import MOST_WAITING, Kind, Plan, plan
from cortex_actors.storage.heldrows import ALONE, PAIRED, Part
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.search.compared import Held, Stored

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import CompoundSelect, Connection, Select

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.matrix import VectorMatrix
    from cortex_actors.storage.search.compared import Row, Rows

log = logging.getLogger("cortex.search")

#: The lists, and the bit of the rows that are in them.
LISTS = {"dense_alone": ALONE, "dense_paired": PAIRED}

#: Neighbours asked of the index beyond those wanted: some may have gone, or wait to be told.
SLACK = 20

#: Times the nearest are looked up on their own; then all that is gone is looked for at once.
_TRIES = 2


class Neighbours(Protocol):
    """Asks the index for the nearest items of a collection."""

    async def __call__(
        self, collection: str, vector: Matrix, limit: int
    ) -> list[tuple[str, float]]:
        """Return (id, cosine), best first; raises `IndexDown` when it cannot."""


@dataclass(frozen=True, slots=True)
class Near:
    """An item near the question; `score` is the cosine."""

    collection: str
    item_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what the index named before the ledger was read."""

    vector: Matrix
    model: str
    depth: int
    #: Empty for all.
    collections: tuple[str, ...] = ()
    #: What the index named, where it was asked and answered.
    named: Mapping[Part, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The nearest of each list, best first and ties by item, and how they were found."""

    plan: Plan
    lists: Mapping[str, list[Near]]


class Dense:
    """Finds the nearest passages of one model; a question of another is compared without it."""

    def __init__(self, neighbours: Neighbours, *, model: str, matrix: VectorMatrix) -> None:
        """Ask the index through `neighbours`, and compare in the matrix, which is the model's."""
        self._neighbours = neighbours
        self._model = model
        self._matrix = matrix

    async def ask(
        self,
        vector: Matrix,
        *,
        model: str,
        depth: int,
        filtered: bool = False,
        collections: tuple[str, ...] = (),
    ) -> Asked:
        """Ask the index where it is worth it; return what `near` needs. Reads nothing, never fails.

        `depth` is how many neighbours each list is to have, `filtered` whether only some passages
        will be allowed: then the index is of no use.
        """
        flat = np.ascontiguousarray(vector, np.float32).reshape(-1)
        parts = [] if filtered or model != self._model else self._worth(depth, collections)
        limit = depth + SLACK
        answers = await asyncio.gather(*(self._named(part, flat, limit) for part in parts))
        named = {part: each for part, each in zip(parts, answers, strict=True) if each is not None}
        return Asked(flat, model, depth, collections, named)

    def near(
        self,
        connection: Connection,
        asked: Asked,
        allowed: Select[Any] | CompoundSelect[Any] | NDArray[np.int64] | None,
    ) -> Answer:
        """Return the nearest (in a read transaction, on its thread).

        `allowed` selects the numbers of the passages that may be found, or is these; None for all.
        """
        rows = self._rows(connection, asked.model)
        if allowed is not None:
            return _among(rows, asked, _ids(connection, allowed))
        return self._broad(connection, rows, asked)

    def damaged(self) -> list[bytes]:
        """Return the hashes of texts whose vectors were found damaged since it was asked last."""
        return self._matrix.damaged()

    def _worth(self, depth: int, collections: tuple[str, ...]) -> list[Part]:
        """Return the parts of which the index may be asked, as far as that is known."""
        return [
            part
            for part, count in self._matrix.counts().items()
            if (not collections or part.collection in collections)
            and plan(count, None, wanted=depth).kind is Kind.INDEX
        ]

    async def _named(self, part: Part, vector: Matrix, limit: int) -> list[str] | None:
        """Return the items that the index names; None when it does not answer."""
        try:
            found = await self._neighbours(part.index, vector, limit)
        except (IndexDown, ActorAway, DeadlineExceeded) as error:
            log.debug("every vector is compared instead: %s", error)
            return None
        return [item for item, _ in found]

    def _rows(self, connection: Connection, model: str) -> Rows:
        """Return where the vectors of a model are."""
        view = self._matrix.view(connection) if model == self._model else None
        return Held(view) if view is not None else Stored(driver_of(connection), model)

    def _broad(self, connection: Connection, rows: Rows, asked: Asked) -> Answer:
        """Return the nearest of all, with what the index named."""
        driver = driver_of(connection)
        choice = _Choice(driver, rows, asked)
        compared = rows.compare(asked.vector, choice.exact, np.array(choice.ids, np.int64))
        gone: list[int] = []
        lists: dict[str, list[Near]] = {}
        for name, bit in LISTS.items():
            ids = compared.nearest(bit, asked.depth, gone)
            for tries in range(_TRIES + 1):
                left = _left(driver, compared.ids if tries == _TRIES else ids)
                if not left:
                    break
                gone += left
                ids = compared.nearest(bit, asked.depth, gone)
            lists[name] = _best(rows.rows(asked.vector, ids), asked.depth)
        self._forget(driver, gone)
        return Answer(choice.plan, lists)

    def _forget(self, driver: sqlite3.Connection, gone: Sequence[int]) -> None:
        """Tell the matrix what has gone; what this transaction does not see yet has not."""
        if gone:
            known = driver.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
            newest = (known.fetchone() or (0,))[0]
            self._matrix.mark_gone(each for each in gone if each <= newest)


class _Choice:
    """Which rows a broad question is compared with: candidates of the index, or all of a part."""

    def __init__(self, driver: sqlite3.Connection, rows: Rows, asked: Asked) -> None:
        """Decide it for each part, and for either list of it."""
        #: Lists of parts that are compared as a whole.
        self.exact: dict[Part, int] = {}
        #: Passages that the index named, or that it has not been told.
        self.ids: list[int] = []
        self.plan = Plan(Kind.EXACT, "there is nothing to compare with")
        largest = 0
        looked = {part: _Named(driver, part, items) for part, items in asked.named.items()}
        for bit in LISTS.values():
            for part, total in rows.counts(bit).items():
                if not total or (asked.collections and part.collection not in asked.collections):
                    continue
                found = self._chosen(looked.get(part), bit, total=total, depth=asked.depth)
                if found.kind is Kind.EXACT:
                    self.exact[part] = self.exact.get(part, 0) | bit
                if total > largest:
                    self.plan, largest = found, total
        self.ids = [each for named in looked.values() for each in named.ids]

    @staticmethod
    def _chosen(named: _Named | None, bit: int, *, total: int, depth: int) -> Plan:
        """Return how one list of a part is searched."""
        waiting = 0 if named is None else named.waiting
        found = plan(total, None, waiting=waiting, index_ready=named is not None, wanted=depth)
        if named is None or found.kind is Kind.EXACT:
            return found
        if named.settled(bit) < min(depth, total - waiting):
            return Plan(Kind.EXACT, f"the index names too few; all {total} rows are compared")
        return found


class _Named:
    """What the index named of a part, and what it has not been told, as the ledger knows it."""

    def __init__(self, driver: sqlite3.Connection, part: Part, items: Sequence[str]) -> None:
        """Look both up."""
        waits = "SELECT DISTINCT item_id FROM index_ops WHERE collection = ? LIMIT ?"
        late = [each for (each,) in driver.execute(waits, (part.index, MOST_WAITING + 1))]
        self.waiting = len(late)
        query = (
            "SELECT id, item_id, place FROM passages WHERE collection = ?"
            " AND (place = 'paired') = ? AND item_id IN (SELECT value FROM json_each(?))"
        )
        wanted = json.dumps([*items, *late])
        found = driver.execute(query, (part.collection, part.is_paired, wanted)).fetchall()
        self.ids = [each for each, _, _ in found]
        waiting = set(late)
        self._places = [place for _, item, place in found if item not in waiting]

    def settled(self, bit: int) -> int:
        """Return how many of a list the index was told of and named."""
        other = "paired" if bit == ALONE else "alone"
        return sum(place != other for place in self._places)


def _among(rows: Rows, asked: Asked, ids: NDArray[np.int64]) -> Answer:
    """Return the nearest of some passages, which the same transaction has found."""
    total = max(sum(rows.counts(bit).values()) for bit in LISTS.values())
    compared = rows.compare(asked.vector, {}, ids)
    lists = {
        name: _best(rows.rows(asked.vector, compared.nearest(bit, asked.depth, ())), asked.depth)
        for name, bit in LISTS.items()
    }
    return Answer(plan(max(total, len(ids)), len(ids), wanted=asked.depth), lists)


def _best(rows: list[Row], depth: int) -> list[Near]:
    """Return the nearest rows, ties by item."""
    rows.sort(key=lambda row: (-row.cosine, row.item_id, row.part.collection))
    return [Near(row.part.collection, row.item_id, row.cosine) for row in rows[:depth]]


def _ids(
    connection: Connection, allowed: Select[Any] | CompoundSelect[Any] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the numbers of passages that a query selects."""
    if isinstance(allowed, np.ndarray):
        return allowed
    return np.array(connection.execute(allowed).scalars().all(), np.int64)


def _left(driver: sqlite3.Connection, ids: NDArray[np.int64]) -> list[int]:
    """Return which of those passages the ledger does not have."""
    wanted = ids.tolist()
    query = "SELECT id FROM passages WHERE id IN (SELECT value FROM json_each(?))"
    there = {each for (each,) in driver.execute(query, (json.dumps(wanted),))}
    return [each for each in wanted if each not in there]
