"""Distilled: principles as answers, searched whole when somebody asks for them by name.

They have no passages. The insight that says the same would be found twice by them, and their words
would weigh in every other search; there are few of them, so their rows are read instead (`whole`).
What is given to nobody any more (pruned, taken back) is not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, select

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Hit
from cortex_actors.domain.project import SourceKind
from cortex_actors.storage import principle_decay, principle_lists, principles
from cortex_actors.storage.principles import COLLECTION
from cortex_actors.storage.schema import principles as rows
from cortex_actors.storage.schema import revocations, vectors
from cortex_actors.storage.search.scope import listed
from cortex_actors.storage.search.whole import READ, Kept, Looked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.search.query import Query, Where


def looked(
    connection: Connection, query: Query, *, vector: Matrix | None, most: int, depth: int
) -> Looked:
    """Return the lists of a search among principles (in a read transaction, on its thread).

    `vector` is the question's, None to look for words alone; `most` words of it are searched, and
    each list has `depth` places. Ties go by id. Raises `BadInput` for text that is not valid
    Unicode.
    """
    kept = Kept()
    if not _is_unmet(query.where):
        for some in connection.execute(_selected(query)).partitions(READ):
            mine = _met(connection, some, query.where)
            kept.add(mine, [(COLLECTION, row.id) for row in mine], vector)
    lists, found = kept.lists(query.text, is_compared=vector is not None, most=most, depth=depth)
    return Looked(lists, found, len(kept.items), len(kept.near), "principles", "principles")


def answers(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], query: Query
) -> list[Hit]:
    """Return principles with how they stand; which projects say them stays here."""
    known, counted = principles.by_ids(connection, ids), principle_decay.evidence(connection, ids)
    named = {} if query.where.outward else principle_lists.projects(connection, ids)
    made_of = principles.load_derivations(connection, ids)
    return [
        Hit(
            id=each,
            text=known[each].content,
            score=scores[each],
            store=COLLECTION,
            extra={
                "category": str(known[each].category),
                "status": str(known[each].status),
                "rank": known[each].rank,
                "confidence": known[each].confidence,
                "quality": known[each].quality,
                "origin": str(known[each].origin),
                "domains": list(known[each].domains),
                "tags": list(known[each].tags),
                "observations": counted[each].observed,
                "last_seen": counted[each].seen_at,
                "at": iso(counted[each].seen_at),
                "linked": counted[each].links,
                "insights": len(made_of.get(each, ())),
                "projects": list(named.get(each, ())),
            },
        )
        for each in ids
        if each in known
    ]


def _is_unmet(where: Where) -> bool:
    """Return whether something is asked that no principle has: it is no single project's."""
    return where.of_insights or where.of_memories or where.of_knowledge


def _selected(query: Query) -> Any:
    """Return the query for the principles that are looked at, in the order of their ids."""
    embedded = and_(vectors.c.text_hash == rows.c.text_hash, vectors.c.model == query.model)
    found = select(rows.c.id, rows.c.content.label("text"), vectors.c.vector)
    found = found.outerjoin(vectors, embedded).order_by(rows.c.id)
    found = found.where(rows.c.status.in_(sorted(principle_lists.GIVEN)), ~_taken_back())
    return found.where(*(listed(rows.c.tags, tag) for tag in query.where.tags))


def _taken_back() -> ColumnElement[bool]:
    """Return the condition that a person has taken a principle back."""
    return exists().where(
        revocations.c.kind == str(SourceKind.PRINCIPLE),
        revocations.c.key == rows.c.id,
        revocations.c.ended_at.is_(None),
    )


def _met(connection: Connection, some: Sequence[Any], where: Where) -> list[Any]:
    """Return the rows that meet what SQL was not asked.

    What leaves for another program is what projects may be given: a shared file says it now.
    """
    ids = [row.id for row in some]
    kept = set(principles.still_given(connection, ids) if where.outward else ids)
    if where.since is not None or where.until is not None:
        seen = {
            each: one.seen_at for each, one in principle_decay.evidence(connection, kept).items()
        }
        kept = {each for each, at in seen.items() if _is_between(at, where)}
    return [row for row in some if row.id in kept]


def _is_between(at: int, where: Where) -> bool:
    """Return whether a moment is in the time that is asked for."""
    is_late = where.since is None or at >= where.since
    return is_late and (where.until is None or at < where.until)
