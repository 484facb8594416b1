"""Whether everything that may be found has its passages, and nothing else has any.

Vectors: which texts wait for one, which vectors are damaged, and which are not needed.

Whether stored texts are those that their hashes were made of.

SQLite keeps no checksums: a bit that flips inside a text leaves a ledger that its own check calls
sound. But each text by which something is found, or of which an id is made, has its SHA-256 beside
it. Which of the two has changed cannot be known.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.clock import SECOND, iso
from cortex_actors.domain.hit import Diagnosis, Repair, error, note, warning
from cortex_actors.domain.insight import Granularity, hash_section, hash_statement
from cortex_actors.domain.project import Chunk
from cortex_actors.storage.embeddings import make_text
from cortex_actors.storage.tables.columns import decode_text, group_pairs
from cortex_actors.storage.tables.dialect import execute, execute_for, make_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from cortex_actors.storage.health.file import CheckupScope


_REPAIR = "cortex doctor --repair"

#: What may be found, kind by kind: collection, id and the hash of the item's own text.
KINDS: Mapping[str, str] = {
    "insights": (
        "SELECT 'cortex_insights' AS collection, id, text_hash FROM insights "
        "WHERE status IN ('active', 'contradicted')"
    ),
    "memories": (
        "SELECT CASE realm WHEN 'private' THEN 'cortex_private' "
        "WHEN 'village' THEN 'cortex_village' ELSE 'cortex_bridges' END AS collection, "
        "id, text_hash FROM memories WHERE status = 'active'"
    ),
    "knowledge": (
        "SELECT 'cortex_knowledge' AS collection, id, text_hash FROM knowledge_chunks "
        "WHERE status = 'active'"
    ),
    # A crumb is never changed, and has no hash of its own: that it has a passage is all.
    "crumbs": (
        "SELECT 'cortex_crumbs' AS collection, c.id, coalesce((SELECT p.text_hash FROM passages "
        "AS p WHERE p.collection = 'cortex_crumbs' AND p.item_id = c.id AND p.place = 'both'), "
        "zeroblob(32)) AS text_hash FROM crumbs AS c"
    ),
}

#: An item's own passage, which is missing, or is that of another text; and the two of an item that
#: has a predecessor, of which one is missing.
_LACKING = (
    "SELECT i.collection, i.id FROM ({items}) AS i LEFT JOIN passages AS p "
    "ON p.collection = i.collection AND p.item_id = i.id AND p.place IN ('alone', 'both') "
    "WHERE p.id IS NULL OR p.text_hash <> i.text_hash OR (p.place = 'alone' AND NOT EXISTS "
    "(SELECT 1 FROM passages AS q WHERE q.collection = i.collection AND q.item_id = i.id "
    "AND q.place = 'paired'))"
)

_STRAY = (
    "SELECT p.collection, p.item_id FROM passages AS p WHERE NOT EXISTS "
    "(SELECT 1 FROM ({items}) AS i WHERE i.collection = p.collection AND i.id = p.item_id)"
)


def list_lacking(opened: Connection) -> list[tuple[str, str]]:
    """Return (collection, id) of what may be found and lacks a passage, or has another text's."""
    queries = (_LACKING.format(items=items) for items in KINDS.values())
    return [row for query in queries for row in execute(opened, query)]


def list_stray(opened: Connection) -> list[tuple[str, str]]:
    """Return (collection, id) of what has passages and may not be found."""
    query = _STRAY.format(items=" UNION ALL ".join(KINDS.values()))
    return sorted(set(execute(opened, query)))


