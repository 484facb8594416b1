"""Insights and their sources: what files say, and where.

Every function takes the connection of a transaction it is part of. An insight is active while a
file still says it; what else is told about it (how often it was observed, by whom) is counted from
its rows whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import Category, Insight, InsightSource, InsightStatus
from cortex_actors.storage import indexing
from cortex_actors.storage.schema import insight_sources, insights, observations, projects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The collection of the vector index that insights lie in.
COLLECTION = "cortex_insights"

#: Ends a name among several: a folder's name may hold a comma, but never this.
_END = "/"

#: What a new insight's confidence is until the reconciler has weighed it (Cerno: 0.5).
FIRST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a file says, as the accumulator read it."""

    insight_id: str
    content: str
    content_hash: str
    category: str
    tags: tuple[str, ...]
    domain: str | None
    text_hash: bytes
    source: InsightSource


def learn(
    connection: Connection, findings: Sequence[Finding], *, project_id: str, path: str, at: int
) -> list[str]:
    """Make the sources of one file those findings; return the ids of insights that changed.

    What the file no longer says is withdrawn; an insight that no file says any more leaves the
    index and stays in the ledger.
    """
    before = _live(connection, path)
    for finding in findings:
        _keep(connection, finding, at)
        source_id = _attach(connection, finding, project_id, at)
        row = {"source_id": source_id, "file_hash": finding.source.file_hash, "at": at}
        connection.execute(insert(observations).values(row).on_conflict_do_nothing())
    said = {finding.source.fragment_id for finding in findings}
    gone = [fragment for fragment in before if fragment not in said]
    _withdraw(connection, gone, at)
    new = {finding.insight_id for finding in findings if finding.source.fragment_id not in before}
    lost = {before[fragment] for fragment in gone}
    _settle_status(connection, new | lost)
    return sorted(new | lost)


def silence(connection: Connection, path: str, at: int) -> list[str]:
    """Withdraw everything a vanished file said; return the ids of insights that changed."""
    before = _live(connection, path)
    _withdraw(connection, list(before), at)
    _settle_status(connection, set(before.values()))
    return sorted(set(before.values()))


def count(connection: Connection) -> int:
    """Return how many insights are active."""
    query = select(func.count()).where(insights.c.status == InsightStatus.ACTIVE)
    return int(connection.execute(query).scalar_one())


def count_by_project(connection: Connection) -> dict[str, int]:
    """Return how many insights each project says now, by project id."""
    query = (
        select(insight_sources.c.project_id, func.count(insight_sources.c.insight_id.distinct()))
        .where(insight_sources.c.withdrawn_at.is_(None))
        .group_by(insight_sources.c.project_id)
    )
    return dict(connection.execute(query).all())


def active(
    connection: Connection, *, project_id: str | None = None, limit: int | None = None
) -> list[Insight]:
    """Return active insights, most believed first."""
    query = _with_evidence().where(insights.c.status == InsightStatus.ACTIVE)
    if project_id is not None:
        query = query.where(insights.c.id.in_(_of_project(project_id)))
    query = query.order_by(insights.c.confidence.desc(), insights.c.id)
    if limit is not None:
        query = query.limit(limit)
    return [_insight(row) for row in connection.execute(query)]


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Insight]:
    """Return the active insights among those ids."""
    query = _with_evidence().where(
        insights.c.id.in_(list(ids)), insights.c.status == InsightStatus.ACTIVE
    )
    return {row.id: _insight(row) for row in connection.execute(query)}


def ids_of(connection: Connection, project_id: str) -> list[str]:
    """Return the ids of the insights that a project says now."""
    return list(connection.execute(_of_project(project_id)).scalars())


def sources(
    connection: Connection, ids: Iterable[str], *, first: str | None = None
) -> dict[str, list[InsightSource]]:
    """Return where insights stand now, by path and line; places in the project `first` lead."""
    query = (
        select(insight_sources, projects.c.name.label("project_name"), _last_file_hash())
        .join(projects, projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.insight_id.in_(list(ids)))
        .where(insight_sources.c.withdrawn_at.is_(None))
        .order_by(insight_sources.c.project_id != (first or ""))
        .order_by(insight_sources.c.path, insight_sources.c.line_start)
    )
    found: dict[str, list[InsightSource]] = {}
    for row in connection.execute(query):
        found.setdefault(row.insight_id, []).append(_source(row))
    return found


def weigh(connection: Connection, confidences: Iterable[tuple[str, float]]) -> None:
    """Write how far each insight is believed."""
    for insight_id, confidence in confidences:
        connection.execute(
            update(insights).where(insights.c.id == insight_id).values({"confidence": confidence})
        )


