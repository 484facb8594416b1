"""Insights as people look through them: filtered, sorted, a page at a time.

What is counted about an insight is counted for the page alone, unless it is what is sorted by.

Fragments as people look through them: which parts files have, and what each of them says.

A fragment has no row of its own: it is the part of a file in which insights are found now.

The short names of what has an id: its first letters, as long as they mean only one.

The trail of what was learned: from the lines that say it to the files it was written into.

Rows only, each with its time; the caller works out what follows from what. A merge has no time of
its own: it is a pointer that is set and taken back without a trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from cortex_actors.domain.insight import LIVE, NO_DOMAIN, InsightSort, InsightStatus
from cortex_actors.domain.project import Revocation, SourceKind, StatementKind
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import insight_records
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import has_word
from cortex_actors.storage.tables.schema import (
    clusters,
    contradictions,
    insight_sources,
    insights,
    observations,
    principles,
    projects,
    resolutions,
    resolved_bullets,
    revocations,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from cortex_actors.domain.insight import Category, Insight, InsightSource
    from cortex_actors.domain.principle import PrincipleCategory


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Which insights or principles are listed; None asks for nothing of the kind.

    Attributes:
        project_id: a project that says it now, or what it was derived from.
        least: the least confidence of insights, rank of principles.
        words: every one of them occurs in the text, as part of a word, too; letters of ASCII are
            the same in both cases.

    """

    statuses: Collection[str] = ()
    project_id: str | None = None
    category: Category | PrincipleCategory | None = None
    domain: str | None = None
    tag: str | None = None
    least: float | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsightFilter(ListFilter):
    """Which insights are listed.

    Attributes:
        path: a file that says it, or a folder of such files.

    """

    statuses: Collection[str] = LIVE
    kind: StatementKind | None = None
    path: str | None = None
    sort: InsightSort = InsightSort.SURE
    limit: int = 20
    skip: int = 0


def list_insights(connection: sa.Connection, wanted: InsightFilter) -> list[Insight]:
    """Return one page of insights, in the order that is wanted."""
    query = insight_records.select_evidence().where(*_filters(wanted))
    query = query.order_by(*_ORDER[wanted.sort], insights.c.id)
    rows = connection.execute(query.limit(wanted.limit).offset(wanted.skip))
    return [insight_records.make_insight(row) for row in rows]


def count(connection: sa.Connection, wanted: InsightFilter) -> int:
    """Return how many insights there are of those, on all pages."""
    return columns.count_rows(connection, insights, *_filters(wanted))


def load_insights(connection: sa.Connection, ids: Collection[str]) -> dict[str, Insight]:
    """Return the insights among those ids, whatever their status."""
    rows = columns.select_in(connection, insight_records.select_evidence(), insights.c.id, ids)
    return {row.id: insight_records.make_insight(row) for row in rows}


def load_places(connection: sa.Connection, ids: Collection[str]) -> dict[str, list[InsightSource]]:
    """Return the places where the very text of each insight is now, whatever it counts for."""
    query = insight_records.select_places().order_by(
        insight_sources.c.path, insight_sources.c.line_start
    )
    rows = columns.select_in(connection, query, insight_sources.c.said_id, ids)
    return columns.group_pairs((row.said_id, insight_records.make_source(row)) for row in rows)


def match_path(path: str) -> sa.ColumnElement[bool]:
    """Return the condition that a source lies in a file, or in a folder of files."""
    places, folder = insight_sources.c.path, path.rstrip("/") + "/"
    return sa.or_(places == path, sa.func.substr(places, 1, len(folder)) == folder)


def make_conditions(
    table: sa.Table, wanted: ListFilter, *, measure: sa.ColumnElement[float]
) -> list[sa.ColumnElement[bool]]:
    """Return what insights and principles have to be alike; `measure` is what has a least."""
    found = [
        table.c.status.in_(sorted(wanted.statuses)),
        *columns.match_columns(table, category=wanted.category),
    ]
    if wanted.tag is not None:
        found.append(has_word(table.c.tags, wanted.tag))
    if wanted.least is not None:
        found.append(measure >= wanted.least)
    return [*found, *(table.c.content.contains(word, autoescape=True) for word in wanted.words)]


_ORDER: dict[InsightSort, tuple[Any, ...]] = {
    InsightSort.SURE: (insights.c.confidence.desc(),),
    InsightSort.SEEN: (sa.desc("observed"),),
    InsightSort.NEWEST: (insights.c.first_seen_at.desc(),),
    InsightSort.OLDEST: (insights.c.first_seen_at,),
    InsightSort.DOUBT: (sa.func.coalesce(insights.c.verdict, 0), insights.c.confidence.desc()),
}


