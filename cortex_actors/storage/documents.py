"""Documents that were read: one row each, so that one that has not changed costs a hash.

Every function takes the connection of a transaction it is part of. What a document says are its
pieces (`knowledge`); a document that is withdrawn keeps both, and is found again when it comes
back or is read again.

Knowledge: documents that were read, in pieces, and the passages by which these are found.

Every function takes the connection of a transaction it is part of. A piece is searched alone and
with the piece before it in the same document. What a document says no more keeps its row, is
found no more, and is found again when the document says it again in the same place.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, func, select

from cortex_actors.domain.project import Chunk, Document
from cortex_actors.storage import passages
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.schema import documents, knowledge_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: The collection of the vector index that pieces of documents lie in.
COLLECTION = "cortex_knowledge"

ACTIVE, WITHDRAWN = "active", "withdrawn"

_CHUNKS = knowledge_chunks.c


def learn_chunks(connection: Connection, source: str, some: Sequence[Chunk]) -> None:
    """Make those pieces what a document says, whatever it said before.

    A piece that keeps its place and the headings above it costs nothing again. Raises
    `ValueError` for a piece of another document or a place that is taken twice.
    """
    # Pieces of another document, or two in one place, cannot be one document.
    others = sorted({each.source for each in some} - {source})
    if others:
        raise ValueError(f"cannot learn {source}: there is a piece of {others[0]} among its own")
    if len({each.ordinal for each in some}) != len(some):
        raise ValueError(f"cannot learn {source}: two pieces have the same place")
    query = select(_CHUNKS.id).where(_CHUNKS.source == source, _CHUNKS.status == ACTIVE)
    before = list(connection.execute(query.order_by(_CHUNKS.ordinal)).scalars())
    wanted = {each.id for each in some}
    gone = [each for each in before if each not in wanted]
    columns.change_in(connection, _CHUNKS.id, gone, {"status": WITHDRAWN})

    def row(each: Chunk) -> dict[str, Any]:
        text_hash = sha256(each.searched.encode()).digest()
        more = {"code_language": each.language, "text_hash": text_hash, "status": ACTIVE}
        return columns.as_row(knowledge_chunks, each, **more)

    # One that is there already becomes what was read now.
    columns.put_rows(connection, knowledge_chunks, map(row, some))
    remake(connection, [*gone, *(each.id for each in some)])


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of pieces from their rows; return how many of them may be found.

    `ids` are whole documents: a piece is also found by the headings above it.
    """
    wanted = list(dict.fromkeys(ids))
    live = load_chunks(connection, wanted)
    texts = {name: each.searched for name, each in live.items()}
    before = _before(connection, live.values())
    return passages.put(connection, COLLECTION, items=wanted, texts=texts, before=before)


def count_chunks(connection: Connection) -> int:
    """Return how many pieces documents say now, in all or of a topic."""
    return columns.count_rows(connection, knowledge_chunks, _CHUNKS.status == ACTIVE)


def load_chunks(connection: Connection, ids: Iterable[str]) -> dict[str, Chunk]:
    """Return the pieces among those ids that a document says now."""
    query = select(knowledge_chunks).where(_CHUNKS.status == ACTIVE)
    return {
        row.id: columns.make_entity(Chunk, row, language=row.code_language)
        for row in columns.select_in(connection, query, _CHUNKS.id, ids)
    }


def list_last_read(connection: Connection, document: Document) -> list[Chunk]:
    """Return the pieces of a document as it was last read, whether they may be found or not."""
    query = select(knowledge_chunks).where(
        _CHUNKS.source == document.source, _CHUNKS.read_at == document.read_at
    )
    return [
        columns.make_entity(Chunk, row, language=row.code_language)
        for row in connection.execute(query.order_by(_CHUNKS.ordinal))
    ]


def _before(connection: Connection, some: Iterable[Chunk]) -> dict[str, str]:
    """Return the text before each piece in the documents of some; the first one has none."""
    found: dict[str, str] = {}
    query = select(_CHUNKS.id, _CHUNKS.source, _CHUNKS.text).where(_CHUNKS.status == ACTIVE)
    query = query.order_by(_CHUNKS.source, _CHUNKS.ordinal)
    for sources in columns.split_chunks(dict.fromkeys(each.source for each in some)):
        rows = connection.execute(query.where(_CHUNKS.source.in_(sources))).all()
        for left, right in itertools.pairwise(rows):
            if left.source == right.source:
                found[right.id] = left.text
    return found


