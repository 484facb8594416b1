"""Items as answers: what each kind of thing shows of itself.

The ledger decides: what it does not show any more, or not to the reader, is no answer, whichever
list named it.

Remembered: memories as answers, with everything that is known of them.

All memories of an answer are looked up at once: how many reads that takes does not depend on how
many they are. What the reader may not read is named nowhere, not even by its id.

Folded: hits that say one thing, or lie in one excerpt of a file, become one before the limit
is filled, so that ten hits are ten answers. Other programs get every statement by itself: they get
what was found, and nothing of what is around it.

Tagged: memories that are filed under some words, whatever they say.

The other way into what is known: something that shares a topic with a question is found here
though its words and its meaning lie far from it. The best is what has most of the words, and of
those the newest.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select

from cortex_actors.clock import iso
from cortex_actors.domain.hit import RankedHit
from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.domain.memory import PROBE, Memory, MemoryStatus, Realm
from cortex_actors.rules import decay as attention
from cortex_actors.rules.contradiction import repeats
from cortex_actors.storage import (
    agent_records,
    documents,
    insight_records,
    memory_records,
    projects,
    realms,
)
from cortex_actors.storage.memory_history import PARTS, SAID
from cortex_actors.storage.pipeline import insights, principles
from cortex_actors.storage.search import scans, similar_memories
from cortex_actors.storage.search.query import EVERYTHING, Query, Where
from cortex_actors.storage.search.scope import match_memories
from cortex_actors.storage.tables.columns import group_pairs, select_in
from cortex_actors.storage.tables.dialect import avoid_index, execute_for
from cortex_actors.storage.tables.schema import beliefs, insight_sources, memories, memory_tags
from cortex_actors.storage.tables.schema import insights as insight_rows
from cortex_actors.text.sections import ExcerptLine, Spot, find_around, make_excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


#: How many original memories each whole was made of.
_ORIGINALS = f"{PARTS} SELECT whole, count(*) FROM below WHERE {SAID} GROUP BY whole"  # noqa: S608 - ours

#: Under this name a hit of an insight has its spots until it is folded; the first is its own.
SPOTS: Final = "spots"

#: Fields of an insight's first place, which its answer names.
_PLACE = ("project", "path", "line_start", "line_end", "heading")

#: Fields of a memory that keep their names in an answer.
_WORDS = ("realm", "layer", "type", "status", "trust", "role", "thread")

#: The time of day in a moment as ISO 8601 has it.
_TIME = slice(11, 19)


def load_memories(connection: Connection, ids: Sequence[str], query: Query) -> list[RankedHit]:
    """Return memories that the reader may read; what is no longer active, only of the past."""
    states = (MemoryStatus.ACTIVE,) if query.past is None else tuple(MemoryStatus)
    known = memory_records.read(connection, ids, states)
    seen = [known[each] for each in ids if each in known and _may_read(known[each], query)]
    extra = _extra(connection, seen, query) if seen else {}
    stores, of = memory_records.COLLECTIONS, {each.project_id for each in seen} - {""}
    # Another program gets no name of a project that it does not know from a file.
    names = projects.load_names(connection) if of and not query.where.outward else {}
    return [
        RankedHit(
            each.id,
            each.text,
            0.0,
            stores[each.realm],
            project=names.get(each.project_id),
            extra=extra[each.id],
        )
        for each in seen
    ]


def _extra(
    connection: Connection, seen: Sequence[Memory], query: Query
) -> dict[str, dict[str, Any]]:
    """Return what an answer says of memories beside their texts, by id."""
    ids, where = [each.id for each in seen], query.where
    names = agent_records.load_display_names(connection, [each.agent_id for each in seen])
    parts = dict(execute_for(connection, _ORIGINALS, ids))
    standing = similar_memories.load_conflicts(connection, ids)
    linked = {other for pairs in standing.values() for other, _ in pairs}
    linked.update(each for memory in seen for each in memory.replies_to)
    named = realms.filter_readable(connection, linked, where.reader, outward=where.outward)
    spans = _spans(connection, ids, query)
    return {
        each.id: {
            "agent": each.agent_id,
            "agent_display": names[each.agent_id],
            **{name: str(getattr(each, name)) for name in _WORDS},
            "tags": list(each.tags),
            "related_agents": list(each.related),
            "responding_to": [one for one in each.replies_to if one in named],
            "created_at": each.created_at,
            "at": iso(each.created_at),
            "time_range": format_hours(each.said_from, each.said_until),
            **{name: getattr(each, name) for name in ("said_from", "said_until", "promoted_at")},
            # Hours until half of its attention is left; what does not fade has none.
            "decay_rate": decay.half_life_h if (decay := query.decays.get(each.layer)) else None,
            "attention": round(attention.compute_attention(each, query.now, query.decays), 4),
            "access_count": each.access_count,
            "pinned": each.pinned_at is not None,
            "abstract": each.abstract,
            "summary": each.summary,
            "project_id": "" if where.outward else each.project_id,
            "merged_from": parts.get(each.id, 0),
            "conflicts": sorted(one for one, _ in standing.get(each.id, ()) if one in named),
            **spans.get(each.id, {}),
        }
        for each in seen
    }


def _spans(
    connection: Connection, ids: Sequence[str], query: Query
) -> dict[str, dict[str, int | None]]:
    """Return since when until when memories were believed, about the moment that was asked for."""
    if query.past is None or query.past.as_of is None:
        return {}
    moment, held = query.past.as_of, beliefs.c
    open_then = and_(held.began_at <= moment, or_(held.ended_at.is_(None), held.ended_at > moment))
    found = select(beliefs).where(held.memory_id.in_(ids), open_then)
    return {
        row.memory_id: {"believed_from": row.began_at, "believed_until": row.ended_at}
        for row in connection.execute(found)
    }


def _may_read(memory: Memory, query: Query) -> bool:
    """Tell whether the reader may read a memory; only the daemon itself reads a probe."""
    reader = query.where.reader
    if query.where.outward and memory.realm is not Realm.VILLAGE:
        return False
    if reader is None:
        return memory.agent_id != PROBE
    return memory.readers is None or reader in memory.readers


def format_hours(begun: int | None, ended: int | None) -> str | None:
    """Return the hours of a day (UTC) that a memory tells of; None where none were given."""
    if begun is None or ended is None:
        return None
    return " - ".join(iso(each)[_TIME] for each in (begun, ended))


def load_hits(
    connection: Connection, items: Mapping[str, str], scores: Mapping[str, float], query: Query
) -> dict[str, RankedHit]:
    """Return the answers by id; `items` names each one's collection."""
    by_kind = group_pairs((items[item_id], item_id) for item_id in scores)
    return {
        hit.id: replace(hit, score=scores[hit.id])
        for collection, ids in by_kind.items()
        for hit in _KINDS[collection](connection, ids, query)
    }