def _filters(wanted: InsightFilter) -> list[sa.ColumnElement[bool]]:
    """Return what an insight has to be."""
    found = make_conditions(insights, wanted, measure=insights.c.confidence)
    found += columns.match_columns(insights, kind=wanted.kind)
    if wanted.project_id is not None:
        found.append(insights.c.id.in_(insight_records.select_of_project(wanted.project_id)))
    if wanted.domain is not None:
        is_none = wanted.domain == NO_DOMAIN
        found.append(insights.c.domain.is_(None if is_none else wanted.domain))
    if wanted.path is not None:
        said = sa.select(insight_sources.c.insight_id).where(
            insight_sources.c.withdrawn_at.is_(None), match_path(wanted.path)
        )
        found.append(insights.c.id.in_(said))
    return found


def list_fragments(
    connection: sa.Connection,
    *,
    project_id: str | None = None,
    path: str | None = None,
    limit: int = 20,
    skip: int = 0,
) -> tuple[list[dict[str, Any]], int]:
    """Return fragments of a project, or of a file or folder, and how many there are in all.

    Of each where what it says begins and ends, and how many insights it holds (`statements`): how
    many of these other files say, too, something speaks against, and wait for a person. `seen_at`
    is when the newest was first read there, UTC microseconds.
    """
    query = _grouped(project_id, path)
    order = sa.func.min(insight_sources.c.path), sa.func.min(insight_sources.c.line_start)
    rows, total = columns.load_page(connection, query.order_by(*order), limit=limit, skip=skip)
    return list(map(columns.as_dict, rows)), total


def _grouped(project_id: str | None, path: str | None) -> sa.Select[Any]:
    """Return the query for fragments, a row each."""
    place, others = insight_sources.c, insight_sources.alias("others")
    status, firsts = insights.c.status, ("path", "heading", "scope", "line_start")
    elsewhere = (
        sa.select(others.c.id)
        .where(others.c.insight_id == place.insight_id, others.c.withdrawn_at.is_(None))
        .where(others.c.path != place.path)
        .correlate(insight_sources)
        .exists()
    )
    query = (
        sa.select(
            place.fragment_id.label("id"),
            sa.func.min(projects.c.name).label("project"),
            *(sa.func.min(place[name]).label(name) for name in firsts),
            sa.func.max(place.line_end).label("line_end"),
            sa.func.count().label("statements"),
            sa.func.count().filter(elsewhere).label("shared"),
            sa.func.count().filter(status == InsightStatus.CONTRADICTED).label("contradicted"),
            sa.func.count().filter(status == InsightStatus.PENDING_REVIEW).label("waiting"),
            sa.func.max(place.seen_at).label("seen_at"),
        )
        .join(projects, projects.c.id == place.project_id)
        .join(insights, insights.c.id == place.insight_id)
        .where(place.withdrawn_at.is_(None))
        .group_by(place.fragment_id)
    )
    if project_id is not None:
        query = query.where(place.project_id == project_id)
    return query if path is None else query.where(match_path(path))


#: Ids that an error names where the beginning of one means several.
MOST = 4

#: Characters behind the prefix that mean an id: fewer are a slip more often than a choice.
LEAST = 4


class Named(StrEnum):
    """What can be asked for by an id, with what that begins with."""

    INSIGHT = "ins_"
    CLUSTER = "clu_"
    CONTRADICTION = "con_"
    PRINCIPLE = "pri_"


#: The ids of each, what it is called, and where all of them are listed.
_WHAT = {
    Named.INSIGHT: (insights.c.id, "insight", "insights --status all"),
    Named.CLUSTER: (clusters.c.id, "cluster", "insights --explain ID"),
    Named.CONTRADICTION: (contradictions.c.id, "contradiction", "contradictions --status all"),
    Named.PRINCIPLE: (principles.c.id, "principle", "principles --status all"),
}