_ROWS = documents.c


def learn(connection: Connection, document: Document, some: Sequence[Chunk]) -> None:
    """Make that what a document is and says, whatever it was and said before."""
    learn_chunks(connection, document.source, some)
    columns.put_rows(connection, documents, [columns.as_row(documents, document)])


def load_documents(connection: Connection, sources: Iterable[str]) -> dict[str, Document]:
    """Return those documents that are known, withdrawn ones too."""
    rows = columns.select_in(connection, select(documents), _ROWS.source, sources)
    return {row.source: columns.make_entity(Document, row) for row in rows}


def list_below(connection: Connection, folder: str) -> list[str]:
    """Return the sources that lie in a folder and are not withdrawn."""
    start = folder.rstrip("/") + "/"
    query = select(_ROWS.source).where(
        _ROWS.source >= start, _ROWS.source < start[:-1] + "0", _ROWS.withdrawn_at.is_(None)
    )
    return list(connection.execute(query.order_by(_ROWS.source)).scalars())


def list_of_topic(connection: Connection, topic: str, *, withdrawn: bool = False) -> list[str]:
    """Return the sources of a topic: those that are found, or those that are withdrawn."""
    query = select(_ROWS.source).where(_ROWS.topic == topic, _held(withdrawn=withdrawn))
    return list(connection.execute(query.order_by(_ROWS.source)).scalars())


def withdraw(connection: Connection, sources: Iterable[str], *, at: int | None) -> list[str]:
    """Let documents be found no more, or with None again, as last read; return which changed."""
    changed = []
    for source, each in load_documents(connection, sources).items():
        if (each.withdrawn_at is None) != (at is None):
            learn_chunks(connection, source, list_last_read(connection, each) if at is None else ())
            changed.append(source)
    columns.change_in(connection, _ROWS.source, changed, {"withdrawn_at": at})
    return changed


def list_topics(connection: Connection) -> list[dict[str, Any]]:
    """Return each topic with its documents and their pieces, and what of it is withdrawn."""
    pieces = (
        select(knowledge_chunks.c.source, func.count().label("pieces"))
        .where(knowledge_chunks.c.status == ACTIVE)
        .group_by(knowledge_chunks.c.source)
        .subquery()
    )
    query = (
        select(
            _ROWS.topic,
            func.count().filter(_ROWS.withdrawn_at.is_(None)).label("documents"),
            func.count().filter(_ROWS.withdrawn_at.is_not(None)).label("withdrawn"),
            func.coalesce(func.sum(pieces.c.pieces), 0).label("pieces"),
            func.max(_ROWS.read_at).label("read_at"),
        )
        .outerjoin(pieces, pieces.c.source == _ROWS.source)
        .group_by(_ROWS.topic)
        .order_by(_ROWS.topic)
    )
    return list(map(columns.as_dict, connection.execute(query)))


def list_documents(
    connection: Connection, topic: str | None, *, limit: int, skip: int, withdrawn: bool = False
) -> tuple[list[dict[str, Any]], int]:
    """Return documents by source, of a topic or of all, and how many there are."""
    where = [_held(withdrawn=withdrawn)] + ([] if topic is None else [_ROWS.topic == topic])
    query = select(documents).where(*where).order_by(_ROWS.source)
    rows, total = columns.load_page(connection, query, limit=limit, skip=skip)
    found = (asdict(columns.make_entity(Document, row)) for row in rows)
    return [
        {**each, "content_hash": each["content_hash"].hex(), "tags": list(each["tags"])}
        for each in found
    ], total


def _held(*, withdrawn: bool) -> ColumnElement[bool]:
    """Return the condition that a document is withdrawn, or that it is not."""
    return _ROWS.withdrawn_at.is_not(None) if withdrawn else _ROWS.withdrawn_at.is_(None)


def count_totals(connection: Connection) -> dict[str, int]:
    """Return how many documents, bytes, secrets taken out and pieces there are."""
    query = select(
        func.count().label("documents"),
        func.coalesce(func.sum(_ROWS.size), 0).label("bytes"),
        func.coalesce(func.sum(_ROWS.redacted), 0).label("redacted"),
    ).where(_ROWS.withdrawn_at.is_(None))
    code = _CHUNKS.status == ACTIVE, _CHUNKS.is_code == 1
    return {
        **connection.execute(query).mappings().one(),
        "pieces": count_chunks(connection),
        "code": columns.count_rows(connection, knowledge_chunks, *code),
    }
