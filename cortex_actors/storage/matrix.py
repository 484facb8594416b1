"""Matrix: the vectors of every passage in memory, brought up to date by each search.

It is filled when it is first used, and each search brings in what was committed before its own
transaction began: new passages, and vectors that came later than their passages. So a search sees
whatever was written before it. What has gone from the ledger may still be here: the ledger decides
what is shown, and who finds a row gone says so.

It holds the vectors of one model. Nothing in it outlives the process; `forget` drops all of it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.storage import embeddings
from cortex_actors.storage.heldrows import ALONE, PAIRED, HeldRows
from cortex_actors.storage.ledger.connection import driver_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from cortex_actors.storage.heldrows import Part, View

#: Rows read at once: 3 MB of vectors.
_READ = 2_000

#: Rows that may be gone before the others are moved together: as a share, and at least.
_GONE_SHARE, _GONE_LEAST = 0.2, 1_000

#: Bytes of a megabyte, as the setting counts them.
_MB = 1_000_000

_COLUMNS = (
    "SELECT p.id, p.item_id, p.collection,"
    f" (p.place <> 'paired') * {ALONE} + (p.place <> 'alone') * {PAIRED}, v.text_hash, v.vector"
)

#: Passages that were not looked at yet, where they have a vector.
_NEW = (
    f"{_COLUMNS} FROM passages AS p CROSS JOIN vectors AS v ON v.text_hash = p.text_hash"
    " WHERE p.id > ? AND v.model = ? ORDER BY p.id"
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

#: What the model says; where nobody wrote it down, what most of some vectors have (4 bytes each).
_DIMENSION = (
    "SELECT coalesce((SELECT dimension FROM embedding_models WHERE id = ?),"
    " (SELECT length(vector) / 4 FROM (SELECT vector FROM vectors WHERE model = ? LIMIT 1000)"
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
        self._counts: Mapping[Part, int] = {}
        self._is_over = False
        self._epoch = 0
        self._reset()

    def view(self, connection: Connection) -> View | None:
        """Return the rows that the connection's transaction sees, and perhaps some later ones.

        None when they are more than fit: then they are read from the ledger each time.
        """
        driver = driver_of(connection)
        with self._lock:
            if self._is_over and not self._fits(driver):
                return None
            self._is_over = not self._bring(driver)
            if self._is_over:
                self._reset()
                return None
            return self._held.view()

    def counts(self) -> Mapping[Part, int]:
        """Return how many rows each part had when it was last looked."""
        return self._counts

    def mark_gone(self, ids: Iterable[int]) -> None:
        """Note that the ledger has no such passages any more."""
        with self._lock:
            self._held.mark_gone(np.fromiter(ids, np.int64))

    def damaged(self) -> list[bytes]:
        """Return the hashes of texts whose vectors were found damaged since it was asked last."""
        with self._lock:
            found, self._damaged = sorted(self._damaged), set()
        return found

    def forget(self) -> None:
        """Drop all rows; the next search reads them anew."""
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

    def _fits(self, driver: sqlite3.Connection) -> bool:
        """Tell whether all rows would fit now; counting them is the least that a search pays."""
        (dimension,) = driver.execute(_DIMENSION, (self.model, self.model)).fetchone()
        (count,) = driver.execute("SELECT count(*) FROM passages").fetchone()
        return bool(count * dimension * embeddings.FLOAT <= self._most)

    def _bring(self, driver: sqlite3.Connection) -> bool:
        """Bring in what came since; False when there is no room for it."""
        passage, vector, epoch = driver.execute(_NEWEST).fetchone()
        if epoch != self._epoch:
            self._reset()
            self._epoch = epoch
        if passage <= self._passage and vector <= self._vector:
            return True
        if not self._dimension:
            (self._dimension,) = driver.execute(_DIMENSION, (self.model, self.model)).fetchone()
            self._held = HeldRows(self._dimension)
        if self._dimension and not self._bring_rows(driver):
            return False
        self._passage, self._vector = max(passage, self._passage), max(vector, self._vector)
        self._counts = self._held.view().counts()
        return True

    def _bring_rows(self, driver: sqlite3.Connection) -> bool:
        """Read the rows that came since; False when they do not fit."""
        known = (self._passage, self.model)
        (new,) = driver.execute("SELECT count(*) FROM passages WHERE id > ?", known[:1]).fetchone()
        if not self._make_room(driver, new):
            return False
        late = driver.execute(_LATE, (self._vector, self.model, self._passage))
        return self._read(driver, late, is_late=True) and self._read(
            driver, driver.execute(_NEW, known), is_late=False
        )

    def _read(self, driver: sqlite3.Connection, found: sqlite3.Cursor, *, is_late: bool) -> bool:
        """Add rows that a query finds; False when they do not fit."""
        while some := found.fetchmany(_READ):
            ids, items, collections, lists, digests, vectors = zip(*some, strict=True)
            rows, sound = embeddings.rows(vectors, self._dimension * embeddings.FLOAT)
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
            if not self._make_room(driver, len(ids)):
                return False
            self._held.add(ids, rows, items=items, collections=collections, lists=lists)
        return True

    def _make_room(self, driver: sqlite3.Connection, new: int) -> bool:
        """Make room for so many rows more; False when there is none.

        Before the rows are moved into larger arrays, those that have gone are left behind.
        """
        held, most = self._held, self._most // (self._dimension * embeddings.FLOAT)
        many = max(_GONE_LEAST, held.count * _GONE_SHARE)
        if held.count and (held.count + new > held.room or held.gone > many):
            living = driver.execute("SELECT id FROM passages").fetchall()
            held.keep(np.fromiter((each for (each,) in living), np.int64, len(living)))
        if held.count + new > most:
            return False
        held.reserve(held.count + new, most)
        return True
