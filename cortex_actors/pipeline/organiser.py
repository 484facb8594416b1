"""Organiser: insights that have earned it become principles, and principles follow their insights.

hears   reconciliation:complete, organisation:requested
says    organisation:complete
asks    ledger, cache (sentences that a model wrote), judge (one sentence for a cluster, where there
        is a model for it)
keeps   - (an event in hand when it crashes is handed out again)

Organisation: what one run found, and how it is written.

Between the look and the commit a file may have been read again, or a person may have spoken. So
each principle is checked once more: what is not said any more, was turned down or taken back makes
none, and what it was to take the place of stays. The event of whatever happened meanwhile leads to
a run of its own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.clock import ulid
from cortex_actors.domain.event import OrganisationComplete, ReconciliationComplete, parts
from cortex_actors.domain.project import Decision
from cortex_actors.errors import CortexError
from cortex_actors.pipeline import promotion
from cortex_actors.pipeline.links import Linked, Linker
from cortex_actors.pipeline.promotion import Tools, formed
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.pipeline.synthesis import Supposing, Synthesising
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import (
    embeddings,
    insight_evidence,
    insights,
    principle_decay,
    principles,
    projects,
    reviews,
)
from cortex_actors.topics import (
    ORGANISATION_COMPLETE,
    ORGANISATION_REQUESTED,
    RECONCILIATION_COMPLETE,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.pipeline.promotion import Formed, Gathered, Unit
    from cortex_actors.pipeline.synthesis import Supposed, Writer, Written
    from cortex_actors.sections import OrganisationSettings, ReconciliationSettings
    from cortex_actors.storage.embeddings import Embed, Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.principle_decay import Scales
    from cortex_actors.storage.search.matrix import Neighbours


@dataclass(frozen=True, slots=True)
class Organisation:
    """What one run found.

    Attributes:
        formed: the principles that were looked at, as they are to be.
        standing: the insights that files said and that nothing spoke against, of those they come
            of.
        gone: principles that are none any more, but those that another one takes the place of.
        moved: principles whose rank is another one by now.
        rows: vectors that the ledger has not got yet.
        model: whose vectors those are.

    """

    formed: Sequence[Formed] = ()
    standing: Collection[str] = ()
    gone: Collection[str] = ()
    moved: Collection[str] = ()
    linked: Linked = field(default_factory=Linked)
    rows: Mapping[bytes, Matrix] = field(default_factory=dict)
    model: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> list[Formed]:
        """The principles that are to be written."""
        return [each for each in self.formed if each.is_changed or each.replaces]

    @property
    def changed_ids(self) -> tuple[str, ...]:
        """Return the principles that came, went, or stand otherwise, in order."""
        found = {each.principle.id for each in self.changed}
        found |= {name for each in self.formed for name in each.replaces}
        return tuple(sorted({*found, *self.gone, *self.moved, *self.linked.drawn.ends}))

    def write(self, connection: Connection, *, at: int, now: int, scales: Scales) -> None:
        """Write it, in the transaction that acknowledges what led to it.

        `at` is the time of the run, `now` the time to which ages count.
        """
        embeddings.keep_vectors(connection, self.model, self.rows)
        back = reviews.principles(connection)
        made = self._holding(connection, back)
        principles.forget(connection, {*self.gone, *_replaced(made)} - back)
        principles.add(connection, [each.principle for each in made])
        principles.derive(connection, [owed for each in made for owed in each.derivations])
        others = self.linked.write(connection, at=at)
        looked_at = {each.principle.id for each in self.formed}
        principle_decay.settle(connection, {*looked_at, *others}, now, scales)

    def _holding(self, connection: Connection, back: Collection[str]) -> list[Formed]:
        """Return what is to be written and still holds; `back` was taken back, and stays."""
        some = self.changed
        members = {owed.insight_id for each in some for owed in each.derivations}
        barred = reviews.decided(connection, Decision.REJECTED)
        barred |= reviews.insights(connection, members)
        barred |= insights.representatives(connection, members).keys()
        barred |= set(self.standing) - insight_evidence.active_among(connection, members)
        taken = _taken(connection, some)
        return [
            each
            for each in some
            if each.principle.id in back
            or not (each.principle.id in taken or _names(each) & barred)
        ]


def _names(formed: Formed) -> set[str]:
    """Return the insights that a principle comes of."""
    return {formed.voice, *(each.insight_id for each in formed.derivations)}


def _replaced(made: Iterable[Formed]) -> set[str]:
    """Return what principles take the place of."""
    return {name for each in made for name in each.replaces}


def _taken(connection: Connection, some: Iterable[Formed]) -> set[str]:
    """Return which new principles are there already: somebody else's words are the same.

    One that comes of nothing is nobody's, and is taken up.
    """
    new = [each.principle.id for each in some if each.is_new]
    return set(principles.load_derivations(connection, new))


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
            await promotion.everything(self._tools.records, confidence=sure), full=True
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

        changed = parts(found.changed_ids, NAMED) or [()]
        done = [OrganisationComplete(run_id, some) for some in changed]
        return Outcome(work, [self.say(ORGANISATION_COMPLETE, each) for each in done])

    async def _found(self, ids: Collection[str], run: str, *, full: bool) -> Organisation:
        """Return what becomes of insights."""
        tools, ruling = self._tools, self._ruling
        lexicon = ruling.relations().lexicon
        found = await promotion.gather(tools, ids, dedup=self._settings.dedup)
        now = self.desk.clock.now()
        scales = promotion.scales(found, ruling.promotion, now)
        planned = await tools.threads.run(promotion.units, found, scales, lexicon=lexicon)
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
            standing={lead for lead, texts in found.said.items() if texts[0].status == "active"},
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


def _formed(units: Sequence[Unit], found: Gathered, now: int, written: Written) -> list[Formed]:
    """Return units as principles (on a thread)."""
    return [formed(each, found, now, words=written.words.get(each.key)) for each in units]


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
