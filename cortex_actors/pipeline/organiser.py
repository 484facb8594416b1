"""Organiser: insights that have earned it become principles, and principles follow their insights.

hears   reconciliation:complete, organisation:requested
says    organisation:complete
asks    ledger, cache (sentences that a model wrote), judge (one sentence for a cluster, where there
        is a model for it)
keeps   - (an event in hand when it crashes is handed out again)
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.clock import ulid
from cortex_actors.domain.event import OrganisationComplete, ReconciliationComplete
from cortex_actors.errors import CortexError
from cortex_actors.pipeline import gathering, promoting
from cortex_actors.pipeline.forming import formed
from cortex_actors.pipeline.gathering import Tools
from cortex_actors.pipeline.linking import Linked, Linker
from cortex_actors.pipeline.organisation import Organisation
from cortex_actors.pipeline.ruling import Ruling
from cortex_actors.pipeline.supposing import Supposing
from cortex_actors.pipeline.synthesising import Synthesising
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import principle_decay, principles, projects
from cortex_actors.topics import (
    ORGANISATION_COMPLETE,
    ORGANISATION_REQUESTED,
    RECONCILIATION_COMPLETE,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.flowsections import OrganisationSettings
    from cortex_actors.pipeline.forming import Formed
    from cortex_actors.pipeline.gathering import Gathered
    from cortex_actors.pipeline.promoting import Unit
    from cortex_actors.pipeline.supposing import Supposed
    from cortex_actors.pipeline.synthesising import Writer, Written
    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Neighbours

log = logging.getLogger("cortex.organiser")

#: Principles that one event names: its payload has a limit.
NAMED = 500

#: Sentences that are embedded in a run because they have no vector yet.
LATE = 100


class Organiser(Consumer):
    """Makes the principles follow what was learned, and links and ranks those that changed.

    Which principles there are is a function of the ledger: the same whatever was named first, and
    the same again when everything is looked at. What has become one stays one until it fades.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit = 16
    overflow = Overflow.BACK_PRESSURE

    #: As the reconciler, whose runs it follows.
    share = 0.1

    #: Seconds: linking ten thousand principles anew takes minutes of a thread.
    message_limit: ClassVar[float] = 7_200.0

    hears: ClassVar[Mapping[str, str]] = {
        RECONCILIATION_COMPLETE: "on_candidates",
        ORGANISATION_REQUESTED: "on_requested",
    }

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: OrganisationSettings,
        promotion: ReconciliationSettings,
        neighbours: Neighbours,
        embed: Embed,
        writer: Writer | None = None,
        tables: Path | None = None,
    ) -> None:
        """Remember whom to ask; `promotion` says what has to be earned, `tables` are own rules."""
        super().__init__(desk)
        self._threads = Threads("organiser", 1)
        self._tools = Tools(records, neighbours, self._threads)
        self._settings = settings
        self._scales = principle_decay.Scales.of(settings)
        self._embed = embed
        self._ruling = Ruling(promotion, neighbours.model, tables)
        self._synthesising = Synthesising(writer, embed, model=neighbours.model)
        self._linker = Linker(records, self._threads, model=neighbours.model, settings=settings)

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics."""
        self.actor_ref.on_end(self._threads.close)
        await super().on_start()

    async def on_candidates(self, event: Event[ReconciliationComplete]) -> Outcome:
        """Promote what was named and has earned it still, and have principles follow."""
        payload = event.payload
        return await self._organise({*payload.candidate_ids, *payload.derived_ids})

    async def on_requested(self, _event: Event[Payload]) -> Outcome:
        """Look at everything that has earned it, or is a principle already."""
        sure = self._ruling.promotion.confidence
        return await self._organise(
            await gathering.everything(self._tools.records, confidence=sure), full=True
        )

    async def suppose(self, insight_id: str) -> Supposed:
        """Return what would come of an insight if it were promoted now; nothing is written."""
        dedup = self._settings.dedup
        supposing = Supposing(self._tools, self._linker, self._ruling, dedup)
        return await supposing.suppose(insight_id, now=self.desk.clock.now())

    async def _organise(self, ids: Collection[str], *, full: bool = False) -> Outcome:
        """Look at some insights and whatever is connected with them, and return what follows."""
        started_at = self.desk.clock.now()
        run_id = f"run_{ulid(started_at)}"
        await self._threads.run(self._ruling.read)
        found = await self._found(ids, run_id, full=full)
        at = self.desk.clock.now()
        now = await self._tools.records.read(lambda c: principle_decay.today(c, at))
        run = projects.Run(
            id=run_id,
            kind=self.desk.name,
            started_at=started_at,
            finished_at=at,
            counts={"candidates": len(ids), **found.counts, **found.linked.counts},
            error=self._ruling.trouble or None,
        )

        def work(connection: Connection) -> None:
            found.write(connection, at=at, now=now, scales=self._scales)
            projects.record(connection, run)

        return Outcome(work, [self._done(run_id, some) for some in _parts(found.changed_ids)])

    async def _found(self, ids: Collection[str], run: str, *, full: bool) -> Organisation:
        """Return what becomes of insights."""
        tools, ruling = self._tools, self._ruling
        lexicon = ruling.relations().lexicon
        found = await gathering.gather(tools, ids, dedup=self._settings.dedup)
        now = self.desk.clock.now()
        scales = promoting.scales(found, ruling.promotion, now)
        planned = await tools.threads.run(promoting.units, found, scales, lexicon=lexicon)
        units, written = await self._synthesising.write(planned, found, run=run, lexicon=lexicon)
        made = await tools.threads.run(_formed, units, found, now, written)
        gone = await self._gone(found, made, full=full)
        linked = Linked()
        # Finding out who is due reads all principles: a run that touches none does without it.
        if full or made or gone:
            linked = await self._linker.find(
                [each.principle for each in made if each.is_changed],
                rows=written.rows,
                gone={*gone, *(name for each in made for name in each.replaces)},
                lexicon=lexicon,
            )
        return Organisation(
            formed=made,
            standing=_standing(found),
            gone=gone,
            moved=await self._moved(made),
            linked=linked,
            rows=written.rows | await self._late(),
            model=tools.neighbours.model,
            counts=_counts(made, gone, written),
        )

    async def _gone(
        self, found: Gathered, made: Sequence[Formed], *, full: bool
    ) -> Collection[str]:
        """Return the principles that are none any more and that none takes the place of."""
        stay = {each.principle.id for each in made}
        stay |= {name for each in made for name in each.replaces}
        gone = found.principles.keys() - stay - set(found.revoked)
        if not full:
            return gone
        return gone | (await self._tools.records.read(principles.without_source)) - stay

    async def _moved(self, made: Sequence[Formed]) -> set[str]:
        """Return the principles that are as they were, but for their rank."""
        same = {each.principle.id: each.principle for each in made if not each.is_changed}
        at, scales = self.desk.clock.now(), self._scales

        def look(connection: Connection) -> set[str]:
            now = principle_decay.today(connection, at)
            before = principles.by_ids(connection, same)
            counted = principle_decay.evidence(connection, same)
            return {
                name
                for name, each in counted.items()
                if abs(each.rank(now, scales) - before[name].rank) > principle_decay.CLOSE
            }

        return await self._tools.records.read(look) if same else set()

    async def _late(self) -> dict[bytes, Matrix]:
        """Return vectors of sentences that have none yet; nothing while nobody embeds."""
        model = self._tools.neighbours.model
        texts = await self._tools.records.read(
            partial(principles.unembedded, model=model, limit=LATE)
        )
        if not texts:
            return {}
        try:
            rows = await self._embed(list(texts.values()), model=model)
        except CortexError as error:
            log.debug("sentences are embedded another time: %s", error)
            return {}
        return dict(zip(texts, rows, strict=True))

    def _done(self, run_id: str, changed: tuple[str, ...]) -> Event[Payload]:
        """Return the event that tells of a run."""
        return self.say(ORGANISATION_COMPLETE, OrganisationComplete(run_id, changed))


def _formed(units: Sequence[Unit], found: Gathered, now: int, written: Written) -> list[Formed]:
    """Return units as principles (on a thread)."""
    return [formed(each, found, now, words=written.words.get(each.key)) for each in units]


def _standing(found: Gathered) -> set[str]:
    """Return the insights that files say and that nothing speaks against."""
    return {lead for lead, texts in found.said.items() if texts[0].status == "active"}


def _counts(made: Sequence[Formed], gone: Collection[str], written: Written) -> dict[str, int]:
    """Return the numbers of the audit row."""
    replaced = {name for each in made for name in each.replaces}
    return {
        "looked_at": len(made),
        "promoted": sum(each.is_new and not each.replaces for each in made),
        "changed": sum(each.is_changed and not each.is_new for each in made),
        "replaced": len(replaced),
        "gone": len(gone),
        "synthesised": written.taken,
        "dropped": written.dropped,
    }


def _parts(ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Return ids, as many at a time as an event may name; one part of none for none."""
    some = [tuple(ids[start : start + NAMED]) for start in range(0, len(ids), NAMED)]
    return some or [()]
