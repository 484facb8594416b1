"""Reconciler: insights are compared with one another, and weighed by what speaks for them.

hears   accumulation:complete, reconciliation:requested
says    reconciliation:complete, reconciliation:requested, contradiction:detected,
        contradiction:resolved
asks    ledger, cache (the examples of categories, once), judge (what the rules leave open, where
        there is a model for it)
keeps   which vectors it looked at while idle (lost on a crash: it looks again), and its own
        threads (an event that is being handled at a crash is handed out again)

Comparing: one run, from the texts that changed to what follows from them. A neighbourhood grows
until nothing is connected with it any more; the ledger is read, texts are compared on a thread.

Neighbourhood: everything whose state may change because some texts have changed.

It begins with the texts that changed and grows over whatever says nearly the same, until nothing
more is connected with it. What is outside is not concerned: representatives and clusters
depend on connected texts alone. So its cost is that of the change and of the texts that are
like it, not of all there are, but for one product of matrices.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cortex_actors import topics
from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import (
    Ids,
    ReconciliationComplete,
    ReconciliationRequested,
    split_ids,
)
from cortex_actors.errors import CortexError
from cortex_actors.pipeline import evidence, promotion, reconciliation
from cortex_actors.pipeline.promotion import Tools
from cortex_actors.pipeline.reconciliation import Groups, Neighbourhood, Reconciliation
from cortex_actors.pipeline.relations import PairJudge, Ruling
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_evidence,
    insights,
    principles,
    reviews,
    verdicts,
)
from cortex_actors.storage.pipeline.contradictions import Contradiction, Mark

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import AccumulationComplete, Event, Payload
    from cortex_actors.pipeline.likeness import SecondOpinion
    from cortex_actors.rules.clustering import Cluster
    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.pipeline.insights import Opinion
    from cortex_actors.storage.search.matrix import InsightVectors, Neighbours


#: Texts compared with all others at once: what is found of so many is held at a time.
EXPLORED_AT_ONCE = 1_000

#: Pairs a model is asked about in one go; its budget decides how many of them it answers.
ASKED = 200


def load_connected(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those texts, and those that share a representative or a cluster with one."""
    whole = {*ids, *insights.load_representatives(connection, ids).values()}
    whole |= insights.load_followers(connection, whole).keys()
    whole |= contradictions.load_together(connection, whole)
    return whole | insights.load_followers(connection, whole).keys()


def load_everything(connection: Connection) -> set[str]:
    """Return all texts that are said, and all that anything is said of."""
    pairs = [each.pair for each in contradictions.list_contradictions(connection) if each.is_open]
    found = insight_evidence.load_said(connection).union(*pairs)
    return (
        found
        | contradictions.load_clustered(connection)
        | insight_evidence.load_slotted(connection)
    )


def _everybody(some: Mapping[str, Collection[str]]) -> set[str]:
    """Return everything in the values (on a thread)."""
    return set[str]().union(*some.values())


def _by_slot(
    found: Mapping[str, Collection[str]], known: Mapping[str, set[str]], visited: Collection[str]
) -> dict[str, set[str]]:
    """Return slot -> the insights that say something on it (on a thread).

    Of those that were visited what was found counts, not what is known of them from before.
    """
    by_slot = {slot: others.difference(visited) for slot, others in known.items()}
    for each, some in found.items():
        for slot in some:
            by_slot.setdefault(slot, set()).add(each)
    return by_slot


