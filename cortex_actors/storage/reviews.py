"""Reviews: what a person said about what could become a principle.

An insight has one review at most, the newest. It stands whatever becomes of the insight: text that
comes back finds it. Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Decision, Review
from cortex_actors.storage.schema import reviews
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row


def decide(connection: Connection, review: Review) -> None:
    """Write a review down, in place of an earlier one."""
    row = {
        "insight_id": review.insight_id,
        "decision": str(review.decision),
        "at": review.at,
        "note": review.note,
    }
    statement = insert(reviews).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["insight_id"], set_=row))


def withdraw(connection: Connection, insight_id: str) -> None:
    """Forget what a person said about an insight."""
    connection.execute(delete(reviews).where(reviews.c.insight_id == insight_id))


def of(connection: Connection, ids: Iterable[str]) -> dict[str, Review]:
    """Return the reviews of those insights, by id; those that nobody looked at are left out."""
    return {
        row.insight_id: _review(row)
        for some in chunks(dict.fromkeys(ids))
        for row in connection.execute(select(reviews).where(reviews.c.insight_id.in_(some)))
    }


def decided(connection: Connection, decision: Decision) -> set[str]:
    """Return the ids of all insights about which a person said that."""
    query = select(reviews.c.insight_id).where(reviews.c.decision == str(decision))
    return set(connection.execute(query).scalars())


def decisions(connection: Connection) -> dict[str, Decision]:
    """Return what persons have said, by insight: a few hundred rows, whatever was learned."""
    query = select(reviews.c.insight_id, reviews.c.decision)
    return {name: Decision(word) for name, word in connection.execute(query)}


def listed(connection: Connection, decision: Decision) -> list[Review]:
    """Return the reviews that said so, newest first; a person made each of them."""
    query = select(reviews).where(reviews.c.decision == str(decision))
    query = query.order_by(reviews.c.at.desc(), reviews.c.insight_id)
    return [_review(row) for row in connection.execute(query)]


def _review(row: Row[Any]) -> Review:
    """Return a row as a review."""
    return Review(row.insight_id, Decision(row.decision), row.at, row.note)
