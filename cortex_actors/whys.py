"""Why an insight is what it is: its class, its confidence, its status, and what it lacks.

Everything is found out anew from the rows and the rules; nothing is believed because it is stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors import distilled, learned
from cortex_actors.domain.insight import InsightStatus
from cortex_actors.domain.principle import BECOMES
from cortex_actors.rules import promotion
from cortex_actors.rules.classification import ClassifiedBy, classify, grounds
from cortex_actors.rules.promotion import Evidence, Need
from cortex_actors.storage import (
    contradictions,
    insight_evidence,
    insight_lists,
    insights,
    principles,
)
from cortex_actors.text import suspicion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.insight import Insight
    from cortex_actors.rules.classification import Count, Grounds
    from cortex_actors.rules.promotion import Requirement, Standing, Thresholds
    from cortex_actors.storage.contradictions import Contradiction
    from cortex_actors.storage.ledger.actor import Connection

#: What is said of an insight that nothing holds up.
READY = "ready"

#: What holds a promotion up, the first that applies: what no time will mend, then what is missing.
BLOCKS = (
    Need.NOT_PROMOTED,
    Need.NO_CONTRADICTION,
    Need.ACTIVE,
    Need.NOT_REJECTED,
    Need.NOT_PRIVATE,
    Need.A_CLAIM,
    Need.CONFIDENCE,
    Need.OBSERVATIONS,
    Need.AGE,
    Need.PROJECTS,
    Need.NOT_WARY,
)

#: What a number is worth that is nowhere near and one that is enough, in per cent.
_NOTHING, _ENOUGH = 0.0, 100.0


def insight(
    connection: Connection, insight_id: str, *, now: int, thresholds: Thresholds
) -> dict[str, Any]:
    """Return an insight whole, and why it is what it is."""
    found = insight_lists.by_ids(connection, [insight_id])[insight_id]
    whole = insights.representatives(connection, [insight_id]).get(insight_id)
    same = sorted(insights.followers(connection, [insight_id]))
    against = contradictions.of(connection, [insight_id]).get(insight_id, [])
    others = [*same, *([whole] if whole else []), *(_other(each, insight_id) for each in against)]
    told = learned.briefly(connection, others)
    standing = insight_evidence.load_merits(connection, [insight_id])[insight_id]
    return {
        **learned.whole(connection, found),
        "represents": [told[each] for each in same],
        "represented_by": told[whole] if whole else None,
        "contradictions": [_against(each, insight_id, told) for each in against],
        "cluster": _cluster(connection, insight_id),
        "principles": _principles(connection, insight_id),
        "why": {
            "category": _category(found),
            "domain": [asdict(each) for each in _grounds(found).domains],
            "tags": [asdict(each) for each in _grounds(found).tags],
            "confidence": _confidence(found, standing, now),
            "status": _status(found, told.get(whole or ""), against),
        },
        "promotion": eligibility(connection, found, standing, now=now, thresholds=thresholds),
    }


def eligibility(
    connection: Connection,
    found: Insight,
    standing: Standing,
    *,
    now: int,
    thresholds: Thresholds,
) -> dict[str, Any]:
    """Return every check of promotion, what is missing most nearly, and what would become of it."""
    checks = promotion.requirements(found, standing, now=now, thresholds=thresholds)
    missing = [each for each in checks if not each.met]
    numbers = [each for each in missing if _gap(each) is not None]
    nearest = max(numbers, key=_reached, default=None)
    return {
        "eligible": not missing,
        "checks": [_check(each) for each in checks],
        "missing": [str(each.need) for each in missing],
        "nearest": None if nearest is None else str(nearest.need),
        "becomes": _becomes(connection, found, now),
    }


def overview(
    connection: Connection, some: Sequence[Insight], *, now: int, thresholds: Thresholds
) -> list[dict[str, Any]]:
    """Return how near insights are to becoming principles, the nearest first.

    Those come first that lack least; of those that lack as much, the ones that have come furthest
    with what they lack; then the more confident.
    """
    standings = insight_evidence.load_merits(connection, [each.id for each in some])
    rows = [(each, _checks(each, standings[each.id], now, thresholds)) for each in some]
    rows.sort(key=lambda row: _nearness(*row))
    return [
        {
            "id": each.id,
            "content": each.content,
            "confidence": each.confidence,
            "observations": each.observation_count,
            "projects": list(each.projects),
            "eligible": all(check.met for check in checks),
            "because": _because(checks),
            "missing": [_check(check) for check in checks if not check.met],
        }
        for each, checks in rows
    ]


def reasons(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return of an overview how many insights are held up by what; `ready` by nothing."""
    counted = Counter(row["because"] or READY for row in rows)
    return {name: counted[name] for name in (READY, *map(str, BLOCKS))}


def _because(checks: Iterable[Requirement]) -> str | None:
    """Return the first thing that holds a promotion up; None for nothing."""
    missing = {check.need for check in checks if not check.met}
    return next((str(need) for need in BLOCKS if need in missing), None)


def _checks(
    found: Insight, standing: Standing, now: int, thresholds: Thresholds
) -> tuple[Requirement, ...]:
    """Return the checks of one insight."""
    return promotion.requirements(found, standing, now=now, thresholds=thresholds)


