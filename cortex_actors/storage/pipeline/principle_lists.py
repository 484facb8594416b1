"""Principles as people look through them: filtered, sorted, a page at a time.

Only ids are listed here: what a principle is has one reader, `storage/pipeline/principles.py`, and
what speaks for it one, `storage/pipeline/principle_decay.py`.

The graph of principles as people look at it: those that are linked, and their links.

Principles that a person has taken back are not shown. Every function takes the connection of a read
transaction.

Subjects: principles as they are linked, each with its vector and what its links were drawn of.

A principle has the words of an insight, whose id ends in the same digits: heading, places and what
was said about its contradictions are that insight's. Words that a language model wrote have none of
it. Every function takes the connection of a read transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, exists, func, or_, select

from cortex_actors.domain import insight
from cortex_actors.domain.principle import Link, LinkType, Principle, PrincipleStatus
from cortex_actors.rules.clustering import Subject
from cortex_actors.storage.embeddings import Matrix, load_vectors
from cortex_actors.storage.insight_records import select_of_project
from cortex_actors.storage.pipeline import principles as links
from cortex_actors.storage.pipeline import reviews
from cortex_actors.storage.pipeline.insight_lists import ListFilter, make_conditions
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables import schema as tables
from cortex_actors.storage.tables.dialect import execute_for, has_word
from cortex_actors.storage.tables.schema import (
    derivations,
    insight_sources,
    insights,
    principle_links,
    principles,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


#: Statuses of what is given out, and so of what people see when they ask for nothing else.
GIVEN = frozenset({PrincipleStatus.ACTIVE, PrincipleStatus.DECAYING})


@dataclass(frozen=True, slots=True)
class PrincipleFilter(ListFilter):
    """Which principles are listed."""

    statuses: Collection[str] = GIVEN
    sort: insight.PrincipleSort = insight.PrincipleSort.RANK


def list_ids(
    connection: Connection, wanted: PrincipleFilter, *, limit: int | None = None, skip: int = 0
) -> list[str]:
    """Return the ids of principles, in the order that is wanted.

    Those of `SEEN` and `LINKED` come by rank: the caller counts and sorts these.
    """
    order = _ORDER.get(wanted.sort, _ORDER[insight.PrincipleSort.RANK])
    query = select(principles.c.id).where(*_filters(wanted)).order_by(*order, principles.c.id)
    return list(connection.execute(query.limit(limit).offset(skip)).scalars())


def count(connection: Connection, wanted: PrincipleFilter) -> int:
    """Return how many principles there are of those, on all pages."""
    return columns.count_rows(connection, principles, *_filters(wanted))


def count_by_status(connection: Connection) -> dict[str, int]:
    """Return how many principles have each status."""
    found = columns.count_by(connection, principles.c.status)
    return {status.value: found.get(status.value, 0) for status in PrincipleStatus}


def load_projects(connection: Connection, ids: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the projects that say now what principles were derived from."""
    said = func.coalesce(insights.c.superseded_by, insights.c.id)
    query = (
        select(derivations.c.principle_id, tables.projects.c.name)
        .join(insights, insights.c.id == derivations.c.insight_id)
        .join(insight_sources, insight_sources.c.insight_id == said)
        .join(tables.projects, tables.projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .group_by(derivations.c.principle_id, tables.projects.c.id)
        .order_by(tables.projects.c.name)
    )
    rows = columns.select_in(connection, query, derivations.c.principle_id, ids)
    return columns.group_pairs((row.principle_id, row.name) for row in rows)


_ORDER: dict[insight.PrincipleSort, tuple[Any, ...]] = {
    insight.PrincipleSort.RANK: (principles.c.rank.desc(),),
    insight.PrincipleSort.SURE: (principles.c.confidence.desc(), principles.c.rank.desc()),
    insight.PrincipleSort.NEWEST: (principles.c.created_at.desc(),),
    insight.PrincipleSort.OLDEST: (principles.c.created_at,),
}


def _filters(wanted: PrincipleFilter) -> list[ColumnElement[bool]]:
    """Return what a principle has to be."""
    found = make_conditions(principles, wanted, measure=principles.c.rank)
    if wanted.project_id is not None:
        # What comes of what the project says now.
        said = func.coalesce(insights.c.superseded_by, insights.c.id)
        own = select(derivations.c.principle_id).where(
            said.in_(select_of_project(wanted.project_id))
        )
        own = own.join(insights, insights.c.id == derivations.c.insight_id)
        found.append(principles.c.id.in_(own))
    if wanted.domain == insight.NO_DOMAIN:
        found.append(func.json_array_length(principles.c.domains) == 0)
    elif wanted.domain is not None:
        found.append(has_word(principles.c.domains, wanted.domain))
    return found


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Which links to return.

    Attributes:
        kinds: their types.
        least: their least strength.
        statuses: the status that both ends may have.
        limit: principles at most; of more, those that rank highest.

    """

    kinds: frozenset[LinkType] = frozenset(LinkType)
    least: float = 0.0
    statuses: frozenset[PrincipleStatus] = frozenset(PrincipleStatus)
    limit: int = 40

    def accepts(self, link: Link) -> bool:
        """Tell whether a link is of those that are wanted."""
        return link.type in self.kinds and link.strength >= self.least


@dataclass(frozen=True, slots=True)
class PrincipleGraph:
    """Principles by rank, and the links between them; `total` counts those that are linked."""

    ids: tuple[str, ...]
    links: tuple[Link, ...]
    total: int


def load_around(connection: Connection, principle_id: str, wanted: LinkFilter) -> PrincipleGraph:
    """Return a principle with those it is linked with, and the links among them.

    Of more than fit, those it is linked with most strongly.
    """
    gone = reviews.load_revoked_principles(connection)
    near = links.load_links(connection, [principle_id]).get(principle_id, [])
    others = list(dict.fromkeys(e.find_other_end(principle_id) for e in near if wanted.accepts(e)))
    query = select(principles.c.id).where(principles.c.status.in_(map(str, wanted.statuses)))
    standing = set(connection.execute(query.where(principles.c.id.in_(others))).scalars())
    known = [each for each in others if each in standing and each not in gone]
    shown = {principle_id, *known[: wanted.limit - 1]}
    found = [each for each in links.load_touching(connection, shown) if shown.issuperset(each.pair)]
    order = [principle_id, *(each for each in known if each in shown)]
    return PrincipleGraph(
        tuple(order), tuple(each for each in found if wanted.accepts(each)), len(known) + 1
    )


def load_overview(connection: Connection, wanted: LinkFilter) -> PrincipleGraph:
    """Return the principles that rank highest of those that are linked, and their links.

    A link to one that does not fit is left out, and so is a principle that has no other.
    """
    rows = principle_links
    some_link = (
        select(rows.c.source_id)
        .where(rows.c.type.in_(map(str, wanted.kinds)))
        .where(rows.c.strength >= wanted.least)
    )
    ends_of = (
        some_link.where(end == principles.c.id) for end in (rows.c.source_id, rows.c.target_id)
    )
    query = select(principles.c.id).where(or_(*map(exists, ends_of)))
    query = query.where(principles.c.status.in_(map(str, wanted.statuses)))
    gone = reviews.load_revoked_principles(connection)
    query = query.where(principles.c.id.not_in(sorted(gone)))
    total = columns.count_rows(connection, query.subquery())
    order = query.order_by(principles.c.rank.desc(), principles.c.id).limit(wanted.limit)
    ids = list(connection.execute(order).scalars())
    known = set(ids)
    found = [each for each in links.load_touching(connection, known) if known.issuperset(each.pair)]
    some = tuple(each for each in found if wanted.accepts(each))
    ends = {end for each in some for end in each.pair}
    return PrincipleGraph(tuple(each for each in ids if each in ends), some, total)


#: The heading above the words, and whether they are a whole section.
_WORDS = "SELECT id, heading, granularity FROM insights WHERE id IN :ids"

#: Where they hold, as far as files still say them.
_SCOPES = (
    "SELECT DISTINCT said_id, scope FROM insight_sources WHERE withdrawn_at IS NULL"
    " AND said_id IN :ids"
)

#: What was said about pairs of which the lesser is among them. With both ends looked up SQLite went
#: through the square of the principles: 12 s at 8,000.
_VERDICTS = (
    "SELECT insight_a, insight_b, type, status <> 'unresolved' AND kept_id IS NULL, decided_by,"
    " reason FROM contradictions WHERE insight_a IN :ids ORDER BY insight_a, insight_b"
)

#: What ids of principles and of insights begin with.
_PRINCIPLE, _INSIGHT = "pri_", "ins_"


@dataclass(frozen=True, slots=True)
class PrincipleNode:
    """One principle that may be linked; `linked` is what its links were drawn of, if they were."""

    subject: Subject
    text_hash: bytes
    linked: bytes | None = None

    @property
    def id(self) -> str:
        """The principle's id."""
        return self.subject.id


@dataclass(frozen=True, slots=True)
class PrincipleShelf:
    """All principles as of one moment, by id, and the vectors of those that have one."""

    nodes: Mapping[str, PrincipleNode]
    rows: Mapping[str, Matrix]


def load_shelf(
    connection: Connection,
    model: str,
    *,
    made: Sequence[Principle] = (),
    rows: Mapping[bytes, Matrix] | None = None,
    gone: Collection[str] = (),
) -> PrincipleShelf:
    """Return the principles as they will be with those that were `made` and without the `gone`.

    `rows` are vectors by the hash of their text that the ledger has not got yet.
    """
    every = connection.execute(select(principles)).all()
    known = {row.id: columns.make_entity(Principle, row) for row in every} | {
        each.id: each for each in made
    }
    linked: dict[str, bytes | None] = {row.id: row.linked for row in every}
    kept = [each for _, each in sorted(known.items()) if each.id not in gone]
    insights = [_INSIGHT + each.id.removeprefix(_PRINCIPLE) for each in kept]
    claims = _claims(connection, insights)
    verdicts = _verdicts(connection, insights, among={each.id for each in kept})
    nodes = {}
    for each in kept:
        heading, is_section, scope = claims.get(each.id, (None, False, ""))
        subject = Subject(
            each.id,
            insight.Claim(each.content, heading, scope),
            frozenset(each.domains),
            frozenset(each.tags),
            tuple(verdicts.get(each.id, ())),
            is_section=is_section,
        )
        nodes[each.id] = PrincipleNode(subject, each.text_hash, linked.get(each.id))
    stored = load_vectors(connection, model, [each.text_hash for each in kept])
    stored |= rows or {}
    found = {each.id: stored[each.text_hash] for each in kept if each.text_hash in stored}
    vectors = {name: np.asarray(row, np.float32) for name, row in found.items()}
    return PrincipleShelf(nodes, vectors)


def _claims(
    connection: Connection, insights: Sequence[str]
) -> dict[str, tuple[str | None, bool, str]]:
    """Return heading, whether it is a whole section, and scope of insights, by their principle.

    What holds in all of a project holds everywhere in it.
    """
    places = execute_for(connection, _SCOPES, insights)
    scopes = columns.group_pairs((said, columns.decode_text(scope) or "") for said, scope in places)
    found = {}
    for name, heading, granularity in execute_for(connection, _WORDS, insights):
        held, is_section = scopes.get(name, ()), granularity == insight.Granularity.SECTION
        scope = "" if "" in held else min(held, default="")
        found[_principle(name)] = (columns.decode_text(heading), is_section, scope)
    return found


def _verdicts(
    connection: Connection, insights: Sequence[str], *, among: Collection[str]
) -> dict[str, list[tuple[str, insight.Judgement]]]:
    """Return what was said about pairs, by the id of the principle that has the lesser insight.

    The other one is `among` the principles.
    """
    peace = insight.Judgement(
        insight.Relation.RELATED, insight.Decider.PERSON, "a person found that both may hold"
    )
    found = []
    for one, other, kind, is_peace, decider, reason in execute_for(connection, _VERDICTS, insights):
        said = insight.Judgement(
            insight.Relation.CONTRADICTION,
            insight.Decider(decider),
            columns.decode_text(reason) or "",
            insight.Conflict(kind),
        )
        if _principle(other) in among:
            found.append((_principle(one), (_principle(other), peace if is_peace else said)))
    return columns.group_pairs(found)


def _principle(insight_id: str) -> str:
    """Return the id of the principle that has an insight's words."""
    return _PRINCIPLE + insight_id.removeprefix(_INSIGHT)