def _insights(connection: Connection, ids: Sequence[str], query: Query) -> list[RankedHit]:
    """Return insights with where they were read; places in the project that is meant lead."""
    known = insights.load_live(connection, ids)
    places = insights.load_sources(connection, ids, first=query.where.project_id or query.here)
    if query.where.outward:
        # Only what files say that are for more than one person, and the projects of these.
        private = insight_records.PRIVATE
        places = {
            each: [one for one in some if not one.path.lower().endswith(private)]
            for each, some in places.items()
        }
    found = []
    for each in ids:
        if each not in known or not places.get(each):
            continue
        insight, (place, *others) = known[each], places[each]
        said = {one.project for one in places[each]} if query.where.outward else insight.projects
        extra = {
            "category": str(insight.category),
            "confidence": insight.confidence,
            "projects": sorted(said),
            "observed": insight.observation_count,
            "also": [f"{one.path}:{one.line_start}" for one in others],
        }
        if insight.granularity is Granularity.STATEMENT and not query.where.outward:
            extra[SPOTS] = [one.spot for one in places[each]]
        where = {name: getattr(place, name) for name in _PLACE}
        store = insight_records.COLLECTION
        found.append(RankedHit(each, insight.content, 0.0, store, **where, extra=extra))
    return found


def _knowledge(connection: Connection, ids: Sequence[str], _query: Query) -> list[RankedHit]:
    """Return pieces of documents."""
    return [
        RankedHit(
            each,
            chunk.text,
            0.0,
            documents.COLLECTION,
            heading=" > ".join(chunk.headings) or chunk.title or None,
            extra={
                **{name: getattr(chunk, name) for name in ("source", "ordinal", "topic", "title")},
                "headings": list(chunk.headings),
                "is_code": chunk.is_code,
                "language": chunk.language,
                "cross_refs": list(chunk.cross_refs),
                "at": iso(chunk.read_at),
                "tags": list(chunk.tags),
            },
        )
        for each, chunk in documents.load_chunks(connection, ids).items()
    ]


