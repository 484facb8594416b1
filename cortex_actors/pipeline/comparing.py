"""Comparing: one run, from the texts that changed to what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.pipeline import earning, exploring, picture, weighing
from cortex_actors.pipeline.exploring import Explorer
from cortex_actors.pipeline.neighbourhood import Neighbourhood
from cortex_actors.pipeline.reconciliation import Reconciliation
from cortex_actors.pipeline.weighing import Scales, Weighed
from cortex_actors.storage import contradictions, insight_evidence, insights, principles, reviews
from cortex_actors.storage.contradictions import Mark

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.pipeline.picture import Groups
    from cortex_actors.pipeline.relations import Judge
    from cortex_actors.pipeline.ruling import Ruling
    from cortex_actors.rules.clustering import Cluster
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.contradictions import Contradiction
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Neighbours

#: Insights weighed at once, where all of them are.
AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Tools:
    """Whom a run asks."""

    records: Records
    neighbours: Neighbours
    threads: Threads
    #: A model that may be asked what the rules leave open.
    judge: Judge | None = None


class Comparing:
    """One run of the reconciler."""

    def __init__(self, tools: Tools, ruling: Ruling, *, name: str, run: str, at: int) -> None:
        """Begin with nothing; `name` is who looks, `run` and `at` are the run's."""
        self._tools = tools
        self._ruling = ruling
        self._name = name
        self._run = run
        self._at = at

    async def compare(
        self, ids: Collection[str], *, full: bool = False, weigh: bool = False
    ) -> Reconciliation:
        """Compare those texts and what came late with all others, and return what follows.

        `full` compares everything anew, `weigh` weighs what was not compared, too.
        """
        tools, ruling = self._tools, self._ruling
        seeds, mark = await tools.records.read(lambda c: self._seeds(c, ids, full=full))
        around = Neighbourhood(
            ruling.relations(), is_asking=tools.judge is not None and tools.judge.is_there
        )
        explorer = Explorer(
            tools.records,
            tools.neighbours,
            tools.threads,
            judge=tools.judge,
            run=self._run,
        )
        await explorer.grow(around, seeds)
        return await self._follow(explorer, around, mark, weigh=weigh)

    async def _follow(
        self, explorer: Explorer, around: Neighbourhood, mark: Mark, *, weigh: bool
    ) -> Reconciliation:
        """Return what follows from a neighbourhood that has grown."""
        tools = self._tools
        groups = await tools.threads.run(picture.groups, around)
        slots = await explorer.stands(around, groups.insights)
        known = await tools.records.read(lambda c: _known(c, around))
        await explorer.meet(around, {side for each in known for side in each.pair})
        decided = [each for each in known if not each.is_open]
        finding = partial(picture.contradictions, name=self._name, at=self._at)
        found = await tools.threads.run(finding, around, groups, decided)
        now, before = {each.id for each in found}, {each.id: each.type for each in known}
        ended = [each for each in known if each.is_open and each.id not in now]
        detected = [each for each in found if each.id not in before]
        made = await tools.threads.run(picture.clusters, around, groups)
        weighed, done = await self._weigh(
            explorer, around, groups, [*found, *decided], ended, made=made
        )
        if weigh:
            weighed += await self._weigh_others(done)
        looked_at = {*around.visited, *done, *(each for each, _ in weighed.changed)}
        touched = await tools.records.read(lambda c: principles.derived(c, looked_at))
        return Reconciliation(
            visited=around.visited,
            leads=groups.leads,
            slots=slots,
            found=found,
            detected=detected,
            altered=[each for each in found if before.get(each.id, each.type) != each.type],
            ended=ended,
            made=made,
            weighed=weighed,
            derived=sorted(touched),
            mark=mark,
            model=tools.neighbours.model,
            at=self._at,
            counts=_counts(around, groups, weighed, detected=detected, ended=ended),
        )

    def _seeds(
        self, connection: Connection, ids: Collection[str], *, full: bool
    ) -> tuple[Collection[str], Mark]:
        """Return the texts to begin with, and how far comparing will have come."""
        before, by = contradictions.mark(connection), self._ruling.digest
        model = self._tools.neighbours.model
        late, newest = insight_evidence.late(connection, model, before.up_to)
        if full or before.by != by:
            return exploring.everything(connection), Mark(by, newest)
        return {*ids, *late}, Mark(by, newest)

    async def _weigh(
        self,
        explorer: Explorer,
        around: Neighbourhood,
        groups: Groups,
        current: Sequence[Contradiction],
        ended: Sequence[Contradiction],
        *,
        made: Sequence[Cluster],
    ) -> tuple[Weighed, set[str]]:
        """Weigh what was visited and whoever it contradicts, or did; return who was weighed.

        The medoid of a cluster that has earned it together is a candidate, too.
        """
        sides = {side for each in (*current, *ended) for side in each.pair}
        partners = {picture.insight_of(around, groups, side) for side in sides}
        partners -= set(groups.insights)
        counting, others = await self._tools.records.read(lambda c: _with_partners(c, partners))
        gone = {each.id for each in ended}
        against = {each.id: each for each in (*others, *current) if each.id not in gone}
        await explorer.meet(
            around,
            {*partners, *counting, *(side for each in against.values() for side in each.pair)},
        )
        threads, current = self._tools.threads, list(against.values())
        said = await threads.run(_counting, around, groups, partners, counting)
        contradicted = await threads.run(picture.contradicted, around, groups, current)
        scales = await self._scales(said, contradicted)
        weighed = await threads.run(weighing.weigh, said, scales)
        grouped = [(each.medoid, each.members) for each in made]
        lexicon = around.relations.lexicon
        joining = partial(earning.pools, rows=around.rows, lexicon=lexicon)
        pools = await threads.run(joining, grouped, said, scales)
        return weighed.named(each.voice for each in pools), set(said)

    async def _weigh_others(self, done: Collection[str]) -> Weighed:
        """Weigh all insights that were not weighed."""
        found = Weighed()
        left = await self._tools.records.read(insight_evidence.standing)
        left = [each for each in left if each not in done]
        for start in range(0, len(left), AT_ONCE):
            some = left[start : start + AT_ONCE]
            said = await self._tools.records.read(partial(earning.said, ids=some))
            contradicted = {
                lead for lead, texts in said.items() if texts[0].status == "contradicted"
            }
            scales = await self._scales(said, contradicted)
            found += await self._tools.threads.run(weighing.weigh, said, scales)
        return found

    async def _scales(self, ids: Collection[str], contradicted: Collection[str]) -> Scales:
        """Return what the weights of some insights depend on beside their texts."""
        promoted, decisions = await self._tools.records.read(
            lambda c: (principles.derived(c, ids), reviews.decisions(c))
        )
        return Scales(self._at, self._ruling.promotion, contradicted, promoted, decisions)


