"""Knowledge: documents that were read, in pieces, and the passages by which these are found.

Every function takes the connection of a transaction it is part of. A piece is searched alone and
with the piece before it in the same document. What a document says no more keeps its row, is
found no more, and is found again when the document says it again in the same place.
"""

from __future__ import annotations

import itertools
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Chunk
from cortex_actors.storage import passages
from cortex_actors.storage.schema import knowledge_chunks
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.memory import Passage
    from cortex_actors.domain.project import Document

#: The collection of the vector index that pieces of documents lie in.
COLLECTION = "cortex_knowledge"

ACTIVE, WITHDRAWN = "active", "withdrawn"

_ROWS = knowledge_chunks.c


def learn(connection: Connection, source: str, some: Sequence[Chunk]) -> None:
    """Make those pieces what a document says, whatever it said before.

    A piece that stays where it is, and what stands before it, costs nothing again. Raises
    `ValueError` for a piece of another document or a place that is taken twice.
    """
    _require_of(source, some)
    before = _of(connection, source)
    wanted = {each.id for each in some}
    gone = [each for each in before if each not in wanted]
    _move(connection, gone, WITHDRAWN)
    _keep(connection, some)
    remake(connection, [*gone, *(each.id for each in some)])


def withdraw(connection: Connection, source: str) -> None:
    """Let a document be found no more."""
    learn(connection, source, ())


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of pieces from their rows; return how many of them may be found.

    `ids` are whole documents: a piece is found by what stands before it, too.
    """
    wanted = list(dict.fromkeys(ids))
    live = by_id(connection, wanted)
    before = _before(connection, live.values())
    for some in chunks(wanted):
        mine = [live[each] for each in some if each in live]
        made = [passage for each in mine for passage in _passages(each, before.get(each.id))]
        passages.replace(connection, COLLECTION, some, made)
    return len(live)


def active_ids(connection: Connection) -> list[str]:
    """Return the ids of all pieces that may be found, by document and place."""
    query = select(_ROWS.id).where(_ROWS.status == ACTIVE).order_by(_ROWS.source, _ROWS.ordinal)
    return list(connection.execute(query).scalars())


def count(connection: Connection, topic: str | None = None) -> int:
    """Return how many pieces documents say now, in all or of a topic."""
    query = select(func.count()).where(_ROWS.status == ACTIVE)
    if topic is not None:
        query = query.where(_ROWS.topic == topic)
    return int(connection.execute(query).scalar_one())


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Chunk]:
    """Return the pieces among those ids that a document says now."""
    query = select(knowledge_chunks).where(_ROWS.status == ACTIVE)
    return {
        row.id: _chunk(row)
        for some in chunks(dict.fromkeys(ids))
        for row in connection.execute(query.where(_ROWS.id.in_(some)))
    }


def read_at(connection: Connection, document: Document) -> list[Chunk]:
    """Return the pieces of a document as it was last read, whether they may be found or not."""
    query = select(knowledge_chunks).where(
        _ROWS.source == document.source, _ROWS.read_at == document.read_at
    )
    return [_chunk(row) for row in connection.execute(query.order_by(_ROWS.ordinal))]


def _require_of(source: str, some: Sequence[Chunk]) -> None:
    """Raise `ValueError` for pieces that cannot be one document."""
    others = sorted({each.source for each in some} - {source})
    if others:
        raise ValueError(f"cannot learn {source}: there is a piece of {others[0]} among its own")
    if len({each.ordinal for each in some}) != len(some):
        raise ValueError(f"cannot learn {source}: two pieces stand in the same place")


def _of(connection: Connection, source: str) -> list[str]:
    """Return the ids of what a document says now, in its order."""
    query = select(_ROWS.id).where(_ROWS.source == source, _ROWS.status == ACTIVE)
    return list(connection.execute(query.order_by(_ROWS.ordinal)).scalars())


def _move(connection: Connection, ids: Sequence[str], status: str) -> None:
    """Change the status of pieces."""
    for some in chunks(ids):
        statement = update(knowledge_chunks).where(_ROWS.id.in_(some))
        connection.execute(statement.values({"status": status}))


def _keep(connection: Connection, some: Sequence[Chunk]) -> None:
    """Write pieces; one that is there already becomes what was read now."""
    if not some:
        return
    statement = insert(knowledge_chunks)
    changed = {
        column.name: statement.excluded[column.name]
        for column in knowledge_chunks.columns
        if column.name != "id"
    }
    statement = statement.on_conflict_do_update(index_elements=["id"], set_=changed)
    connection.execute(statement, [_row(each) for each in some])


def _before(connection: Connection, some: Iterable[Chunk]) -> dict[str, str]:
    """Return the text before each piece in the documents of some; the first one has none."""
    found: dict[str, str] = {}
    query = select(_ROWS.id, _ROWS.source, _ROWS.text).where(_ROWS.status == ACTIVE)
    query = query.order_by(_ROWS.source, _ROWS.ordinal)
    for sources in chunks(dict.fromkeys(each.source for each in some)):
        rows = connection.execute(query.where(_ROWS.source.in_(sources))).all()
        for left, right in itertools.pairwise(rows):
            if left.source == right.source:
                found[right.id] = left.text
    return found


def _passages(chunk: Chunk, before: str | None) -> list[Passage]:
    """Return the texts by which a piece is found."""
    return passages.of_item(chunk.searched, collection=COLLECTION, item_id=chunk.id, before=before)


def _row(chunk: Chunk) -> dict[str, Any]:
    """Return a piece as a row that a document says now."""
    return {
        "id": chunk.id,
        "source": chunk.source,
        "ordinal": chunk.ordinal,
        "topic": chunk.topic,
        "title": chunk.title,
        "headings": list(chunk.headings),
        "text": chunk.text,
        "is_code": int(chunk.is_code),
        "code_language": chunk.language,
        "tags": list(chunk.tags),
        "cross_refs": list(chunk.cross_refs),
        "text_hash": sha256(chunk.searched.encode()).digest(),
        "status": ACTIVE,
        "read_at": chunk.read_at,
    }


def _chunk(row: Row[Any]) -> Chunk:
    """Return a row as a piece."""
    return Chunk(
        id=row.id,
        source=row.source,
        ordinal=row.ordinal,
        topic=row.topic,
        title=row.title,
        text=row.text,
        read_at=row.read_at,
        headings=tuple(row.headings),
        is_code=bool(row.is_code),
        language=row.code_language,
        tags=tuple(row.tags),
        cross_refs=tuple(row.cross_refs),
    )
