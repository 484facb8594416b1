"""Organiser: insights that have earned it become principles, and principles follow their insights.

hears   reconciliation:complete, organisation:requested
says    organisation:complete
asks    ledger, cache (sentences that a model wrote), judge (one sentence for a cluster, where there
        is a model for it)
keeps   - (an event that is being handled at a crash is handed out again)

Organisation: what one run found, and how it is written.

Between the look and the commit a file may have been read again, or a person may have spoken. So
each principle is checked once more: what is not said any more, was turned down or taken back makes
none, and what it was to take the place of stays. The event of whatever happened meanwhile leads to
a run of its own.

Synthesising: one sentence for a cluster, where a language model is there to write it.

What it writes is only taken when each of its sources supports it; else, and whenever there is no
answer, the cluster has the words of its medoid. What was taken once is not asked for again as long
as it is made of the same insights.

Supposing: what would come of an insight if it were promoted now; nothing is written.

The organiser's own functions decide, on the supposition that the insight had earned it, so that
what is foretold is what happens.
"""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol

from cortex_actors import topics
from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import OrganisationComplete, ReconciliationComplete, split_ids
from cortex_actors.domain.insight import hash_statement
from cortex_actors.domain.principle import (
    Link,
    Origin,
    Principle,
    PrincipleCategory,
    make_principle_id,
)
from cortex_actors.domain.project import Decision
from cortex_actors.pipeline import evidence, promotion
from cortex_actors.pipeline.likeness import embed_texts
from cortex_actors.pipeline.promotion import (
    Formed,
    Gathered,
    PromotionUnit,
    Tools,
    form_principle,
    gather,
)
from cortex_actors.pipeline.relations import Linked, Linker, Ruling
from cortex_actors.rules import merging
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.pipeline import (
    insight_evidence,
    insights,
    principle_decay,
    principles,
    reviews,
)
from cortex_actors.storage.pipeline.principle_decay import DecayScales, PrincipleEvidence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.sections import OrganisationSettings, ReconciliationSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Neighbours
    from cortex_actors.text.lexicon import Lexicon


log = logging.getLogger("cortex.organiser")

#: Distinct texts that a sentence is worth being written for.
FEWEST = 2


class PrincipleWriter(Protocol):
    """A model that may be asked for the one principle behind several texts."""

    @property
    def is_there(self) -> bool:
        """Whether there is a model at all."""

    def synthesise(self, texts: Sequence[str], *, run: str = "") -> Awaitable[str | None]:
        """Return a sentence; None without a model. Raises nothing."""


@dataclass(slots=True)
class Synthesising:
    """Asks the model for the sentences of one run, and looks at what it says.

    Attributes:
        words: unit -> a principle that has its words; the rest of it is to be made.
        rows: vectors that the ledger has not got yet, by the hash of their text.
        taken: sentences that were taken.
        dropped: sentences that their sources did not support.

    """

    writer: PrincipleWriter | None
    found: Gathered
    run: str
    lexicon: Lexicon | None
    words: dict[str, Principle] = field(default_factory=dict)
    rows: dict[bytes, embeddings.Matrix] = field(default_factory=dict)
    taken: int = 0
    dropped: int = 0

    async def write(
        self, units: Sequence[PromotionUnit], embed: embeddings.Embed, *, model: str
    ) -> list[PromotionUnit]:
        """Return units with the words they are given; those that keep their own are unchanged."""
        told = [await self._told(each) for each in units]
        made = sorted(self.words.values(), key=lambda each: each.id)
        texts = {each.text_hash: each.content for each in made}
        self.rows = await embed_texts(embed, texts, model=model)
        return told

    async def _told(self, unit: PromotionUnit) -> PromotionUnit:
        """Return a unit, as a synthesis where there is one."""
        found = self.found
        if unit.origin is not Origin.CLUSTER or not unit.is_earned:
            return unit
        for name, principle in sorted(found.principles.items()):
            if principle.origin is Origin.SYNTHESIS and found.find_made_of(name) == set(
                unit.members
            ):
                return replace(unit, origin=Origin.SYNTHESIS, keeps=name)
        sources = [found.said[each][0] for each in unit.members]
        texts = sorted({each.content for each in sources})
        if self.writer is None or not self.writer.is_there or len(texts) < FEWEST:
            return unit
        said = await self.writer.synthesise(texts, run=self.run)
        if said is None:
            return unit
        text = " ".join(unicodedata.normalize("NFC", said).split())
        why = merging.find_flaw(text, [each.claim for each in sources], lexicon=self.lexicon)
        words = _words(text)
        if why is None and (words.id in found.revoked or words.id in found.principles):
            why = "another principle has these words"
        if why is not None:
            log.info("a sentence for %s is not taken: %s", unit.voice, why)
            self.dropped += 1
            return unit
        self.taken += 1
        self.words[unit.key] = words
        return replace(unit, origin=Origin.SYNTHESIS)


