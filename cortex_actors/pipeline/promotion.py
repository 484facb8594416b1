"""Gathering: everything that what becomes of some insights depends on.

It grows from the insights that a run begins with to those that share a cluster or a principle with
one of them, or are a principle already and say nearly the same, and so on until nothing more is
connected. What is outside has no say in what is inside, so that a run over a part ends as a run
over everything would. Its cost is that of the part, but for one product of matrices.

Earning: which insights may become principles, each for itself or a cluster together.

A function of what files say now and of what persons have said; whether something is a principle
already does not matter here.

Promoting: which principles there are to be, from what was gathered.

A function of the ledger and of nothing else but which principles there are already: what has earned
it is a principle, and what was one stays one, though it has it no longer, until it fades. What says
nearly the same is one principle, unless it disagrees. Promoting again finds the same.

Forming: what a principle says of itself, from the texts it comes of.

Everything is made of the evidence as it is now; nothing of the principle before goes into it but
when it was made, and its rank and status, which are fading's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cortex_actors.domain.insight import Category, Granularity
from cortex_actors.domain.principle import (
    BECOMES,
    Derivation,
    Origin,
    Principle,
    PrincipleCategory,
    make_principle_id,
)
from cortex_actors.domain.project import Decision
from cortex_actors.pipeline import evidence
from cortex_actors.rules import contradiction
from cortex_actors.rules.clustering import find_leaders
from cortex_actors.rules.promotion import (
    OF_ITSELF,
    PromotionThresholds,
    compute_confidence,
    compute_quality,
    compute_rank,
    list_parts,
)
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_evidence,
    insights,
    principles,
    reviews,
)
from cortex_actors.storage.search.matrix import InsightVectors, Neighbours, Rows, cosine
from cortex_actors.text.hazards import find_caution, is_boilerplate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.pipeline.relations import PairJudge
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.pipeline.insight_evidence import SpokenText
    from cortex_actors.text.lexicon import Lexicon


#: Cosine with its medoid from which on an insight of a cluster says what it says; edges of clusters
#: (0.75) hold together what is about one thing: of real ones in three projects, half were no claim
#: of all of them.
TOGETHER = 0.8


def load_texts(connection: Connection, ids: Collection[str]) -> dict[str, list[SpokenText]]:
    """Return insights with the texts that count for them, each itself the first."""
    counting = insights.load_followers(connection, ids)
    texts = insight_evidence.load_texts(connection, {*ids, *counting})
    found = {each: [texts[each]] for each in sorted(ids) if each in texts}
    for text, lead in sorted(counting.items()):
        if lead in found:
            found[lead].append(texts[text])
    return found


def load_pools(
    grouped: Iterable[tuple[str, Sequence[str]]],
    texts: Mapping[str, Sequence[SpokenText]],
    scales: evidence.Scales,
    *,
    rows: Mapping[str, Matrix],
    lexicon: Lexicon | None = None,
) -> list[PromotionUnit]:
    """Return what clusters, given as medoid and members, have earned together, by voice.

    Nothing where one of them has earned it alone: it speaks for itself. What contradicts the medoid
    or whose words are given out, or differs from it in a number, a name or its place, does not
    count, nor does what is not near it, what only one person may read, what a person turned down
    or has to look at first, and what asks nothing. `rows` are their vectors. A cluster has the
    words that most voices say, of those the shortest.
    """

    def alike(middle: str, some: Iterable[str]) -> list[str]:
        """Return those that are near the middle and make one claim with it, itself among them."""
        first = texts[middle][0]
        return [
            each
            for each in some
            if {middle, each} <= rows.keys()
            and cosine(rows[middle], rows[each]) >= TOGETHER
            and agree(first, texts[each][0], lexicon=lexicon)
        ]

    found = []
    for medoid, members in grouped:
        some = [each for each in members if each in texts and _may_join(texts[each], scales)]
        if medoid not in some or any(evidence.has_earned(texts[each], scales) for each in some):
            continue
        about = alike(medoid, some)
        voice = min(about, key=lambda each: _place(texts[each]))
        one = alike(voice, about)
        others = [text for each in one if each != voice for text in texts[each]]
        if others and evidence.has_earned([*texts[voice], *others], scales):
            found.append(PromotionUnit(voice, tuple(sorted(one)), Origin.CLUSTER))
    return sorted(found, key=lambda each: each.voice)


def _place(texts: Sequence[SpokenText]) -> tuple[int, int, str]:
    """Return the sort key of an insight among those whose words may be given out, least first.

    What most voices say, then the shortest: any number of wordings of one project surround the
    middle of a cluster, and what one of them adds, no other project says.
    """
    voices = set[str]().union(*(each.voices for each in texts))
    return -len(voices), len(texts[0].content), texts[0].id


def agree(left: SpokenText, right: SpokenText, *, lexicon: Lexicon | None = None) -> bool:
    """Tell whether two texts that are near each other may count as one claim.

    Polarity before likeness: they neither contradict each other nor differ in a number, a name, a
    switch or the place where they hold. Of a script that no model knows, the letters count.
    """
    if left.granularity is not right.granularity:
        return False
    if left.id == right.id:
        return True
    if left.granularity is Granularity.SECTION:
        return contradiction.find_opposition(*sorted((left.content, right.content))) is None
    return contradiction.agrees(left.claim, right.claim, lexicon=lexicon)


def _may_join(texts: Sequence[SpokenText], scales: evidence.Scales) -> bool:
    """Tell whether an insight may speak for others of its cluster."""
    first = texts[0]
    return (
        first.is_live
        and first.kind not in OF_ITSELF
        and first.id not in scales.contradicted
        and not is_boilerplate(first.content)
        and not all(each.is_private for each in texts)
        and find_caution(first.content) is None
        and evidence.get_decision(texts, scales.decisions) is not Decision.REJECTED
    )


#: Insights that are read in one transaction: other readers wait for it.
AT_ONCE = 1_000

#: Two insights, the lesser id first, and their cosine.
Edges: TypeAlias = dict[tuple[str, str], float]


@dataclass(slots=True)
class Gathered:
    """What was found; it belongs to one run.

    Attributes:
        said: insight -> the texts that count for it, itself the first.
        grouped: medoid and members of each cluster that one of them is in.
        principles: the principles that come of one of them.
        owed: principle -> what it comes of, each insight as its representative now.
        near: pairs that are near enough to be one principle, at least one of them one already.
        decisions: what persons said, by text.
        differing: insights from which the choice of another project differs.
        kept: texts that a person decided for, where two contradicted each other.
        revoked: principles that were taken back.

    """

    said: dict[str, list[SpokenText]] = field(default_factory=dict)
    grouped: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    principles: dict[str, Principle] = field(default_factory=dict)
    owed: dict[str, list[Derivation]] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Matrix] = field(default_factory=dict)
    near: Edges = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)
    kept: Collection[str] = ()
    revoked: Collection[str] = ()

    @property
    def next(self) -> set[str]:
        """The insights that are next to them."""
        members = {each for _, some in self.grouped.values() for each in some}
        return {self.leads.get(each, each) for each in members}.union(
            *map(self.find_made_of, self.owed)
        )

    def find_made_of(self, principle_id: str) -> set[str]:
        """Return the insights that a principle comes of now."""
        owed = self.owed[principle_id]
        return {self.leads.get(each.insight_id, each.insight_id) for each in owed}


@dataclass(frozen=True, slots=True)
class Tools:
    """Whom a run asks."""

    records: Records
    neighbours: Neighbours
    threads: Threads
    #: A model that may be asked what the rules leave open.
    judge: PairJudge | None = None


def load_everything(connection: Connection, *, confidence: float) -> set[str]:
    """Return every insight that may have earned something, or that a principle comes of.

    They are sure enough, approved, clustered, or derived.
    """
    return {
        *insight_evidence.load_sure(connection, confidence),
        *reviews.load_decisions(connection),
        *contradictions.load_clustered(connection),
        *principles.load_derived(connection),
    }


async def gather(tools: Tools, seeds: Collection[str], *, dedup: float) -> Gathered:
    """Return what was gathered from some insights on; `dedup` is the cosine of what is near."""
    found = Gathered()
    if not seeds:
        return found
    read = tools.records.read
    texts, found.decisions, found.kept, found.revoked = await read(
        lambda c: _known(c, tools.neighbours)
    )
    waiting = set((await read(partial(_leads, ids=seeds))).values())
    while waiting:
        some = sorted(waiting)[:AT_ONCE]
        look = await read(partial(_look, neighbours=tools.neighbours, ids=some))
        found.said |= look.said
        found.grouped |= look.grouped
        found.owed |= look.owed
        found.principles |= look.principles
        found.rows |= look.rows
        found.leads |= look.leads
        found.differing |= look.differing
        near, others = await tools.threads.run(_near, look, texts, found, dedup=dedup)
        found.near |= near
        waiting |= look.next | {each for edge in near for each in edge}
        waiting |= await read(partial(_derived, ids=others))
        waiting -= found.said.keys() | set(some)
    return found


def _known(
    connection: Connection, neighbours: Neighbours
) -> tuple[InsightVectors, Mapping[str, Decision], set[str], set[str]]:
    """Return the vectors of what can be found, and what persons have said."""
    return (
        neighbours.load_found(connection),
        reviews.load_decisions(connection),
        contradictions.load_kept(connection),
        reviews.load_revoked_principles(connection),
    )


def _derived(connection: Connection, *, ids: Collection[str]) -> set[str]:
    """Return those of the insights that files say and that are a principle already."""
    counting = {**{each: each for each in ids}, **insights.load_followers(connection, ids)}
    made = principles.load_derived(connection, counting)
    return insight_evidence.filter_said(connection, {counting[each] for each in made})


def _leads(connection: Connection, *, ids: Collection[str]) -> dict[str, str]:
    """Return the present representative of each of those texts."""
    return {**{each: each for each in ids}, **insights.load_representatives(connection, ids)}


def _look(connection: Connection, *, neighbours: Neighbours, ids: Sequence[str]) -> Gathered:
    """Return what is known about some insights that represent themselves."""
    names = set(contradictions.load_clusters(connection, ids).values())
    clusters = contradictions.get_clusters(connection, names)
    made = principles.find_coming_of(connection, ids)
    owed = principles.load_derivations(connection, made)
    concerned = {each.insight_id for some in owed.values() for each in some}
    return Gathered(
        said=load_texts(connection, ids),
        grouped={each.id: (each.medoid_id, each.members) for each in clusters},
        owed=owed,
        principles=principles.load_principles(connection, made),
        rows=neighbours.load_rows(connection, insight_evidence.filter_said(connection, ids)),
        leads=_leads(connection, ids=concerned),
        differing=set(contradictions.count_differing(connection, ids)),
    )


def _near(
    look: Gathered, texts: InsightVectors, found: Gathered, *, dedup: float
) -> tuple[Edges, set[str]]:
    """Return the near pairs inside of what was found, and what else is near (on a thread)."""
    names = sorted(look.rows)
    if not names:
        return {}, set()
    asked = np.stack([look.rows[each] for each in names])
    inside = sorted(found.rows)
    own = Rows(inside, np.stack([found.rows[each] for each in inside]), np.arange(len(inside)))
    edges: Edges = {}
    for name, near in zip(names, InsightVectors((own,)).find_near(asked, dedup), strict=True):
        for other, likeness in near:
            if other != name:
                edges[min(name, other), max(name, other)] = likeness
    others = {each.insight_id for near in texts.find_near(asked, dedup) for each in near}
    return edges, others - found.rows.keys()


@dataclass(frozen=True, slots=True)
class PromotionUnit:
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


def make_scales(found: Gathered, thresholds: PromotionThresholds, now: int) -> evidence.Scales:
    """Return the scales that decide who has earned it; `now` is in UTC microseconds."""
    against = {lead for lead, texts in found.said.items() if texts[0].status == "contradicted"}
    return evidence.Scales(now, thresholds, against, (), found.differing, found.decisions)


def find_units(
    found: Gathered,
    scales: evidence.Scales,
    *,
    lexicon: Lexicon | None = None,
    assumed: Collection[str] = (),
) -> list[PromotionUnit]:
    """Return what is to be a principle, each once, in order (on a thread).

    `assumed` are insights of which it is supposed that they had earned it.
    """
    # What has earned it, alone or in a cluster.
    alone = {
        lead
        for lead, texts in found.said.items()
        if lead in assumed or evidence.has_earned(texts, scales)
    }
    grouped = [each for each in found.grouped.values() if alone.isdisjoint(each[1])]
    pools = load_pools(grouped, found.said, scales, rows=found.rows, lexicon=lexicon)
    earned = [*(PromotionUnit(each, (each,)) for each in sorted(alone)), *pools]
    covered = {each for unit in earned for each in unit.members}
    made = [*earned, *_staying(found, scales, covered)]
    return _folded(found, made, lexicon)


def _staying(found: Gathered, scales: evidence.Scales, covered: set[str]) -> list[PromotionUnit]:
    """Return the principles of which nothing has earned it now, as what they are without that."""
    stays = []
    for name, principle in sorted(found.principles.items()):
        members, origin = tuple(sorted(found.find_made_of(name))), principle.origin
        if name in found.revoked:
            stays.append(PromotionUnit(_voice(found, principle), members, origin, keeps=name))
        elif origin is Origin.SYNTHESIS:
            if members and covered.isdisjoint(members) and find_caution(principle.content) is None:
                voice = found.leads[found.owed[name][0].insight_id]
                unit = PromotionUnit(voice, members, origin, is_earned=False, keeps=name)
                stays.append(unit)
        else:
            voice = _voice(found, principle)
            said = evidence.get_decision(found.said[voice], scales.decisions)
            is_fit = said is Decision.APPROVED or find_caution(found.said[voice][0].content) is None
            if voice not in covered and is_fit and said is not Decision.REJECTED:
                stays.append(PromotionUnit(voice, (voice,), is_earned=False))
    return list({each.key: each for each in stays}.values())


def _folded(
    found: Gathered, made: Sequence[PromotionUnit], lexicon: Lexicon | None
) -> list[PromotionUnit]:
    """Return units of which no two are the same: what says nearly the same counts for one.

    What was taken back leads, so that nothing like it is given out; then what has earned it; then
    what most voices say. What stays without having earned it counts for nothing but itself.
    """
    by_key = {each.key: each for each in made}
    order = sorted(by_key, key=lambda key: _order(found, by_key[key]))
    leads = find_leaders(order, _alike_units(found, made, lexicon))
    folded: dict[str, set[str]] = {lead: set(by_key[lead].members) for lead in leads.values()}
    for key, lead in leads.items():
        if by_key[key].is_earned:
            folded[lead].update(by_key[key].members)
    return [replace(by_key[lead], members=tuple(sorted(folded[lead]))) for lead in sorted(folded)]


def _order(found: Gathered, unit: PromotionUnit) -> tuple[bool, bool, int, int, str]:
    """Return what units are sorted by, the one that leads first."""
    texts = found.said[unit.voice]
    voices = set[str]().union(*(each.voices for each in texts))
    paths = set[str]().union(*(each.paths for each in texts))
    is_revoked = unit.keeps in found.revoked
    return not is_revoked, not unit.is_earned, -len(voices), -len(paths), unit.key


def _alike_units(
    found: Gathered, made: Sequence[PromotionUnit], lexicon: Lexicon | None
) -> dict[str, set[str]]:
    """Return which units are one: near and not at odds, or made of the same insight."""
    alike: dict[str, set[str]] = {}
    speaking: dict[str, list[str]] = {}
    for unit in made:
        speaking.setdefault(unit.voice, []).append(unit.key)
    first = {each: found.said[each][0] for each in speaking}
    for one, other in found.near:
        if {one, other} <= speaking.keys() and agree(first[one], first[other], lexicon=lexicon):
            _join(alike, [*speaking[one], *speaking[other]])
    for unit in made:
        if unit.keeps in found.revoked:
            inside = set(unit.members)
            sharing = [each.key for each in made if not inside.isdisjoint(each.members)]
            _join(alike, [unit.key, *sharing])
    for keys in speaking.values():
        _join(alike, keys)
    return alike


def _join(alike: dict[str, set[str]], keys: Sequence[str]) -> None:
    """Note that the first is like each of the others, both ways."""
    for one in keys:
        for other in keys:
            if one != other:
                alike.setdefault(one, set()).add(other)


def _voice(found: Gathered, principle: Principle) -> str:
    """Return the insight whose words a principle has, or the one it owes most to."""
    owed = [found.leads.get(each.insight_id, each.insight_id) for each in found.owed[principle.id]]
    for lead in owed:
        if any(text.content_hash == principle.content_hash for text in found.said[lead]):
            return lead
    return owed[0]


#: Tags of a principle.
TAGS = 5

#: Wordings that an elaboration quotes, and letters of each.
QUOTED, LETTERS = 5, 300

#: Numbers nearer to each other than this are one.
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Formed:
    """One principle as it is to be.

    Attributes:
        voice: the insight whose words it has.
        replaces: principles that it takes the place of: they had other words.
        is_new: whether no principle had its words.
        is_changed: whether anything of it is other than it is written.

    """

    principle: Principle
    derivations: tuple[Derivation, ...]
    voice: str
    replaces: tuple[str, ...] = ()
    is_new: bool = True
    is_changed: bool = True


def form_principle(
    unit: PromotionUnit, found: Gathered, now: int, *, words: Principle | None = None
) -> Formed:
    """Return the principle that a unit is; `words` has them where no insight does.

    On a thread; `now` is in UTC microseconds.
    """
    kept = found.principles[unit.keeps] if unit.keeps else words
    made = _made(unit, found, now, kept)
    if unit.keeps in found.revoked:
        made = found.principles[unit.keeps]
    owes = tuple(_owes(unit, found, made.id))
    before = found.principles.get(made.id)
    owed = {each.insight_id: each.weight for each in found.owed.get(made.id, ())}
    is_owed = owed.keys() == {each.insight_id for each in owes} and all(
        abs(owed[each.insight_id] - each.weight) <= _CLOSE for each in owes
    )
    return Formed(
        principle=made,
        derivations=owes,
        voice=unit.voice,
        replaces=tuple(sorted(_family(unit, found) - {made.id})),
        is_new=before is None,
        is_changed=before is None or not (is_owed and _same(before, made)),
    )


def _made(unit: PromotionUnit, found: Gathered, now: int, kept: Principle | None) -> Principle:
    """Return a unit as a principle."""
    voice = found.said[unit.voice][0]
    texts = [text for member in unit.members for text in found.said[member]]
    seen = evidence.gather_evidence(texts, contradicted=voice.status == "contradicted")
    is_said = any(each.paths for each in texts)
    sure = compute_confidence(seen, now) if is_said else 0.0
    approved = evidence.get_decision(found.said[unit.voice], found.decisions) is Decision.APPROVED
    trusts = set[str]().union(*(each.trusts for each in texts))
    voices = set[str]().union(*(each.voices for each in texts))
    good = compute_quality(trusts, len(voices), is_approved=approved)
    others = sorted({tag for each in texts for tag in each.tags})
    # A moral, where a person decided for it against another.
    is_moral = any(each.id in found.kept for each in found.said[unit.voice])
    digest = kept.content_hash if kept else voice.content_hash
    since = [found.principles[name].created_at for name in _family(unit, found)]
    return Principle(
        id=make_principle_id(digest),
        content=kept.content if kept else voice.content,
        content_hash=digest,
        elaboration=_elaboration(unit, found, texts, kept),
        category=PrincipleCategory.MORAL if is_moral else BECOMES[Category(voice.category)],
        tags=tuple(dict.fromkeys([*voice.tags, *others]))[:TAGS],
        domains=tuple(sorted({each.domain for each in texts if each.domain and each.paths})),
        confidence=sure,
        quality=good,
        rank=compute_rank(list_parts(sure, seen.observations, quality=good)),
        origin=unit.origin,
        text_hash=kept.text_hash if kept else voice.text_hash,
        created_at=min(since, default=now),
    )


def _family(unit: PromotionUnit, found: Gathered) -> set[str]:
    """Return the principles that came of what a unit comes of, but those that were taken back."""
    inside = set(unit.members)
    return {
        name
        for name in found.owed
        if name in found.principles
        and name not in found.revoked
        and not inside.isdisjoint(found.find_made_of(name))
    }


def _elaboration(
    unit: PromotionUnit, found: Gathered, texts: Sequence[SpokenText], kept: Principle | None
) -> str | None:
    """Return the other words in which files say it, quoted; None where there are no others."""
    own = kept.content if kept else found.said[unit.voice][0].content
    ranked = sorted(
        (each for each in texts if each.paths and each.content != own),
        key=lambda each: (-len(each.paths), each.id),
    )
    said = list(dict.fromkeys(_quoted(each.content) for each in ranked))
    if not said:
        return None
    more = f"; and in {len(said) - QUOTED} other ways" if len(said) > QUOTED else ""
    how = "Made of" if unit.origin is Origin.SYNTHESIS else "Also said"
    return f"{how}: {'; '.join(said[:QUOTED])}{more}"


def _quoted(text: str) -> str:
    """Return a text on one line, in quotation marks, cut where it is long."""
    one = " ".join(text.split())
    cut = one if len(one) <= LETTERS else f"{one[: LETTERS - 1]}\u2026"
    return f'"{cut}"'


def _owes(unit: PromotionUnit, found: Gathered, name: str) -> Iterable[Derivation]:
    """Yield what a principle owes to each insight: its share of the observations."""
    seen = {
        each: evidence.gather_evidence(found.said[each], contradicted=False).observations
        for each in unit.members
    }
    total = sum(seen.values())
    for each in unit.members:
        yield Derivation(name, each, seen[each] / total if total else 1 / len(seen))


def _same(before: Principle, made: Principle) -> bool:
    """Tell whether a principle says of itself what it said before."""
    plain = replace(
        made,
        rank=before.rank,
        status=before.status,
        created_at=before.created_at,
        confidence=before.confidence,
        quality=before.quality,
    )
    moved = max(abs(before.confidence - made.confidence), abs(before.quality - made.quality))
    return plain == before and moved <= _CLOSE
