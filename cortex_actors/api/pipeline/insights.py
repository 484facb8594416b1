"""Operations on insights: which there are, why one is what it is, and what it lacks.

Reasons are computed from the rows and the rules each time; nothing is believed because it is
stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters, shapes
from cortex_actors.api.registry import Call, operation
from cortex_actors.domain.insight import LIVE, SHOWN, Category, Insight, InsightSort, InsightStatus
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.pipeline.organiser import Supposed, Would
from cortex_actors.rules import classification, promotion
from cortex_actors.rules.classification import ClassifiedBy, Count, classify, find_grounds
from cortex_actors.rules.promotion import (
    Evidence,
    Need,
    PromotionStanding,
    PromotionThresholds,
    Requirement,
)
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_evidence,
    insight_lists,
    principles,
)
from cortex_actors.storage.pipeline import insights as stored
from cortex_actors.storage.pipeline.insight_lists import InsightFilter, Named, find
from cortex_actors.storage.pipeline.principle_decay import DecayScales, get_today
from cortex_actors.text.hazards import is_boilerplate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.pipeline.contradictions import Contradiction


#: What is said of an insight that nothing holds up.
READY = "ready"

#: What holds a promotion up, the first that applies: what no time will mend, then what is missing.
BLOCKS = (
    Need.NOT_PROMOTED,
    Need.NO_CONTRADICTION,
    Need.NO_DIFFERENCE,
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


def explain_insight(connection: Connection, insight_id: str, *, call: Call) -> dict[str, Any]:
    """Return an insight whole, and why it is what it is."""
    found = insight_lists.load_insights(connection, [insight_id])[insight_id]
    whole = stored.load_representatives(connection, [insight_id]).get(insight_id)
    same = sorted(stored.load_followers(connection, [insight_id]))
    against = contradictions.load_contradictions(connection, [insight_id]).get(insight_id, [])
    others = [*same, *([whole] if whole else []), *(_other(each, insight_id) for each in against)]
    told = shapes.load_briefs(connection, others)
    standing = insight_evidence.load_merits(connection, [insight_id])[insight_id]
    made = principles.load_principles(
        connection, principles.find_coming_of(connection, [insight_id])
    )
    ranked = sorted(made.values(), key=lambda each: (-each.rank, each.id))
    spoke = find_grounds(found.content, found.heading)
    return {
        **shapes.load_insight(connection, found),
        "represents": [told[each] for each in same],
        "represented_by": told[whole] if whole else None,
        "contradictions": [
            {**asdict(each), "other": told.get(_other(each, insight_id))} for each in against
        ],
        "cluster": _cluster(connection, insight_id),
        "principles": [shapes.shape_brief(each) for each in ranked],
        "why": {
            "category": _category(found, spoke.categories),
            "domain": [asdict(each) for each in spoke.domains],
            "tags": [asdict(each) for each in spoke.tags],
            "confidence": _confidence(found, standing, call.clock.now()),
            "status": _status(found, told.get(whole or ""), against),
        },
        "promotion": check_eligibility(connection, found, call=call),
    }


def check_eligibility(connection: Connection, found: Insight, *, call: Call) -> dict[str, Any]:
    """Return every check of promotion, and what is missing most nearly."""
    now, thresholds = call.clock.now(), call.load_ruling().promotion
    standing = insight_evidence.load_merits(connection, [found.id])[found.id]
    checks = promotion.list_requirements(found, standing, now=now, thresholds=thresholds)
    missing = [each for each in checks if not each.met]
    numbers = [each for each in missing if _gap(each) is not None]
    nearest = max(numbers, key=_reached, default=None)
    return {
        "eligible": not missing,
        "checks": [_check(each) for each in checks],
        "missing": [str(each.need) for each in missing],
        "nearest": None if nearest is None else str(nearest.need),
    }


def list_progress(
    connection: Connection, some: Sequence[Insight], *, now: int, thresholds: PromotionThresholds
) -> list[dict[str, Any]]:
    """Return how near insights are to becoming principles, the nearest first.

    Those come first that lack least; of those that lack as much, the ones that have come furthest
    with what they lack; then the more confident.
    """
    standings = insight_evidence.load_merits(connection, [each.id for each in some])
    rows = []
    for each in some:
        checks = promotion.list_requirements(
            each, standings[each.id], now=now, thresholds=thresholds
        )
        rows.append((each, {check.need: check for check in checks if not check.met}))

    def nearness(row: tuple[Insight, dict[Need, Requirement]]) -> tuple[float, float, float, str]:
        found, missing = row
        come = sum(map(_reached, missing.values())) / len(missing) if missing else _ENOUGH
        return len(missing), -come, -found.confidence, found.id

    return [
        {
            **shapes.shape_fields(each, "id", "content", "confidence", "projects"),
            "observations": each.observation_count,
            "eligible": not missing,
            # The first thing that holds a promotion up; None for nothing.
            "because": next((str(need) for need in BLOCKS if need in missing), None),
            "missing": [_check(check) for check in missing.values()],
        }
        for each, missing in sorted(rows, key=nearness)
    ]


def count_reasons(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return of an overview how many insights are held up by what; `ready` by nothing."""
    counted = Counter(row["because"] or READY for row in rows)
    return {name: counted[name] for name in (READY, *map(str, BLOCKS))}


