"""What the front desk looks up about principles, in the shape that clients get it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors import learned
from cortex_actors.domain.insight import PrincipleSort
from cortex_actors.rules import decay as rules
from cortex_actors.storage import (
    insight_lists,
    principle_decay,
    principle_lists,
    principles,
    reviews,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.principle_decay import Evidence, Scales
    from cortex_actors.storage.principle_lists import PrincipleFilter

#: What is counted about each principle, for the orders that no column has.
_COUNTED = {
    PrincipleSort.SEEN: lambda found: found.observed,
    PrincipleSort.LINKED: lambda found: found.links,
}


def page(
    connection: Connection, wanted: PrincipleFilter, *, limit: int, skip: int
) -> dict[str, Any]:
    """Return one page of principles with what speaks for them, and how many there are.

    `written` are the bullets that were made of them, wherever they were written.
    """
    ids = _listed(connection, wanted, limit=limit, skip=skip)
    return {
        "total": principle_lists.count(connection, wanted),
        "by_status": principle_lists.by_status(connection),
        "principles": shaped(connection, ids),
        "written": [asdict(each) for each in insight_lists.bullets(connection, ids)],
    }


def shaped(connection: Connection, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return principles as clients get them, in that order; those that are gone are left out."""
    found = principles.by_ids(connection, ids)
    known, named = (
        principle_decay.evidence(connection, ids),
        principle_lists.projects(connection, ids),
    )
    made_of = principles.load_derivations(connection, ids)
    gone = reviews.principles(connection, ids)
    return [
        {
            **shape(found[each], known[each], named),
            "insights": len(made_of.get(each, ())),
            "revoked": each in gone,
        }
        for each in ids
        if each in found
    ]


def whole(connection: Connection, principle_id: str, *, now: int, scales: Scales) -> dict[str, Any]:
    """Return a principle with all that it is made of, ranked by and linked with."""
    today = principle_decay.today(connection, now)
    found = principles.by_ids(connection, [principle_id])[principle_id]
    known = principle_decay.evidence(connection, [principle_id])[principle_id]
    made_of = principles.load_derivations(connection, [principle_id]).get(principle_id, [])
    told = learned.briefly(connection, [each.insight_id for each in made_of])
    linked = principles.load_links(connection, [principle_id]).get(principle_id, [])
    others = principles.by_ids(connection, [each.other(principle_id) for each in linked])
    return {
        **shape(found, known, principle_lists.projects(connection, [principle_id])),
        "why": ranked(found, known, now=today, scales=scales),
        "made_of": [
            {"weight": each.weight, **told[each.insight_id]}
            for each in made_of
            if each.insight_id in told
        ],
        "links": [link(each, principle_id, others) for each in linked],
        "revoked": bool(reviews.principles(connection, [principle_id])),
        "files": [asdict(each) for each in insight_lists.bullets(connection, [principle_id])],
    }


def ranked(found: Principle, known: Evidence, *, now: int, scales: Scales) -> dict[str, Any]:
    """Return how a rank comes about now; `stored` is the one that was written.

    They differ where something has changed since. `now` is what `fading.today` gives.
    """
    return {
        "stored": found.rank,
        "rank": known.rank(now, scales),
        "parts": [{**asdict(each), "points": each.points} for each in known.parts(now, scales)],
        "days": rules.days_since(known.seen_at, now),
        "half_life_days": rules.half_life(known.observed, fading=scales.fading),
    }


def briefly(found: Principle) -> dict[str, Any]:
    """Return what tells principles apart."""
    return {
        "id": found.id,
        "content": found.content,
        "category": found.category.value,
        "status": found.status.value,
        "rank": found.rank,
    }


def shape(
    found: Principle, known: Evidence, projects: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a principle, and what speaks for it."""
    return {
        **briefly(found),
        "elaboration": found.elaboration,
        "tags": list(found.tags),
        "domains": list(found.domains),
        "confidence": found.confidence,
        "quality": found.quality,
        "origin": found.origin.value,
        "created_at": found.created_at,
        "observations": known.observed,
        "last_seen": known.seen_at,
        "linked": known.links,
        "projects": list(projects.get(found.id, ())),
    }


def link(found: Link, principle_id: str, others: Mapping[str, Principle]) -> dict[str, Any]:
    """Return a link as one of its ends sees it; `needed` where the other one depends on it."""
    other = found.other(principle_id)
    return {
        "type": found.type.value,
        "needed": found.source_id == other,
        "strength": found.strength,
        "decided_by": str(found.decided_by),
        "reason": found.reason,
        "other": briefly(others[other]) if other in others else {"id": other},
    }


def _listed(
    connection: Connection, wanted: PrincipleFilter, *, limit: int, skip: int
) -> Sequence[str]:
    """Return the ids of a page."""
    count = _COUNTED.get(wanted.sort)
    if count is None:
        return principle_lists.listed(connection, wanted, limit=limit, skip=skip)
    every = principle_lists.listed(connection, wanted)
    known = principle_decay.evidence(connection, every)
    # Sorting keeps the order of what is equal, which is that of the ranks.
    every.sort(key=lambda each: -count(known[each]))
    return every[skip : skip + limit]
