"""The search planner: which vectors to compare, the index's neighbours or all of them.

Filters come first, in SQL; what remains is compared exactly. The index serves broad questions. It
never decides what is visible: ids it returns are looked up in the ledger, and what the index has
not been told yet is compared exactly, so a search sees what was committed before it began.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cortex_actors.domain.hit import Hit
from cortex_actors.errors import ActorAway, DeadlineExceeded, IndexDown
from cortex_actors.storage import indexing, insights

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Insight, InsightSource
    from cortex_actors.storage.indexing import Matrix
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.search")

#: Neighbours asked of the index beyond those wanted: some may have been withdrawn since.
SLACK = 20

#: Items not yet in the index that are compared exactly; with more the index is not asked at all.
EXACT_LIMIT = 2_000


class Neighbours(Protocol):
    """Asks the index for the nearest items of a collection."""

    async def __call__(
        self, collection: str, vector: Matrix, limit: int
    ) -> list[tuple[str, float]]:
        """Return (id, cosine), best first; raises `IndexDown` when it cannot."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates of one search, and how they were found: `index` or `exact`."""

    cosines: dict[str, float]
    how: str


class Search:
    """Finds insights near a vector."""

    def __init__(self, records: Records, neighbours: Neighbours, model: str) -> None:
        """Search the ledger's insights with the index's help."""
        self._records = records
        self._neighbours = neighbours
        self._model = model

    async def insights(
        self, vector: Matrix, *, limit: int, project_id: str | None = None
    ) -> list[Hit]:
        """Return the nearest active insights, best first; ties go by id.

        `score` is the cosine, 0 where it is negative. `extra` says what is known of the insight
        and how it was found.
        """
        if project_id is None:
            found = await self._broad(vector, limit)
        else:
            found = await self._exact(vector, project_id)
        best = sorted(found.cosines.items(), key=lambda pair: (-pair[1], pair[0]))
        return await self._records.read(
            lambda connection: _hits(connection, best, found.how, limit, project_id)
        )

    async def _broad(self, vector: Matrix, limit: int) -> Found:
        """Ask the index, and compare exactly what it has not been told."""
        late = await self._records.read(lambda c: indexing.pending_ids(c, EXACT_LIMIT + 1))
        if len(late) > EXACT_LIMIT:
            return await self._exact(vector, None)
        try:
            near = await self._neighbours(insights.COLLECTION, vector, limit + SLACK + len(late))
        except (IndexDown, ActorAway, DeadlineExceeded) as error:
            log.debug("every vector is compared instead: %s", error)
            return await self._exact(vector, None)
        # The index names candidates; their vectors in the ledger are compared, so that an answer
        # does not depend on how its candidates were found, and what is gone takes nobody's place.
        model, named = self._model, {*late, *(each for each, _ in near)}
        ids, rows = await self._records.read(lambda c: indexing.matrix(c, model, named))
        if len(ids) < limit <= len(named):
            # The index knows things that the ledger does not: it may lack others, too.
            return await self._exact(vector, None)
        return Found(_compare(vector, ids, rows), "index")

    async def _exact(self, vector: Matrix, project_id: str | None) -> Found:
        """Compare with every vector that passes the filter."""
        model = self._model

        def query(connection: Connection) -> tuple[list[str], Matrix]:
            ids = None if project_id is None else insights.ids_of(connection, project_id)
            return indexing.matrix(connection, model, ids)

        ids, rows = await self._records.read(query)
        return Found(_compare(vector, ids, rows), "exact")


def _compare(vector: Matrix, ids: list[str], rows: Matrix) -> dict[str, float]:
    """Return the cosine of each row with the vector; all are unit vectors."""
    if not ids:
        return {}
    return dict(zip(ids, (rows @ vector.reshape(-1)).astype(np.float64).tolist(), strict=True))


def _hits(
    connection: Connection,
    best: list[tuple[str, float]],
    how: str,
    limit: int,
    project_id: str | None,
) -> list[Hit]:
    """Return candidates as hits, leaving out what the ledger no longer shows."""
    near = best[: limit + SLACK]
    ids = [insight_id for insight_id, _ in near]
    known = insights.by_id(connection, ids)
    places = insights.sources(connection, ids, first=project_id)
    hits = [
        _hit(known[insight_id], places[insight_id], cosine, how)
        for insight_id, cosine in near
        if insight_id in known and insight_id in places
    ]
    return hits[:limit]


def _hit(insight: Insight, places: list[InsightSource], cosine: float, how: str) -> Hit:
    """Return one insight as an answer with its provenance; the first place is the one named."""
    place, *others = places
    return Hit(
        id=insight.id,
        text=insight.content,
        score=max(cosine, 0.0),
        store=insights.COLLECTION,
        project=place.project,
        path=place.path,
        line_start=place.line_start,
        line_end=place.line_end,
        heading=place.heading,
        extra={
            "found_by": how,
            "category": str(insight.category),
            "confidence": insight.confidence,
            "projects": list(insight.projects),
            "also": [f"{each.path}:{each.line_start}" for each in others],
        },
    )