def _keep(connection: Connection, finding: Finding, at: int) -> None:
    """Write an insight, or note that it was seen again."""
    row = {
        "id": finding.insight_id,
        "content": finding.content,
        "content_hash": finding.content_hash,
        "heading": finding.source.heading,
        "category": finding.category,
        "tags": list(finding.tags),
        "domain": finding.domain,
        "confidence": FIRST_CONFIDENCE,
        "status": InsightStatus.WITHDRAWN,
        "first_seen_at": at,
        "last_seen_at": at,
        "text_hash": finding.text_hash,
    }
    statement = insert(insights).values(row)
    seen = {"last_seen_at": func.max(insights.c.last_seen_at, at)}
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=seen))


def _attach(connection: Connection, finding: Finding, project_id: str, at: int) -> int:
    """Write where an insight stands; the same fragment may have moved to other lines."""
    source = finding.source
    place = {
        # Of another project when a folder inside one has become a project itself.
        "project_id": project_id,
        "line_start": source.line_start,
        "line_end": source.line_end,
        "heading": source.heading,
        "withdrawn_at": None,
    }
    row = {
        "insight_id": finding.insight_id,
        "fragment_id": source.fragment_id,
        "ordinal": source.ordinal,
        "path": source.path,
        "seen_at": at,
        **place,
    }
    statement = insert(insight_sources).values(row)
    statement = statement.on_conflict_do_update(
        index_elements=["fragment_id", "ordinal"], set_=place
    )
    returned = connection.execute(statement.returning(insight_sources.c.id))
    return int(returned.scalar_one())


def _live(connection: Connection, path: str) -> dict[str, str]:
    """Return fragment id -> insight id of what a file says now."""
    query = select(insight_sources.c.fragment_id, insight_sources.c.insight_id).where(
        insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None)
    )
    return dict(connection.execute(query).all())


def _withdraw(connection: Connection, fragments: list[str], at: int) -> None:
    """Note that a file no longer says those fragments."""
    connection.execute(
        update(insight_sources)
        .where(insight_sources.c.fragment_id.in_(fragments))
        .values({"withdrawn_at": at})
    )


def _settle_status(connection: Connection, ids: set[str]) -> None:
    """Make insights active or withdrawn by whether a file says them, and tell the index."""
    said = select(insight_sources.c.insight_id).where(
        insight_sources.c.insight_id.in_(ids), insight_sources.c.withdrawn_at.is_(None)
    )
    alive = set(connection.execute(said).scalars())
    for status, group in ((InsightStatus.ACTIVE, alive), (InsightStatus.WITHDRAWN, ids - alive)):
        statement = (
            update(insights)
            .where(insights.c.id.in_(group), insights.c.status != status)
            .where(insights.c.status.in_((InsightStatus.ACTIVE, InsightStatus.WITHDRAWN)))
            .values({"status": status})
        )
        connection.execute(statement)
    indexing.note(connection, COLLECTION, put=sorted(alive), drop=sorted(ids - alive))


def _with_evidence() -> Any:
    """Return the query for insights with what is counted about them."""
    told = (
        select(func.count())
        .select_from(observations.join(insight_sources))
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .scalar_subquery()
    )
    by = (
        select(func.group_concat((projects.c.name + _END).distinct()))
        .select_from(insight_sources.join(projects))
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .scalar_subquery()
    )
    return select(insights, told.label("observed"), by.label("project_names"))


def _of_project(project_id: str) -> Any:
    """Return the query for ids of insights that a project says."""
    return select(insight_sources.c.insight_id).where(
        insight_sources.c.project_id == project_id, insight_sources.c.withdrawn_at.is_(None)
    )


def _last_file_hash() -> Any:
    """Return the column for the newest revision in which a source was seen."""
    return (
        select(observations.c.file_hash)
        .where(observations.c.source_id == insight_sources.c.id)
        .order_by(observations.c.at.desc())
        .limit(1)
        .scalar_subquery()
        .label("file_hash")
    )


def _insight(row: Row[Any]) -> Insight:
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
    )


def _source(row: Row[Any]) -> InsightSource:
    """Return a row as a source."""
    return InsightSource(
        insight_id=row.insight_id,
        fragment_id=row.fragment_id,
        path=row.path,
        project=row.project_name,
        heading=row.heading,
        line_start=row.line_start,
        line_end=row.line_end,
        file_hash=row.file_hash or "",
        ordinal=row.ordinal,
    )
