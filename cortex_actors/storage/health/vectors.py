"""Vectors: which texts wait for one, which vectors are damaged, and which nobody needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.clock import SECOND, iso
from cortex_actors.domain.hit import Diagnosis, Repair, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

# ruff: noqa: S608 - built of the constants here, and of question marks.

#: Vectors that are looked at together: 8 MB of 384 numbers.
SLICE = 5_000

#: How far from 1 the length of a unit vector of float32 may be: what rounding makes is below 1e-6.
SLACK = 1e-3

#: Microseconds a text may wait before somebody should know: the model has loaded by then.
LONG = 600 * SECOND

#: Bytes of one number.
_FLOAT = 4

_WAITING = (
    "SELECT DISTINCT p.text_hash, p.item_id FROM passages AS p WHERE NOT EXISTS "
    "(SELECT 1 FROM vectors AS v WHERE v.model = ? AND v.text_hash = p.text_hash)"
)

#: When the first of them came; knowledge is read when it comes.
_SINCE = (
    "SELECT min(at) FROM (SELECT id, first_seen_at AS at FROM insights UNION ALL "
    "SELECT id, created_at FROM memories UNION ALL SELECT id, read_at FROM knowledge_chunks) "
    f"WHERE id IN (SELECT item_id FROM ({_WAITING}))"
)

#: Who waits and is in nobody's list, so that nobody embeds it.
_FORGOTTEN = (
    "SELECT p.collection, p.item_id, p.place FROM passages AS p WHERE NOT EXISTS "
    "(SELECT 1 FROM vectors AS v WHERE v.model = ? AND v.text_hash = p.text_hash) "
    "AND p.item_id NOT IN (SELECT item_id FROM index_ops)"
)

#: Of texts that nobody has any more, or of a model that the ledger has never heard of. What a
#: retired model made is kept, for a way back, until somebody has it forgotten; and so are texts
#: for which another one stands, because they may have to stand for themselves again. Sentences that
#: a model wrote for principles have no passage, and are compared; memories of every state can
#: come back, and are asked for as of a date.
_ORPHANS = (
    "FROM vectors AS v WHERE (NOT EXISTS (SELECT 1 FROM passages AS p "
    "WHERE p.text_hash = v.text_hash) AND v.text_hash NOT IN "
    "(SELECT text_hash FROM insights WHERE superseded_by IS NOT NULL) AND v.text_hash NOT IN "
    "(SELECT text_hash FROM principles) AND v.text_hash NOT IN (SELECT text_hash FROM memories)) "
    "OR (v.model <> ? AND v.model NOT IN (SELECT id FROM embedding_models))"
)


@dataclass(slots=True)
class Unsound:
    """What a look at every vector of a model found."""

    looked: int = 0
    #: Why -> hashes of texts whose vector is so.
    found: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def hashes(self) -> list[bytes]:
        """The texts whose vectors are damaged, whatever is wrong with them."""
        return [each for hashes in self.found.values() for each in hashes]


def waiting(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Count the texts that have no vector of the model that answers, and since when."""
    total = opened.exec_driver_sql(
        "SELECT count(DISTINCT text_hash) FROM (" + _WAITING + ")", (scope.model,)
    ).scalar_one()
    if not total:
        yield Diagnosis("embedding", "every passage has its vector")
        return
    since = opened.exec_driver_sql(_SINCE, (scope.model,)).scalar_one()
    late = scope.online and since is not None and scope.now - since > LONG
    yield Diagnosis(
        "embedding",
        f"{total:,} texts wait for a vector{f', the first since {iso(since)}' if since else ''}",
        Severity.WARNING if late else Severity.NOTE,
        "cortex status says how the model is" if scope.online else "a daemon embeds: cortex start",
    )
    if lost := forgotten(opened, scope.model):
        yield Diagnosis(
            "embedding",
            f"{len(lost):,} of them are in no list, so that nobody would embed them",
            Severity.ERROR,
            "cortex doctor --repair",
            Repair.FORGOTTEN,
        )


def forgotten(
    opened: Connection, model: str, among: Sequence[str] | None = None
) -> list[tuple[str, str, str]]:
    """Return (collection, item, place) of passages without a vector that wait in no list.

    With `among`, only of those items.
    """
    query = _FORGOTTEN
    if among is not None:
        query += f" AND p.item_id IN ({_marks(among)})"
    values = (model, *(among or ()))
    return [(row[0], row[1], row[2]) for row in opened.exec_driver_sql(query, values)]


