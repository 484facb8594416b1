"""Items as answers: what each kind of thing shows of itself.

The ledger has the last word: what it does not show any more, or not to whoever asks, is no answer,
whichever list named it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Hit
from cortex_actors.storage import insights, knowledge, memories

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Insight, InsightSource
    from cortex_actors.domain.knowledge import Chunk
    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.search.query import Where


def shown(
    connection: Connection, items: Mapping[str, str], scores: Mapping[str, float], where: Where
) -> dict[str, Hit]:
    """Return the answers by id; `items` names each one's collection."""
    by_kind: dict[str, list[str]] = {}
    for item_id in scores:
        by_kind.setdefault(items[item_id], []).append(item_id)
    found: dict[str, Hit] = {}
    for collection, ids in by_kind.items():
        for hit in _KINDS[collection](connection, ids, scores, where):
            found[hit.id] = hit
    return found


def _insights(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], where: Where
) -> list[Hit]:
    """Return insights with where they were read; places in the project that was named lead."""
    known = insights.by_id(connection, ids)
    places = insights.sources(connection, ids, first=where.project_id)
    return [
        _insight(known[each], places[each], scores[each])
        for each in ids
        if each in known and each in places
    ]


def _insight(insight: Insight, places: list[InsightSource], score: float) -> Hit:
    """Return one insight; the first place is the one that is named."""
    place, *others = places
    return Hit(
        id=insight.id,
        text=insight.content,
        score=score,
        store=insights.COLLECTION,
        project=place.project,
        path=place.path,
        line_start=place.line_start,
        line_end=place.line_end,
        heading=place.heading,
        extra={
            "category": str(insight.category),
            "confidence": insight.confidence,
            "projects": list(insight.projects),
            "also": [f"{each.path}:{each.line_start}" for each in others],
        },
    )


def _memories(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], where: Where
) -> list[Hit]:
    """Return memories that whoever asks may read."""
    known = memories.by_id(connection, ids)
    return [
        _memory(known[each], scores[each])
        for each in ids
        if each in known and _may_read(known[each], where.reader)
    ]


def _may_read(memory: Memory, reader: str | None) -> bool:
    """Tell whether somebody may read a memory; None is the owner."""
    return reader is None or memory.readers is None or reader in memory.readers


def _memory(memory: Memory, score: float) -> Hit:
    """Return one memory: who said it, where and when."""
    return Hit(
        id=memory.id,
        text=memory.text,
        score=score,
        store=memories.COLLECTIONS[memory.realm],
        extra={
            "agent": memory.agent_id,
            "realm": str(memory.realm),
            "layer": str(memory.layer),
            "type": str(memory.type),
            "thread": memory.thread,
            "at": iso(memory.created_at),
            "tags": list(memory.tags),
            "abstract": memory.abstract,
        },
    )


def _knowledge(
    connection: Connection,
    ids: Sequence[str],
    scores: Mapping[str, float],
    where: Where,  # noqa: ARG001 - every kind is asked alike
) -> list[Hit]:
    """Return pieces of documents."""
    known = knowledge.by_id(connection, ids)
    return [_chunk(known[each], scores[each]) for each in ids if each in known]


def _chunk(chunk: Chunk, score: float) -> Hit:
    """Return one piece of a document: of which, and under which headings."""
    return Hit(
        id=chunk.id,
        text=chunk.text,
        score=score,
        store=knowledge.COLLECTION,
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


#: Collection -> what shows its items.
_KINDS: dict[str, Callable[[Connection, Sequence[str], Mapping[str, float], Where], list[Hit]]] = {
    insights.COLLECTION: _insights,
    knowledge.COLLECTION: _knowledge,
    **dict.fromkeys(memories.COLLECTIONS.values(), _memories),
}
