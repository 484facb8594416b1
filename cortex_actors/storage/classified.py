"""Insights on whose category no keyword spoke, and what a second opinion makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import BindParameter, bindparam, select, update

from cortex_actors.domain.insight import Granularity
from cortex_actors.storage.embedded import stored_vectors
from cortex_actors.storage.schema import insights
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Category
    from cortex_actors.storage.blobs import Matrix

#: How sure the classifier is of a category for which no keyword spoke.
UNSURE = 0.0


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an insight is taken for, and how surely."""

    insight_id: str
    category: Category
    verdict: float


def silent(connection: Connection, model: str, ids: Iterable[str]) -> dict[str, Matrix]:
    """Return the vectors of the statements among those on which no keyword spoke."""
    query = select(insights.c.id, insights.c.text_hash).where(
        insights.c.verdict == UNSURE, insights.c.granularity == Granularity.STATEMENT
    )
    found: dict[str, Matrix] = {}
    for some in chunks(sorted(ids)):
        hashes = dict(connection.execute(query.where(insights.c.id.in_(some))).all())
        rows = stored_vectors(connection, model, list(hashes.values()))
        found |= {name: rows[digest] for name, digest in hashes.items() if digest in rows}
    return found


def take(connection: Connection, opinions: Sequence[Opinion]) -> None:
    """Write opinions, where still no keyword speaks."""
    one: BindParameter[str] = bindparam("one")
    statement = (
        update(insights)
        .where(insights.c.id == one, insights.c.verdict == UNSURE)
        .values({"category": bindparam("said"), "verdict": bindparam("sure")})
    )
    rows = [
        {"one": each.insight_id, "said": str(each.category), "sure": each.verdict}
        for each in opinions
    ]
    if rows:
        connection.execute(statement, rows)