def check_passages(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Compare the passages with what may be found."""
    total = opened.exec_driver_sql("SELECT count(*) FROM passages").scalar_one()
    without, stale = list_lacking(opened), list_stray(opened)
    missing = "cannot be found: their passages are missing or are those of another text"
    gone = "have passages and may not be found any more"
    for items, wrong in ((without, missing), (stale, gone)):
        if items:
            of = ", ".join(sorted({collection for collection, _ in items}))
            text = f"{len(items)} items of {of} {wrong}"
            yield error("passages", text, mend=_REPAIR, repair=Repair.PASSAGES)
    if not (without or stale):
        yield Diagnosis("passages", f"{total:,} of everything that may be found")


# ruff: noqa: S608 - built of the constants here, and of question marks.

#: Vectors that are looked at together: 8 MB of 384 numbers.
SLICE = 5_000

#: How far from 1 the length of a unit vector of float32 may be: what rounding makes is below 1e-6.
SLACK = 1e-3

#: Microseconds a text may wait before a person should see it: the model has loaded by then.
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

#: Passages that wait and are in no list, so that they would never be embedded.
_FORGOTTEN = (
    "SELECT p.collection, p.item_id, p.place FROM passages AS p WHERE NOT EXISTS "
    "(SELECT 1 FROM vectors AS v WHERE v.model = ?2 AND v.text_hash = p.text_hash) "
    "AND p.item_id NOT IN (SELECT item_id FROM index_ops)"
)

#: Of texts that exist no more, or of a model that the ledger has never heard of. The vectors of a
#: retired model are kept, for a way back, until a person has them forgotten; so are those of texts
#: that another text replaces, because they may be needed again. Sentences that
#: a model wrote for principles have no passage, and are compared; memories of every state can
#: come back, and are asked for as of a date.
_ORPHANS = (
    "FROM vectors AS v WHERE ((NOT EXISTS (SELECT 1 FROM passages AS p "
    "WHERE p.text_hash = v.text_hash) AND v.text_hash NOT IN "
    "(SELECT text_hash FROM insights WHERE superseded_by IS NOT NULL) AND v.text_hash NOT IN "
    "(SELECT text_hash FROM principles) AND v.text_hash NOT IN (SELECT text_hash FROM memories)) "
    "OR (v.model <> ?2 AND v.model NOT IN (SELECT id FROM embedding_models)))"
)


def check_waiting(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Count the texts that have no vector of the model that answers, and since when."""
    total = opened.exec_driver_sql(
        "SELECT count(DISTINCT text_hash) FROM (" + _WAITING + ")", (scope.model,)
    ).scalar_one()
    if not total:
        yield Diagnosis("embedding", "every passage has its vector")
        return
    since = opened.exec_driver_sql(_SINCE, (scope.model,)).scalar_one()
    late = scope.online and since is not None and scope.now - since > LONG
    first = f", the first since {iso(since)}" if since else ""
    text = f"{total:,} texts wait for a vector{first}"
    remedy = (
        "cortex status says how the model is" if scope.online else "a daemon embeds: cortex start"
    )
    yield (warning if late else note)("embedding", text, mend=remedy)
    if lost := list_forgotten(opened, scope.model):
        text = f"{len(lost):,} of them are in no list, so that they would never be embedded"
        yield error("embedding", text, mend=_REPAIR, repair=Repair.FORGOTTEN)


def list_forgotten(
    opened: Connection, model: str, among: Sequence[str] | None = None
) -> list[tuple[str, str, str]]:
    """Return (collection, item, place) of passages without a vector that wait in no list.

    With `among`, only of those items.
    """
    query = _FORGOTTEN if among is None else f"{_FORGOTTEN} AND p.item_id IN :ids"
    return execute_for(opened, query, among or (), model).fetchall()


def check_vectors(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Look at every vector of the model that answers: its length, its numbers, its norm."""
    looked, unsound = examine(opened, scope.model)
    if not unsound:
        yield Diagnosis("vectors", f"{looked:,} of {scope.model or 'no model'}, all sound")
    for why, hashes in unsound.items():
        text = f"{len(hashes):,} of {looked:,} {why}"
        remedy = "cortex doctor --repair drops them, and they are embedded again"
        yield error("vectors", text, mend=remedy, repair=Repair.DAMAGED)


def list_damaged(
    opened: Connection, model: str, among: Sequence[bytes] | None = None
) -> list[bytes]:
    """Return the hashes of the texts whose vectors of a model are damaged, as `examine` does."""
    return list(itertools.chain.from_iterable(examine(opened, model, among)[1].values()))


def examine(
    opened: Connection, model: str, among: Sequence[bytes] | None = None
) -> tuple[int, dict[str, list[bytes]]]:
    """Return how many vectors a model has, and the hashes of those that cannot be used, by why.

    With `among`, only of those texts.
    """
    # How many numbers a vector has: as the model says, else as most of them do.
    known = opened.exec_driver_sql("SELECT dimension FROM embedding_models WHERE id = ?", (model,))
    size = (known.scalar_one_or_none() or 0) * _FLOAT
    if not size:
        counted = "SELECT length(vector), count(*) FROM vectors WHERE model = ? GROUP BY 1"
        lengths = Counter({row[0]: row[1] for row in opened.exec_driver_sql(counted, (model,))})
        size = max(lengths, key=lambda each: lengths[each], default=0) // _FLOAT * _FLOAT
    looked, last, found = 0, 0, list[tuple[str, bytes]]()
    # In the order of the table: by the model's key each slice would sort all that is left.
    which = "+model = ?" if among is None else f"model = ? AND text_hash IN ({make_marks(among)})"
    query = (
        f"SELECT seq, text_hash, vector FROM vectors WHERE seq > ? AND {which} "
        f"ORDER BY seq LIMIT {SLICE}"
    )
    while rows := opened.exec_driver_sql(query, (last, model, *(among or ()))).all():
        last = rows[-1][0]
        looked += len(rows)
        found += [("are not as long as the others", e[1]) for e in rows if len(e[2]) != size]
        found += _weigh([each for each in rows if len(each[2]) == size])
    return looked, group_pairs(found)


def check_orphans(opened: Connection, scope: CheckupScope) -> Iterator[Diagnosis]:
    """Count vectors of texts that exist no more, and of models that the ledger does not know."""
    query = "SELECT count(*), coalesce(sum(length(v.vector)), 0) " + _ORPHANS
    number, size = execute_for(opened, query, (), scope.model).fetchone()
    if not number:
        yield Diagnosis("orphans", "no vector is without use")
        return
    text = (
        f"{number:,} vectors ({size / 1_000_000:.1f} MB) are of texts that are gone, or of models "
        "that the ledger does not know"
    )
    remedy = "they do no harm; cortex doctor --repair drops them"
    yield note("orphans", text, mend=remedy, repair=Repair.ORPHANS)


def list_orphans(opened: Connection, model: str, among: Sequence[int] | None = None) -> list[int]:
    """Return the numbers of the vectors without use; with `among`, only of those."""
    query = f"SELECT v.seq {_ORPHANS}{'' if among is None else ' AND v.seq IN :numbers'}"
    return [seq for (seq,) in execute_for(opened, query, among or (), model)]


def _weigh(rows: Sequence[Any]) -> Iterator[tuple[str, bytes]]:
    """Yield what is wrong with some vectors of the right length, and their hashes.

    They hold no numbers, or are no unit vectors.
    """
    if not rows:
        return
    matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
    with np.errstate(all="ignore"):
        norms = np.einsum("ij,ij->i", matrix, matrix)
    for row, norm in zip(rows, norms, strict=True):
        if not np.isfinite(norm):
            yield "hold something that is no number", row[1]
        elif abs(norm - 1.0) > SLACK:
            yield "are not of length 1", row[1]


#: Rows that are named; of more only the number is given.
_NAMED = 3

_MEND = "a backup from before may have it: cortex daemon backup --list, cortex daemon restore NAME"


def check_texts(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Compare every text that has a hash with it: 200,000 of 250 letters take 1 s of CPU."""
    looked, is_sound = 0, True
    for table, (query, is_as_stored) in _TEXTS.items():
        wrong = []
        for key, *values in execute(opened, query):
            looked += 1
            if not is_as_stored(*values):
                wrong.append(str(key))
        if wrong:
            is_sound = False
            more = f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
            said = f"{len(wrong):,} of {table} are not as they were stored, or their hashes are not"
            found = f"{said}: {', '.join(wrong[:_NAMED])}{more}"
            yield error("texts", found, mend=_MEND)
    if is_sound:
        yield Diagnosis("texts", f"{looked:,} texts, each as it was stored")


def _plain(text: str | bytes, digest: bytes) -> bool:
    """Tell whether a text is the one of a hash."""
    whole = decode_text(text) or ""
    return sha256(whole.encode("utf-8", "surrogatepass")).digest() == digest


def _insight(
    content: str | bytes, heading: str | bytes | None, granularity: str, own: str, embedded: bytes
) -> bool:
    """Tell whether an insight's content is that of its id, and of what is embedded of it."""
    text = decode_text(content) or ""
    if granularity == Granularity.STATEMENT:
        return hash_statement(text) == own and _plain(text, embedded)
    return hash_section(text) == own and _plain(make_text(decode_text(heading), text), embedded)


def _principle(content: str | bytes, own: str) -> bool:
    """Tell whether a principle's content is that of its id: a section's, or a statement's."""
    text = decode_text(content) or ""
    return own in (hash_section(text), hash_statement(text))


def _chunk(title: str | bytes, headings: str, text: str | bytes, digest: bytes) -> bool:
    """Tell whether a piece of a document, with its headings, has the hash that is stored."""
    try:
        under = tuple(json.loads(headings))
        said = decode_text(text) or ""
        whole = Chunk("", "", 0, "", decode_text(title) or "", said, 0, headings=under).searched
    except (ValueError, TypeError):
        return False
    return _plain(whole, digest)


#: Table -> what is read of each row, its name first, and what tells whether the rest is as it was.
_TEXTS: Mapping[str, tuple[str, Callable[..., bool]]] = {
    "insights": (
        "SELECT id, content, heading, granularity, content_hash, text_hash FROM insights",
        _insight,
    ),
    "principles": ("SELECT id, content, content_hash FROM principles", _principle),
    "memories": ("SELECT id, text, text_hash FROM memories", _plain),
    "knowledge_chunks": (
        "SELECT id, title, headings, text, text_hash FROM knowledge_chunks",
        _chunk,
    ),
    "passages": ("SELECT item_id, text, text_hash FROM passages", _plain),
}
