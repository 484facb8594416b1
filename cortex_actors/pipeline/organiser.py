"""Organiser: insights that have earned it become principles.

hears   reconciliation:complete, organisation:requested
says    organisation:complete
asks    ledger
keeps   - (an event in hand when it crashes is handed out again)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.clock import ulid
from cortex_actors.domain.insight import InsightStatus
from cortex_actors.domain.payload import OrganisationComplete, ReconciliationComplete
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.storage import insights, principles, runs
from cortex_actors.topics import (
    ORGANISATION_COMPLETE,
    ORGANISATION_REQUESTED,
    RECONCILIATION_COMPLETE,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.storage.records import Connection, Records


class Organiser(Consumer):
    """Promotes single insights, each with its derivation; what is promoted twice is one principle.

    Linking, clusters and decay are not done yet.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit = 16
    overflow = Overflow.BACK_PRESSURE

    #: As the reconciler, whose runs it follows.
    share = 0.1

    hears: ClassVar[Mapping[str, str]] = {
        RECONCILIATION_COMPLETE: "on_candidates",
        ORGANISATION_REQUESTED: "on_candidates",
    }

    def __init__(self, desk: Desk, records: Records) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records

    async def on_candidates(self, event: Event[Payload]) -> Outcome:
        """Promote the candidates that are still active."""
        started_at = self.desk.clock.now()
        payload = event.payload
        ids = payload.candidate_ids if isinstance(payload, ReconciliationComplete) else ()
        candidates = await self._records.read(lambda c: insights.by_id(c, ids))
        now = self.desk.clock.now()
        # Since it was named one may have been contradicted: it is live still, and no principle.
        made = [
            principles.of(insight, now)
            for _, insight in sorted(candidates.items())
            if insight.status is InsightStatus.ACTIVE
        ]
        run = runs.Run(
            id=f"run_{ulid(now)}",
            kind=self.desk.name,
            started_at=started_at,
            finished_at=now,
            counts={"candidates": len(ids), "promoted": len(made)},
        )

        def work(connection: Connection) -> None:
            for principle in made:
                principles.promote(connection, principle)
            runs.record(connection, run)

        done = OrganisationComplete(run.id, tuple(each.id for each in made))
        return Outcome(work, [self.say(ORGANISATION_COMPLETE, done)])
