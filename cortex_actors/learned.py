"""What the front desk looks up about insights, in the shape that clients get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.storage import insight_lists
from cortex_actors.storage import insights as insight_rows
from cortex_actors.storage import insights as merging

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.domain.insight import Insight, InsightSource
    from cortex_actors.storage.insight_lists import InsightFilter
    from cortex_actors.storage.ledger.actor import Connection


def insights(connection: Connection, wanted: InsightFilter) -> dict[str, Any]:
    """Return one page of insights, with every place that says them, and how many there are.

    Of one that counts for another, `represented_by` is that one.
    """
    found = insight_lists.listed(connection, wanted)
    ids = [each.id for each in found]
    places, heads = _places(connection, ids), merging.representatives(connection, ids)
    told = briefly(connection, sorted(set(heads.values())))
    return {
        "total": insight_lists.count(connection, wanted),
        "insights": [
            {
                **shape(each, places.get(each.id, ())),
                "represented_by": told[heads[each.id]] if each.id in heads else None,
            }
            for each in found
        ],
    }


def whole(connection: Connection, insight: Insight) -> dict[str, Any]:
    """Return an insight, whatever its status, with every place that says it."""
    return shape(insight, _places(connection, [insight.id]).get(insight.id, ()))


def shape(insight: Insight, places: Iterable[InsightSource]) -> dict[str, Any]:
    """Return an insight as clients get it."""
    return {
        "id": insight.id,
        "content": insight.content,
        "heading": insight.heading,
        "granularity": str(insight.granularity),
        "kind": None if insight.kind is None else str(insight.kind),
        "category": str(insight.category),
        "verdict": insight.verdict,
        "tags": list(insight.tags),
        "domain": insight.domain,
        "confidence": insight.confidence,
        "status": str(insight.status),
        "review": insight.review,
        "observations": insight.observation_count,
        "first_seen": insight.first_seen,
        "last_seen": insight.last_seen,
        "projects": list(insight.projects),
        "sources": [_place(place) for place in places],
    }


def briefly(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what tells insights apart, by id: what they say, and where that very text stands."""
    found = insight_lists.by_ids(connection, ids)
    places = insight_lists.said(connection, ids)
    return {
        each.id: {
            "id": each.id,
            "content": each.content,
            "status": str(each.status),
            "domain": each.domain,
            "confidence": each.confidence,
            "projects": list(each.projects),
            "sources": [_place(place) for place in places.get(each.id, ())],
        }
        for each in found.values()
    }


def _places(connection: Connection, ids: Sequence[str]) -> Mapping[str, Sequence[InsightSource]]:
    """Return every place that each counts for; of what counts for another one, where it stands."""
    counted = insight_rows.sources(connection, ids)
    rest = [each for each in ids if not counted.get(each)]
    return {**counted, **insight_lists.said(connection, rest)}


def _place(place: InsightSource) -> dict[str, Any]:
    """Return where an insight stands; `said` is whose text it is, after a merge another one's."""
    return {
        "project": place.project,
        "path": place.path,
        "heading": place.heading,
        "scope": place.scope,
        "line_start": place.line_start,
        "line_end": place.line_end,
        "said": place.said,
    }