def _check(each: Requirement) -> dict[str, Any]:
    """Return a check as clients get it; `gap` is None for what is no number."""
    reached = round(_reached(each), 1)
    return {**shapes.shape_dataclass(each), "gap": _gap(each), "reached_percent": reached}


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


def _category(found: Insight, counts: Sequence[Count]) -> dict[str, Any]:
    """Return what was said about the category, and by whom; `counts` are the words for each."""
    first = classify(found.content, found.heading)
    asked = first.decided_by is ClassifiedBy.NOBODY and bool(found.verdict)
    # The categories for which as many words speak as for the first, with that.
    tied = [each.name for each in counts if len(each.words) == len(counts[0].words)]
    return {
        "decided_by": str(ClassifiedBy.PROTOTYPES if asked else first.decided_by),
        "confidence": found.verdict if asked else first.confidence,
        "words": [asdict(each) for each in counts],
        "tied": tied if len(tied) > 1 else [],
    }


def _confidence(found: Insight, standing: PromotionStanding, now: int) -> dict[str, Any]:
    """Return the confidence that is stored, and the steps that lead there from what is known."""
    evidence = Evidence(
        observations=found.observation_count,
        projects=len(found.projects),
        first_seen=found.first_seen,
        last_seen=found.last_seen,
        contradicted=standing.open_contradictions > 0,
        boilerplate=is_boilerplate(found.content),
    )
    steps = promotion.list_steps(evidence, now)
    return {"stored": found.confidence, "steps": [asdict(each) for each in steps]}


def _status(found: Insight, whole: dict[str, Any] | None, against: Sequence[Contradiction]) -> str:
    """Return why an insight has its status, a sentence."""
    number = sum(each.is_against(found.id) for each in against)
    return {
        InsightStatus.ACTIVE: "a file says it and nothing speaks against it",
        InsightStatus.WITHDRAWN: "no file says it any more",
        InsightStatus.SUPERSEDED: f"it says the same as {whole['id'] if whole else 'another'}",
        InsightStatus.PENDING_REVIEW: f"it waits for a person: {found.review}",
        InsightStatus.CONTRADICTED: "a contradiction speaks against a text that says the same"
        if not number
        else f"{number} contradiction{' speaks' if number == 1 else 's speak'} against it",
    }[found.status]


def _cluster(connection: Connection, insight_id: str) -> dict[str, Any] | None:
    """Return the cluster that an insight is in, if it is in one."""
    name = contradictions.load_clusters(connection, [insight_id]).get(insight_id)
    clusters = contradictions.get_clusters(connection, [name]) if name else []
    if not clusters:
        return None
    (found,) = clusters
    texts = insight_lists.load_insights(connection, found.members)
    return {
        "size": len(found.members),
        **shapes.shape_fields(found, "id", "coherence"),
        "members": [shapes.shape_fields(texts[e], "id", "content") for e in found.members],
    }


def _other(each: Contradiction, insight_id: str) -> str:
    """Return the other side of a contradiction."""
    return each.insight_b if each.insight_a == insight_id else each.insight_a


#: Insights that an overview of promotions looks at: some hundred milliseconds.
CONSIDERED = 5_000


