"""Items as answers: what each kind of thing shows of itself.

The ledger has the last word: what it does not show any more, or not to whoever asks, is no answer,
whichever list named it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Hit
from cortex_actors.storage import (
    agent_records,
    documents,
    insight_records,
    insights,
    memory_records,
    principles,
)
from cortex_actors.storage.search import distilled
from cortex_actors.storage.search.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Insight, InsightSource
    from cortex_actors.domain.memory import Crumb
    from cortex_actors.domain.project import Chunk
    from cortex_actors.storage.search.query import Query


def shown(
    connection: Connection, items: Mapping[str, str], scores: Mapping[str, float], query: Query
) -> dict[str, Hit]:
    """Return the answers by id; `items` names each one's collection."""
    by_kind: dict[str, list[str]] = {}
    for item_id in scores:
        by_kind.setdefault(items[item_id], []).append(item_id)
    found: dict[str, Hit] = {}
    for collection, ids in by_kind.items():
        for hit in _KINDS[collection](connection, ids, scores, query):
            found[hit.id] = hit
    return found


def _insights(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], query: Query
) -> list[Hit]:
    """Return insights with where they were read; places in the project that was named lead."""
    known = insights.by_id(connection, ids)
    places = insights.sources(connection, ids, first=query.where.project_id)
    if query.where.outward:
        places = {each: _shared(some) for each, some in places.items()}
        known = {each: _said_there(one, places.get(each, [])) for each, one in known.items()}
    return [
        _insight(known[each], places[each], scores[each])
        for each in ids
        if each in known and places.get(each)
    ]


def _shared(places: list[InsightSource]) -> list[InsightSource]:
    """Return the places in files that are for more than one person."""
    return [each for each in places if not each.path.lower().endswith(insight_records.PRIVATE)]


def _said_there(insight: Insight, places: list[InsightSource]) -> Insight:
    """Return an insight that only the projects of those places say."""
    return replace(insight, projects=tuple(sorted({each.project for each in places})))


def _insight(insight: Insight, places: list[InsightSource], score: float) -> Hit:
    """Return one insight; the first place is the one that is named."""
    place, *others = places
    return Hit(
        id=insight.id,
        text=insight.content,
        score=score,
        store=insight_records.COLLECTION,
        project=place.project,
        path=place.path,
        line_start=place.line_start,
        line_end=place.line_end,
        heading=place.heading,
        extra={
            "category": str(insight.category),
            "confidence": insight.confidence,
            "projects": list(insight.projects),
            "observed": insight.observation_count,
            "also": [f"{each.path}:{each.line_start}" for each in others],
        },
    )


def _knowledge(
    connection: Connection,
    ids: Sequence[str],
    scores: Mapping[str, float],
    query: Query,  # noqa: ARG001 - every kind is asked alike
) -> list[Hit]:
    """Return pieces of documents."""
    known = documents.by_id(connection, ids)
    return [_chunk(known[each], scores[each]) for each in ids if each in known]


def _chunk(chunk: Chunk, score: float) -> Hit:
    """Return one piece of a document: of which, and under which headings."""
    return Hit(
        id=chunk.id,
        text=chunk.text,
        score=score,
        store=documents.COLLECTION,
        heading=" > ".join(chunk.headings) or chunk.title or None,
        extra={
            "source": chunk.source,
            "ordinal": chunk.ordinal,
            "topic": chunk.topic,
            "title": chunk.title,
            "headings": list(chunk.headings),
            "language": chunk.language,
            "at": iso(chunk.read_at),
            "tags": list(chunk.tags),
        },
    )


def _crumbs(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], query: Query
) -> list[Hit]:
    """Return crumbs that whoever asks may read."""
    if query.where.outward:
        return []
    known = agent_records.load_crumbs(connection, ids, reader=query.where.reader)
    return [_crumb(known[each], scores[each]) for each in ids if each in known]


def _crumb(crumb: Crumb, score: float) -> Hit:
    """Return one crumb: of which session, and what is left to do."""
    return Hit(
        id=crumb.id,
        text=crumb.searched,
        score=score,
        store=agent_records.COLLECTION,
        extra={
            "agent": crumb.agent_id,
            "session": crumb.session_id,
            "type": str(crumb.type),
            "priority": str(crumb.priority),
            "unfinished": list(crumb.unfinished),
            "saved_by": crumb.saved_by,
            "at": iso(crumb.left_at),
            "created_at": crumb.left_at,
        },
    )


#: Collection -> what shows its items.
_KINDS: dict[str, Callable[[Connection, Sequence[str], Mapping[str, float], Query], list[Hit]]] = {
    insight_records.COLLECTION: _insights,
    documents.COLLECTION: _knowledge,
    **dict.fromkeys(memory_records.COLLECTIONS.values(), remembered),
    agent_records.COLLECTION: _crumbs,
    principles.COLLECTION: distilled.answers,
}