def _words(text: str) -> Principle:
    """Return a principle that has those words and nothing else yet."""
    digest = hash_statement(text)
    return Principle(
        id=make_principle_id(digest),
        content=text,
        content_hash=digest,
        category=PrincipleCategory.LEARNING,
        origin=Origin.SYNTHESIS,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        created_at=0,
    )


class Would(StrEnum):
    """What would come of a promotion."""

    #: A principle.
    PROMOTE = "would_promote"
    #: A share in one that says it word for word.
    EXACT = "would_dedup_exact"
    #: A share in one that says the same.
    ALIKE = "would_dedup_semantic"
    #: Nothing new: it is part of one.
    ALREADY = "already_promoted"
    #: Nothing: no file says it now.
    NOTHING = "would_do_nothing"


@dataclass(frozen=True, slots=True)
class Supposed:
    """What would come of an insight.

    Attributes:
        lead: its representative: what says the same counts as one.
        principle: the principle as it would be.
        same_as: the one that it belongs to, where there is one already or another has its words.
        replaces: whether the principle would have its words from then on, and not those of now.
        members: the insights that principle would come of.
        together: those of its cluster with which it has earned it, though not alone.
        cosine: how near the two are, where that decides.
        is_compared: whether it has a vector; without one only its own words are found.
        evidence: what the principle's rank would be made of.
        links: what it would be linked with, as read from it.

    """

    would: Would
    lead: str
    principle: Principle | None = None
    same_as: Principle | None = None
    replaces: bool = False
    members: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    cosine: float | None = None
    is_compared: bool = True
    evidence: PrincipleEvidence | None = None
    links: tuple[Link, ...] = ()


def _having(lead: str, units: Sequence[PromotionUnit]) -> PromotionUnit | None:
    """Return the unit that an insight is part of."""
    return next((each for each in units if lead in each.members), None)


def _supposed(
    lead: str, unit: PromotionUnit, built: Formed, found: Gathered, *, there: Principle | None
) -> Supposed:
    """Return what becomes of an insight that is part of a unit, but for its links.

    `there` is the principle of those words, if there is one.
    """
    made = built.principle
    part_of = [
        found.principles[each] for each in sorted(found.owed) if lead in found.find_made_of(each)
    ]
    replaced = [found.principles[each] for each in built.replaces]
    others = [*part_of, *([there] if there else []), *replaced]
    # Where nothing is there yet it may still be another insight's words that the principle has.
    same = next(iter(others), None if unit.voice == lead else made)
    if part_of:
        would = Would.ALREADY
    elif same is None:
        would = Would.PROMOTE
    else:
        is_exact = same.content_hash == found.said[lead][0].content_hash
        would = Would.EXACT if is_exact else Would.ALIKE
    cosine = None
    if same is not None:
        # How near it is to what speaks for that principle.
        voices = {each.insight_id for each in found.owed.get(same.id, ())} | {unit.voice}
        ends = {found.leads.get(each, each) for each in voices} - {lead}
        near = (found.near.get((min(lead, e), max(lead, e)), 0.0) for e in ends)
        cosine = max(near, default=0.0) or None
    texts = [text for each in unit.members for text in found.said[each]]
    seen = evidence.gather_evidence(texts, contradicted=False)
    return Supposed(
        would=would,
        lead=lead,
        principle=made,
        same_as=same,
        replaces=same in replaced and same not in part_of,
        members=unit.members,
        cosine=cosine,
        is_compared=lead in found.rows,
        evidence=PrincipleEvidence(
            made.confidence, made.quality, seen.observations, seen.last_seen, links=0
        ),
    )


