"""Past: memories of another time, searched without an index: there is none for what is no more.

What is selected is read and compared whole (`whole`). A memory is searched without its
predecessor: what came before it then is not looked for.

Distilled: principles as answers, searched whole when a query asks for them by name.

They have no passages. The insight that says the same would be found twice by them, and their words
would weigh in every other search; there are few of them, so their rows are read instead (`whole`).
What is given out no more (pruned, taken back) is not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, exists, select

from cortex_actors.clock import iso
from cortex_actors.domain.hit import RankedHit
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind
from cortex_actors.domain.project import SourceKind
from cortex_actors.storage import embeddings, memory_records
from cortex_actors.storage.pipeline import principle_decay, principle_lists, principles, reviews
from cortex_actors.storage.search.scope import memory_conditions
from cortex_actors.storage.search.words import READ, Looked, SelectedTexts
from cortex_actors.storage.tables.dialect import has_word
from cortex_actors.storage.tables.schema import memories as memory_table
from cortex_actors.storage.tables.schema import memory_changes, vectors
from cortex_actors.storage.tables.schema import principles as principle_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.search.query import Past, Query, Where


def search_whole(
    connection: Connection, query: Query, *, vector: embeddings.Matrix | None, most: int, depth: int
) -> Looked:
    """Return the lists of a look back, or else of a search among principles.

    In a read transaction, on its thread. `vector` is the question's, None to look for words alone;
    `most` words of it are searched, and each list has `depth` places. Ties go by id. Raises
    `BadInput` for text that is not valid Unicode.
    """
    kept, where, of_past = SelectedTexts(), query.where, query.past is not None
    is_none = where.project_id is not None or where.of_memories or where.of_knowledge
    if of_past:
        for some in connection.execute(_selected_memories(query)).partitions(READ):
            items = [(memory_records.COLLECTIONS[row.realm], row.id) for row in some]
            kept.add(some, items, vector)
    elif not is_none:
        for some in connection.execute(_selected_principles(query)).partitions(READ):
            mine = _met(connection, some, where)
            kept.add(mine, [(principles.COLLECTION, row.id) for row in mine], vector)
    lists, found = kept.lists(query.text, is_compared=vector is not None, most=most, depth=depth)
    told = () if of_past else ("principles", "principles")
    return Looked(lists, found, kept.said(lists), len(kept.items), len(kept.near), *told)


def _selected_memories(query: Query) -> Any:
    """Return the query for the memories that are looked at, in the order of their ids."""
    past = query.past
    found = select(memory_table.c.id, memory_table.c.realm, memory_table.c.text, vectors.c.vector)
    embedded = embeddings.of_text(memory_table, query.model)
    found = found.outerjoin(vectors, embedded).order_by(memory_table.c.id)
    found = found.where(*memory_conditions(query.where, query.now, query.decays))
    if query.collections:
        realms = [
            realm for realm, name in memory_records.COLLECTIONS.items() if name in query.collections
        ]
        found = found.where(memory_table.c.realm.in_(realms))
    return found.where(*_of(past)) if past else found


def _of(past: Past) -> list[ColumnElement[bool]]:
    """Return the conditions on the memories of another time."""
    found: list[ColumnElement[bool]] = []
    if past.original:
        parts = memory_table.alias("parts")
        # What a person made part of another one left the words of that one as they were.
        made = exists().where(
            parts.c.merged_into == memory_table.c.id, parts.c.merged_by != Decider.PERSON
        )
        # What was taken apart again has no parts any more, and was made of them all the same.
        change = memory_changes.c
        once = exists().where(
            change.memory_id == memory_table.c.id, change.kind == ChangeKind.MERGE
        )
        found += [~made, ~once]
    if past.as_of is not None:
        found.append(memory_records.held_at(past.as_of))
    return found


#: Fields of a principle that an answer shows as they are.
_NUMBERS = ("rank", "confidence", "quality")


def answers(connection: Connection, ids: Sequence[str], query: Query) -> list[RankedHit]:
    """Return principles with rank and status; which projects say them stays here."""
    known, counted = principles.by_ids(connection, ids), principle_decay.evidence(connection, ids)
    named = {} if query.where.outward else principle_lists.projects(connection, ids)
    made_of = principles.load_derivations(connection, ids)
    return [
        RankedHit(
            each,
            principle.content,
            0.0,
            principles.COLLECTION,
            extra={
                **{name: str(getattr(principle, name)) for name in ("category", "status")},
                **{name: getattr(principle, name) for name in _NUMBERS},
                "origin": str(principle.origin),
                "domains": list(principle.domains),
                "tags": list(principle.tags),
                "observations": counted[each].observed,
                "last_seen": counted[each].seen_at,
                "at": iso(counted[each].seen_at),
                "linked": counted[each].links,
                "insights": len(made_of.get(each, ())),
                "projects": list(named.get(each, ())),
            },
        )
        for each, principle in known.items()
    ]


def _selected_principles(query: Query) -> Any:
    """Return the query for the principles that are looked at, in the order of their ids."""
    embedded = embeddings.of_text(principle_table, query.model)
    found = select(principle_table.c.id, principle_table.c.content.label("text"), vectors.c.vector)
    found = found.outerjoin(vectors, embedded).order_by(principle_table.c.id)
    found = found.where(principle_table.c.status.in_(sorted(principle_lists.GIVEN)))
    found = found.where(principle_table.c.id.not_in(reviews.revoked(SourceKind.PRINCIPLE)))
    return found.where(*(has_word(principle_table.c.tags, tag) for tag in query.where.tags))


def _met(connection: Connection, some: Sequence[Any], where: Where) -> list[Any]:
    """Return the rows that meet what SQL was not asked.

    What leaves for another program is what projects may be given: a shared file says it now.
    """
    ids = [row.id for row in some]
    kept = set(principles.still_given(connection, ids) if where.outward else ids)
    if where.since is not None or where.until is not None:
        first, last = where.since or 0, where.until
        seen = principle_decay.evidence(connection, kept)
        kept = {
            each
            for each, one in seen.items()
            if first <= one.seen_at and (last is None or one.seen_at < last)
        }
    return [row for row in some if row.id in kept]
