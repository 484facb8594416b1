"""Supposing: what would come of an insight if it were promoted now; nothing is written.

The organiser's own functions decide, on the supposition that the insight had earned it, so that
what is foretold is what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.pipeline import forming, promoting, weighing
from cortex_actors.pipeline.gathering import gather
from cortex_actors.storage import insights, principles
from cortex_actors.storage.principle_decay import Evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.principle import Link, Principle
    from cortex_actors.pipeline.forming import Formed
    from cortex_actors.pipeline.gathering import Gathered, Tools
    from cortex_actors.pipeline.linking import Linker
    from cortex_actors.pipeline.promoting import Unit
    from cortex_actors.pipeline.ruling import Ruling


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
        lead: who stands for it: what says the same counts as one.
        principle: the principle as it would be.
        same_as: the one that it belongs to, where there is one already or another has its words.
        replaces: whether the principle would have its words from then on, and not those of now.
        members: the insights that principle would come of.
        together: those of its cluster with which it has earned it, though not alone.
        cosine: how near the two are, where that decides.
        is_compared: whether it has a vector; without one only its own words are found.
        evidence: what the principle's rank would be made of.
        links: what it would be linked with, told from it.

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
    evidence: Evidence | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Supposing:
    """Whom a supposition asks, and what it goes by."""

    tools: Tools
    linker: Linker
    ruling: Ruling
    #: From which cosine on two are near enough to be one principle.
    dedup: float

    async def suppose(self, insight_id: str, *, now: int) -> Supposed:
        """Return what would come of an insight at a time (UTC microseconds); reads only."""
        read, run = self.tools.records.read, self.tools.threads.run
        await run(self.ruling.read)
        heads = await read(lambda c: insights.representatives(c, [insight_id]))
        lead = heads.get(insight_id, insight_id)
        found = await gather(self.tools, [lead], dedup=self.dedup)
        if lead not in found.said or not found.said[lead][0].is_live:
            return Supposed(Would.NOTHING, lead)
        scales = promoting.scales(found, self.ruling.promotion, now)
        lexicon = self.ruling.relations().lexicon
        units = partial(promoting.units, found, scales, lexicon=lexicon)
        unit = _having(lead, await run(partial(units, assumed={lead})))
        assert unit is not None  # noqa: S101 - what is assumed to have earned it is part of one
        own = _having(lead, await run(units))
        built = await run(forming.formed, unit, found, now)
        made_id = built.principle.id
        there = await read(lambda c: principles.by_ids(c, [made_id]))
        supposed = _supposed(lead, unit, built, found, there=there.get(made_id))
        if own is not None and own.is_earned:
            supposed = replace(supposed, together=own.members)
        return _linked(supposed, await self._links(supposed))

    async def _links(self, supposed: Supposed) -> list[Link]:
        """Return the links that a principle which is not there yet would have, told from it."""
        made = supposed.principle
        if supposed.would is not Would.PROMOTE or made is None:
            return []
        linked = await self.linker.find([made], lexicon=self.ruling.relations().lexicon)
        own = [each.seen_from(made.id) for each in linked.drawn.found if made.id in each.pair]
        return sorted(own, key=lambda each: (-each.strength, each.other(made.id)))


def _having(lead: str, units: Sequence[Unit]) -> Unit | None:
    """Return the unit that an insight is part of."""
    return next((each for each in units if lead in each.members), None)


def _supposed(
    lead: str, unit: Unit, built: Formed, found: Gathered, *, there: Principle | None
) -> Supposed:
    """Return what becomes of an insight that is part of a unit, but for its links.

    `there` is the principle of those words, if there is one.
    """
    made = built.principle
    part_of = [found.principles[each] for each in _part_of(lead, found)]
    replaced = [found.principles[each] for each in built.replaces]
    others = [*part_of, *([there] if there else []), *replaced]
    # Where nothing is there yet it may still be another insight's words that the principle has.
    same = next(iter(others), None if unit.voice == lead else made)
    return Supposed(
        would=_would(lead, same, found),
        lead=lead,
        principle=made,
        same_as=same,
        replaces=same in replaced and same not in part_of,
        members=unit.members,
        cosine=_cosine(lead, unit, same, found),
        is_compared=lead in found.rows,
        evidence=_evidence(unit, made, found),
    )


def _would(lead: str, same: Principle | None, found: Gathered) -> Would:
    """Return what comes of an insight; `same` is the principle that it belongs to."""
    if _part_of(lead, found):
        return Would.ALREADY
    if same is None:
        return Would.PROMOTE
    return Would.EXACT if same.content_hash == found.said[lead][0].content_hash else Would.ALIKE


def _part_of(lead: str, found: Gathered) -> list[str]:
    """Return the principles that an insight is part of, by id."""
    return sorted(
        name
        for name, owed in found.owed.items()
        if lead in {found.leads.get(each.insight_id) for each in owed}
    )


def _cosine(lead: str, unit: Unit, same: Principle | None, found: Gathered) -> float | None:
    """Return how near an insight is to what speaks for the principle that it belongs to."""
    if same is None:
        return None
    voices = {each.insight_id for each in found.owed.get(same.id, ())} | {unit.voice}
    ends = {found.leads.get(each, each) for each in voices} - {lead}
    return (
        max((found.near.get((min(lead, e), max(lead, e)), 0.0) for e in ends), default=0.0) or None
    )


def _evidence(unit: Unit, made: Principle, found: Gathered) -> Evidence:
    """Return what the rank of a principle would be made of, but for its links."""
    texts = [text for each in unit.members for text in found.said[each]]
    seen = weighing.evidence(texts, contradicted=False)
    return Evidence(made.confidence, made.quality, seen.observations, seen.last_seen, 0)


def _linked(supposed: Supposed, links: Sequence[Link]) -> Supposed:
    """Return it with its links, which count in its rank."""
    if supposed.evidence is None:
        return supposed
    counted = sum(each.supports for each in links)
    evidence = replace(supposed.evidence, links=counted)
    return replace(supposed, links=tuple(links), evidence=evidence)
