"""Reconciler: insights are compared with one another, and weighed by what speaks for them.

hears   accumulation:complete, reconciliation:requested
says    reconciliation:complete, reconciliation:requested, contradiction:detected,
        contradiction:resolved
asks    ledger, cache (the examples of categories, once), judge (what the rules leave open, where
        there is a model for it)
keeps   which vectors it looked at while nobody asked (lost on a crash: it looks again), and its own
        threads (an event in hand when it crashes is handed out again)
"""

from __future__ import annotations

import logging
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.clock import ulid
from cortex_actors.domain.event import Ids, ReconciliationComplete, ReconciliationRequested, parts
from cortex_actors.errors import CortexError
from cortex_actors.pipeline.comparison import Comparing, Tools
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import contradictions, insight_evidence, insights, projects
from cortex_actors.topics import (
    ACCUMULATION_COMPLETE,
    CONTRADICTION_DETECTED,
    CONTRADICTION_RESOLVED,
    RECONCILIATION_COMPLETE,
    RECONCILIATION_REQUESTED,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import AccumulationComplete, Event, Payload
    from cortex_actors.pipeline.likeness import SecondOpinion
    from cortex_actors.pipeline.reconciliation import Reconciliation
    from cortex_actors.pipeline.relations import Judge
    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.storage.contradictions import Mark
    from cortex_actors.storage.insights import Opinion
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Neighbours

log = logging.getLogger("cortex.reconciler")

#: Seconds between two looks whether a vector came late, or other rules hold: what is found twice,
#: with no run between, is what no event tells of.
LOOK = 5.0

#: Contradictions, or candidates, that one event names: its payload has a limit.
NAMED = 500


class Reconciler(Consumer):
    """Makes who stands for whom, who contradicts whom and what is one cluster follow the texts.

    It looks at what changed and at whatever is connected with it, and leaves what a look at all of
    it would have left. Everything is compared anew when that is asked for, and when the rules, the
    thresholds or the embedding model are others than those it was compared by. Confidence is made
    of the evidence each time, never of the last value.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit = 16
    overflow = Overflow.BACK_PRESSURE

    #: What many files say is compared together: comparing after each took a third of learning them.
    share = 0.1

    #: Seconds: comparing 100,000 insights with one another takes many minutes of a thread.
    message_limit: ClassVar[float] = 7_200.0

    hears: ClassVar[Mapping[str, str]] = {
        ACCUMULATION_COMPLETE: "on_complete",
        RECONCILIATION_REQUESTED: "on_requested",
    }

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: ReconciliationSettings,
        neighbours: Neighbours,
        judge: Judge | None = None,
        tables: Path | None = None,
        opinion: SecondOpinion | None = None,
    ) -> None:
        """Remember whom to ask; `tables` are the user's own rules, if there are any."""
        super().__init__(desk)
        self._records = records
        self._neighbours = neighbours
        self._judge = judge
        self._opinion = opinion
        named = judge.named if judge is not None and judge.is_there else ""
        self._ruling = Ruling(settings, neighbours.model, tables, judge=named)
        self._threads = Threads("reconciler", 1)
        self._due: Mark | None = None
        self._seen = -1

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics, and look now and then for what no event tells of."""
        self.actor_ref.on_end(self._threads.close)
        await super().on_start()
        self.spawn(self._look_out(), name="look")

    async def on_complete(self, event: Event[AccumulationComplete]) -> Outcome:
        """Compare what a file says differently now; a run that changed nothing costs no look."""
        if not event.payload.changed_ids:
            return self._ended(self._run(), None)
        return await self._reconcile(event.payload.changed_ids)

    async def on_requested(self, event: Event[ReconciliationRequested]) -> Outcome:
        """Compare what came late, or everything, and weigh all of it if that is wished.

        Time goes by for what nobody says anew, too.
        """
        return await self._reconcile((), full=event.payload.full, weigh=event.payload.weigh)

    async def _reconcile(
        self, ids: Sequence[str], *, full: bool = False, weigh: bool = False
    ) -> Outcome:
        """Compare texts, and return what follows."""
        run = self._run()
        await self._threads.run(self._ruling.read)
        comparing = Comparing(
            Tools(self._records, self._neighbours, self._threads, self._judge),
            self._ruling,
            name=self.desk.name,
            run=run.id,
            at=self.desk.clock.now(),
        )
        found = await comparing.compare(ids, full=full, weigh=weigh)
        opinions = await self._opinion.of(found.visited) if self._opinion is not None else []
        self._due = None
        return self._ended(run, found, opinions)

    def _run(self) -> projects.Run:
        """Return the audit row of a run that begins now."""
        now = self.desk.clock.now()
        run_id = f"run_{ulid(now)}"
        return projects.Run(run_id, self.desk.name, started_at=now, finished_at=now)

    def _ended(
        self, run: projects.Run, found: Reconciliation | None, opinions: Sequence[Opinion] = ()
    ) -> Outcome:
        """Return a run's effects with its audit row, and the events that tell of it."""
        counts = found.counts if found is not None else {"insights": 0}
        ended = projects.Run(
            id=run.id,
            kind=run.kind,
            started_at=run.started_at,
            finished_at=self.desk.clock.now(),
            counts=counts,
            error=self._ruling.trouble or None,
        )

        def work(connection: Connection) -> None:
            if found is not None:
                found.write(connection)
            insights.take(connection, opinions)
            projects.record(connection, ended)

        candidates = parts(found.weighed.candidates if found is not None else (), NAMED)
        derived = parts(found.derived if found is not None else (), NAMED)
        named = [((), ())] if not candidates + derived else zip_longest(candidates, derived)
        done = [
            self.say(
                RECONCILIATION_COMPLETE, ReconciliationComplete(run.id, some or (), others or ())
            )
            for some, others in named
        ]
        return Outcome(work, [*self._told(found), *done])

    def _told(self, found: Reconciliation | None) -> Iterator[Event[Payload]]:
        """Yield the events that tell of contradictions."""
        if found is None:
            return
        for topic, some in (
            (CONTRADICTION_DETECTED, found.detected),
            (CONTRADICTION_RESOLVED, found.ended),
        ):
            for ids in parts(sorted(each.id for each in some), NAMED):
                yield self.say(topic, Ids(ids))

    async def _look_out(self) -> None:
        """Ask for a run when something is due of which no event tells."""
        while True:
            await self.desk.clock.sleep(LOOK)
            try:
                if not self._in_hand and await self._is_due():
                    await self.desk.bus.publish(
                        RECONCILIATION_REQUESTED,
                        ReconciliationRequested(weigh=False),
                        source=self.desk.name,
                    )
            except CortexError as error:
                log.debug("looking for what came late will be tried again: %s", error)

    async def _is_due(self) -> bool:
        """Tell whether vectors came late, or other rules hold, at two looks without a run."""
        await self._threads.run(self._ruling.read)
        by, seen = self._ruling.digest, self._seen
        model = self._neighbours.model

        def look(connection: Connection) -> tuple[Mark, bool, int]:
            mark = contradictions.mark(connection)
            if mark.by != by:
                return mark, bool(insight_evidence.is_any(connection)), -1
            ids, newest = insight_evidence.late(connection, model, max(mark.up_to, seen))
            return mark, bool(ids), -1 if ids else newest

        mark, is_late, self._seen = await self._records.read(look)
        was_due, self._due = self._due, mark if is_late else None
        return is_late and was_due == mark
