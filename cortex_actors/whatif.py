"""What would come of an insight if it were promoted now, in the shape that clients get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors import distilled, whys
from cortex_actors.pipeline.synthesis import Would
from cortex_actors.storage import insight_evidence, insight_lists, principle_decay, principles

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Insight
    from cortex_actors.pipeline.synthesis import Supposed
    from cortex_actors.rules.promotion import Thresholds
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.principle_decay import Scales


def shaped(
    connection: Connection,
    supposed: Supposed,
    *,
    now: int,
    thresholds: Thresholds,
    scales: Scales,
) -> dict[str, Any]:
    """Return what an insight has and lacks, and what its promotion would do.

    It is told of the insight that stands for it, where another one does.
    """
    lead = supposed.lead
    found = insight_lists.by_ids(connection, [lead])[lead]
    known = insight_evidence.load_merits(connection, [lead])[lead]
    checks = whys.eligibility(connection, found, known, now=now, thresholds=thresholds)
    # Only a promotion of the same words is foretold there, without a look at what is near.
    del checks["becomes"]
    return {
        "id": lead,
        "content": found.content,
        **checks,
        "together": [each for each in supposed.together if each != lead],
        "would": str(supposed.would),
        "compared": supposed.is_compared,
        "reason": _reason(supposed),
        "same_as": None if supposed.same_as is None else distilled.briefly(supposed.same_as),
        "replaces": supposed.replaces,
        "preview": _preview(connection, supposed, found, now=now, scales=scales),
        "links": _links(connection, supposed),
    }


def _preview(
    connection: Connection, supposed: Supposed, found: Insight, *, now: int, scales: Scales
) -> dict[str, Any] | None:
    """Return the principle as it would be, with what its rank would be made of."""
    made, evidence = supposed.principle, supposed.evidence
    if made is None or evidence is None:
        return None
    today = principle_decay.today(connection, now)
    return {
        **distilled.shape(made, evidence, {made.id: list(found.projects)}),
        "rank": evidence.rank(today, scales),
        "why": distilled.ranked(made, evidence, now=today, scales=scales),
        "made_of": list(supposed.members),
    }


def _links(connection: Connection, supposed: Supposed) -> list[dict[str, Any]]:
    """Return what the principle would be linked with."""
    made = supposed.principle
    if made is None:
        return []
    others = principles.by_ids(connection, [each.other(made.id) for each in supposed.links])
    return [distilled.link(each, made.id, others) for each in supposed.links]


def _reason(supposed: Supposed) -> str:
    """Return why it would come to that, where it is not plain."""
    if supposed.would is Would.NOTHING:
        return "no file says it now, or it waits for a person"
    if supposed.would is not Would.ALIKE:
        return ""
    return "in a cluster with it" if supposed.cosine is None else f"cosine {supposed.cosine:.2f}"
