"""The rows an insight consists of, and what is counted about it whenever it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Row, and_, func, literal_column, select

from cortex_actors.domain.insight import (
    LIVE,
    Category,
    Granularity,
    Insight,
    InsightSource,
    InsightStatus,
)
from cortex_actors.domain.project import StatementKind
from cortex_actors.storage.schema import insight_sources, insights, observations, projects

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Select

#: How files end that are one person's own.
PRIVATE = ".local.md"

#: Ends a name among several: a folder's name may hold a comma, but never this.
_END = "/"

#: Stands between a path and a revision, which never holds it.
_BETWEEN = "/"

#: Statuses of what files say and people see, in an order that makes the same statement each time.
SEEN = tuple(sorted(LIVE))


def live() -> ColumnElement[bool]:
    """Return the condition that files say an insight and people see it."""
    return insights.c.status.in_(SEEN)


def live_of(ids: Collection[str]) -> ColumnElement[bool]:
    """Return the condition that an insight is one of those, and live.

    The plus has SQLite look them up: from a dozen on it would walk all that are live.
    """
    status = literal_column("+insights.status", insights.c.status.type)
    return and_(insights.c.id.in_(ids), status.in_(SEEN))


def with_evidence() -> Select[Any]:
    """Return the query for insights with what is counted about them."""
    return select(insights, _observed().label("observed"), _projects().label("project_names"))


def of_project(project_id: str) -> Select[tuple[str]]:
    """Return the query for ids of insights that a project says."""
    return select(insight_sources.c.insight_id).where(
        insight_sources.c.project_id == project_id, insight_sources.c.withdrawn_at.is_(None)
    )


def public(path: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a file is for more than one person to read."""
    return path.not_like(f"%{PRIVATE}")


def shared() -> ColumnElement[bool]:
    """Return the condition that a file for more than one person says an insight as it is shown.

    That is its own words, and under the heading that it has: both may stand in private alone.
    """
    says: Select[Any] = select(insight_sources.c.id).where(
        insight_sources.c.said_id == insights.c.id,
        insight_sources.c.withdrawn_at.is_(None),
        insight_sources.c.heading.is_not_distinct_from(insights.c.heading),
        public(insight_sources.c.path),
    )
    return says.correlate(insights).exists()


def places() -> Select[Any]:
    """Return the query for where insights stand now, with the name of the project."""
    return (
        select(insight_sources, projects.c.name.label("project_name"))
        .join(projects, projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
    )


def insight(row: Row[Any]) -> Insight:
    """Return a row as an insight."""
    names = row.project_names[: -len(_END)].split(_END + ",") if row.project_names else ()
    return Insight(
        id=row.id,
        content=row.content,
        content_hash=row.content_hash,
        category=Category(row.category),
        tags=tuple(row.tags),
        domain=row.domain,
        confidence=row.confidence,
        status=InsightStatus(row.status),
        observation_count=row.observed,
        first_seen=row.first_seen_at,
        last_seen=row.last_seen_at,
        projects=tuple(sorted(names)),
        heading=row.heading,
        granularity=Granularity(row.granularity),
        kind=StatementKind(row.kind) if row.kind else None,
        verdict=row.verdict,
        review=row.review,
    )


def source(row: Row[Any]) -> InsightSource:
    """Return a row as a source."""
    return InsightSource(
        insight_id=row.insight_id,
        fragment_id=row.fragment_id,
        path=row.path,
        project=row.project_name,
        heading=row.heading,
        line_start=row.line_start,
        line_end=row.line_end,
        file_hash="",
        ordinal=row.ordinal,
        kind=StatementKind(row.kind) if row.kind else None,
        scope=row.scope,
        said_id=row.said_id,
    )


def _observed() -> ColumnElement[int]:
    """Return the count of the revisions that said it, of files that say it still.

    A statement's source changes with every other word of its section, so that what was observed of
    the sources before counts, too; two places of one file are one voice.
    """
    now = insight_sources.alias("now")
    still = (
        select(now.c.id)
        .where(now.c.insight_id == insight_sources.c.insight_id)
        .where(now.c.path == insight_sources.c.path, now.c.withdrawn_at.is_(None))
        .exists()
    )
    revision = insight_sources.c.path + _BETWEEN + observations.c.file_hash
    return (
        select(func.count(revision.distinct()))
        .select_from(observations.join(insight_sources))
        .where(insight_sources.c.insight_id == insights.c.id, still)
        .correlate(insights)
        .scalar_subquery()
    )


def _projects() -> ColumnElement[str]:
    """Return the names of the projects that say it, joined."""
    saying = (
        select(insight_sources.c.project_id)
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .correlate(insights)
    )
    return (
        select(func.group_concat(projects.c.name + _END))
        .where(projects.c.id.in_(saying))
        .correlate(insights)
        .scalar_subquery()
    )