@dataclass(frozen=True, slots=True)
class Organisation:
    """What one run found.

    Attributes:
        formed: the principles that were looked at, as they are to be.
        standing: the insights that files said and that nothing spoke against, of those they come
            of.
        gone: principles that are none any more, but those that another one takes the place of.
        moved: principles whose rank is another one by now.
        written: the sentences of the run.
        late: vectors of older sentences that the ledger has not got yet.
        model: whose vectors those are.

    """

    formed: Sequence[Formed]
    standing: Collection[str]
    gone: Collection[str]
    moved: Collection[str]
    linked: Linked
    written: Synthesising
    late: Mapping[bytes, embeddings.Matrix]
    model: str

    @property
    def changed(self) -> list[Formed]:
        """The principles that are to be written."""
        return [each for each in self.formed if each.is_changed or each.replaces]

    @property
    def replaced(self) -> set[str]:
        """The principles that others take the place of."""
        return {name for each in self.formed for name in each.replaces}

    @property
    def changed_ids(self) -> tuple[str, ...]:
        """Return the principles that came, went, or changed their status, in order."""
        found = {each.principle.id for each in self.changed} | self.replaced
        return tuple(sorted({*found, *self.gone, *self.moved, *self.linked.ends}))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of the audit row."""
        return {
            "looked_at": len(self.formed),
            "promoted": sum(each.is_new and not each.replaces for each in self.formed),
            "changed": sum(each.is_changed and not each.is_new for each in self.formed),
            "replaced": len(self.replaced),
            "gone": len(self.gone),
            "synthesised": self.written.taken,
            "dropped": self.written.dropped,
            "linked": len(self.linked.found),
            "unlinked": len(self.linked.gone),
        }

    def write(self, connection: Connection, *, at: int, now: int, scales: DecayScales) -> None:
        """Write it, in the transaction that acknowledges what led to it.

        `at` is the time of the run, `now` the time to which ages count.
        """
        embeddings.keep_vectors(connection, self.model, {**self.written.rows, **self.late})
        back = reviews.load_revoked_principles(connection)
        made = self._holding(connection, back)
        replaced = {name for each in made for name in each.replaces}
        principles.forget(connection, {*self.gone, *replaced} - back)
        principles.add(connection, [each.principle for each in made])
        principles.derive(connection, [owed for each in made for owed in each.derivations])
        others = self.linked.write(connection, at=at)
        looked_at = {each.principle.id for each in self.formed}
        principle_decay.settle(connection, {*looked_at, *others}, now, scales)

    def _holding(self, connection: Connection, back: Collection[str]) -> list[Formed]:
        """Return what is to be written and still holds; `back` was taken back, and stays."""
        some = self.changed
        members = {owed.insight_id for each in some for owed in each.derivations}
        barred = reviews.load_decided(connection, Decision.REJECTED)
        barred |= reviews.load_revoked_insights(connection, members)
        barred |= insights.load_representatives(connection, members).keys()
        barred |= set(self.standing) - insight_evidence.filter_active(connection, members)
        # New principles that exist already: another unit's words are the same. One that comes of
        # nothing has no owner, and is taken up.
        new = [each.principle.id for each in some if each.is_new]
        taken = principles.load_derivations(connection, new).keys()
        return [
            each
            for each in some
            if each.principle.id in back
            or not (
                each.principle.id in taken
                or barred & {each.voice, *(owed.insight_id for owed in each.derivations)}
            )
        ]


#: Principles that one event names: its payload has a limit.
NAMED = 500

#: Sentences that are embedded in a run because they have no vector yet.
LATE = 100


class Organiser(Consumer):
    """Makes the principles follow what was learned, and links and ranks those that changed.

    Which principles there are is a function of the ledger: the same whatever was named first, and
    the same again when everything is looked at. What has become one stays one until it fades.
    """

    #: As the reconciler, whose runs it follows.
    share = 0.1

    #: Seconds: linking ten thousand principles again takes minutes of a thread.
    message_limit: ClassVar[float] = 7_200.0

    hears: ClassVar[Mapping[str, str]] = {
        topics.RECONCILIATION_COMPLETE: "on_candidates",
        topics.ORGANISATION_REQUESTED: "on_requested",
    }

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: OrganisationSettings,
        promotion: ReconciliationSettings,
        neighbours: Neighbours,
        embed: embeddings.Embed,
        writer: PrincipleWriter | None = None,
        tables: Path | None = None,
    ) -> None:
        """Remember whom to ask; `promotion` says what has to be earned, `tables` are own rules."""
        super().__init__(desk)
        self._threads = Threads("organiser", 1)
        self.actor_ref.on_end(self._threads.close)
        self._tools = Tools(records, neighbours, self._threads)
        self._settings = settings
        self._scales = principle_decay.DecayScales.from_settings(settings)
        self._embed = embed
        self._ruling = Ruling(promotion, neighbours.model, tables)
        self._writer = writer
        self._linker = Linker(records, self._threads, model=neighbours.model, settings=settings)

    async def on_candidates(self, event: Event[ReconciliationComplete]) -> Outcome:
        """Promote what was named and has earned it still, and have principles follow."""
        payload = event.payload
        return await self._organise({*payload.candidate_ids, *payload.derived_ids})

    async def on_requested(self, _event: Event[Payload]) -> Outcome:
        """Look at everything that has earned it, or is a principle already."""
        sure = self._ruling.promotion.confidence
        found = await self._tools.records.read(
            lambda c: promotion.load_everything(c, confidence=sure)
        )
        return await self._organise(found, full=True)

    async def suppose(self, insight_id: str) -> Supposed:
        """Return what would come of an insight if it were promoted now; nothing is written."""
        now = self.desk.clock.now()
        read, run = self._tools.records.read, self._tools.threads.run
        await run(self._ruling.read)
        heads = await read(lambda c: insights.load_representatives(c, [insight_id]))
        lead = heads.get(insight_id, insight_id)
        found = await gather(self._tools, [lead], dedup=self._settings.dedup)
        if lead not in found.said or not found.said[lead][0].is_live:
            return Supposed(Would.NOTHING, lead)
        scales = promotion.make_scales(found, self._ruling.promotion, now)
        lexicon = self._ruling.make_relations().lexicon
        units = partial(promotion.find_units, found, scales, lexicon=lexicon)
        unit = _having(lead, await run(partial(units, assumed={lead})))
        assert unit is not None  # noqa: S101 - what is assumed to have earned it is part of one
        own = _having(lead, await run(units))
        built = await run(promotion.form_principle, unit, found, now)
        made_id = built.principle.id
        there = await read(lambda c: principles.load_principles(c, [made_id]))
        supposed = _supposed(lead, unit, built, found, there=there.get(made_id))
        if own is not None and own.is_earned:
            supposed = replace(supposed, together=own.members)
        return await self._linked(supposed)

    async def _linked(self, supposed: Supposed) -> Supposed:
        """Return it with the links that a principle which is not there yet would have.

        They are as read from it, and count in its rank.
        """
        made, seen = supposed.principle, supposed.evidence
        if supposed.would is not Would.PROMOTE or made is None or seen is None:
            return supposed
        linked = await self._linker.find([made], lexicon=self._ruling.make_relations().lexicon)
        own = [each.view_from(made.id) for each in linked.found if made.id in each.pair]
        own.sort(key=lambda each: (-each.strength, each.find_other_end(made.id)))
        counted = replace(seen, links=sum(each.supports for each in own))
        return replace(supposed, links=tuple(own), evidence=counted)

    async def _organise(self, ids: Collection[str], *, full: bool = False) -> Outcome:
        """Look at some insights and whatever is connected with them, and return what follows."""
        begun = projects.PipelineRun.from_moment(self.desk.name, self.desk.clock.now())
        await self._threads.run(self._ruling.read)
        found = await self._found(ids, begun.id, full=full)
        at = self.desk.clock.now()
        now = await self._tools.records.read(lambda c: principle_decay.get_today(c, at))
        counts = {"candidates": len(ids), **found.counts}
        trouble = self._ruling.trouble or None
        run = replace(begun, finished_at=at, counts=counts, error=trouble)

        def work(connection: Connection) -> None:
            found.write(connection, at=at, now=now, scales=self._scales)
            projects.record(connection, run)

        changed = split_ids(found.changed_ids, NAMED) or [()]
        done = [OrganisationComplete(run.id, some) for some in changed]
        return Outcome(work, [self.say(topics.ORGANISATION_COMPLETE, each) for each in done])

    async def _found(self, ids: Collection[str], run: str, *, full: bool) -> Organisation:
        """Return what becomes of insights."""
        tools, ruling = self._tools, self._ruling
        lexicon = ruling.make_relations().lexicon
        found = await promotion.gather(tools, ids, dedup=self._settings.dedup)
        now = self.desk.clock.now()
        scales = promotion.make_scales(found, ruling.promotion, now)
        planned = await tools.threads.run(promotion.find_units, found, scales, lexicon=lexicon)
        written = Synthesising(self._writer, found, run, lexicon)
        units = await written.write(planned, self._embed, model=tools.neighbours.model)
        made = await tools.threads.run(
            lambda: [form_principle(e, found, now, words=written.words.get(e.key)) for e in units]
        )
        # The principles that are none any more, but those that others take the place of.
        replaced = {name for each in made for name in each.replaces}
        stay = {each.principle.id for each in made} | replaced
        gone = found.principles.keys() - stay - set(found.revoked)
        if full:
            gone |= await tools.records.read(principles.find_without_source) - stay
        linked = Linked()
        # Finding out who is due reads all principles: a run that touches none does without it.
        if full or made or gone:
            linked = await self._linker.find(
                [each.principle for each in made if each.is_changed],
                rows=written.rows,
                gone=gone | replaced,
                lexicon=lexicon,
            )
        return Organisation(
            formed=made,
            standing={lead for lead, texts in found.said.items() if texts[0].status == "active"},
            gone=gone,
            moved=await self._moved(made),
            linked=linked,
            written=written,
            late=await self._late(),
            model=tools.neighbours.model,
        )

    async def _moved(self, made: Sequence[Formed]) -> set[str]:
        """Return the principles that are as they were, but for their rank."""
        same = {each.principle.id: each.principle for each in made if not each.is_changed}
        at, scales = self.desk.clock.now(), self._scales

        def look(connection: Connection) -> set[str]:
            now = principle_decay.get_today(connection, at)
            before = principles.load_principles(connection, same)
            counted = principle_decay.load_evidence(connection, same)
            return {
                name
                for name, each in counted.items()
                if abs(each.rank(now, scales) - before[name].rank) > principle_decay.CLOSE
            }

        return await self._tools.records.read(look) if same else set()

    async def _late(self) -> dict[bytes, embeddings.Matrix]:
        """Return vectors of sentences that have none yet."""
        model = self._tools.neighbours.model
        texts = await self._tools.records.read(
            partial(principles.load_unembedded, model=model, limit=LATE)
        )
        return await embed_texts(self._embed, texts, model=model)