def _known(connection: Connection, around: Neighbourhood) -> list[Contradiction]:
    """Return the contradictions of whatever was visited, each once."""
    found = contradictions.of(connection, around.visited)
    return list({each.id: each for some in found.values() for each in some}.values())


def _with_partners(
    connection: Connection, partners: Collection[str]
) -> tuple[dict[str, str], list[Contradiction]]:
    """Return which texts count for insights, and all their contradictions."""
    counting = insights.followers(connection, partners)
    found = contradictions.of(connection, {*partners, *counting})
    return counting, [each for some in found.values() for each in some]


def _counting(
    around: Neighbourhood,
    groups: Groups,
    partners: Collection[str],
    counting: Mapping[str, str],
) -> dict[str, list[Spoken]]:
    """Return insights with the texts that count for them, each itself the first (on a thread)."""
    said = {
        lead: [lead, *(each for each in some if each != lead)]
        for lead, some in groups.followers.items()
    }
    said |= {each: [each] for each in partners if each in around.texts}
    for text, lead in sorted(counting.items()):
        if lead in said and text in around.texts and text not in groups.leads:
            said[lead].append(text)
    return {lead: [around.texts[each] for each in some] for lead, some in said.items()}


def _counts(
    around: Neighbourhood,
    groups: Groups,
    weighed: Weighed,
    *,
    detected: Sequence[Contradiction],
    ended: Sequence[Contradiction],
) -> dict[str, int]:
    """Return the numbers of the audit row."""
    return {
        "compared": len(around.visited),
        "insights": weighed.looked_at,
        "merged": len(groups.leads) - len(groups.followers),
        "detected": len(detected),
        "ended": len(ended),
        "changed": len(weighed.changed),
        "candidates": len(weighed.candidates),
        "waiting": len(weighed.waiting),
    }
