"""Insights: what files say, with what speaks for it and where it stands.

Every function takes the connection of a transaction it is part of. An insight is live while a file
still says it; how often it was observed, and by whom, is counted whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, func, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import Granularity, Insight, InsightSource, InsightStatus
from cortex_actors.storage import facing, insightrows, merging
from cortex_actors.storage import sources as source_rows
from cortex_actors.storage.embedded import embedded_text
from cortex_actors.storage.insightrows import live, of_project, with_evidence
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import insight_sources, insights, reviews
from cortex_actors.storage.standing import COLLECTION, approve, remake, settle
from cortex_actors.storage.tables.columns import chunks, stored_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.storage.sources import Spot

__all__ = [
    "COLLECTION",
    "FIRST_CONFIDENCE",
    "Difference",
    "Finding",
    "Learned",
    "active",
    "approve",
    "by_id",
    "count",
    "count_by_project",
    "count_waiting",
    "difference",
    "ids_of",
    "learn",
    "remake",
    "silence",
    "sources",
    "weigh",
]

#: What is written of an insight that is known: what of it depends on the granularity, where that
#: is another one now. `excluded` is named by hand: SQLAlchemy's own copies the table each time,
#: which costs 1 ms.
_SEEN_AGAIN: dict[str, Any] = {
    name: literal_column(
        f"iif(insights.granularity = excluded.granularity, insights.{name}, excluded.{name})"
    )
    for name in ("content", "heading", "kind", "text_hash", "granularity")
}

#: When insights were seen last that a file was just observed to say; a file that is only read again
#: says nothing new.
_SEEN = (
    "UPDATE insights SET last_seen_at = ?1 WHERE last_seen_at < ?1 AND id IN (SELECT s.said_id"
    " FROM insight_sources AS s JOIN observations AS o ON o.source_id = s.id AND o.at = ?1"
    " WHERE s.path = ?2 AND s.withdrawn_at IS NULL)"
)

#: What a new insight's confidence is until the reconciler has weighed it (Cerno: 0.5).
FIRST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a file says, as the accumulator read it.

    Attributes:
        text_hash: the SHA-256 of what is embedded of it.
        verdict: how sure the classifier is, 0 to 1.
        review: why a person has to look at it first; None for what may be used.

    """

    insight_id: str
    content: str
    content_hash: str
    category: str
    tags: tuple[str, ...]
    domain: str | None
    text_hash: bytes
    source: InsightSource
    granularity: Granularity = Granularity.SECTION
    verdict: float | None = None
    review: str | None = None
    confidence: float = FIRST_CONFIDENCE

    @property
    def embedded(self) -> str:
        """What is embedded of it: a statement alone, a section with its heading."""
        if self.granularity is Granularity.STATEMENT:
            return self.content
        return embedded_text(self.source.heading, self.content)


