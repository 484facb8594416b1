"""Exploring: how a neighbourhood grows; the ledger is read, texts are compared on a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.storage import contradictions, insight_evidence, insights

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.insight import Judgement
    from cortex_actors.pipeline.neighbourhood import Neighbourhood
    from cortex_actors.pipeline.relations import Judge
    from cortex_actors.rules.clustering import Pair
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.search.matrix import Near, Neighbours, Texts

#: Texts compared with all others at once: what is found of so many is held at a time.
AT_ONCE = 1_000

#: Pairs a model is asked about in one go; its budget decides how many of them it answers.
ASKED = 200


@dataclass(frozen=True, slots=True)
class _Looked:
    """Texts and vectors that were read, and what to compare them with."""

    texts: Mapping[str, Spoken]
    rows: Mapping[str, Matrix]
    held: Texts


class Explorer:
    """Lets a neighbourhood grow until nothing is connected with it any more."""

    def __init__(
        self,
        records: Records,
        neighbours: Neighbours,
        threads: Threads,
        *,
        judge: Judge | None = None,
        run: str = "",
    ) -> None:
        """Ask them; `judge` is a model that may be asked what the rules leave open."""
        self._records = records
        self._neighbours = neighbours
        self._threads = threads
        self._judge = judge
        self._run = run
        self._held: Texts | None = None

    async def grow(self, around: Neighbourhood, seeds: Collection[str]) -> None:
        """Look at those texts, at whoever stood with them, and at what is connected with these."""
        frontier = await self._records.read(lambda c: stood_with(c, seeds))
        while frontier:
            looked: list[str] = await self._threads.run(sorted, frontier)
            for start in range(0, len(looked), AT_ONCE):
                await self._look(around, looked[start : start + AT_ONCE])
            frontier = await self._threads.run(around.connected, looked)

    async def stands(
        self, around: Neighbourhood, insights: Collection[str]
    ) -> dict[str, frozenset[str]]:
        """Compare insights with all that take a stand on the same; return the slots of each."""
        relations, texts = around.relations, around.texts
        found = await self._threads.run(
            lambda: {each: relations.slots(texts[each]) for each in sorted(insights)}
        )
        wanted = await self._threads.run(_everybody, found)
        known = await self._records.read(lambda c: insight_evidence.sharing(c, wanted))
        by_slot = await self._threads.run(_by_slot, found, known, around.visited)
        names = list(found)
        for start in range(0, len(names), AT_ONCE):
            some = {each: found[each] for each in names[start : start + AT_ONCE]}
            sharing = await self._threads.run(_sharing, some, by_slot)
            await self.meet(around, await self._threads.run(_everybody, sharing))
            await self._threads.run(around.disagree, sharing, found.keys())
        return found

    async def _look(self, around: Neighbourhood, ids: Sequence[str]) -> None:
        """Compare some texts with all others."""
        looked = await self._records.read(lambda c: self._read(c, ids))
        around.texts.update(looked.texts)
        around.rows.update(looked.rows)
        asked = [each for each in ids if each in looked.rows]
        rows = np.stack([looked.rows[each] for each in asked]) if asked else np.zeros((0, 0))
        least = around.relations.least
        near = await self._threads.run(looked.held.near, rows.astype(np.float32), least)
        await self.meet(around, await self._threads.run(_met, near))
        await self._threads.run(around.compare, asked, near)
        around.visited.update(ids)
        await self._ask(around)

    def _read(self, connection: Connection, ids: Sequence[str]) -> _Looked:
        """Read texts with their vectors (in a read transaction)."""
        if self._held is None:
            self._held = self._neighbours.texts(connection)
        rows = self._neighbours.rows(connection, ids)
        return _Looked(insight_evidence.by_id(connection, ids), rows, self._held)

    async def meet(self, around: Neighbourhood, ids: Collection[str]) -> None:
        """Get to know texts that others met."""
        new = await self._threads.run(_unknown, ids, around.texts)
        if not new:
            return
        read = self._neighbours
        texts, rows = await self._records.read(
            lambda c: (insight_evidence.by_id(c, new), read.rows(c, new))
        )
        around.texts.update({each: text for each, text in texts.items() if text.is_live})
        around.rows.update(rows)

    async def _ask(self, around: Neighbourhood) -> None:
        """Ask a model what the rules left open."""
        waiting = sorted(around.open.items(), key=lambda each: (-each[1], each[0]))
        while waiting and self._judge is not None:
            some, waiting = waiting[:ASKED], waiting[ASKED:]
            claims = [
                (around.texts[one].claim, around.texts[other].claim, score)
                for (one, other), score in some
            ]
            answers = await self._judge.compare(claims, run=self._run)
            await self._threads.run(_answer, around, [each[0] for each in some], answers)
        around.open.clear()


def stood_with(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those texts, and whoever counts with one of them or is in a cluster with one."""
    whole = {*ids, *insights.representatives(connection, ids).values()}
    whole |= insights.followers(connection, whole).keys()
    whole |= contradictions.together(connection, whole)
    return whole | insights.followers(connection, whole).keys()


def everything(connection: Connection) -> set[str]:
    """Return all texts that are said, and all that anything is said of."""
    pairs = [each.pair for each in contradictions.everything(connection) if each.is_open]
    found = insight_evidence.everything(connection).union(*pairs)
    return found | contradictions.everybody(connection) | insight_evidence.everybody(connection)


def _answer(
    around: Neighbourhood, edges: Sequence[Pair], answers: Sequence[Judgement | None]
) -> None:
    """Take a model's word for pairs (on a thread: the rules read each text once more)."""
    for edge, found in zip(edges, answers, strict=True):
        if found is not None:
            around.answer(edge, found)


def _met(near: Sequence[Sequence[Near]]) -> set[str]:
    """Return everybody who is near somebody (on a thread)."""
    return {each.insight_id for found in near for each in found}


def _unknown(ids: Collection[str], texts: Collection[str]) -> list[str]:
    """Return those that nobody knows, in order (on a thread)."""
    return sorted(set(ids).difference(texts))


def _everybody(some: Mapping[str, Collection[str]]) -> set[str]:
    """Return everything that is named of somebody (on a thread)."""
    return set[str]().union(*some.values())


def _by_slot(
    found: Mapping[str, Collection[str]],
    known: Mapping[str, set[str]],
    visited: Collection[str],
) -> dict[str, set[str]]:
    """Return slot -> the insights that take a stand on it (on a thread).

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
