"""Principles and what they were derived from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.principle import BECOMES, Principle
from cortex_actors.rules.ranking import rank
from cortex_actors.storage.chunks import chunks
from cortex_actors.storage.schema import derivations, principles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.insight import Insight

#: Share that a principle owes to the one insight it was made of.
WHOLE = 1.0


def of(insight: Insight, now: int) -> Principle:
    """Return the principle that an insight becomes."""
    return Principle(
        id="pri_" + insight.content_hash[:20],
        content=insight.content,
        content_hash=insight.content_hash,
        category=BECOMES[insight.category],
        tags=insight.tags,
        domains=(insight.domain,) if insight.domain else (),
        confidence=insight.confidence,
        rank=rank(insight.confidence, insight.observation_count),
        created_at=now,
        insight_id=insight.id,
    )


def promote(connection: Connection, principle: Principle) -> None:
    """Write a principle and its derivation; one that is there only gains the derivation."""
    row = {
        "id": principle.id,
        "content": principle.content,
        "content_hash": principle.content_hash,
        "category": str(principle.category),
        "tags": list(principle.tags),
        "domains": list(principle.domains),
        "confidence": principle.confidence,
        "rank": principle.rank,
        "status": "active",
        "created_at": principle.created_at,
    }
    connection.execute(insert(principles).values(row).on_conflict_do_nothing())
    link = {
        "principle_id": principle.id,
        "insight_id": principle.insight_id,
        "weight": WHOLE,
    }
    connection.execute(insert(derivations).values(link).on_conflict_do_nothing())


def derived(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of insights (of those, or of all) that are principles already."""
    query = select(derivations.c.insight_id)
    if ids is None:
        return set(connection.execute(query).scalars())
    return {
        each
        for some in chunks(ids)
        for each in connection.execute(query.where(derivations.c.insight_id.in_(some))).scalars()
    }


def known(connection: Connection, principle_id: str) -> bool:
    """Tell whether there is a principle of that id."""
    query = select(principles.c.id).where(principles.c.id == principle_id)
    return connection.execute(query).first() is not None


def count(connection: Connection) -> int:
    """Return how many principles there are."""
    return int(connection.execute(select(func.count()).select_from(principles)).scalar_one())
