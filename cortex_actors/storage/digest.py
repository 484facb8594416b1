"""What was learned in some time, in numbers: the digest that the schedule keeps as a run.

A digest goes on where the one before ended: what came at that very moment is in the later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table, func, select

from cortex_actors.domain.insight import LIVE
from cortex_actors.storage import runs as run_rows
from cortex_actors.storage.schema import alerts, contradictions, insights, principles, runs

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement

#: What such a run is called in the audit.
KIND = "digest"


@dataclass(frozen=True, slots=True)
class Digest:
    """What is new since a time (UTC microseconds), and what waits for somebody now."""

    since: int
    #: Texts that came and are said now; principles that were made.
    insights: int = 0
    principles: int = 0
    #: Pairs that cannot both hold: found, and decided by somebody or something.
    contradictions: int = 0
    decided: int = 0
    #: Hidden characters, secrets and the like in files.
    alerts: int = 0
    #: Runs of the pipeline that failed.
    failures: int = 0
    #: What waits now: for a decision, for a review, and to become principles.
    open: int = 0
    review: int = 0
    candidates: int = 0

    @property
    def news(self) -> dict[str, int]:
        """What is not nothing, in words."""
        found = {
            "new insights": self.insights,
            "new principles": self.principles,
            "new contradictions": self.contradictions,
            "contradictions decided": self.decided,
            "alerts": self.alerts,
            "failed runs": self.failures,
        }
        return {words: number for words, number in found.items() if number}


def since(connection: Connection) -> int:
    """Return up to when the last digest counted; 0 without one."""
    last = run_rows.latest(connection, KIND, 1)
    return last[0].started_at if last else 0


def digest(connection: Connection, start: int, end: int) -> Digest:
    """Return what is new from a time on, and before another one."""

    def new(column: Column[int], *where: ColumnElement[bool]) -> int:
        return _count(connection, column.table, column >= start, column < end, *where)

    return Digest(
        since=start,
        insights=new(insights.c.first_seen_at, insights.c.status.in_(LIVE)),
        principles=new(principles.c.created_at),
        contradictions=new(contradictions.c.detected_at),
        decided=new(contradictions.c.resolved_at),
        alerts=new(alerts.c.found_at),
        failures=new(runs.c.finished_at, runs.c.state == "failed"),
        open=_count(connection, contradictions, contradictions.c.status == "unresolved"),
        review=_count(connection, insights, insights.c.status == "pending_review"),
        candidates=_candidates(connection),
    )


def _count(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """Return how many rows of a table fulfil conditions."""
    query = select(func.count()).select_from(table).where(*where)
    return int(connection.execute(query).scalar_one())


def _candidates(connection: Connection) -> int:
    """Return how many candidates the last reconciliation named."""
    last = run_rows.latest(connection, "reconciler", 1)
    return int(last[0].counts.get("candidates", 0)) if last else 0