def _sharing(
    some: Mapping[str, Collection[str]], by_slot: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """Return who shares a slot with each of some insights (on a thread).

    Of all insights at once that would be as many as there are pairs.
    """
    return {
        each: set[str]().union(*(by_slot[slot] for slot in slots_)) - {each}
        for each, slots_ in some.items()
    }


#: Insights weighed at once, where all of them are.
AT_ONCE = 2_000


class Comparing:
    """One run of the reconciler."""

    def __init__(self, tools: Tools, ruling: Ruling, *, name: str, run: str, at: int) -> None:
        """Begin with nothing; `name` is who looks, `run` and `at` are the run's."""
        self._tools = tools
        self._ruling = ruling
        self._name = name
        self._run = run
        self._at = at
        self._held: InsightVectors | None = None

    async def compare(
        self, ids: Collection[str], *, full: bool = False, weigh: bool = False
    ) -> Reconciliation:
        """Compare those texts and what came late with all others, and return what follows.

        `full` compares everything again, `weigh` weighs what was not compared, too, and has a model
        asked what earlier runs had no budget for.
        """
        tools, ruling = self._tools, self._ruling
        is_asking = tools.judge is not None and tools.judge.is_there
        seeds, mark = await tools.records.read(lambda c: self._seeds(c, ids, full=full))
        if weigh and is_asking:
            left = await tools.records.read(verdicts.list_proposals)
            seeds = {*seeds, *(side for each in left[:ASKED] for side in each.pair)}
        around = Neighbourhood(
            ruling.make_relations(),
            words=await tools.records.read(verdicts.load_words),
            is_asking=is_asking,
        )
        await self._grow(around, seeds)
        return await self._follow(around, mark, weigh=weigh)

    async def _grow(self, around: Neighbourhood, seeds: Collection[str]) -> None:
        """Look at those texts, their groups and clusters, and at what is connected with these."""
        frontier = await self._tools.records.read(lambda c: load_connected(c, seeds))
        while frontier:
            looked: list[str] = await self._tools.threads.run(sorted, frontier)
            for start in range(0, len(looked), EXPLORED_AT_ONCE):
                await self._look(around, looked[start : start + EXPLORED_AT_ONCE])
            frontier = await self._tools.threads.run(around.find_connected, looked)

    async def _compare_slots(
        self, around: Neighbourhood, insights: Collection[str]
    ) -> dict[str, frozenset[str]]:
        """Compare insights with all that share a slot with them; return the slots of each."""
        relations, texts = around.relations, around.texts
        found = await self._tools.threads.run(
            lambda: {each: relations.find_slots(texts[each]) for each in sorted(insights)}
        )
        wanted = await self._tools.threads.run(_everybody, found)
        known = await self._tools.records.read(lambda c: insight_evidence.load_sharing(c, wanted))
        by_slot = await self._tools.threads.run(_by_slot, found, known, around.visited)
        names = list(found)
        for start in range(0, len(names), EXPLORED_AT_ONCE):
            some = {each: found[each] for each in names[start : start + EXPLORED_AT_ONCE]}
            sharing = await self._tools.threads.run(_sharing, some, by_slot)
            await self._meet(around, await self._tools.threads.run(_everybody, sharing))
            await self._tools.threads.run(around.compare_slots, sharing, found.keys())
        await self._ask(around)
        return found

    async def _look(self, around: Neighbourhood, ids: Sequence[str]) -> None:
        """Compare some texts with all others."""
        run = self._tools.threads.run
        texts, found, held = await self._tools.records.read(lambda c: self._read(c, ids))
        around.texts.update(texts)
        around.rows.update(found)
        asked = [each for each in ids if each in found]
        rows = np.stack([found[each] for each in asked]) if asked else np.zeros((0, 0))
        least = around.relations.least
        near = await run(held.find_near, rows.astype(np.float32), least)
        met = await run(lambda: {each.insight_id for some in near for each in some})
        met.update(*around.find_spoken_of(ids))
        await self._meet(around, met)
        await run(around.compare, asked, near)
        await run(around.judge_spoken, ids)
        around.visited.update(ids)
        await self._ask(around)

    def _read(
        self, connection: Connection, ids: Sequence[str]
    ) -> tuple[Mapping[str, insight_evidence.SpokenText], Mapping[str, Matrix], InsightVectors]:
        """Read texts with their vectors, and what to compare them with (in a transaction)."""
        if self._held is None:
            self._held = self._tools.neighbours.load_texts(connection)
        rows = self._tools.neighbours.load_rows(connection, ids)
        return insight_evidence.load_texts(connection, ids), rows, self._held

    async def _meet(self, around: Neighbourhood, ids: Collection[str]) -> None:
        """Get to know texts that others met."""
        new = await self._tools.threads.run(lambda: sorted(set(ids).difference(around.texts)))
        if not new:
            return
        read = self._tools.neighbours
        texts, rows = await self._tools.records.read(
            lambda c: (insight_evidence.load_texts(c, new), read.load_rows(c, new))
        )
        around.texts.update({each: text for each, text in texts.items() if text.is_live})
        around.rows.update(rows)

    async def _ask(self, around: Neighbourhood) -> None:
        """Ask a model what the rules left open, the likeliest proposals first."""
        waiting = around.list_waiting()
        while waiting and self._tools.judge is not None:
            some, waiting = waiting[:ASKED], waiting[ASKED:]
            answers = await self._tools.judge.compare(around.make_questions(some), run=self._run)
            # On a thread: the rules read each text once more.
            await self._tools.threads.run(around.take_answers, some, answers)
        around.open.clear()

    async def _follow(self, around: Neighbourhood, mark: Mark, *, weigh: bool) -> Reconciliation:
        """Return what follows from a neighbourhood that has grown."""
        tools = self._tools
        groups = await tools.threads.run(reconciliation.load_groups, around)
        slots = await self._compare_slots(around, groups.insights)
        known = await self._meet_sides(groups)
        decided = [each for each in known if not each.is_open]
        finding = partial(groups.load_contradictions, name=self._name, at=self._at)
        found = await tools.threads.run(finding, decided)
        now, before = {each.id for each in found}, {each.id: each.type for each in known}
        ended = [each for each in known if each.is_open and each.id not in now]
        made = await tools.threads.run(groups.load_clusters)
        weighed, done = await self._weigh(groups, [*found, *decided], ended, made=made)
        if weigh:
            weighed += await self._weigh_others(done)
        looked_at = {*around.visited, *done, *(each for each, _ in weighed.changed)}
        touched = await tools.records.read(lambda c: principles.load_derived(c, looked_at))
        return Reconciliation(
            groups=groups,
            slots=slots,
            found=found,
            detected=[each for each in found if each.id not in before],
            altered=[each for each in found if before.get(each.id, each.type) != each.type],
            ended=ended,
            proposed=await tools.threads.run(groups.load_proposals, at=self._at),
            made=made,
            agreed=await tools.threads.run(groups.load_agreements),
            weighed=weighed,
            derived=sorted(touched),
            mark=mark,
            model=tools.neighbours.model,
            at=self._at,
        )

    async def _meet_sides(self, groups: Groups) -> list[Contradiction]:
        """Get to know all sides of contradictions, found or known; return those that are known."""
        around = groups.around
        by_text = await self._tools.records.read(
            lambda c: contradictions.load_contradictions(c, around.visited)
        )
        known = list({each.id: each for some in by_text.values() for each in some}.values())
        sides = {side for each in known for side in each.pair}.union(*around.conflicts)
        await self._meet(around, sides)
        await self._meet(around, {groups.find_insight(side) for side in sides})
        return known

    def _seeds(
        self, connection: Connection, ids: Collection[str], *, full: bool
    ) -> tuple[Collection[str], Mark]:
        """Return the texts to begin with, and how far comparing will have come."""
        before, by = contradictions.load_mark(connection), self._ruling.digest
        model = self._tools.neighbours.model
        late, newest = insight_evidence.find_late(connection, model, before.up_to)
        if full or before.by != by:
            return load_everything(connection), Mark(by, newest)
        return {*ids, *late}, Mark(by, newest)

    async def _weigh(
        self,
        groups: Groups,
        current: Sequence[Contradiction],
        ended: Sequence[Contradiction],
        *,
        made: Sequence[Cluster],
    ) -> tuple[evidence.WeighedInsights, set[str]]:
        """Weigh what was visited and what it contradicts, or did; return what was weighed.

        The medoid of a cluster that has earned it together is a candidate, too.
        """
        around = groups.around
        sides = {side for each in (*current, *ended) for side in each.pair}
        partners = {groups.find_insight(side) for side in sides} - set(groups.insights)
        counting, others = await self._tools.records.read(lambda c: _with_partners(c, partners))
        gone = {each.id for each in ended}
        against = {each.id: each for each in (*others, *current) if each.id not in gone}
        current = list(against.values())
        sides = {side for each in current for side in each.pair}
        await self._meet(around, {*partners, *counting, *sides})
        threads = self._tools.threads
        said = await threads.run(_counting, groups, partners, counting)
        scales = await self._scales(said, await threads.run(groups.load_contradicted, current))
        differing = await threads.run(groups.load_differing, current)
        scales = replace(scales, differing={*scales.differing, *differing})
        weighed = await threads.run(evidence.weigh, said, scales)
        grouped = [(each.medoid, each.members) for each in made]
        lexicon = around.relations.lexicon
        joining = partial(promotion.load_pools, rows=around.rows, lexicon=lexicon)
        pools = await threads.run(joining, grouped, said, scales)
        return weighed.add_candidates(each.voice for each in pools), set(said)

    async def _weigh_others(self, done: Collection[str]) -> evidence.WeighedInsights:
        """Weigh all insights that were not weighed."""
        found = evidence.WeighedInsights()
        left = await self._tools.records.read(insight_evidence.list_standing)
        left = [each for each in left if each not in done]
        for start in range(0, len(left), AT_ONCE):
            some = left[start : start + AT_ONCE]
            said = await self._tools.records.read(partial(promotion.load_texts, ids=some))
            contradicted = {
                lead for lead, texts in said.items() if texts[0].status == "contradicted"
            }
            scales = await self._scales(said, contradicted)
            found += await self._tools.threads.run(evidence.weigh, said, scales)
        return found

    async def _scales(self, ids: Collection[str], contradicted: Collection[str]) -> evidence.Scales:
        """Return what the weights of some insights depend on beside their texts."""
        promoted, differing, decisions = await self._tools.records.read(
            lambda c: (
                principles.load_derived(c, ids),
                contradictions.count_differing(c, ids),
                reviews.load_decisions(c),
            )
        )
        thresholds = self._ruling.promotion
        return evidence.Scales(self._at, thresholds, contradicted, promoted, differing, decisions)


def _with_partners(
    connection: Connection, partners: Collection[str]
) -> tuple[dict[str, str], list[Contradiction]]:
    """Return which texts count for insights, and all their contradictions."""
    counting = insights.load_followers(connection, partners)
    found = contradictions.load_contradictions(connection, {*partners, *counting})
    return counting, [each for some in found.values() for each in some]


def _counting(
    groups: Groups, partners: Collection[str], counting: Mapping[str, str]
) -> dict[str, list[insight_evidence.SpokenText]]:
    """Return insights with the texts that count for them, each itself the first (on a thread)."""
    texts = groups.around.texts
    said = {lead: dict.fromkeys([lead, *some]) for lead, some in groups.followers.items()}
    said |= {each: {each: None} for each in partners if each in texts}
    for text, lead in sorted(counting.items()):
        if lead in said and text in texts and text not in groups.leads:
            said[lead][text] = None
    return {lead: [texts[each] for each in some] for lead, some in said.items()}


log = logging.getLogger("cortex.reconciler")

#: Seconds between two looks whether a vector came late, or other rules hold: what is found twice,
#: with no run between, is what no event tells of.
LOOK = 5.0

#: Contradictions, or candidates, that one event names: its payload has a limit.
NAMED = 500


class Reconciler(Consumer):
    """Brings representatives, contradictions and clusters up to date with the texts.

    It looks at what changed and at whatever is connected with it, and leaves what a look at all of
    it would have left. Everything is compared again when that is asked for, and when the rules, the
    thresholds or the embedding model are others than those it was compared by. Confidence is made
    of the evidence each time, never of the last value.
    """

    #: What many files say is compared together: comparing after each took a third of learning them.
    share = 0.1

    #: Seconds: comparing 100,000 insights with one another takes many minutes of a thread.
    message_limit: ClassVar[float] = 7_200.0

    hears: ClassVar[Mapping[str, str]] = {
        topics.ACCUMULATION_COMPLETE: "on_complete",
        topics.RECONCILIATION_REQUESTED: "on_requested",
    }

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: ReconciliationSettings,
        neighbours: Neighbours,
        judge: PairJudge | None = None,
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
            begun = projects.PipelineRun.from_moment(self.desk.name, self.desk.clock.now())
            return self._ended(begun, None)
        return await self._reconcile(event.payload.changed_ids)

    async def on_requested(self, event: Event[ReconciliationRequested]) -> Outcome:
        """Compare what came late, or everything, and weigh all of it if that is wished.

        Time passes for texts that are not read again, too.
        """
        return await self._reconcile((), full=event.payload.full, weigh=event.payload.weigh)

    async def _reconcile(
        self, ids: Sequence[str], *, full: bool = False, weigh: bool = False
    ) -> Outcome:
        """Compare texts, and return what follows."""
        name, now = self.desk.name, self.desk.clock.now
        run = projects.PipelineRun.from_moment(name, now())
        await self._threads.run(self._ruling.read)
        tools = Tools(self._records, self._neighbours, self._threads, self._judge)
        comparing = Comparing(tools, self._ruling, name=name, run=run.id, at=now())
        found = await comparing.compare(ids, full=full, weigh=weigh)
        opinions = (
            await self._opinion.form_opinions(found.visited) if self._opinion is not None else []
        )
        self._due = None
        return self._ended(run, found, opinions)

    def _ended(
        self,
        run: projects.PipelineRun,
        found: Reconciliation | None,
        opinions: Sequence[Opinion] = (),
    ) -> Outcome:
        """Return a run's effects with its audit row, and the events that tell of it."""
        ended = replace(
            run,
            finished_at=self.desk.clock.now(),
            counts=found.counts if found is not None else {"insights": 0},
            error=self._ruling.trouble or None,
        )

        def work(connection: Connection) -> None:
            if found is not None:
                found.write(connection)
            insights.write_opinions(connection, opinions)
            projects.record(connection, ended)

        said: list[Event[Payload]] = []
        detected, resolved = topics.CONTRADICTION_DETECTED, topics.CONTRADICTION_RESOLVED
        some = ((detected, found.detected), (resolved, found.ended)) if found is not None else ()
        for topic, each in some:
            ids = sorted(contradiction.id for contradiction in each)
            said += [self.say(topic, Ids(part)) for part in split_ids(ids, NAMED)]
        candidates = split_ids(found.weighed.candidates if found is not None else (), NAMED) or [()]
        derived = split_ids(found.derived if found is not None else (), NAMED)
        said += [
            self.say(topics.RECONCILIATION_COMPLETE, ReconciliationComplete(run.id, some, others))
            for some, others in zip_longest(candidates, derived, fillvalue=())
        ]
        return Outcome(work, said)

    async def _look_out(self) -> None:
        """Ask for a run when something is due of which no event tells."""
        while True:
            await self.desk.clock.sleep(LOOK)
            try:
                if not self._in_hand and await self._is_due():
                    await self.desk.bus.publish(
                        topics.RECONCILIATION_REQUESTED,
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
            mark = contradictions.load_mark(connection)
            if mark.by != by:
                return mark, bool(insight_evidence.is_any(connection)), -1
            ids, newest = insight_evidence.find_late(connection, model, max(mark.up_to, seen))
            return mark, bool(ids), -1 if ids else newest

        mark, is_late, self._seen = await self._records.read(look)
        was_due, self._due = self._due, mark if is_late else None
        return is_late and was_due == mark