def find(connection: sa.Connection, kind: Named, name: str) -> str:
    """Return the id that a name means: the id, or its beginning with or without the prefix.

    Raises `NotFound`, and `BadInput` for a name that means several or is too short.
    """
    wanted = kind + name.strip().lower().removeprefix(kind)
    column, what, where = _WHAT[kind]
    query = (
        sa.select(column).where(sa.func.substr(column, 1, len(wanted)) == wanted).order_by(column)
    )
    found: list[str] = list(connection.execute(query.limit(MOST)).scalars())
    if not found or wanted == kind:
        raise NotFound(f"no {what} is called {name or 'nothing'!r}; list them with: cortex {where}")
    if len(found) > 1 and wanted != found[0]:
        raise BadInput(f"{name} means several {what}s: {', '.join(found)}; give more of the id")
    if len(wanted) < len(kind) + LEAST and wanted != found[0]:
        raise BadInput(
            f"{name} is too short for the id of one {what}; give {LEAST} characters of it"
        )
    return found[0]


#: What the project of a row is called.
_PROJECT = sa.func.coalesce(projects.c.name, "").label("project")

#: What is said of a place at which a text is, or was last.
_PLACE = (
    *("said_id", "project_id", "project", "path", "heading", "scope", "trust"),
    *("line_start", "line_end", "withdrawn_at"),
)


def load_lines(connection: sa.Connection, ids: Collection[str]) -> list[dict[str, Any]]:
    """Return the places where the very texts of insights are and were, by path and line.

    A statement's source is another one with every other word of its section, so of what a file says
    no more only the last place is returned; of what it says, every place. `revisions` is how many
    of the file said it, wherever in it, `first_at` and `last_at` when these were read.
    """
    query = sa.select(insight_sources, _PROJECT)
    query = query.outerjoin(projects, projects.c.id == insight_sources.c.project_id)
    # Of each text and file, in how many revisions it was seen, first and last.
    key, times = (insight_sources.c.said_id, insight_sources.c.path), observations.c.at
    revisions = sa.func.count(observations.c.file_hash.distinct())
    looks = sa.select(*key, revisions, sa.func.min(times), sa.func.max(times)).group_by(*key)
    looks = looks.select_from(observations.join(insight_sources))
    looked = columns.select_in(connection, looks, insight_sources.c.said_id, ids)
    seen = {(said_id, path): how for said_id, path, *how in looked}
    rows = columns.select_in(connection, query, insight_sources.c.said_id, ids)
    by_file = columns.group_pairs(((row.said_id, row.path), row) for row in rows)
    found = []
    for place, some in by_file.items():
        standing = [row for row in some if row.withdrawn_at is None]
        for row in standing or [max(some, key=lambda row: (row.withdrawn_at, row.id))]:
            count, first, last = seen.get(place, (0, row.seen_at, row.seen_at))
            more = {"revisions": count, "first_at": first, "last_at": last}
            found.append(columns.as_dict(row, *_PLACE) | more)
    return sorted(found, key=itemgetter("path", "line_start", "said_id"))


def find_at_line(connection: sa.Connection, path: str, line: int) -> list[str]:
    """Return the insights whose text is at a line of a file now, the narrowest first."""
    length = insight_sources.c.line_end - insight_sources.c.line_start
    query = (
        sa.select(insight_sources.c.said_id)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(insight_sources.c.line_start <= line, insight_sources.c.line_end >= line)
        .order_by(length, insight_sources.c.ordinal)
    )
    return list(dict.fromkeys(connection.execute(query).scalars()))


def load_bullets(connection: sa.Connection, principles: Collection[str]) -> list[dict[str, Any]]:
    """Return the principles that files hold now, as they are written there, by path and place.

    `ordinal` is the place in the section, `state` how the last resolution of the file ended.
    """
    told, last = resolved_bullets.c, resolutions.c
    query = (
        sa.select(*told["principle_id", "path", "agent", "ordinal", "text"], _PROJECT)
        .add_columns((told.conflict != 0).label("is_conflict"))
        .add_columns(*last["run_id", "state", "resolved_at"])
        .join(resolutions, sa.and_(last.path == told.path, last.agent == told.agent))
        .outerjoin(projects, projects.c.id == last.project_id)
    )
    rows = columns.select_in(connection, query, told.principle_id, principles)
    return sorted(map(columns.as_dict, rows), key=itemgetter("path", "agent", "ordinal"))


def load_revocations(
    connection: sa.Connection, keys: Iterable[tuple[SourceKind, str]]
) -> list[Revocation]:
    """Return what a person took back of those, by time; also what counts again since."""
    query = sa.select(revocations).order_by(revocations.c.id)
    named = sa.tuple_(revocations.c.kind, revocations.c.key)
    return [
        columns.make_entity(Revocation, row)
        for row in columns.select_in(connection, query, named, keys)
    ]