def sound(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Look at every vector of the model that answers: its length, its numbers, its norm."""
    unsound = examine(opened, scope.model)
    if not unsound.found:
        yield Diagnosis("vectors", f"{unsound.looked:,} of {scope.model or 'no model'}, all sound")
    for why, hashes in unsound.found.items():
        yield Diagnosis(
            "vectors",
            f"{len(hashes):,} of {unsound.looked:,} {why}",
            Severity.ERROR,
            "cortex doctor --repair drops them, and they are embedded again",
            Repair.DAMAGED,
        )


def examine(opened: Connection, model: str, among: Sequence[bytes] | None = None) -> Unsound:
    """Return which vectors of a model cannot be used; with `among`, only of those texts."""
    dimension = _dimension(opened, model)
    unsound, last = Unsound(), 0
    # In the order of the table: by the model's key each slice would sort all that is left.
    which = "+model = ?" if among is None else f"model = ? AND text_hash IN ({_marks(among)})"
    query = (
        f"SELECT seq, text_hash, vector FROM vectors WHERE seq > ? AND {which} "
        f"ORDER BY seq LIMIT {SLICE}"
    )
    while rows := opened.exec_driver_sql(query, (last, model, *(among or ()))).all():
        last = rows[-1][0]
        unsound.looked += len(rows)
        size = dimension * _FLOAT
        cut = [row[1] for row in rows if len(row[2]) != size]
        _add(unsound, "are not as long as the others", cut)
        _weigh(unsound, [row for row in rows if len(row[2]) == size])
    return unsound


def orphaned(opened: Connection, scope: Scope) -> Iterator[Diagnosis]:
    """Count vectors of texts that nobody has any more, and of models that nobody knows."""
    number, size = opened.exec_driver_sql(
        "SELECT count(*), coalesce(sum(length(v.vector)), 0) " + _ORPHANS, (scope.model,)
    ).one()
    if not number:
        yield Diagnosis("orphans", "no vector is without use")
        return
    yield Diagnosis(
        "orphans",
        f"{number:,} vectors ({size / 1_000_000:.1f} MB) are of texts that are gone, or of models "
        "that the ledger does not know",
        Severity.NOTE,
        "they do no harm; cortex doctor --repair drops them",
        Repair.ORPHANS,
    )


def orphans(opened: Connection, model: str) -> list[int]:
    """Return the numbers of the vectors without use."""
    return [row[0] for row in opened.exec_driver_sql("SELECT v.seq " + _ORPHANS, (model,))]


def _dimension(opened: Connection, model: str) -> int:
    """Return how many numbers a model's vectors have: as it says, else as most of them do."""
    query = "SELECT dimension FROM embedding_models WHERE id = ?"
    said = opened.exec_driver_sql(query, (model,)).scalar_one_or_none()
    if said:
        return int(said)
    counted = "SELECT length(vector), count(*) FROM vectors WHERE model = ? GROUP BY 1"
    lengths = Counter({row[0]: row[1] for row in opened.exec_driver_sql(counted, (model,))})
    return lengths.most_common(1)[0][0] // _FLOAT if lengths else 0


def _weigh(unsound: Unsound, rows: Sequence[tuple[int, bytes, bytes]]) -> None:
    """Note which of some vectors of the right length hold no numbers, or are no unit vectors."""
    if not rows:
        return
    matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
    with np.errstate(all="ignore"):
        norms = np.einsum("ij,ij->i", matrix, matrix)
    finite = np.isfinite(norms)
    unit = np.abs(norms - 1.0) <= SLACK
    _add(
        unsound,
        "hold something that is no number",
        [row[1] for row, good in zip(rows, finite, strict=True) if not good],
    )
    _add(
        unsound,
        "are not of length 1",
        [row[1] for row, bad in zip(rows, finite & ~unit, strict=True) if bad],
    )


def _marks(values: Sequence[object]) -> str:
    """Return a question mark for each value."""
    return ", ".join("?" * len(values))


def _add(unsound: Unsound, why: str, hashes: list[bytes]) -> None:
    """Note damaged vectors, if there are any."""
    if hashes:
        unsound.found.setdefault(why, []).extend(hashes)
