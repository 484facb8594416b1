"""Fragments as people look through them: which parts files have, and what each of them says.

A fragment has no row of its own: it is where insights stand that one part of a file says now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select

from cortex_actors.domain.insight import FragmentSort, InsightStatus
from cortex_actors.storage.catalogue import said_under
from cortex_actors.storage.schema import insight_sources, insights, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class FragmentRow:
    """One part of a file, and how much of what it says stands how.

    Attributes:
        line_start: where what it says begins, which may be below its heading.
        statements: how many insights stand in it.
        shared: how many of those other places say, too.
        contradicted: how many of them something speaks against.
        waiting: how many of them wait for a person.
        seen_at: when the newest of them was first read there, UTC microseconds.

    """

    id: str
    project: str
    path: str
    heading: str | None
    scope: str
    line_start: int
    line_end: int
    statements: int
    shared: int
    contradicted: int
    waiting: int
    seen_at: int


def listed(
    connection: Connection,
    *,
    project_id: str | None = None,
    path: str | None = None,
    sort: FragmentSort = FragmentSort.PATH,
    limit: int = 20,
    skip: int = 0,
) -> list[FragmentRow]:
    """Return fragments of a project, or of a file or folder, in that order."""
    query = _grouped(project_id, path).order_by(*_ORDER[sort])
    query = query.order_by(insight_sources.c.path, func.min(insight_sources.c.line_start))
    rows = connection.execute(query.limit(limit).offset(skip))
    return [FragmentRow(**row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's own name


def count(connection: Connection, *, project_id: str | None = None, path: str | None = None) -> int:
    """Return how many fragments there are of those."""
    every = _grouped(project_id, path).subquery()
    return int(connection.execute(select(func.count()).select_from(every)).scalar_one())


def _grouped(project_id: str | None, path: str | None) -> Select[Any]:
    """Return the query for fragments, a row each."""
    place, others = insight_sources.c, insight_sources.alias("others")
    elsewhere = (
        select(others.c.id)
        .where(others.c.insight_id == place.insight_id, others.c.withdrawn_at.is_(None))
        .where(others.c.path != place.path)
        .correlate(insight_sources)
        .exists()
    )
    query = (
        select(
            place.fragment_id.label("id"),
            func.min(projects.c.name).label("project"),
            func.min(place.path).label("path"),
            func.min(place.heading).label("heading"),
            func.min(place.scope).label("scope"),
            func.min(place.line_start).label("line_start"),
            func.max(place.line_end).label("line_end"),
            func.count().label("statements"),
            func.count().filter(elsewhere).label("shared"),
            func.count().filter(_is(InsightStatus.CONTRADICTED)).label("contradicted"),
            func.count().filter(_is(InsightStatus.PENDING_REVIEW)).label("waiting"),
            func.max(place.seen_at).label("seen_at"),
        )
        .join(projects, projects.c.id == place.project_id)
        .join(insights, insights.c.id == place.insight_id)
        .where(place.withdrawn_at.is_(None))
        .group_by(place.fragment_id)
    )
    if project_id is not None:
        query = query.where(place.project_id == project_id)
    return query if path is None else query.where(said_under(path))


def _is(status: InsightStatus) -> Any:
    """Return the condition that an insight stands so."""
    return insights.c.status == status


_ORDER: dict[FragmentSort, tuple[Any, ...]] = {
    FragmentSort.PATH: (),
    FragmentSort.SIZE: (func.count().desc(),),
    FragmentSort.NEWEST: (func.max(insight_sources.c.seen_at).desc(),),
}
