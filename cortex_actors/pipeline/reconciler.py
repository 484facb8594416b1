"""Reconciler: insights are weighed by what speaks for them.

hears   accumulation:complete, reconciliation:requested
says    reconciliation:complete
asks    ledger
keeps   - (an event in hand when it crashes is handed out again)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.clock import ulid
from cortex_actors.domain.payload import ReconciliationComplete
from cortex_actors.rules import promotion
from cortex_actors.rules.confidence import Evidence, confidence
from cortex_actors.rules.promotion import Standing, Thresholds
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.storage import insights, principles, runs
from cortex_actors.topics import (
    ACCUMULATION_COMPLETE,
    RECONCILIATION_COMPLETE,
    RECONCILIATION_REQUESTED,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.insight import Insight
    from cortex_actors.domain.payload import AccumulationComplete, Payload
    from cortex_actors.settings import ReconciliationSettings
    from cortex_actors.storage.records import Connection, Records


#: Insights weighed on the loop: some milliseconds. More are weighed on a thread.
INLINE = 1_000


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one run found: how many it looked at, which weigh otherwise, which are candidates."""

    looked_at: int = 0
    changed: tuple[tuple[str, float], ...] = ()
    candidates: tuple[str, ...] = ()


class Reconciler(Consumer):
    """Weighs insights whose evidence changed and names those that may become principles.

    When it is asked to, it weighs all of them. Confidence is computed from the evidence each time,
    never from the last value, so a run may be repeated as often as one likes. Clusters and
    contradictions are not looked for yet.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit = 16
    overflow = Overflow.BACK_PRESSURE

    #: What many files say is weighed together: weighing after each took a third of learning them.
    share = 0.1

    hears: ClassVar[Mapping[str, str]] = {
        ACCUMULATION_COMPLETE: "on_complete",
        RECONCILIATION_REQUESTED: "on_requested",
    }

    def __init__(self, desk: Desk, records: Records, *, settings: ReconciliationSettings) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._thresholds = Thresholds(
            confidence=settings.promotion_confidence,
            observations=settings.promotion_observations,
            age=settings.promotion_age_days,
            projects=settings.promotion_projects,
        )

    async def on_complete(self, event: Event[AccumulationComplete]) -> Outcome:
        """Weigh what a file says differently now; a run that changed nothing costs no look."""
        if not event.payload.changed_ids:
            return self._outcome(self.desk.clock.now(), Weighed())
        return await self._weigh(event.payload.changed_ids)

    async def on_requested(self, _event: Event[Payload]) -> Outcome:
        """Weigh everything: time goes by for what nobody says anew, too."""
        return await self._weigh(None)

    async def _weigh(self, ids: Sequence[str] | None) -> Outcome:
        """Weigh the insights of those ids, or all, as they are known now."""
        started_at = self.desk.clock.now()
        known, promoted = await self._records.read(lambda c: _known(c, ids))
        now = self.desk.clock.now()
        if len(known) > INLINE:
            weighed = await asyncio.to_thread(_weighed, known, promoted, self._thresholds, now)
        else:
            weighed = _weighed(known, promoted, self._thresholds, now)
        return self._outcome(started_at, weighed)

    def _outcome(self, started_at: int, weighed: Weighed) -> Outcome:
        """Return a run's effects with its audit row, and the event that ends it."""
        now = self.desk.clock.now()
        run = runs.Run(
            id=f"run_{ulid(now)}",
            kind=self.desk.name,
            started_at=started_at,
            finished_at=now,
            counts={
                "insights": weighed.looked_at,
                "changed": len(weighed.changed),
                "candidates": len(weighed.candidates),
            },
        )

        def work(connection: Connection) -> None:
            insights.weigh(connection, weighed.changed)
            runs.record(connection, run)

        done = ReconciliationComplete(run.id, weighed.candidates)
        return Outcome(work, [self.say(RECONCILIATION_COMPLETE, done)])


def _known(
    connection: Connection, ids: Sequence[str] | None
) -> tuple[Sequence[Insight], Collection[str]]:
    """Return active insights, and the ids of those that are principles already."""
    if ids is None:
        return insights.active(connection), principles.derived(connection)
    return list(insights.by_id(connection, ids).values()), principles.derived(connection, ids)


def _weighed(
    known: Sequence[Insight], promoted: Collection[str], thresholds: Thresholds, now: int
) -> Weighed:
    """Return what insights weigh, and which may become principles without a person."""
    changed: list[tuple[str, float]] = []
    candidates: list[str] = []
    for insight in known:
        weight = _weight(insight, now)
        if _differs(insight, weight):
            changed.append((insight.id, weight))
        standing = Standing(derivations=1 if insight.id in promoted else 0)
        weighty = replace(insight, confidence=weight)
        if promotion.earned(weighty, standing, now=now, thresholds=thresholds):
            candidates.append(insight.id)
    return Weighed(len(known), tuple(changed), tuple(candidates))


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
