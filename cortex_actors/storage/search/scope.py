"""What a search may see, as SQL: the passages that meet its conditions.

Conditions are met before anything is ranked, so a filter can never leave fewer hits than there
are, and what an agent may not read has no place in its lists; an answer that leaves for another
program (`Where.outward`) holds only what every agent may read.

Presence: the condition that a memory has that much attention at a moment, for the ledger.

Attention falls with age and with nothing else, so a least attention is a greatest age for each
layer and number of accesses (`rules/attention.window`). The ages are worked out once a search, and
the ledger compares whole microseconds: what it selects has that attention by the formula itself,
to the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa

from cortex_actors.domain.memory import Layer, Realm, SearchPlace
from cortex_actors.rules.decay import COUNTED, DECAYS, WHOLE, Decay, find_fresh_age, find_window
from cortex_actors.storage import (
    agent_records,
    documents,
    embeddings,
    insight_records,
    memory_records,
    realms,
)
from cortex_actors.storage.pipeline import principles
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.tables import dialect, schema
from cortex_actors.storage.tables.columns import count_rows, group_pairs, match_columns, select_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


#: Later than any memory was ever touched.
_NEVER = 2**62


def match_present(least: float, now: int, decays: Mapping[Layer, Decay]) -> sa.ColumnElement[bool]:
    """Return the condition on a row of `memories` that its attention is at least that now."""
    known = product(Layer, range(COUNTED + 1))
    ages = {each: find_window(*each, least, decays) for each in known}
    touched = {each: now - age for each, age in ages.items() if age is not None}
    pinned = schema.memories.c.pinned_at.is_not(None) if least <= WHOLE else sa.false()
    if not touched:
        return pinned
    since = _by_accesses(touched, _NEVER)
    # What is pinned has its 1 and no more, however often it was read.
    return sa.or_(pinned, sa.and_(schema.memories.c.pinned_at.is_(None), _touched() >= since))


def match_faded(before: int, decays: Mapping[Layer, Decay]) -> sa.ColumnElement[bool]:
    """Return the condition on a row of `memories` that it had faded at a time already.

    It has then as little attention as it ever will. What is pinned or lies in the cortex never has.
    """
    known = product(decays, range(COUNTED + 1))
    ages = {each: find_fresh_age(*each, decays) for each in known}
    touched = {each: before if it is None else before - it - 1 for each, it in ages.items()}
    until = _by_accesses(touched, -_NEVER)
    return sa.and_(schema.memories.c.pinned_at.is_(None), _touched() <= until)


def _by_accesses(times: Mapping[tuple[Layer, int], int], other: int) -> sa.ColumnElement[int]:
    """Return a time by a memory's layer and how often it was read."""
    count = sa.func.coalesce(_read(schema.memory_attention.c.access_count), 0)
    counted = dialect.least(count, COUNTED)
    known = (
        (sa.and_(schema.memories.c.layer == layer, counted == count), at)
        for (layer, count), at in times.items()
    )
    return sa.case(*known, else_=other)


def _touched() -> sa.ColumnElement[int]:
    """Return when a memory was last said, read or promoted."""
    read = sa.func.coalesce(_read(schema.memory_attention.c.accessed_at), 0)
    return dialect.greatest(
        schema.memories.c.created_at, read, sa.func.coalesce(schema.memories.c.promoted_at, 0)
    )


