"""Insights: what files say, with what speaks for it and where it stands.

Every function takes the connection of a transaction it is part of. An insight is active while a
file still says it; how often it was observed, and by whom, is counted whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, bindparam, func, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import Category, Insight, InsightSource, InsightStatus
from cortex_actors.domain.passage import Passage, Place
from cortex_actors.storage import passages
from cortex_actors.storage import sources as source_rows
from cortex_actors.storage.chunks import chunks
from cortex_actors.storage.indexing import embedded_text
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


@dataclass(frozen=True, slots=True)
class Difference:
    """What a file says differently from what the ledger has of it."""

    #: Fragments that it no longer says.
    gone: tuple[str, ...]
    #: Insights with a source that is new or gone, or whose file has come to another project.
    changed: tuple[str, ...]


def difference(
    connection: Connection, path: str, project_id: str, findings: Sequence[Finding]
) -> Difference:
    """Return what learning those findings would change."""
    before = source_rows.live(connection, path)
    said = {finding.source.fragment_id for finding in findings}
    gone = [fragment for fragment in before if fragment not in said]
    changed = {before[fragment] for fragment in gone}
    changed |= {each.insight_id for each in findings if each.source.fragment_id not in before}
    changed |= source_rows.strangers(connection, path, project_id)
    return Difference(tuple(gone), tuple(sorted(changed)))


def learn(
    connection: Connection, findings: Sequence[Finding], *, project_id: str, path: str, at: int
) -> list[str]:
    """Make the sources of one file those findings; return the ids of insights that changed.

    What the file no longer says is withdrawn; an insight that no file says any more leaves the
    index and stays in the ledger.
    """
    other = difference(connection, path, project_id, findings)
    found = [finding.source for finding in findings]
    _keep(connection, findings, at)
    source_rows.attach(connection, found, project_id=project_id, at=at)
    source_rows.observe(connection, path, found, at)
    source_rows.withdraw(connection, other.gone, at)
    _settle_status(connection, other.changed)
    return list(other.changed)


def silence(connection: Connection, path: str, at: int) -> list[str]:
    """Withdraw everything a vanished file said; return the ids of insights that changed."""
    before = source_rows.live(connection, path)
    source_rows.withdraw(connection, list(before), at)
    _settle_status(connection, changed := sorted(set(before.values())))
    return changed


def count(connection: Connection, project_id: str | None = None) -> int:
    """Return how many insights are active, or how many of those a project says."""
    query = select(func.count()).where(insights.c.status == InsightStatus.ACTIVE)
    if project_id is not None:
        query = query.where(insights.c.id.in_(_of_project(project_id)))
    return int(connection.execute(query).scalar_one())


def count_by_project(connection: Connection) -> dict[str, int]:
    """Return how many active insights each project says, by project id."""
    query = (
        select(insight_sources.c.project_id, func.count(insight_sources.c.insight_id.distinct()))
        .join(insights, insights.c.id == insight_sources.c.insight_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .where(insights.c.status == InsightStatus.ACTIVE)
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
    query = _with_evidence().where(insights.c.status == InsightStatus.ACTIVE)
    return {
        row.id: _insight(row)
        for some in chunks(ids)
        for row in connection.execute(query.where(insights.c.id.in_(some)))
    }


def ids_of(connection: Connection, project_id: str) -> list[str]:
    """Return the ids of the insights that a project says now."""
    return list(connection.execute(_of_project(project_id)).scalars())


def sources(
    connection: Connection, ids: Iterable[str], *, first: str | None = None
) -> dict[str, list[InsightSource]]:
    """Return where insights stand now, by path and line; places in the project `first` lead."""
    query = (
        select(insight_sources, projects.c.name.label("project_name"))
        .join(projects, projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .order_by(insight_sources.c.project_id != (first or ""))
        .order_by(insight_sources.c.path, insight_sources.c.line_start)
    )
    found: dict[str, list[InsightSource]] = {}
    for some in chunks(dict.fromkeys(ids)):
        for row in connection.execute(query.where(insight_sources.c.insight_id.in_(some))):
            found.setdefault(row.insight_id, []).append(_source(row))
    return found


def weigh(connection: Connection, confidences: Iterable[tuple[str, float]]) -> None:
    """Write how far each insight is believed."""
    one = update(insights).where(insights.c.id == bindparam("one"))
    statement = one.values({"confidence": bindparam("weight")})
    rows = [{"one": insight_id, "weight": weight} for insight_id, weight in confidences]
    if rows:
        connection.execute(statement, rows)


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Let those insights be found that are active, and no other of them; return how many are."""
    count = 0
    active = select(insights).where(insights.c.status == InsightStatus.ACTIVE)
    for some in chunks(dict.fromkeys(ids)):
        rows = connection.execute(active.where(insights.c.id.in_(some)).order_by(insights.c.id))
        made = [_passage(row) for row in rows]
        passages.replace(connection, COLLECTION, some, made)
        count += len(made)
    return count


def _passage(row: Row[Any]) -> Passage:
    """Return the text by which an insight is found."""
    said = embedded_text(row.heading, row.content)
    return Passage(COLLECTION, row.id, Place.BOTH, said, row.text_hash)


def _keep(connection: Connection, findings: Sequence[Finding], at: int) -> None:
    """Write insights, or note that they were seen again."""
    rows = [
        {
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
        for finding in findings
    ]
    now_seen: Any = literal_column("excluded.last_seen_at")  # SQLAlchemy's own costs 1 ms
    seen = {"last_seen_at": func.max(insights.c.last_seen_at, now_seen)}
    statement = insert(insights).on_conflict_do_update(index_elements=["id"], set_=seen)
    if rows:
        connection.execute(statement, rows)


def _settle_status(connection: Connection, ids: Sequence[str]) -> None:
    """Make insights active or withdrawn by whether a file says them, and found by that."""
    alive: set[str] = set()
    said = select(insight_sources.c.insight_id).where(insight_sources.c.withdrawn_at.is_(None))
    for some in chunks(ids):
        found = connection.execute(said.where(insight_sources.c.insight_id.in_(some)))
        alive.update(found.scalars())
    gone = sorted(set(ids) - alive)
    for status, group in ((InsightStatus.ACTIVE, sorted(alive)), (InsightStatus.WITHDRAWN, gone)):
        for some in chunks(group):
            statement = (
                update(insights)
                .where(insights.c.id.in_(some), insights.c.status != status)
                .where(insights.c.status.in_((InsightStatus.ACTIVE, InsightStatus.WITHDRAWN)))
                .values({"status": status})
            )
            connection.execute(statement)
    remake(connection, ids)


def _with_evidence() -> Any:
    """Return the query for insights with what is counted about them."""
    told = (
        select(func.count())
        .select_from(observations.join(insight_sources))
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .scalar_subquery()
    )
    saying = (
        select(insight_sources.c.project_id)
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .correlate(insights)
    )
    by = (
        select(func.group_concat(projects.c.name + _END))
        .where(projects.c.id.in_(saying))
        .correlate(insights)
        .scalar_subquery()
    )
    return select(insights, told.label("observed"), by.label("project_names"))


def _of_project(project_id: str) -> Any:
    """Return the query for ids of insights that a project says."""
    return select(insight_sources.c.insight_id).where(
        insight_sources.c.project_id == project_id, insight_sources.c.withdrawn_at.is_(None)
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
        file_hash="",
        ordinal=row.ordinal,
    )
