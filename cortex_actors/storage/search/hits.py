"""Items as answers: what each kind of thing shows of itself.

The ledger has the last word: what it does not show any more, or not to whoever asks, is no answer,
whichever list named it.

Remembered: memories as answers, with everything that is known of them.

All memories of an answer are looked up at once: how many reads that takes does not depend on how
many they are. What whoever asks may not read is named nowhere, not even by its id.

Tagged: memories that are filed under some words, whatever they say.

The other way into what is known: something that shares a topic with a question is found here
though its words and its meaning lie far from it. The best is what has most of the words, and of
those the newest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, func, literal_column, or_, select, text

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Hit
from cortex_actors.domain.memory import PROBE, Memory, MemoryStatus, Realm
from cortex_actors.rules import decay as attention
from cortex_actors.storage import (
    agent_records,
    documents,
    insight_records,
    insights,
    memory_records,
    principles,
    realms,
    similar_memories,
)
from cortex_actors.storage.realms import readable, shared
from cortex_actors.storage.search import scans
from cortex_actors.storage.search.query import EVERYTHING, Query, Where
from cortex_actors.storage.search.scope import memory_conditions
from cortex_actors.storage.tables.schema import beliefs, memories, memory_tags
from cortex_actors.storage.tables.schema import memories as rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cortex_actors.domain.insight import Insight, InsightSource
    from cortex_actors.domain.memory import Crumb
    from cortex_actors.domain.project import Chunk


#: How many original memories each whole was made of, down all merges. A pair of a whole and a part
#: comes once, so that not even a damaged ledger, in which parts go round, keeps this going.
_ORIGINALS = text(
    "WITH RECURSIVE below(whole, id) AS ("
    " SELECT merged_into, id FROM memories"
    " WHERE merged_into IN (SELECT value FROM json_each(:wholes))"
    " UNION SELECT below.whole, m.id FROM below"
    " CROSS JOIN memories AS m ON m.merged_into = below.id)"
    " SELECT whole, count(*) AS parts FROM below"
    " WHERE NOT EXISTS (SELECT 1 FROM memories AS p WHERE p.merged_into = below.id)"
    " GROUP BY whole"
)

#: The time of day in a moment as ISO 8601 has it.
_TIME = slice(11, 19)


def remembered(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], query: Query
) -> list[Hit]:
    """Return memories that whoever asks may read; what is no longer active, only of the past."""
    states = (MemoryStatus.ACTIVE,) if query.past is None else tuple(MemoryStatus)
    known = memory_records.read(connection, ids, states)
    seen = [known[each] for each in ids if each in known and _may_read(known[each], query)]
    around = _around(connection, seen, query)
    return [
        Hit(
            id=each.id,
            text=each.text,
            score=scores[each.id],
            store=memory_records.COLLECTIONS[each.realm],
            extra=_told(each, around, query),
        )
        for each in seen
    ]


@dataclass(slots=True)
class _Around:
    """What lies around the memories of an answer, looked up for all of them at once."""

    #: Agent -> what it is called.
    names: dict[str, str] = field(default_factory=dict)
    #: Memory -> active ones that contradict it.
    conflicts: dict[str, list[str]] = field(default_factory=dict)
    #: Memory -> how many original ones it was made of.
    parts: dict[str, int] = field(default_factory=dict)
    #: Memory -> since when until when it was believed, where that was asked.
    beliefs: dict[str, dict[str, int | None]] = field(default_factory=dict)
    #: Memories that are answered and may be named.
    named: set[str] = field(default_factory=set)


def _around(connection: Connection, seen: Sequence[Memory], query: Query) -> _Around:
    """Look up what lies around memories."""
    if not seen:
        return _Around()
    ids = [each.id for each in seen]
    parts = connection.execute(_ORIGINALS, {"wholes": json.dumps(ids)})
    replied = [each for memory in seen for each in memory.replies_to]
    return _Around(
        names=agent_records.displays(connection, [each.agent_id for each in seen]),
        conflicts=_conflicts(connection, ids, query.where),
        parts={row.whole: row.parts for row in parts},
        beliefs=_beliefs(connection, ids, query),
        named=_readable(connection, replied, query.where),
    )


def _may_read(memory: Memory, query: Query) -> bool:
    """Tell whether whoever asks may read a memory; nobody but the daemon itself reads a probe."""
    reader = query.where.reader
    if query.where.outward and memory.realm is not Realm.VILLAGE:
        return False
    if reader is None:
        return memory.agent_id != PROBE
    return memory.readers is None or reader in memory.readers


def _conflicts(connection: Connection, ids: Sequence[str], where: Where) -> dict[str, list[str]]:
    """Return the active memories that contradict each, which nobody has decided about."""
    standing = similar_memories.standing(connection, ids)
    others = {other for pairs in standing.values() for other, _ in pairs}
    known = _readable(connection, others, where)
    return {
        each: sorted(other for other, _ in pairs if other in known)
        for each, pairs in standing.items()
    }


def _readable(connection: Connection, ids: Iterable[str], where: Where) -> set[str]:
    """Return those of some memories that whoever asks may read."""
    wanted = sorted(set(ids))
    if not wanted:
        return set()
    query = select(rows.c.id).where(rows.c.id.in_(wanted), realms.readable(where.reader))
    if where.outward:
        query = query.where(realms.shared())
    return set(connection.execute(query).scalars())


def _beliefs(
    connection: Connection, ids: Sequence[str], query: Query
) -> dict[str, dict[str, int | None]]:
    """Return since when until when memories were believed, about the moment that was asked for."""
    if query.past is None or query.past.as_of is None:
        return {}
    moment = query.past.as_of
    held = beliefs.c
    open_then = and_(held.began_at <= moment, or_(held.ended_at.is_(None), held.ended_at > moment))
    found = select(beliefs).where(held.memory_id.in_(ids), open_then)
    return {
        row.memory_id: {"believed_from": row.began_at, "believed_until": row.ended_at}
        for row in connection.execute(found)
    }


def _told(memory: Memory, around: _Around, query: Query) -> dict[str, Any]:
    """Return what an answer says of a memory."""
    decay = query.decays.get(memory.layer)
    present = attention.of(memory, query.now, query.decays)
    return {
        "agent": memory.agent_id,
        "agent_display": around.names[memory.agent_id],
        "realm": str(memory.realm),
        "layer": str(memory.layer),
        "type": str(memory.type),
        "status": str(memory.status),
        "trust": str(memory.trust),
        "role": memory.role,
        "thread": memory.thread,
        "tags": list(memory.tags),
        "related_agents": list(memory.related),
        "responding_to": [each for each in memory.replies_to if each in around.named],
        "created_at": memory.created_at,
        "at": iso(memory.created_at),
        "time_range": time_range(memory.said_from, memory.said_until),
        "said_from": memory.said_from,
        "said_until": memory.said_until,
        "promoted_at": memory.promoted_at,
        # Hours until half of its attention is left; what does not fade has none.
        "decay_rate": None if decay is None else decay.half_life_h,
        "attention": round(present, 4),
        "access_count": memory.access_count,
        "pinned": memory.pinned_at is not None,
        "abstract": memory.abstract,
        "summary": memory.summary,
        "merged_from": around.parts.get(memory.id, 0),
        "conflicts": around.conflicts.get(memory.id, []),
        **around.beliefs.get(memory.id, {}),
    }


def time_range(begun: int | None, ended: int | None) -> str | None:
    """Return the hours of a day (UTC) that a memory tells of; None where nobody said so."""
    if begun is None or ended is None:
        return None
    return " - ".join(iso(each)[_TIME] for each in (begun, ended))


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
    principles.COLLECTION: scans.answers,
}


#: Memories that are compared, of all words together: reading one takes 2 to 6 us.
COMPARED: Final = 5_000


@dataclass(frozen=True, slots=True)
class Tagged:
    """One memory that has some of the words.

    Attributes:
        hit: the memory, with a score of 0: it was compared with nothing.
        matched: those of the words that it has, in the order in which they were given.

    """

    hit: Hit
    matched: tuple[str, ...]


def tagged(
    connection: Connection,
    words: Sequence[str],
    *,
    limit: int,
    where: Where = EVERYTHING,
    exclude: Collection[str] = (),
    now: int = 0,
) -> list[Tagged]:
    """Return active memories that have any of those tags, most of them first, then the newest.

    Words are compared in their one form (`plain`); `exclude` are ids that are known already. Of a
    word that very many have, its share of `COMPARED` counts: those that came last.
    """
    asked = plain(words)
    if not asked or limit < 1:
        return []
    newest = _newest(where, now)
    given = {"exclude": json.dumps(sorted(exclude)), "most": max(limit, COMPARED // len(asked))}
    has: dict[str, set[str]] = defaultdict(set)
    made: dict[str, int] = {}
    for word in asked:
        for row in connection.execute(newest, {**given, "word": word}):
            has[row.id].add(word)
            made[row.id] = row.created_at
    best = sorted(made, key=lambda each: (-len(has[each]), -made[each], each))[:limit]
    told = Query("", None, "", limit, where=where, now=now)
    hits = remembered(connection, best, dict.fromkeys(best, 0.0), told)
    return [
        Tagged(replace(hit, base_relevance=0.0), tuple(w for w in asked if w in has[hit.id]))
        for hit in hits
    ]


def rare(
    connection: Connection, words: Sequence[str], *, most: int, where: Where = EVERYTHING
) -> list[str]:
    """Return those words, in their one form, under which at most so many memories are filed.

    Those that whoever asks may read count: how many others file under a word it does not learn.
    """
    rights = [readable(where.reader), *([shared()] if where.outward else [])]
    some = (
        select(memory_tags.c.memory_id)
        .join(memories, memories.c.id == memory_tags.c.memory_id)
        .where(memory_tags.c.tag == bindparam("word"), *rights)
        .limit(most + 1)
    )
    query = select(func.count()).select_from(some.subquery())
    asked = plain(words)
    return [
        each for each in asked if connection.execute(query, {"word": each}).scalar_one() <= most
    ]


def plain(words: Iterable[str]) -> list[str]:
    """Return words as tags are kept: small letters, single blanks, each once, none empty."""
    found = (" ".join(each.lower().split()) for each in words)
    return list(dict.fromkeys(each for each in found if each))


def _newest(where: Where, now: int) -> Select[tuple[str, int]]:
    """Return the query for the memories of one word that came last.

    The plus has SQLite walk those of the word from the newest on, and end with the last it needs.
    """
    rows, tags = memories.c, memory_tags.c
    status = literal_column("+memories.status", rows.status.type)
    return (
        select(rows.id, rows.created_at)
        .select_from(memory_tags.join(memories, rows.id == tags.memory_id))
        .where(tags.tag == bindparam("word"), status == MemoryStatus.ACTIVE)
        .where(rows.id.not_in(_each("exclude")), *memory_conditions(where, now))
        .order_by(tags.memory_id.desc())
        .limit(bindparam("most"))
    )


def _each(name: str) -> Select[tuple[str]]:
    """Return the query for the values of a JSON list that is bound under a name."""
    values = func.json_each(bindparam(name)).table_valued("value")
    found: Select[tuple[str]] = select(values.c.value)
    return found