def _read(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return what changes when a memory is read."""
    query = sa.select(column).where(schema.memory_attention.c.memory_id == schema.memories.c.id)
    return query.correlate(schema.memories).scalar_subquery()


#: Selects `passages.id`.
Ids: TypeAlias = "sa.Select[tuple[int]] | sa.CompoundSelect[tuple[int]]"

#: The passages of items, which who asks joins.
_PASSAGES = sa.select(schema.passages.c.id)

#: What every agent may read all of.
_VILLAGE = frozenset((memory_records.COLLECTIONS[Realm.VILLAGE],))

#: The hidden numbers of memories.
_ROWS = sa.select(dialect.select_number(schema.memories).label("id")).select_from(schema.memories)

#: Every collection that has passages.
COLLECTIONS = (
    insight_records.COLLECTION,
    documents.COLLECTION,
    *memory_records.COLLECTIONS.values(),
    agent_records.COLLECTION,
)

#: Every collection that can be asked by its name: principles have no passages, and take no part in
#: a search of everything.
ROOMS = (insight_records.COLLECTION, principles.COLLECTION, *COLLECTIONS[1:])


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Where a search looks.

    Attributes:
        collections: all that may hold something.
        allowed: selects what meets the conditions; None when there are none.
        whole: collections of which everything meets them: the village's, for an agent that asks
            under no other condition.
        memories: the same of other memories, as numbers of `memories`: what all of them select.
        others: the same of everything else.

    """

    collections: tuple[str, ...]
    allowed: Ids | None
    memories: tuple[sa.Select[Any], ...] = ()
    others: Ids | None = None
    whole: frozenset[str] = frozenset()

    @property
    def ids(self) -> Ids | None:
        """Selects what may be found; None for everything there is."""
        if self.allowed is not None or set(self.collections) == set(COLLECTIONS):
            return self.allowed
        return sa.select(schema.passages.c.id).where(
            schema.passages.c.collection.in_(self.collections)
        )


def make_scope(
    where: Where,
    collections: tuple[str, ...] = (),
    *,
    now: int = 0,
    decays: Mapping[Layer, Decay] = DECAYS,
) -> SearchScope:
    """Return what may be found under those conditions, in those collections or in all.

    `now` (UTC microseconds) and `decays` say how much attention memories have.
    """
    if collections == (principles.COLLECTION,):
        return SearchScope(collections, None)  # they have no passages: none is selected
    names = tuple(name for name in COLLECTIONS if name in (collections or COLLECTIONS))
    if where == Where():
        return SearchScope(names, None)
    realms_searched, said = set(memory_records.COLLECTIONS.values()), None
    if not where.of_knowledge:
        said = _PASSAGES.where(*match_memories(where, now, decays))
    kinds = [
        (_insights(where), schema.insights, {insight_records.COLLECTION}),
        (_knowledge(where), schema.knowledge_chunks, {documents.COLLECTION}),
        (said, schema.memories, realms_searched),
        (_crumbs(where), schema.crumbs, {agent_records.COLLECTION}),
    ]
    searched, some, apart = tuple[str, ...](), [], []
    for part, table, own in kinds:
        mine = tuple(name for name in names if name in own)
        if part is not None and mine:
            found = part.where(schema.passages.c.collection.in_(mine))
            some.append(found.where(schema.passages.c.item_id == table.c.id))
            if part is not said:
                # What it cannot look up SQLite goes through, and looks up the passages of. It knows
                # not how many there are of either, and would take all passages of memories first.
                apart.append(found.where(schema.passages.c.item_id == table.c.id.concat("")))
            searched += mine
    allowed, others = _together(some), _together(apart)
    if allowed is None:
        return SearchScope((), sa.select(schema.passages.c.id).where(sa.false()))
    if said is None or not realms_searched.intersection(searched):
        return SearchScope(searched, allowed, others=others)
    rows, whole = _memory_rows(where, now, decays=decays)
    return SearchScope(searched, allowed, rows, others, whole.intersection(searched))


def _memory_rows(
    where: Where, now: int, *, decays: Mapping[Layer, Decay]
) -> tuple[tuple[sa.Select[Any], ...], frozenset[str]]:
    """Return what selects numbers of memories that meet the conditions, each once.

    Beside them, the collections of which everything does.
    """
    if where.reader is None or where != Where(reader=where.reader):
        return (_ROWS.where(*match_memories(where, now, decays)),), frozenset()
    return tuple(_ROWS.where(each) for each in realms.match_beside(where.reader)), _VILLAGE


def _together(selects: Sequence[sa.Select[tuple[int]]]) -> Ids | None:
    """Return one query for what several find; None for none."""
    if len(selects) > 1:
        return sa.union_all(*selects)
    return selects[0] if selects else None


def count(connection: sa.Connection, seen: SearchScope) -> int:
    """Return how many items may be found."""
    own = schema.passages.c.place != SearchPlace.PAIRED
    among = [] if seen.ids is None else [schema.passages.c.id.in_(seen.ids)]
    return count_rows(connection, schema.passages, own, *among)


def count_late(connection: sa.Connection, model: str, seen: SearchScope) -> tuple[int, bool]:
    """Return how many texts that may be found have no vector yet, and whether these are all."""
    return embeddings.count_some(connection, model, seen.ids)


def find_elsewhere(
    connection: sa.Connection, items: Mapping[str, str], *, near: Collection[str]
) -> set[str]:
    """Return which items belong to other projects than those `near`, and not to none.

    `items` names each one's collection. An insight that no file says in `near` is elsewhere.
    """
    found = {each for each, name in items.items() if name == insight_records.COLLECTION}
    said = schema.insight_sources.c
    mine = sa.select(said.insight_id).where(said.project_id.in_(near), said.withdrawn_at.is_(None))
    found -= {each for (each,) in select_in(connection, mine, said.insight_id, list(found))}
    homes = dict.fromkeys(memory_records.COLLECTIONS.values(), schema.memories)
    homes[agent_records.COLLECTION] = schema.crumbs
    asked = group_pairs((homes[name], each) for each, name in items.items() if name in homes)
    for table, ids in asked.items():
        other = sa.select(table.c.id).where(table.c.project_id.not_in(("", *near)))
        found |= {each for (each,) in select_in(connection, other, table.c.id, ids)}
    return found


def _insights(where: Where) -> sa.Select[tuple[int]] | None:
    """Return the passages of insights that meet the conditions; None when none can."""
    if where.of_memories or where.of_knowledge:
        return None
    query = _PASSAGES
    if where.project_id is not None:
        said = sa.exists().where(
            schema.insight_sources.c.insight_id == schema.insights.c.id,
            schema.insight_sources.c.project_id == where.project_id,
            schema.insight_sources.c.withdrawn_at.is_(None),
        )
        query = query.where(said)
    if where.outward:
        query = query.where(insight_records.match_shared())
    query = query.where(*_between(schema.insights.c.last_seen_at, where))
    return query.where(*(dialect.has_word(schema.insights.c.tags, tag) for tag in where.tags))


def _knowledge(where: Where) -> sa.Select[tuple[int]] | None:
    """Return the passages of documents that meet the conditions; None when none can."""
    if where.project_id is not None or where.of_memories:
        return None
    rows = schema.knowledge_chunks.c
    code = None if where.code is None else int(where.code)
    asked = {"topic": where.topic, "source": where.source, "code_language": where.language}
    query = _PASSAGES.where(*match_columns(schema.knowledge_chunks, is_code=code, **asked))
    query = query.where(*_between(rows.read_at, where))
    return query.where(*(dialect.has_word(rows.tags, tag) for tag in where.tags))


def match_memories(
    where: Where, now: int, decays: Mapping[Layer, Decay] = DECAYS
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on rows of `memories`, whatever their status."""
    rows = schema.memories.c
    names = ("realm", "agent_id", "thread", "project_id")
    asked = {name: getattr(where, name) for name in names}
    found = match_columns(schema.memories, **asked)
    found.append(realms.match_visible(where.reader, outward=where.outward))
    if where.layers:
        found.append(rows.layer.in_(where.layers))
    if where.types:
        found.append(rows.type.in_(where.types))
    if where.attention is not None:
        found.append(match_present(where.attention, now, decays))
    mine = sa.exists().where(schema.memory_tags.c.memory_id == rows.id)
    tagged = (mine.where(schema.memory_tags.c.tag == tag) for tag in where.tags)
    return [*found, *_between(rows.created_at, where), *tagged]


def _crumbs(where: Where) -> sa.Select[tuple[int]] | None:
    """Return the passages of crumbs that meet the conditions; None when none can.

    All that a crumb has of them is agent, project and time, and only its own agent reads it.
    """
    asked: dict[str, Any] = {"agent_id": where.agent_id, "project_id": where.project_id}
    if where != Where(reader=where.reader, since=where.since, until=where.until, **asked):
        return None
    query = _PASSAGES.where(agent_records.match_readable(where.reader))
    query = query.where(*match_columns(schema.crumbs, **asked))
    return query.where(*_between(schema.crumbs.c.left_at, where))


def _between(moment: sa.ColumnElement[int], where: Where) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on when something happened."""
    found = [] if where.since is None else [moment >= where.since]
    return found if where.until is None else [*found, moment < where.until]
