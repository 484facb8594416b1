"""Reconciler: insights are weighed by what speaks for them.

hears   accumulation:complete, reconciliation:requested
says    reconciliation:complete
asks    ledger
keeps   nothing
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.clock import ulid
from cortex_actors.domain.payload import ReconciliationComplete
from cortex_actors.rules import promotion
from cortex_actors.rules.confidence import Evidence, confidence
from cortex_actors.storage import insights, principles, runs
from cortex_actors.topics import (
    ACCUMULATION_COMPLETE,
    RECONCILIATION_COMPLETE,
    RECONCILIATION_REQUESTED,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.insight import Insight
    from cortex_actors.settings import ReconciliationSettings
    from cortex_actors.storage.records import Connection, Records


class Reconciler(Consumer):
    """Weighs every active insight anew and names those that have earned becoming principles.

    Confidence is computed from the evidence each time, never from the last value, so a run may be
    repeated as often as one likes. Clusters and contradictions are not looked for yet.
    """

    hears: ClassVar[Mapping[str, str]] = {
        ACCUMULATION_COMPLETE: "on_complete",
        RECONCILIATION_REQUESTED: "on_complete",
    }

    def __init__(self, desk: Desk, records: Records, *, settings: ReconciliationSettings) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._thresholds = promotion.Thresholds(
            confidence=settings.promotion_confidence,
            observations=settings.promotion_observations,
            age=settings.promotion_age_days,
            projects=settings.promotion_projects,
        )

    async def on_complete(self, _event: Event[object]) -> Outcome:
        """Weigh what is known now."""
        started_at = self.desk.clock.now()
        known, promoted = await self._records.read(_known)
        now = self.desk.clock.now()
        weighed = [(each, _weight(each, now)) for each in known]
        changed = [(each.id, weight) for each, weight in weighed if _differs(each, weight)]
        candidates = [
            each.id for each, weight in weighed if self._earned(each, weight, promoted, now)
        ]
        run = runs.Run(
            id=f"run_{ulid(now)}",
            kind=self.desk.name,
            started_at=started_at,
            finished_at=now,
            counts={"insights": len(known), "changed": len(changed), "candidates": len(candidates)},
        )

        def work(connection: Connection) -> None:
            insights.weigh(connection, changed)
            runs.record(connection, run)

        done = ReconciliationComplete(run.id, tuple(candidates))
        return Outcome(work, [self.say(RECONCILIATION_COMPLETE, done)])

    def _earned(self, insight: Insight, weight: float, promoted: set[str], now: int) -> bool:
        """Tell whether an insight may become a principle without a person."""
        standing = promotion.Standing(derivations=1 if insight.id in promoted else 0)
        weighed = replace(insight, confidence=weight)
        return promotion.earned(weighed, standing, now=now, thresholds=self._thresholds)


def _known(connection: Connection) -> tuple[list[Insight], set[str]]:
    """Return every active insight, and the ids of those that are principles already."""
    return insights.active(connection), principles.derived(connection)


def _weight(insight: Insight, now: int) -> float:
    """Return how far an insight is to be believed."""
    evidence = Evidence(
        observations=insight.observation_count,
        projects=len(insight.projects),
        last_seen=insight.last_seen,
    )
    return confidence(evidence, now)


def _differs(insight: Insight, weight: float) -> bool:
    """Tell whether a weight is worth writing: beyond rounding."""
    return abs(insight.confidence - weight) > 1e-9  # noqa: PLR2004 - far below any shown digit