@dataclass(frozen=True, slots=True)
class Difference:
    """What a file says differently from what the ledger has of it."""

    #: Spots at which it no longer says what it said.
    gone: tuple[Spot, ...]
    #: Insights that it begins or ceases to say, or whose file has come to another project, with
    #: those that say the same as one of them.
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning a file did: the insights that changed, and numbers for the audit."""

    changed: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def difference(
    connection: Connection, path: str, project_id: str, findings: Sequence[Finding]
) -> Difference:
    """Return what learning those findings would change."""
    before = source_rows.live(connection, path)
    said = {finding.source.spot: finding.insight_id for finding in findings}
    gone = [spot for spot in before if spot not in said]
    other = set(before.values()) ^ set(said.values())
    changed = {*other, *merging.representatives(connection, other).values()}
    changed |= merging.followers(connection, other).keys()
    changed |= source_rows.strangers(connection, path, project_id)
    return Difference(tuple(gone), tuple(sorted(changed)))


def learn(
    connection: Connection,
    findings: Sequence[Finding],
    *,
    project_id: str,
    path: str,
    at: int,
    same: Mapping[str, str] | None = None,
) -> Learned:
    """Make the sources of one file those findings; return what that changed.

    `same` names, for texts that nobody said, a live insight that says the same. What the file no
    longer says is withdrawn; an insight that no file says any more leaves the index and stays in
    the ledger.
    """
    before = set(source_rows.live(connection, path).values())
    other = difference(connection, path, project_id, findings)
    found = [finding.source for finding in findings]
    said = {each.said for each in found}
    new = said - _known(connection, said)
    _keep(connection, findings, at)
    counted = merging.representatives(connection, said)
    source_rows.attach(connection, found, project_id=project_id, at=at, counted=counted)
    source_rows.observe(connection, path, found, at)
    source_rows.withdraw(connection, other.gone, at)
    driver_of(connection).execute(_SEEN, (at, stored_text(path)))
    facing.face(connection, before | said)
    parted = merging.release(connection, before)
    joined = merging.join(connection, same or {})
    settle(connection, before | said | parted | joined)
    numbers = {"new": len(new), "withdrawn": len(before - said), "merged": len(joined & said)}
    return Learned(tuple(sorted({*other.changed, *parted, *joined})), numbers)


def silence(connection: Connection, path: str, at: int) -> list[str]:
    """Withdraw everything a vanished file said; return the ids of insights that changed."""
    before = source_rows.live(connection, path)
    said = set(before.values())
    source_rows.withdraw(connection, before, at)
    facing.face(connection, said)
    changed = said | merging.release(connection, said)
    settle(connection, changed)
    return sorted(changed)


def count(connection: Connection, project_id: str | None = None) -> int:
    """Return how many insights are live, or how many of those a project says."""
    query = select(func.count()).select_from(insights).where(live())
    if project_id is not None:
        query = query.where(insights.c.id.in_(of_project(project_id)))
    return int(connection.execute(query).scalar_one())


def count_waiting(connection: Connection) -> int:
    """Return how many insights wait for a person to look at them."""
    waits = insights.c.status == InsightStatus.PENDING_REVIEW
    waits &= insights.c.id.not_in(select(reviews.c.insight_id))
    return int(connection.execute(select(func.count()).where(waits)).scalar_one())


def count_by_project(connection: Connection) -> dict[str, int]:
    """Return how many live insights each project says, by project id."""
    query = (
        select(insight_sources.c.project_id, func.count(insight_sources.c.insight_id.distinct()))
        .join(insights, insights.c.id == insight_sources.c.insight_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .where(live())
        .group_by(insight_sources.c.project_id)
    )
    return dict(connection.execute(query).all())


def active(
    connection: Connection, *, project_id: str | None = None, limit: int | None = None
) -> list[Insight]:
    """Return live insights, most believed first."""
    query = with_evidence().where(live())
    if project_id is not None:
        query = query.where(insights.c.id.in_(of_project(project_id)))
    query = query.order_by(insights.c.confidence.desc(), insights.c.id)
    if limit is not None:
        query = query.limit(limit)
    return [insightrows.insight(row) for row in connection.execute(query)]


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Insight]:
    """Return the live insights among those ids."""
    query = with_evidence()
    return {
        row.id: insightrows.insight(row)
        for some in chunks(ids)
        for row in connection.execute(query.where(insightrows.live_of(some)))
    }


def ids_of(connection: Connection, project_id: str) -> list[str]:
    """Return the ids of the insights that a project says now."""
    return [row.insight_id for row in connection.execute(of_project(project_id))]


def sources(
    connection: Connection, ids: Iterable[str], *, first: str | None = None
) -> dict[str, list[InsightSource]]:
    """Return where insights stand now, by path and line; places in the project `first` lead."""
    query = (
        insightrows.places()
        .order_by(insight_sources.c.project_id != (first or ""))
        .order_by(insight_sources.c.path, insight_sources.c.line_start, insight_sources.c.ordinal)
    )
    found: dict[str, list[InsightSource]] = {}
    for some in chunks(dict.fromkeys(ids)):
        for row in connection.execute(query.where(insight_sources.c.insight_id.in_(some))):
            found.setdefault(row.insight_id, []).append(insightrows.source(row))
    return found


def weigh(connection: Connection, confidences: Iterable[tuple[str, float]]) -> None:
    """Write how far each insight is believed."""
    one = update(insights).where(insights.c.id == bindparam("one"))
    statement = one.values({"confidence": bindparam("weight")})
    rows = [{"one": insight_id, "weight": weight} for insight_id, weight in confidences]
    if rows:
        connection.execute(statement, rows)


def _known(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the insights that were read before."""
    query = select(insights.c.id)
    return {
        each
        for some in chunks(ids)
        for each in connection.execute(query.where(insights.c.id.in_(some))).scalars()
    }


def _keep(connection: Connection, findings: Sequence[Finding], at: int) -> None:
    """Write insights, or note that they were seen again."""
    rows = [
        {
            "id": finding.insight_id,
            "content": finding.content,
            "content_hash": finding.content_hash,
            "heading": finding.source.heading,
            "granularity": finding.granularity,
            "kind": finding.source.kind,
            "category": finding.category,
            "tags": list(finding.tags),
            "domain": finding.domain,
            "verdict": finding.verdict,
            "review": finding.review,
            "confidence": finding.confidence,
            "status": InsightStatus.WITHDRAWN,
            "first_seen_at": at,
            "last_seen_at": at,
            "text_hash": finding.text_hash,
        }
        for finding in findings
    ]
    statement = insert(insights).on_conflict_do_update(index_elements=["id"], set_=_SEEN_AGAIN)
    if rows:
        connection.execute(statement, rows)
