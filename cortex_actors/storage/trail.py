"""The trail of what was learned: from the lines that say it to the files it was written into.

Rows only, each with its time; what follows from what is for whoever asks. A merge has no time of
its own: it is a pointer that is set and taken back without a trace.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, and_, func, select, tuple_

from cortex_actors.domain.project import Revocation, SourceKind
from cortex_actors.storage.schema import (
    insight_sources,
    observations,
    projects,
    resolutions,
    resolved_bullets,
    revocations,
)
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Line:
    """Where a text stands, or stood last, in one file.

    Attributes:
        said_id: the insight whose very text it is.
        trust: whose word it is: a file's of a project, or what was taken in some other way.
        revisions: how many revisions of the file said it, wherever in it.
        first_at: when the first of these was read, UTC microseconds; `last_at` the last.
        withdrawn_at: since when the file says it no more; None while it does.

    """

    said_id: str
    project_id: str
    project: str
    path: str
    heading: str | None
    scope: str
    trust: str
    line_start: int
    line_end: int
    revisions: int
    first_at: int
    last_at: int
    withdrawn_at: int | None


@dataclass(frozen=True, slots=True)
class Bullet:
    """What stands of a principle in a file now.

    Attributes:
        ordinal: its place in the section, from 0.
        state: how the last resolution of the file ended.

    """

    principle_id: str
    path: str
    agent: str
    project: str
    ordinal: int
    text: str
    is_conflict: bool
    run_id: str
    state: str
    resolved_at: int


def lines(connection: Connection, ids: Collection[str]) -> list[Line]:
    """Return where the very texts of insights stand and stood, by path and line.

    A statement's source is another one with every other word of its section, so that of what a file
    says no more only the last is told; every place that stands is.
    """
    rows = [row for some in chunks(ids) for row in connection.execute(_sources(some))]
    seen = _seen(connection, ids)
    by_file: dict[tuple[str, str], list[Row[Any]]] = defaultdict(list)
    for row in rows:
        by_file[row.said_id, row.path].append(row)
    found = [
        _line(row, seen.get(key, _never(row)))
        for key, some in by_file.items()
        for row in _telling(some)
    ]
    return sorted(found, key=lambda each: (each.path, each.line_start, each.said_id))


def at_line(connection: Connection, path: str, line: int) -> list[str]:
    """Return the insights whose text stands at a line of a file now, the narrowest first."""
    length = insight_sources.c.line_end - insight_sources.c.line_start
    query = (
        select(insight_sources.c.said_id)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(insight_sources.c.line_start <= line, insight_sources.c.line_end >= line)
        .order_by(length, insight_sources.c.ordinal)
    )
    return list(dict.fromkeys(connection.execute(query).scalars()))


def bullets(connection: Connection, principles: Collection[str]) -> list[Bullet]:
    """Return where principles stand in files now, by path and place."""
    told = resolved_bullets
    query = (
        select(told, resolutions, func.coalesce(projects.c.name, "").label("project_name"))
        .join(
            resolutions,
            and_(resolutions.c.path == told.c.path, resolutions.c.agent == told.c.agent),
        )
        .outerjoin(projects, projects.c.id == resolutions.c.project_id)
    )
    rows = [
        row
        for some in chunks(principles)
        for row in connection.execute(query.where(told.c.principle_id.in_(some)))
    ]
    found = [
        Bullet(
            principle_id=row.principle_id,
            path=row.path,
            agent=row.agent,
            project=row.project_name,
            ordinal=row.ordinal,
            text=row.text,
            is_conflict=bool(row.conflict),
            run_id=row.run_id,
            state=row.state,
            resolved_at=row.resolved_at,
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (each.path, each.agent, each.ordinal))


def taken_back(connection: Connection, keys: Iterable[tuple[SourceKind, str]]) -> list[Revocation]:
    """Return what a person took back of those, by time; also what counts again since."""
    query = select(revocations).order_by(revocations.c.id)
    named = tuple_(revocations.c.kind, revocations.c.key)
    return [
        Revocation(row.id, SourceKind(row.kind), row.key, row.note, row.at, row.ended_at)
        for some in chunks(dict.fromkeys(keys))
        for row in connection.execute(query.where(named.in_(some)))
    ]


def _sources(ids: Collection[str]) -> Any:
    """Return the query for all places of texts, those that are gone, too."""
    return (
        select(insight_sources, func.coalesce(projects.c.name, "").label("project_name"))
        .outerjoin(projects, projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.said_id.in_(ids))
    )


def _seen(connection: Connection, ids: Collection[str]) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return for each text and file in how many revisions it was seen, first and last."""
    seen = (
        func.count(observations.c.file_hash.distinct()),
        func.min(observations.c.at),
        func.max(observations.c.at),
    )
    key = (insight_sources.c.said_id, insight_sources.c.path)
    places = observations.join(insight_sources)
    query = select(*key, *seen).select_from(places).group_by(*key)
    return {
        (said_id, path): (count, first, last)
        for some in chunks(ids)
        for said_id, path, count, first, last in connection.execute(
            query.where(insight_sources.c.said_id.in_(some))
        )
    }


def _never(row: Row[Any]) -> tuple[int, ...]:
    """Return what is known of a place without a revision: its row came from somewhere else."""
    return 0, row.seen_at, row.seen_at


def _telling(rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    """Return those places of a text in one file that stand; where none does, the last one."""
    standing = [row for row in rows if row.withdrawn_at is None]
    return standing or [max(rows, key=lambda row: (row.withdrawn_at, row.id))]


def _line(row: Row[Any], seen: tuple[int, ...]) -> Line:
    """Return a place with the revisions of its file that said the text."""
    revisions, first, last = seen
    return Line(
        said_id=row.said_id,
        project_id=row.project_id,
        project=row.project_name,
        path=row.path,
        heading=row.heading,
        scope=row.scope,
        trust=row.trust,
        line_start=row.line_start,
        line_end=row.line_end,
        revisions=revisions,
        first_at=first,
        last_at=last,
        withdrawn_at=row.withdrawn_at,
    )
