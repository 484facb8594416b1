"""Insights as people look through them: filtered, sorted, a page at a time.

What is counted about an insight is counted for the page alone, unless it is what is sorted by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, desc, exists, func, or_, select

from cortex_actors.domain.insight import LIVE, NO_DOMAIN, InsightSort
from cortex_actors.storage import insightrows
from cortex_actors.storage.schema import insight_sources, insights
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Category, Insight, InsightSource, InsightStatus
    from cortex_actors.domain.project import StatementKind

#: Makes `%` and `_` of a search the characters that they are.
_ESCAPE = "!"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which insights are listed; None asks for nothing of the kind.

    Attributes:
        words: every one of them occurs in the text, as part of a word, too; letters of ASCII are
            the same in both cases.
        path: a file that says it, or a folder of such files.

    """

    statuses: Collection[InsightStatus] = LIVE
    project_id: str | None = None
    category: Category | None = None
    domain: str | None = None
    kind: StatementKind | None = None
    tag: str | None = None
    least: float | None = None
    words: tuple[str, ...] = ()
    path: str | None = None
    sort: InsightSort = InsightSort.SURE
    limit: int = 20
    skip: int = 0


def listed(connection: Connection, wanted: Wanted) -> list[Insight]:
    """Return one page of insights, in the order that is wanted."""
    query = insightrows.with_evidence()
    if wanted.sort is InsightSort.SEEN:
        query = query.order_by(desc("observed"))
    else:
        query = query.order_by(*_ORDER[wanted.sort])
    query = query.where(*_filters(wanted)).order_by(insights.c.id)
    rows = connection.execute(query.limit(wanted.limit).offset(wanted.skip))
    return [insightrows.insight(row) for row in rows]


def count(connection: Connection, wanted: Wanted) -> int:
    """Return how many insights there are of those, on all pages."""
    query = select(func.count()).select_from(insights).where(*_filters(wanted))
    return int(connection.execute(query).scalar_one())


def by_ids(connection: Connection, ids: Collection[str]) -> dict[str, Insight]:
    """Return the insights among those ids, whatever their status."""
    query = insightrows.with_evidence()
    return {
        row.id: insightrows.insight(row)
        for some in chunks(ids)
        for row in connection.execute(query.where(insights.c.id.in_(some)))
    }


def said(connection: Connection, ids: Collection[str]) -> dict[str, list[InsightSource]]:
    """Return where the very text of each insight stands now, whatever it counts for."""
    found: dict[str, list[InsightSource]] = {}
    column = insight_sources.c.said_id
    query = insightrows.places().order_by(insight_sources.c.path, insight_sources.c.line_start)
    for some in chunks(ids):
        for row in connection.execute(query.where(column.in_(some))):
            found.setdefault(row.said_id, []).append(insightrows.source(row))
    return found


def said_under(path: str) -> ColumnElement[bool]:
    """Return the condition that a source lies in a file, or in a folder of files."""
    places = insight_sources.c.path
    return or_(places == path, _begins(places, path.rstrip("/") + "/"))


def holds(column: ColumnElement[str], word: str) -> ColumnElement[bool]:
    """Return the condition that a text holds a word."""
    return column.like(f"%{_escaped(word)}%", escape=_ESCAPE)


_ORDER: dict[InsightSort, tuple[Any, ...]] = {
    InsightSort.SURE: (insights.c.confidence.desc(),),
    InsightSort.NEWEST: (insights.c.first_seen_at.desc(),),
    InsightSort.OLDEST: (insights.c.first_seen_at,),
    InsightSort.DOUBT: (func.coalesce(insights.c.verdict, 0), insights.c.confidence.desc()),
}


def _filters(wanted: Wanted) -> list[ColumnElement[bool]]:
    """Return what an insight has to be."""
    found: list[ColumnElement[bool]] = [insights.c.status.in_(sorted(wanted.statuses))]
    if wanted.project_id is not None:
        found.append(insights.c.id.in_(insightrows.of_project(wanted.project_id)))
    if wanted.domain is not None:
        nobody = wanted.domain == NO_DOMAIN
        found.append(insights.c.domain.is_(None if nobody else wanted.domain))
    for column, value in ((insights.c.category, wanted.category), (insights.c.kind, wanted.kind)):
        if value is not None:
            found.append(column == str(value))
    if wanted.tag is not None:
        tags = func.json_each(insights.c.tags).table_valued("value")
        found.append(exists(select(tags.c.value).where(tags.c.value == wanted.tag)))
    if wanted.least is not None:
        found.append(insights.c.confidence >= wanted.least)
    if wanted.path is not None:
        found.append(insights.c.id.in_(_said_in(wanted.path)))
    return [*found, *(holds(insights.c.content, word) for word in wanted.words)]


def _said_in(path: str) -> Select[tuple[str]]:
    """Return the query for ids of insights that a file, or a file in a folder, says."""
    query = select(insight_sources.c.insight_id).where(insight_sources.c.withdrawn_at.is_(None))
    return query.where(said_under(path))


def _begins(column: ColumnElement[str], start: str) -> ColumnElement[bool]:
    """Return the condition that a text begins so, letter by letter."""
    return func.substr(column, 1, len(start)) == start


def _escaped(text: str) -> str:
    """Return a text as a pattern that means itself."""
    for each in (_ESCAPE, "%", "_"):
        text = text.replace(each, _ESCAPE + each)
    return text