def _nearness(found: Insight, checks: Iterable[Requirement]) -> tuple[float, float, float, str]:
    """Return what an overview sorts by, least first."""
    missing = [each for each in checks if not each.met]
    come = sum(_reached(each) for each in missing) / len(missing) if missing else _ENOUGH
    return len(missing), -come, -found.confidence, found.id


def _check(each: Requirement) -> dict[str, Any]:
    """Return a check as clients get it; `gap` is None for what is no number."""
    gap = _gap(each)
    return {
        "need": str(each.need),
        "actual": each.actual,
        "required": each.required,
        "gap": gap,
        "reached_percent": round(_reached(each), 1),
        "met": each.met,
        "waived": each.waived,
    }


def _gap(each: Requirement) -> float | None:
    """Return by how much a number falls short, or exceeds what it may be; None for a word."""
    if isinstance(each.actual, str) or isinstance(each.required, str):
        return None
    return 0.0 if each.met else round(abs(each.required - each.actual), 6)


def _reached(each: Requirement) -> float:
    """Return how far a check has come, in per cent."""
    if each.met:
        return _ENOUGH
    if isinstance(each.actual, str) or isinstance(each.required, str) or not each.required:
        return _NOTHING
    return min(_ENOUGH * each.actual / each.required, _ENOUGH)


def _becomes(connection: Connection, found: Insight, now: int) -> dict[str, Any]:
    """Return what a promotion would do: make a principle, add to one that is there, or nothing.

    Only the same words are looked for here; what says the same in others is `whatif`'s.
    """
    made = principles.of(found, now)
    come_of = sorted(principles.coming_of(connection, [found.id]))
    there = principles.known(connection, made.id)
    does = "nothing" if come_of else "derivation" if there else "principle"
    return {
        "does": does,
        "id": come_of[0] if come_of else made.id,
        "category": str(BECOMES[found.category]),
        "rank": made.rank,
    }


def _principles(connection: Connection, insight_id: str) -> list[dict[str, Any]]:
    """Return the principles that come of an insight, the highest ranked first."""
    found = principles.by_ids(connection, principles.coming_of(connection, [insight_id]))
    ranked = sorted(found.values(), key=lambda each: (-each.rank, each.id))
    return [distilled.briefly(each) for each in ranked]


def _category(found: Insight) -> dict[str, Any]:
    """Return what was said about the category, and by whom."""
    first = classify(found.content, found.heading)
    silent = first.decided_by is ClassifiedBy.NOBODY
    asked = silent and bool(found.verdict)
    return {
        "decided_by": str(ClassifiedBy.PROTOTYPES if asked else first.decided_by),
        "confidence": found.verdict if asked else first.confidence,
        "words": [asdict(each) for each in _grounds(found).categories],
        "tied": _tied(_grounds(found).categories),
    }


def _tied(counts: Sequence[Count]) -> list[str]:
    """Return the categories for which as many words speak as for the first, with that."""
    first = [each for each in counts if len(each.words) == len(counts[0].words)]
    return [each.name for each in first] if len(first) > 1 else []


def _grounds(found: Insight) -> Grounds:
    """Return which keywords spoke for what."""
    return grounds(found.content, found.heading)


def _confidence(found: Insight, standing: Standing, now: int) -> dict[str, Any]:
    """Return the confidence that is stored, and the steps that lead there from what is known."""
    evidence = Evidence(
        observations=found.observation_count,
        projects=len(found.projects),
        first_seen=found.first_seen,
        last_seen=found.last_seen,
        contradicted=standing.open_contradictions > 0,
        boilerplate=suspicion.is_boilerplate(found.content),
    )
    steps = promotion.steps(evidence, now)
    return {"stored": found.confidence, "steps": [asdict(each) for each in steps]}


def _status(found: Insight, whole: dict[str, Any] | None, against: Sequence[Contradiction]) -> str:
    """Return why an insight stands as it does, a sentence."""
    return {
        InsightStatus.ACTIVE: "a file says it and nothing speaks against it",
        InsightStatus.WITHDRAWN: "no file says it any more",
        InsightStatus.SUPERSEDED: f"it says the same as {whole['id'] if whole else 'another'}",
        InsightStatus.PENDING_REVIEW: f"it waits for a person: {found.review}",
        InsightStatus.CONTRADICTED: _opposed(sum(each.against(found.id) for each in against)),
    }[found.status]


def _opposed(number: int) -> str:
    """Return how many contradictions speak against an insight; none: against what it stands for."""
    if not number:
        return "a contradiction speaks against a text that says the same"
    return f"{number} contradiction{' speaks' if number == 1 else 's speak'} against it"


def _cluster(connection: Connection, insight_id: str) -> dict[str, Any] | None:
    """Return the cluster that an insight is in, if it is in one."""
    name = contradictions.load_clusters(connection, [insight_id]).get(insight_id)
    found = contradictions.get_cluster(connection, name) if name else None
    if found is None:
        return None
    return {"id": found.id, "size": len(found.members), "coherence": found.coherence}


def _against(
    each: Contradiction, insight_id: str, told: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return a contradiction as one of its sides sees it."""
    return {**asdict(each), "other": told.get(_other(each, insight_id))}


def _other(each: Contradiction, insight_id: str) -> str:
    """Return the other side of a contradiction."""
    return each.insight_b if each.insight_a == insight_id else each.insight_a
