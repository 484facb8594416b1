"""Promoting: which principles there are to be, from what was gathered.

A function of the ledger and of nothing else but which principles there are already: what has earned
it is a principle, and what was one stays one, though it has it no longer, until it fades. What says
nearly the same is one principle, unless it disagrees. Whoever promotes again finds the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.principle import Origin
from cortex_actors.domain.project import Decision
from cortex_actors.pipeline import earning, weighing
from cortex_actors.pipeline.weighing import Scales
from cortex_actors.rules.clustering import leaders
from cortex_actors.text.suspicion import wary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.domain.principle import Principle
    from cortex_actors.pipeline.gathering import Gathered
    from cortex_actors.rules.promotion import Thresholds
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.text.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Unit:
    """What is one principle.

    Attributes:
        voice: the insight whose words it has; of one that keeps its own, who speaks for it most.
        members: the insights it comes of, in order.
        is_earned: whether they have earned it as things are now.
        keeps: the principle whose words it has, where that is no insight's.

    """

    voice: str
    members: tuple[str, ...]
    origin: Origin = Origin.SINGLE
    is_earned: bool = True
    keeps: str = ""

    @property
    def key(self) -> str:
        """What no two units share."""
        return self.keeps or self.voice


def scales(found: Gathered, thresholds: Thresholds, now: int) -> Scales:
    """Return by what is told who has earned it; `now` is in UTC microseconds."""
    against = {lead for lead, texts in found.said.items() if texts[0].status == "contradicted"}
    return Scales(now, thresholds, against, (), found.decisions)


def units(
    found: Gathered,
    scales: Scales,
    *,
    lexicon: Lexicon | None = None,
    assumed: Collection[str] = (),
) -> list[Unit]:
    """Return what is to be a principle, each once, in order (on a thread).

    `assumed` are insights of which it is supposed that they had earned it.
    """
    earned = _earned(found, scales, lexicon, assumed)
    covered = {each for unit in earned for each in unit.members}
    made = [*earned, *_staying(found, scales, covered)]
    return _folded(found, made, lexicon)


def _earned(
    found: Gathered, scales: Scales, lexicon: Lexicon | None, assumed: Collection[str]
) -> list[Unit]:
    """Return what has earned it, alone or in a cluster."""
    alone = {
        lead
        for lead, texts in found.said.items()
        if lead in assumed or weighing.has_earned(texts, scales)
    }
    grouped = [each for each in found.grouped.values() if alone.isdisjoint(each[1])]
    pools = earning.pools(grouped, found.said, scales, rows=found.rows, lexicon=lexicon)
    singles = [Unit(each, (each,)) for each in sorted(alone)]
    return [*singles, *(Unit(each.voice, each.members, Origin.CLUSTER) for each in pools)]


def _staying(found: Gathered, scales: Scales, covered: set[str]) -> list[Unit]:
    """Return the principles of which nothing has earned it now, as what they are without that."""
    stays = []
    for name, principle in sorted(found.principles.items()):
        members = _members(found, name)
        if name in found.revoked:
            stays.append(Unit(_voice(found, principle), members, principle.origin, keeps=name))
        elif principle.origin is Origin.SYNTHESIS:
            if members and covered.isdisjoint(members) and wary(principle.content) is None:
                voice = found.leads[found.owed[name][0].insight_id]
                unit = Unit(voice, members, principle.origin, is_earned=False, keeps=name)
                stays.append(unit)
        else:
            voice = _voice(found, principle)
            if voice not in covered and _may_stay(found.said[voice], scales):
                stays.append(Unit(voice, (voice,), is_earned=False))
    return list({each.key: each for each in stays}.values())


def _folded(found: Gathered, made: Sequence[Unit], lexicon: Lexicon | None) -> list[Unit]:
    """Return units of which no two are the same: what says nearly the same counts for one.

    What was taken back leads, so that nothing like it is given out; then what has earned it; then
    what most voices say. What stays without having earned it counts for nothing but itself.
    """
    by_key = {each.key: each for each in made}
    order = sorted(by_key, key=lambda key: _order(found, by_key[key]))
    leads = leaders(order, _alike(found, made, lexicon))
    folded: dict[str, set[str]] = {lead: set(by_key[lead].members) for lead in leads.values()}
    for key, lead in leads.items():
        if by_key[key].is_earned:
            folded[lead].update(by_key[key].members)
    return [replace(by_key[lead], members=tuple(sorted(folded[lead]))) for lead in sorted(folded)]


def _order(found: Gathered, unit: Unit) -> tuple[bool, bool, int, int, str]:
    """Return what units are sorted by, the one that leads first."""
    texts = found.said[unit.voice]
    voices = set[str]().union(*(each.voices for each in texts))
    paths = set[str]().union(*(each.paths for each in texts))
    is_revoked = unit.keeps in found.revoked
    return not is_revoked, not unit.is_earned, -len(voices), -len(paths), unit.key


def _alike(found: Gathered, made: Sequence[Unit], lexicon: Lexicon | None) -> dict[str, set[str]]:
    """Return which units are one: near and not at odds, or made of the same insight."""
    alike: dict[str, set[str]] = {}
    speaking: dict[str, list[str]] = {}
    for unit in made:
        speaking.setdefault(unit.voice, []).append(unit.key)
    for one, other in found.near:
        if one in speaking and other in speaking and _agree(found, one, other, lexicon):
            _join(alike, [*speaking[one], *speaking[other]])
    for unit in made:
        if unit.keeps in found.revoked:
            _join(alike, [unit.key, *_sharing(made, unit)])
    for keys in speaking.values():
        _join(alike, keys)
    return alike


def _sharing(made: Iterable[Unit], unit: Unit) -> list[str]:
    """Return the units that share an insight with one."""
    inside = set(unit.members)
    return [each.key for each in made if not inside.isdisjoint(each.members)]


def _agree(found: Gathered, one: str, other: str, lexicon: Lexicon | None) -> bool:
    """Tell whether the texts of two insights may be one principle."""
    return earning.agree(found.said[one][0], found.said[other][0], lexicon=lexicon)


def _join(alike: dict[str, set[str]], keys: Sequence[str]) -> None:
    """Note that the first is like each of the others, both ways."""
    for one in keys:
        for other in keys:
            if one != other:
                alike.setdefault(one, set()).add(other)


def _members(found: Gathered, principle_id: str) -> tuple[str, ...]:
    """Return what a principle comes of, as it stands now."""
    owed = found.owed[principle_id]
    return tuple(sorted({found.leads.get(each.insight_id, each.insight_id) for each in owed}))


def _voice(found: Gathered, principle: Principle) -> str:
    """Return the insight whose words a principle has, or whoever it owes most to."""
    owed = [found.leads.get(each.insight_id, each.insight_id) for each in found.owed[principle.id]]
    for lead in owed:
        if any(text.content_hash == principle.content_hash for text in found.said[lead]):
            return lead
    return owed[0]


def _may_stay(texts: Sequence[Spoken], scales: Scales) -> bool:
    """Tell whether what is a principle may be one still: nobody has turned it down."""
    said = weighing.decision(texts, scales.decisions)
    if said is Decision.REJECTED:
        return False
    return said is Decision.APPROVED or wary(texts[0].content) is None
