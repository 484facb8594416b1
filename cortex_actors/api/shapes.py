"""What the front desk looks up about insights, in the shape that clients get it.

What the front desk looks up about principles, in the shape that clients get it.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.domain.insight import Insight, InsightSource, PrincipleSort
from cortex_actors.rules import decay as rules
from cortex_actors.storage.pipeline import (
    insight_lists,
    principle_decay,
    principle_lists,
    principles,
)
from cortex_actors.storage.pipeline import insights as insight_rows
from cortex_actors.storage.pipeline.reviews import load_revoked_principles as taken_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from _typeshed import DataclassInstance

    from cortex_actors.domain.hit import Recall
    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.pipeline.principle_decay import DecayScales, PrincipleEvidence


T = TypeVar("T")


def shape_fields(found: object, *names: str, **others: str) -> dict[str, Any]:
    """Return attributes as JSON has them: words as texts, tuples as lists.

    `others` get another name than they have.
    """
    own = dict(zip(names, names, strict=True)) | others
    return {name: _plain(getattr(found, each)) for name, each in own.items()}


def shape_dataclass(found: DataclassInstance, *without: str, **others: str) -> dict[str, Any]:
    """Return the fields of a dataclass as `shape_fields` does, but some of them."""
    gone = {*without, *others.values()}
    names = (each.name for each in fields(found) if each.name not in gone)
    return shape_fields(found, *names, **others)


def _plain(value: Any) -> Any:  # noqa: ANN401 - a field's
    """Return a value as JSON has it."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