@operation("insights.list", http="GET /insights")
async def insights(
    call: Call,
    project: str | None = None,
    limit: int = 20,
    *,
    status: str = SHOWN,
    category: str | None = None,
    domain: str | None = None,
    kind: str | None = None,
    tag: str | None = None,
    least: float | None = None,
    search: str = "",
    path: str | None = None,
    sort: str = "sure",
    skip: int = 0,
) -> dict[str, Any]:
    """Show what was learned from instruction files, most certain first, with its places.

    Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, skip, of="insights")
    wanted = InsightFilter(
        statuses=parameters.read_statuses(InsightStatus, status, shown=LIVE),
        project_id=await call.require_project_id(project),
        category=parameters.read_word(Category, category, what="category"),
        domain=domain,
        kind=parameters.read_word(StatementKind, kind, what="kind"),
        tag=tag,
        least=parameters.read_number(least, name="the least confidence"),
        words=tuple(search.split()),
        path=path,
        sort=parameters.read_word(InsightSort, sort, what="order") or InsightSort.SURE,
        limit=limit,
        skip=skip,
    )
    return await call.records.read(lambda c: shapes.list_insights(c, wanted))


@operation("insights.show", http="GET /insights/{insight}")
async def insight(call: Call, insight: str) -> dict[str, Any]:
    """Show one insight whole, and why it is classified and trusted as it is.

    Raises `NotFound`, and `BadInput` for what means several.
    """
    found = await call.records.read(
        lambda c: explain_insight(c, find(c, Named.INSIGHT, insight), call=call)
    )
    category = found["why"]["category"]
    if category["decided_by"] != ClassifiedBy.KEYWORDS:
        category["nearest"] = await _nearest(call, found["content"])
    return found


@operation("principles.promotions", http="GET /promotions")
async def promotions(
    call: Call, project: str | None = None, limit: int = 20, *, reason: str | None = None
) -> dict[str, Any]:
    """Show what keeps insights from becoming principles, those that lack least first.

    `reasons` counts what holds how many of them up; `reason` lists those alone that it holds up
    (`ready`: nothing does). What is a principle already is left out otherwise. Of the live
    insights the most believed `CONSIDERED` are looked at. Raises `UnknownProject`, `BadInput`.
    """
    parameters.check_page(limit, 0, of="insights")
    if reason not in {None, READY, *BLOCKS}:
        known = ", ".join([READY, *BLOCKS])
        raise BadInput(f"nothing is held up by {reason!r}; there are {known}")
    now, thresholds = call.clock.now(), call.load_ruling().promotion
    wanted = InsightFilter(project_id=await call.require_project_id(project), limit=CONSIDERED)

    def look(connection: Connection) -> dict[str, Any]:
        some = insight_lists.list_insights(connection, wanted)
        rows = list_progress(connection, some, now=now, thresholds=thresholds)
        counted = count_reasons(rows)
        told = [
            row
            for row in rows
            if (row["because"] or READY) == reason
            or (reason is None and row["because"] != Need.NOT_PROMOTED)
        ]
        return {
            "looked_at": len(rows),
            "eligible": counted[READY],
            "reasons": counted,
            "insights": told[:limit],
        }

    return await call.records.read(look)


async def _nearest(call: Call, text: str) -> list[dict[str, Any]]:
    """Return which examples of each category a text lies near; none without an embedder."""
    try:
        rows = await call.embed([text, *classification.list_examples()])
    except CortexError:
        return []
    return [asdict(each) for each in classification.rank_categories(rows[0], rows[1:])]


def shape_eligibility(connection: Connection, supposed: Supposed, *, call: Call) -> dict[str, Any]:
    """Return what an insight has and lacks, and what its promotion would do.

    Where another insight represents it, the answer is about that one.
    """
    lead, made = supposed.lead, supposed.principle
    found = insight_lists.load_insights(connection, [lead])[lead]
    others = [each.find_other_end(made.id) for each in supposed.links] if made else []
    linked = principles.load_principles(connection, others)
    checks = check_eligibility(connection, found, call=call)
    # Why it would come to that, where it is not plain.
    cosine, reason = supposed.cosine, ""
    if supposed.would is Would.NOTHING:
        reason = "no file says it now, or it waits for a person"
    elif supposed.would is Would.ALIKE:
        reason = "in a cluster with it" if cosine is None else f"cosine {cosine:.2f}"
    return {
        "id": lead,
        "content": found.content,
        **checks,
        "together": [each for each in supposed.together if each != lead],
        **shapes.shape_fields(supposed, "would", "replaces", compared="is_compared"),
        "reason": reason,
        "same_as": None if supposed.same_as is None else shapes.shape_brief(supposed.same_as),
        "preview": _preview(connection, supposed, found, call=call),
        "links": [shapes.shape_link(e, made.id, linked) for e in supposed.links] if made else [],
    }


def _preview(
    connection: Connection, supposed: Supposed, found: Insight, *, call: Call
) -> dict[str, Any] | None:
    """Return the principle as it would be, with what its rank would be made of."""
    made, evidence = supposed.principle, supposed.evidence
    if made is None or evidence is None:
        return None
    day, scales = (
        get_today(connection, call.clock.now()),
        DecayScales.from_settings(call.settings().organisation),
    )
    return {
        **shapes.shape_principle(made, evidence, {made.id: list(found.projects)}),
        "rank": evidence.rank(day, scales),
        "why": shapes.explain_rank(made, evidence, now=day, scales=scales),
        "made_of": list(supposed.members),
    }
