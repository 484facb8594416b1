"""Principles fade in the ledger: rank and status anew, from what speaks for them now.

A principle was observed as often as the insights it was derived from, as far as files still say
them, and last when the last of those was seen, whether or not a file still says it. An insight that
was merged counts as the one it was merged into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, func, or_, select, update

from cortex_actors.rules import fading
from cortex_actors.rules.ranking import rank
from cortex_actors.storage.schema import (
    derivations,
    insight_sources,
    insights,
    observations,
    principle_links,
    principles,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Ranks nearer to each other than this are one: nobody is shown so many digits.
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Faded:
    """One principle that stands otherwise than it is written."""

    id: str
    rank: float
    status: str
    #: How it stood before.
    before: str


def faded(connection: Connection, now: int) -> list[Faded]:
    """Return every principle whose rank or status is another one at a time (UTC microseconds)."""
    rows = connection.execute(_standing())
    return [found for row in rows if (found := _judged(row, now)) is not None]


def write(connection: Connection, found: Sequence[Faded]) -> None:
    """Write how principles stand; none of them is deleted."""
    statement = (
        update(principles)
        .where(principles.c.id == bindparam("one"))
        .values({"rank": bindparam("ranked"), "status": bindparam("stands")})
    )
    rows = [{"one": each.id, "ranked": each.rank, "stands": each.status} for each in found]
    if rows:
        connection.execute(statement, rows)


def _judged(row: Any, now: int) -> Faded | None:
    """Return how a principle stands now; None when that is as it is written."""
    days = fading.days_since(row.seen or row.created_at, now)
    fresh = fading.recency(days, row.observed)
    ranked = rank(row.confidence, row.observed, recency=fresh, quality=row.quality, links=row.links)
    status = fading.next_status(row.status, ranked, days=days)
    if status == row.status and abs(ranked - row.rank) < CLOSE:
        return None
    return Faded(row.id, ranked, status, row.status)


def _standing() -> Any:
    """Return the query for principles with what is counted about each."""
    come_of = (
        select(func.coalesce(insights.c.superseded_by, insights.c.id))
        .join(derivations, derivations.c.insight_id == insights.c.id)
        .where(derivations.c.principle_id == principles.c.id)
        .correlate(principles)
    )
    known = insights.alias("known")
    seen = select(func.max(known.c.last_seen_at)).where(known.c.id.in_(come_of))
    observed = (
        select(func.count())
        .select_from(observations.join(insight_sources))
        .where(insight_sources.c.insight_id.in_(come_of))
        .where(insight_sources.c.withdrawn_at.is_(None))
    )
    ends = (principle_links.c.source_id, principle_links.c.target_id)
    links = (
        select(func.count())
        .select_from(principle_links)
        .where(or_(*(end == principles.c.id for end in ends)))
    )
    counted = {"observed": observed, "seen": seen, "links": links}
    return select(
        principles,
        *(
            query.correlate(principles).scalar_subquery().label(name)
            for name, query in counted.items()
        ),
    )
