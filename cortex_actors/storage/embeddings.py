"""Embedded texts: the vectors that the ledger keeps, and which texts have none yet.

A vector is found by its model and the hash of its text, whatever has that text. It is never
changed: one that was damaged on the disk is dropped, and made again.

Embeddable texts: everything that a model must have a vector of before it may answer.

That is each passage, by which something is found today, and what each memory says, whatever has
become of it: those that were merged, superseded or archived have no passage, but are found as of a
date on which they held, and come back. A text counts once, however many have it.

Vectors as the ledger stores them: float32 as bytes, and whether they still are what was stored.

SQLite keeps no checksums. A vector is of length 1 when it is stored, so bytes that were changed on
a disk show: there are too many or too few, they are no numbers, or the length is another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from cortex_actors.domain.memory import PAIRED, SearchPlace
from cortex_actors.storage.tables import dialect
from cortex_actors.storage.tables.columns import count_rows, match_columns, put_rows, split_chunks
from cortex_actors.storage.tables.schema import (
    file_vectors,
    index_ops,
    memories,
    metadata,
    passages,
    vectors,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence


K = TypeVar("K")

#: Rows of unit vectors, one for each text.
Matrix = NDArray[np.float32]


class Embed(Protocol):
    """Turns texts into unit vectors of the model that is named."""

    def __call__(self, texts: Sequence[str], *, model: str) -> Awaitable[Matrix]:
        """Return one row for each text.

        Raises `EmbedderDown` when it cannot, or serves another model by now; `Unembeddable` when
        some of the texts can have no vector, for any caller.
        """


class EmbedInTime(Protocol):
    """Turns texts into unit vectors while a question waits for them."""

    def __call__(
        self, texts: Sequence[str], *, urgent: bool, patience: float, model: str
    ) -> Awaitable[Matrix]:
        """Return one row for each text; raises `EmbedderDown` when it cannot in time."""


#: Bytes of one number.
FLOAT = 4

#: How far a vector's length may be from 1: a hundred times what half-precision models leave, and
#: less than what a changed exponent makes of it.
_SLACK = 0.1


def to_bytes(vector: Matrix) -> bytes:
    """Return a vector as bytes."""
    return vector.astype(np.float32).tobytes()


def find_usual_length(blobs: Iterable[bytes | None]) -> int:
    """Return the bytes that most vectors have: one that has others is damaged."""
    lengths = Counter(len(blob) for blob in blobs if blob and len(blob) % FLOAT == 0)
    return lengths.most_common(1)[0][0] if lengths else 0


def to_rows(blobs: Sequence[bytes], length: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return vectors of so many bytes as rows, and which of them are sound.

    A row whose bytes are too many or too few is zero.
    """
    whole = blobs
    if set(map(len, blobs)) != {length}:
        whole = [blob if len(blob) == length else bytes(length) for blob in blobs]
    found = np.frombuffer(b"".join(whole), np.float32).reshape(len(blobs), length // FLOAT)
    with np.errstate(over="ignore", invalid="ignore"):  # whatever lies there
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        sound = np.abs(lengths - 1) <= _SLACK
    return found, sound


def keep_sound(blobs: Mapping[K, bytes]) -> dict[K, Matrix]:
    """Return those vectors that are as long as most of them and of length 1, by the same keys."""
    found, whole = to_rows(list(blobs.values()), find_usual_length(blobs.values()))
    return {key: found[place] for place, key in enumerate(blobs) if whole[place]}


def is_sound(blob: bytes, length: int) -> bool:
    """Tell whether one vector is as it was stored; `length` is how many bytes it must have."""
    return bool(length) and len(blob) == length and bool(to_rows([blob], length)[1][0])


#: Changes that are looked at one by one; where more wait, texts and vectors are merged instead:
#: 14 ms at 50,000 where looking at each took 115.
_FEW = 2_000

#: Changes at either end that are looked at where it need not be known how many texts wait.
_PROBE = 100

#: Statements that every search runs go to the driver itself: building them would cost more.
_STORED = "SELECT text_hash, vector FROM vectors WHERE model = ? AND text_hash IN"
_OF_FILES = "SELECT digest, vector FROM file_vectors WHERE model = ? AND digest IN"
_ENDS = (
    "SELECT item_id FROM index_ops ORDER BY seq LIMIT ?",
    "SELECT item_id FROM index_ops ORDER BY seq DESC LIMIT ?",
)
_BARE = (
    "SELECT id, text_hash FROM passages WHERE item_id IN :ids"
    " AND NOT EXISTS (SELECT 1 FROM vectors"
    " WHERE model = ?2 AND vectors.text_hash = passages.text_hash)"
)

#: The collection of the index that a passage lies in.
INDEX: sa.ColumnElement[str] = sa.case(
    (passages.c.place == SearchPlace.PAIRED, passages.c.collection + PAIRED),
    else_=passages.c.collection,
)


def keep_vectors(connection: sa.Connection, model: str, found: Mapping[bytes, Matrix]) -> None:
    """Store vectors by the hash of their text; one that is there already stays.

    Vectors are never changed: a damaged one is dropped by `remake` and then made again.
    """
    rows = (
        {"model": model, "text_hash": digest, "vector": to_bytes(vector)}
        for digest, vector in found.items()
    )
    put_rows(connection, vectors, rows, change=())


def load_vectors(
    connection: sa.Connection, model: str, digests: Sequence[bytes], *, query: str = _STORED
) -> dict[bytes, Matrix]:
    """Return the vectors the ledger has for texts, by hash; those that are damaged are left out."""
    found: dict[bytes, bytes] = {}
    for some in split_chunks(digests):
        marked = f"{query} ({dialect.make_marks(some)})"
        found.update(dialect.execute(connection, marked, model, *some))
    return keep_sound(found)


def find_vectors(
    connection: sa.Connection, model: str, *, digests: Sequence[bytes]
) -> dict[bytes, Matrix]:
    """Return the vectors there are for texts, those among them that are kept for a file alone."""
    found = load_vectors(connection, model, digests)
    missing = [each for each in digests if each not in found]
    return found | load_vectors(connection, model, missing, query=_OF_FILES)


@dataclass(frozen=True, slots=True)
class FileVectors:
    """What a file was compared by, but for its statements: its beginning, and its sections.

    Attributes:
        model: whose vectors `to_rows` are, by their text; none while there is no model.

    """

    path: str
    model: str
    rows: Mapping[str, Matrix]

    def keep(self, connection: sa.Connection) -> None:
        """Store them in place of those that the file had; the same ones are left as they are."""
        mine, row = {"path": self.path, "model": self.model}, file_vectors.c
        query = sa.select(row.digest, row.vector).where(*match_columns(file_vectors, **mine))
        rows = {sha256(text.encode()).digest(): to_bytes(each) for text, each in self.rows.items()}
        # A damaged vector was made again, and is another one.
        if rows and {e.digest: e.vector for e in connection.execute(query)} != rows:
            connection.execute(sa.delete(file_vectors).where(row.path == self.path))
            put_rows(
                connection, file_vectors, [mine | {"digest": e, "vector": rows[e]} for e in rows]
            )


def list_unembedded(
    connection: sa.Connection, model: str, limit: int
) -> list[tuple[str, str, bytes]]:
    """Return (item, text to embed, its hash) of passages that have no vector yet, each text once.

    Those that the index waits for come first. All passages without a vector have a waiting row in
    `index_ops`, so only those rows are looked at.
    """
    first = sa.select(index_ops.c.item_id).order_by(index_ops.c.seq).limit(_FEW)
    found = connection.execute(_missing(model).where(passages.c.item_id.in_(first))).all()
    if not found and count_rows(connection, index_ops) > _FEW:
        texts = _merged(model).limit(limit).subquery()
        hashes = passages.c.text_hash.in_(sa.select(texts.c.text_hash))
        found = connection.execute(_missing(model).where(hashes)).all()
    by_text = {row.text_hash: (row.item_id, row.text, row.text_hash) for row in reversed(found)}
    return sorted(by_text.values(), key=lambda each: each[0])[:limit]


def count_unembedded(connection: sa.Connection, model: str) -> int:
    """Return how many texts have no vector of the model."""
    waiting = count_rows(connection, index_ops)
    if not waiting:
        return 0
    query: Any = _merged(model)
    if waiting <= _FEW:
        query = _missing(model).where(passages.c.item_id.in_(sa.select(index_ops.c.item_id)))
        query = query.with_only_columns(passages.c.text_hash).order_by(None).distinct()
    return count_rows(connection, query.subquery())


def count_some(
    connection: sa.Connection,
    model: str,
    among: sa.Select[Any] | sa.CompoundSelect[Any] | None = None,
) -> tuple[int, bool]:
    """Return how many texts have no vector among the oldest and the newest changes, in 1 ms.

    And whether these are all: texts are embedded in the order in which they wait, so that one
    without a vector is among them if there is any. `among` selects the numbers of the passages that
    count; None for all.
    """
    ids: set[str] = set()
    is_all = False
    for query in _ENDS:
        found = dialect.execute(connection, query, _PROBE).fetchall()
        is_all |= len(found) < _PROBE
        ids.update(each for (each,) in found)
    rows = dict(dialect.execute_for(connection, _BARE, ids, model).fetchall())
    if rows and among is not None:
        # Each part is asked for them: within the whole of it SQLite would look for all first.
        parts: Sequence[Any] = among.selects if isinstance(among, sa.CompoundSelect) else [among]
        mine = (each.where(passages.c.id.in_(list(rows))) for each in parts)
        kept = {each for query in mine for each in connection.execute(query).scalars()}
        rows = {number: digest for number, digest in rows.items() if number in kept}
    return len(set(rows.values())), is_all


def make_text(heading: str | None, content: str) -> str:
    """Return the text that is embedded for an insight: its heading is part of what it says."""
    return f"{heading}\n{content}" if heading else content


def remake(connection: sa.Connection, model: str, digests: Sequence[bytes]) -> None:
    """Drop vectors that are damaged: their texts wait to be embedded and indexed."""
    for some in split_chunks(digests):
        connection.execute(
            sa.delete(vectors).where(vectors.c.model == model, vectors.c.text_hash.in_(some))
        )
        texts = sa.select(INDEX, passages.c.item_id, sa.literal("put"))
        waiting = texts.where(passages.c.text_hash.in_(some)).order_by(passages.c.id)
        columns = ["collection", "item_id", "op"]
        connection.execute(sa.insert(index_ops).from_select(columns, waiting))


def _missing(model: str) -> sa.Select[Any]:
    """Return the query for passages whose text has no vector of the model, oldest first."""
    return sa.select(passages).where(~_has(model, passages.c.text_hash)).order_by(passages.c.id)


def _merged(model: str) -> sa.CompoundSelect[Any]:
    """Return the query for their hashes, each once, made of two lists that are in order already."""
    made = sa.select(vectors.c.text_hash).where(vectors.c.model == model)
    return sa.select(passages.c.text_hash).except_(made).order_by("text_hash")


#: Tables whose texts need a vector, what is found today first -> the numbers of their rows, behind
#: one of which the next unit begins; a memory's id is no number.
TEXTS_OF: Mapping[str, sa.ColumnElement[int]] = {
    passages.name: passages.c.id,
    memories.name: dialect.select_number(memories),
}


@dataclass(frozen=True, slots=True)
class Progress:
    """How many distinct texts there are to be embedded, and how many have a vector of a model."""

    total: int
    done: int


@dataclass(frozen=True, slots=True)
class WaitingText:
    """A text that has no vector of a model yet, and the number of the row that has it."""

    row: int
    text: str
    digest: bytes


def count_progress(connection: sa.Connection, model_id: str) -> Progress:
    """Return how far a model's vectors are; reads two keys of each text."""
    texts = sa.union(sa.select(passages.c.text_hash), sa.select(memories.c.text_hash)).subquery()
    done = count_rows(connection, texts, _has(model_id, texts.c.text_hash))
    return Progress(count_rows(connection, texts), done)


def list_without(
    connection: sa.Connection, model_id: str, *, of: str, after: int, limit: int
) -> list[WaitingText]:
    """Return the next rows of a table whose text has no vector of a model, past one of them."""
    number, row = TEXTS_OF[of], metadata.tables[of].c
    query = sa.select(number, row.text, row.text_hash).where(number > after)
    query = query.where(~_has(model_id, row.text_hash)).order_by(number).limit(limit)
    return [WaitingText(*each) for each in connection.execute(query)]


def list_missing(connection: sa.Connection, model_id: str, limit: int) -> Sequence[bytes]:
    """Return hashes of texts that have no vector of a model."""
    texts = sa.union(sa.select(passages.c.text_hash), sa.select(memories.c.text_hash)).subquery()
    query = sa.select(texts.c.text_hash).where(~_has(model_id, texts.c.text_hash)).limit(limit)
    return connection.execute(query).scalars().all()


def match_text(table: sa.Table, model: str) -> sa.ColumnElement[bool]:
    """Return the condition that a vector is that of a row's text in the space of a model."""
    return sa.and_(vectors.c.text_hash == table.c.text_hash, vectors.c.model == model)


def _has(model_id: str, text_hash: sa.ColumnElement[bytes]) -> sa.Exists:
    """Return the condition that a text has a vector of a model."""
    return sa.exists().where(vectors.c.model == model_id, vectors.c.text_hash == text_hash)
