"""Documents that were read: one row each, so that one that has not changed costs a hash.

Every function takes the connection of a transaction it is part of. What a document says are its
pieces (`knowledge`); a document that is withdrawn keeps both, and is found again when it comes
back or is read again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Document, Trust
from cortex_actors.storage import knowledge
from cortex_actors.storage.schema import documents, knowledge_chunks
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.project import Chunk

_ROWS = documents.c


def learn(connection: Connection, document: Document, some: Sequence[Chunk]) -> None:
    """Make that what a document is and says, whatever it was and said before."""
    knowledge.learn(connection, document.source, some)
    statement = insert(documents).values(_row(document))
    changed = {
        column.name: statement.excluded[column.name]
        for column in documents.columns
        if column.name != "source"
    }
    connection.execute(statement.on_conflict_do_update(index_elements=["source"], set_=changed))


def by_source(connection: Connection, sources: Iterable[str]) -> dict[str, Document]:
    """Return those documents that are known, withdrawn ones too."""
    query = select(documents)
    return {
        row.source: _document(row)
        for some in chunks(dict.fromkeys(sources))
        for row in connection.execute(query.where(_ROWS.source.in_(some)))
    }


def below(connection: Connection, folder: str) -> list[str]:
    """Return the sources that lie in a folder and are not withdrawn."""
    start = folder.rstrip("/") + "/"
    query = select(_ROWS.source).where(
        _ROWS.source >= start, _ROWS.source < start[:-1] + "0", _ROWS.withdrawn_at.is_(None)
    )
    return list(connection.execute(query.order_by(_ROWS.source)).scalars())


def of_topic(connection: Connection, topic: str, *, withdrawn: bool = False) -> list[str]:
    """Return the sources of a topic: those that are found, or those that are withdrawn."""
    held = _ROWS.withdrawn_at.is_not(None) if withdrawn else _ROWS.withdrawn_at.is_(None)
    query = select(_ROWS.source).where(_ROWS.topic == topic, held)
    return list(connection.execute(query.order_by(_ROWS.source)).scalars())


def withdraw(connection: Connection, sources: Iterable[str], *, at: int) -> list[str]:
    """Let documents be found no more; return those that were until now."""
    known = by_source(connection, sources)
    gone = [source for source, each in known.items() if each.withdrawn_at is None]
    for source in gone:
        knowledge.withdraw(connection, source)
    _mark(connection, gone, at)
    return gone


def restore(connection: Connection, sources: Iterable[str]) -> list[str]:
    """Let withdrawn documents be found again, as they were last read; return which they are."""
    known = by_source(connection, sources)
    back = [each for each in known.values() if each.withdrawn_at is not None]
    for each in back:
        knowledge.learn(connection, each.source, knowledge.read_at(connection, each))
    _mark(connection, [each.source for each in back], None)
    return [each.source for each in back]


def topics(connection: Connection) -> list[dict[str, Any]]:
    """Return each topic with its documents and their pieces, and what of it is withdrawn."""
    pieces = (
        select(knowledge_chunks.c.source, func.count().label("pieces"))
        .where(knowledge_chunks.c.status == knowledge.ACTIVE)
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
    return [dict(row._mapping) for row in connection.execute(query)]  # noqa: SLF001 - SQLAlchemy's public name


def listed(
    connection: Connection, topic: str | None, *, limit: int, skip: int, withdrawn: bool = False
) -> tuple[list[dict[str, Any]], int]:
    """Return documents by source, of a topic or of all, and how many there are."""
    held = _ROWS.withdrawn_at.is_not(None) if withdrawn else _ROWS.withdrawn_at.is_(None)
    where = [held] if topic is None else [held, _ROWS.topic == topic]
    query = select(documents).where(*where).order_by(_ROWS.source).limit(limit).offset(skip)
    total = connection.execute(select(func.count()).select_from(documents).where(*where))
    found = (asdict(_document(row)) for row in connection.execute(query))
    return [
        {**each, "content_hash": each["content_hash"].hex(), "tags": list(each["tags"])}
        for each in found
    ], int(total.scalar_one())


def stats(connection: Connection) -> dict[str, int]:
    """Return how many documents, bytes, secrets taken out and pieces there are."""
    query = select(
        func.count(),
        func.coalesce(func.sum(_ROWS.size), 0),
        func.coalesce(func.sum(_ROWS.redacted), 0),
    ).where(_ROWS.withdrawn_at.is_(None))
    count, size, redacted = connection.execute(query).one()
    code = select(func.count()).where(
        knowledge_chunks.c.status == knowledge.ACTIVE, knowledge_chunks.c.is_code == 1
    )
    return {
        "documents": count,
        "bytes": size,
        "redacted": redacted,
        "pieces": knowledge.count(connection),
        "code": int(connection.execute(code).scalar_one()),
    }


def _mark(connection: Connection, sources: Sequence[str], at: int | None) -> None:
    """Note since when documents are found no more; None for those that are."""
    for some in chunks(sources):
        statement = update(documents).where(_ROWS.source.in_(some))
        connection.execute(statement.values(withdrawn_at=at))


def _row(document: Document) -> dict[str, Any]:
    """Return a document as a row."""
    return {
        "source": document.source,
        "content_hash": document.content_hash,
        "read_as": document.read_as,
        "topic": document.topic,
        "title": document.title,
        "tags": list(document.tags),
        "size": document.size,
        "redacted": document.redacted,
        "saved_by": document.saved_by,
        "trust": document.trust,
        "read_at": document.read_at,
        "withdrawn_at": document.withdrawn_at,
    }


def _document(row: Row[Any]) -> Document:
    """Return a row as a document."""
    return Document(
        source=row.source,
        content_hash=row.content_hash,
        read_as=row.read_as,
        topic=row.topic,
        title=row.title,
        size=row.size,
        read_at=row.read_at,
        tags=tuple(row.tags),
        redacted=row.redacted,
        saved_by=row.saved_by,
        trust=Trust(row.trust),
        withdrawn_at=row.withdrawn_at,
    )
