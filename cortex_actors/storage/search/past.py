"""Past: memories of another time, searched without an index: there is none for what is no more.

What is selected is read and compared whole (`whole`). A memory stands alone here: what came before
it then is not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, exists, select

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind
from cortex_actors.storage import memory_records
from cortex_actors.storage.schema import memories as rows
from cortex_actors.storage.schema import memory_changes, vectors
from cortex_actors.storage.search.scope import memory_conditions
from cortex_actors.storage.search.whole import READ, Kept, Looked

if TYPE_CHECKING:
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.query import Past, Query


def looked(
    connection: Connection, query: Query, *, vector: Matrix | None, most: int, depth: int
) -> Looked:
    """Return the lists of a look back (in a read transaction, on its thread).

    `vector` is the question's, None to look for words alone; `most` words of it are searched, and
    each list has `depth` places. Ties go by id. Raises `BadInput` for text that is not valid
    Unicode.
    """
    kept = Kept()
    for some in connection.execute(_selected(query)).partitions(READ):
        kept.add(some, [(memory_records.COLLECTIONS[row.realm], row.id) for row in some], vector)
    lists, found = kept.lists(query.text, is_compared=vector is not None, most=most, depth=depth)
    return Looked(lists, found, len(kept.items), len(kept.near))


def _selected(query: Query) -> Any:
    """Return the query for the memories that are looked at, in the order of their ids."""
    past = query.past
    embedded = and_(vectors.c.text_hash == rows.c.text_hash, vectors.c.model == query.model)
    found = select(rows.c.id, rows.c.realm, rows.c.text, vectors.c.vector)
    found = found.outerjoin(vectors, embedded).order_by(rows.c.id)
    found = found.where(*memory_conditions(query.where, query.now, query.decays))
    if query.collections:
        realms = [
            realm for realm, name in memory_records.COLLECTIONS.items() if name in query.collections
        ]
        found = found.where(rows.c.realm.in_(realms))
    return found.where(*_of(past)) if past else found


def _of(past: Past) -> list[ColumnElement[bool]]:
    """Return the conditions on the memories of another time."""
    found: list[ColumnElement[bool]] = []
    if past.original:
        parts = rows.alias("parts")
        # What a person made part of another one left the words of that one as they were.
        made = exists().where(parts.c.merged_into == rows.c.id, parts.c.merged_by != Decider.PERSON)
        # What was taken apart again has no parts any more, and was made of them all the same.
        change = memory_changes.c
        once = exists().where(change.memory_id == rows.c.id, change.kind == ChangeKind.MERGE)
        found += [~made, ~once]
    if past.as_of is not None:
        found.append(memory_records.held_at(past.as_of))
    return found