def _crumbs(connection: Connection, ids: Sequence[str], query: Query) -> list[RankedHit]:
    """Return crumbs that the reader may read."""
    if query.where.outward:
        return []
    known = agent_records.load_crumbs(connection, ids, reader=query.where.reader)
    return [
        RankedHit(
            each,
            crumb.searched,
            0.0,
            agent_records.COLLECTION,
            extra={
                "agent": crumb.agent_id,
                "session": crumb.session_id,
                "type": str(crumb.type),
                "priority": str(crumb.priority),
                "unfinished": list(crumb.unfinished),
                "saved_by": crumb.saved_by,
                "project_id": crumb.project_id,
                "at": iso(crumb.left_at),
                "created_at": crumb.left_at,
            },
        )
        for each, crumb in known.items()
    ]


#: Collection -> what shows its items, in any order and without what they score.
_KINDS: dict[str, Callable[[Connection, Sequence[str], Query], list[RankedHit]]] = {
    insight_records.COLLECTION: _insights,
    documents.COLLECTION: _knowledge,
    **dict.fromkeys(memory_records.COLLECTIONS.values(), load_memories),
    agent_records.COLLECTION: _crumbs,
    principles.COLLECTION: scans.make_answers,
}


#: Memories that are compared, of all words together: reading one takes 2 to 6 us.
COMPARED: Final = 5_000


class Tagged(NamedTuple):
    """One memory that has some of the words.

    Attributes:
        hit: the memory, with a score of 0: it was compared with nothing.
        matched: those of the words that it has, in the order in which they were given.

    """

    hit: RankedHit
    matched: tuple[str, ...]