def describe_question(found: Recall, more: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return what was asked, how long that took, and what was not: `more` of it as well."""
    gaps = {"failed": found.failed, "skipped": (*found.skipped, *more)}
    told = {kind: [{"store": n, "reason": why} for n, why in some] for kind, some in gaps.items()}
    return {"query": found.query, **told, "took_ms": round(found.took_ms, 3)}


def list_insights(connection: Connection, wanted: insight_lists.InsightFilter) -> dict[str, Any]:
    """Return one page of insights, with every place that says them, and how many there are.

    Of one that counts for another, `represented_by` is that one.
    """
    found = insight_lists.list_insights(connection, wanted)
    ids = [each.id for each in found]
    places, heads = _places(connection, ids), insight_rows.load_representatives(connection, ids)
    told = load_briefs(connection, sorted(set(heads.values())))
    return {
        "total": insight_lists.count(connection, wanted),
        "insights": [
            {
                **shape_insight(each, places.get(each.id, ())),
                "represented_by": told[heads[each.id]] if each.id in heads else None,
            }
            for each in found
        ],
    }


def load_insight(connection: Connection, insight: Insight) -> dict[str, Any]:
    """Return an insight, whatever its status, with every place that says it."""
    return shape_insight(insight, _places(connection, [insight.id]).get(insight.id, ()))


def shape_insight(insight: Insight, places: Iterable[InsightSource]) -> dict[str, Any]:
    """Return an insight as clients get it."""
    told = shape_dataclass(insight, "content_hash", observations="observation_count")
    return {**told, "sources": [_place(place) for place in places]}


def load_briefs(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what tells insights apart, by id: what they say, and where that very text is."""
    found = insight_lists.load_insights(connection, ids)
    places = insight_lists.load_places(connection, ids)
    return {
        each.id: {
            **shape_fields(each, "id", "content", "status", "domain", "confidence", "projects"),
            "sources": [_place(place) for place in places.get(each.id, ())],
        }
        for each in found.values()
    }


def _places(connection: Connection, ids: Sequence[str]) -> Mapping[str, Sequence[InsightSource]]:
    """Return every place that each counts for; of what counts for another one, where it is."""
    counted = insight_rows.load_sources(connection, ids)
    rest = [each for each in ids if not counted.get(each)]
    return {**counted, **insight_lists.load_places(connection, rest)}


def _place(place: InsightSource) -> dict[str, Any]:
    """Return where an insight is; `said` is whose text it is, after a merge another one's."""
    lines = shape_fields(place, "line_start", "line_end", "said")
    return shape_fields(place, "project", "path", "heading", "scope") | lines


#: What is counted about each principle, for the orders that no column has.
_COUNTED = {
    PrincipleSort.SEEN: lambda found: found.observed,
    PrincipleSort.LINKED: lambda found: found.links,
}


def shape_page(
    connection: Connection, wanted: principle_lists.PrincipleFilter, *, limit: int, skip: int
) -> dict[str, Any]:
    """Return one page of principles with what speaks for them, and how many there are.

    `written` are the bullets that were made of them, wherever they were written.
    """
    count = _COUNTED.get(wanted.sort)
    if count is None:
        ids = principle_lists.list_ids(connection, wanted, limit=limit, skip=skip)
    else:
        every = principle_lists.list_ids(connection, wanted)
        known = principle_decay.load_evidence(connection, every)
        # Sorting keeps the order of what is equal, which is that of the ranks.
        every.sort(key=lambda each: -count(known[each]))
        ids = every[skip : skip + limit]
    return {
        "total": principle_lists.count(connection, wanted),
        "by_status": principle_lists.count_by_status(connection),
        "principles": load_principles(connection, ids),
        "written": insight_lists.load_bullets(connection, ids),
    }


def load_principles(connection: Connection, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return principles as clients get them, in that order; those that are gone are left out."""
    found = principles.load_principles(connection, ids)
    known = principle_decay.load_evidence(connection, ids)
    named = principle_lists.load_projects(connection, ids)
    made_of = principles.load_derivations(connection, ids)
    gone = taken_back(connection, ids)
    return [
        {
            **shape_principle(found[each], known[each], named),
            "insights": len(made_of.get(each, ())),
            "revoked": each in gone,
        }
        for each in ids
        if each in found
    ]


def load_principle(
    connection: Connection, principle_id: str, *, now: int, scales: DecayScales
) -> dict[str, Any]:
    """Return a principle with all that it is made of, ranked by and linked with."""
    today = principle_decay.get_today(connection, now)
    found = principles.load_principles(connection, [principle_id])[principle_id]
    known = principle_decay.load_evidence(connection, [principle_id])[principle_id]
    made_of = principles.load_derivations(connection, [principle_id]).get(principle_id, [])
    told = load_briefs(connection, [each.insight_id for each in made_of])
    linked = principles.load_links(connection, [principle_id]).get(principle_id, [])
    others = principles.load_principles(
        connection, [each.find_other_end(principle_id) for each in linked]
    )
    places = principles.load_places(connection, [principle_id]).get(principle_id, [])
    worded = principles.word_principle(found, places)
    return {
        **shape_principle(found, known, principle_lists.load_projects(connection, [principle_id])),
        "why": explain_rank(found, known, now=today, scales=scales),
        "made_of": [
            {"weight": each.weight, **told[each.insight_id]}
            for each in made_of
            if each.insight_id in told
        ],
        "links": [shape_link(each, principle_id, others) for each in linked],
        "revoked": bool(taken_back(connection, [principle_id])),
        "bullet": worded.text,
        "no_bullet": worded.reason or None,
        "files": insight_lists.load_bullets(connection, [principle_id]),
    }


def explain_rank(
    found: Principle, known: PrincipleEvidence, *, now: int, scales: DecayScales
) -> dict[str, Any]:
    """Return how a rank comes about now; `stored` is the one that was written.

    They differ where something has changed since. `now` is what `fading.today` gives.
    """
    return {
        "stored": found.rank,
        "rank": known.rank(now, scales),
        "parts": [
            {**asdict(each), "points": each.points} for each in known.list_parts(now, scales)
        ],
        "days": rules.count_days(known.seen_at, now),
        "half_life_days": rules.half_life(known.observed, fading=scales.fading),
    }


def shape_brief(found: Principle) -> dict[str, Any]:
    """Return what tells principles apart."""
    return shape_fields(found, "id", "content", "category", "status", "rank")


def shape_principle(
    found: Principle, known: PrincipleEvidence, projects: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a principle, and what speaks for it."""
    return {
        **shape_dataclass(found, "content_hash", "text_hash"),
        "observations": known.observed,
        "last_seen": known.seen_at,
        "linked": known.links,
        "projects": list(projects.get(found.id, ())),
    }


def shape_link(found: Link, principle_id: str, others: Mapping[str, Principle]) -> dict[str, Any]:
    """Return a link as one of its ends sees it; `needed` where the other one depends on it."""
    other = found.find_other_end(principle_id)
    return {
        **shape_fields(found, "type", "strength", "decided_by", "reason"),
        "needed": found.source_id == other,
        "other": shape_brief(others[other]) if other in others else {"id": other},
    }