def list_tagged(
    connection: Connection,
    words: Sequence[str],
    *,
    limit: int,
    where: Where = EVERYTHING,
    exclude: Collection[str] = (),
    now: int = 0,
) -> list[Tagged]:
    """Return active memories that have any of those tags, most of them first, then the newest.

    Words are compared in their one form (`normalise_tags`); `exclude` are ids that are known
    already. Of a word that very many have, its share of `COMPARED` counts: those that came last.
    """
    asked = normalise_tags(words)
    if not asked or limit < 1:
        return []
    newest = _newest(where, now)
    given = {"exclude": sorted(exclude), "most": max(limit, COMPARED // len(asked))}
    has: dict[str, set[str]] = defaultdict(set)
    made: dict[str, int] = {}
    for word in asked:
        for row in connection.execute(newest, {**given, "word": word}):
            has[row.id].add(word)
            made[row.id] = row.created_at
    best = sorted(made, key=lambda each: (-len(has[each]), -made[each], each))[:limit]
    told = Query("", None, "", limit, where=where, now=now)
    hits = load_memories(connection, best, told)
    return [
        Tagged(replace(hit, base_relevance=0.0), tuple(w for w in asked if w in has[hit.id]))
        for hit in hits
    ]


def filter_rare(
    connection: Connection, words: Sequence[str], *, most: int, where: Where = EVERYTHING
) -> list[str]:
    """Return those words, in their one form, under which at most so many memories are filed.

    Those that the reader may read count: how many others file under a word it does not learn.
    """
    right = realms.match_visible(where.reader, outward=where.outward)
    some = (
        select(memory_tags.c.memory_id)
        .join(memories, memories.c.id == memory_tags.c.memory_id)
        .where(memory_tags.c.tag == bindparam("word"), right)
        .limit(most + 1)
    )
    query = select(func.count()).select_from(some.subquery())
    asked = normalise_tags(words)
    return [
        each for each in asked if connection.execute(query, {"word": each}).scalar_one() <= most
    ]


def normalise_tags(words: Iterable[str]) -> list[str]:
    """Return words as tags are kept: small letters, single blanks, each once, none empty."""
    found = (" ".join(each.lower().split()) for each in words)
    return list(dict.fromkeys(each for each in found if each))


def _newest(where: Where, now: int) -> Select[tuple[str, int]]:
    """Return the query for the memories of one word that came last.

    SQLite walks those of the word from the newest on, and ends with the last that it needs.
    """
    rows, tags = memories.c, memory_tags.c
    known: Any = bindparam("exclude", expanding=True)
    return (
        select(rows.id, rows.created_at)
        .select_from(memory_tags.join(memories, rows.id == tags.memory_id))
        .where(tags.tag == bindparam("word"), avoid_index(rows.status) == MemoryStatus.ACTIVE)
        .where(rows.id.not_in(known), *match_memories(where, now))
        .order_by(tags.memory_id.desc())
        .limit(bindparam("most"))
    )


#: What sections say now, but for what a person has to look at first.
_SAID = (
    select(
        *insight_sources.c["fragment_id", "ordinal", "heading", "line_start", "line_end"],
        insight_rows.c.content,
    )
    .join(insight_rows, insight_rows.c.id == insight_sources.c.said_id)
    .where(insight_sources.c.withdrawn_at.is_(None), insight_rows.c.review.is_(None))
    .where(insight_rows.c.granularity == Granularity.STATEMENT)
    .order_by(insight_sources.c.fragment_id, insight_sources.c.ordinal)
)


def load_sections(connection: Connection, fragments: Iterable[str]) -> dict[str, list[ExcerptLine]]:
    """Return the statements of sections as files say them now, in their order, by fragment."""
    rows = select_in(connection, _SAID, insight_sources.c.fragment_id, fragments)
    return group_pairs((row[0], ExcerptLine((row[0], row[1]), *row[2:])) for row in rows)


@dataclass(slots=True)
class _Folded:
    """One hit, what of its section is shown, and which statements of that were found."""

    hit: RankedHit
    extra: dict[str, Any]
    excerpt: Sequence[ExcerptLine] = ()
    found: dict[Spot, str] = field(default_factory=dict)


class Folding:
    """Takes hits, best first, and makes answers of them; only insights are folded."""

    def __init__(self, connection: Connection, question: str) -> None:
        """Begin without any; what of a section is shown is read through the connection."""
        self._connection = connection
        self._question = question
        self._answers: list[_Folded] = []
        self._shown: dict[Spot, _Folded] = {}

    def __len__(self) -> int:
        """Return how many answers there are."""
        return len(self._answers)

    def add(self, hits: Iterable[RankedHit]) -> None:
        """Take more hits, which rank behind those that were taken before."""
        some = [_Folded(hit, dict(hit.extra)) for hit in hits]
        spots: list[list[Spot]] = [each.extra.pop(SPOTS, []) for each in some]
        said = load_sections(self._connection, (own[0] for own, *_ in filter(None, spots)))
        for answer, own in zip(some, spots, strict=True):
            if own and self._is_folded(answer, own):
                continue
            self._answers.append(answer)
            if own:
                answer.extra["folded"], answer.found[own[0]] = [], answer.hit.id
                answer.excerpt = find_around(said.get(own[0][0], ()), own[0], taken=self._shown)
                self._shown |= {each.spot: answer for each in answer.excerpt}

    def _is_folded(self, other: _Folded, spots: Sequence[Spot]) -> bool:
        """Mark a statement in the excerpt that has it, or name its places where it is said."""
        spot = next((each for each in spots if each in self._shown), None)
        claim = Claim(other.hit.text, other.hit.heading)
        for answer in self._answers if spot is None else [self._shown[spot]]:
            if spot is not None:
                answer.found.setdefault(spot, other.hit.id)
            elif answer.found and repeats(
                Claim(answer.hit.text, answer.hit.heading),
                claim,
                within=answer.hit.project == other.hit.project,
            ):
                place = f"{other.hit.path}:{other.hit.line_start}"
                answer.extra["also"] = [*answer.extra["also"], place, *other.extra["also"]]
            else:
                continue
            answer.extra["folded"].append(other.hit.id)
            return True
        return False

    def make_hits(self) -> list[RankedHit]:
        """Return the answers as hits; the lines are those of all that was found in an excerpt."""
        return [self._told(each) for each in self._answers]

    def _told(self, answer: _Folded) -> RankedHit:
        """Return an answer with what of its section is shown."""
        found = [each for each in answer.excerpt if each.spot in answer.found]
        if not found:
            return replace(answer.hit, extra=answer.extra)
        section = make_excerpt(answer.excerpt, answer.found, question=self._question)
        extra = {**answer.extra, "section": section}
        lines = found[0].line_start, max(each.line_end for each in found)
        return replace(answer.hit, line_start=lines[0], line_end=lines[1], extra=extra)
