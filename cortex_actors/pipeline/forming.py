"""Forming: what a principle says of itself, from the texts it comes of.

Everything is made of the evidence as it is now; nothing of the principle before goes into it but
when it was made, and how it stands, which is fading's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Category
from cortex_actors.domain.principle import (
    BECOMES,
    Derivation,
    Origin,
    Principle,
    PrincipleCategory,
    PrincipleStatus,
    principle_id,
)
from cortex_actors.domain.project import Decision
from cortex_actors.pipeline import weighing
from cortex_actors.rules.promotion import confidence, quality, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.pipeline.gathering import Gathered
    from cortex_actors.pipeline.promoting import Unit
    from cortex_actors.storage.insight_evidence import Spoken

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


def formed(unit: Unit, found: Gathered, now: int, *, words: Principle | None = None) -> Formed:
    """Return the principle that a unit is; `words` has them where no insight does.

    On a thread; `now` is in UTC microseconds.
    """
    kept = found.principles[unit.keeps] if unit.keeps else words
    made = _made(unit, found, now, kept)
    if unit.keeps in found.revoked:
        made = found.principles[unit.keeps]
    owes = tuple(_owes(unit, found, made.id))
    before = found.principles.get(made.id)
    return Formed(
        principle=made,
        derivations=owes,
        voice=unit.voice,
        replaces=tuple(sorted(_family(unit, found) - {made.id})),
        is_new=before is None,
        is_changed=before is None or not (_same(before, made) and _owed(found, made.id, owes)),
    )


def _made(unit: Unit, found: Gathered, now: int, kept: Principle | None) -> Principle:
    """Return a unit as a principle."""
    voice = found.said[unit.voice][0]
    texts = [text for member in unit.members for text in found.said[member]]
    seen = weighing.evidence(texts, contradicted=voice.status == "contradicted")
    is_said = any(each.paths for each in texts)
    sure = confidence(seen, now) if is_said else 0.0
    good = _quality(unit, found, texts)
    digest = kept.content_hash if kept else voice.content_hash
    since = [found.principles[name].created_at for name in _family(unit, found)]
    return Principle(
        id=principle_id(digest),
        content=kept.content if kept else voice.content,
        content_hash=digest,
        elaboration=_elaboration(unit, found, texts, kept),
        category=_category(found, unit.voice),
        tags=_tags(voice, texts),
        domains=tuple(sorted({each.domain for each in texts if each.domain and each.paths})),
        confidence=sure,
        quality=good,
        rank=rank(sure, seen.observations, quality=good),
        status=PrincipleStatus.ACTIVE,
        origin=unit.origin,
        text_hash=kept.text_hash if kept else voice.text_hash,
        created_at=min(since, default=now),
    )


def _family(unit: Unit, found: Gathered) -> set[str]:
    """Return the principles that came of what a unit comes of, but those that were taken back."""
    inside = set(unit.members)
    return {
        name
        for name, owed in found.owed.items()
        if name in found.principles
        and name not in found.revoked
        and not inside.isdisjoint(found.leads.get(each.insight_id, "") for each in owed)
    }


def _category(found: Gathered, voice: str) -> PrincipleCategory:
    """Return what kind of lesson it is: a moral, where a person decided for it against another."""
    texts = found.said[voice]
    if any(each.id in found.kept for each in texts):
        return PrincipleCategory.MORAL
    return BECOMES[Category(texts[0].category)]


def _quality(unit: Unit, found: Gathered, texts: Sequence[Spoken]) -> float:
    """Return how good the sources are."""
    said = weighing.decision(found.said[unit.voice], found.decisions)
    return quality(
        set[str]().union(*(each.trusts for each in texts)),
        len(set[str]().union(*(each.voices for each in texts))),
        is_approved=said is Decision.APPROVED,
    )


def _tags(voice: Spoken, texts: Iterable[Spoken]) -> tuple[str, ...]:
    """Return the tags of the voice, and then those of the others."""
    others = sorted({tag for each in texts for tag in each.tags})
    return tuple(dict.fromkeys([*voice.tags, *others]))[:TAGS]


def _elaboration(
    unit: Unit, found: Gathered, texts: Sequence[Spoken], kept: Principle | None
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


def _owes(unit: Unit, found: Gathered, name: str) -> Iterable[Derivation]:
    """Yield what a principle owes to each insight: its share of the observations."""
    seen = {
        each: weighing.evidence(found.said[each], contradicted=False).observations
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


def _owed(found: Gathered, name: str, owes: Sequence[Derivation]) -> bool:
    """Tell whether a principle comes of what it came of."""
    before = {each.insight_id: each.weight for each in found.owed.get(name, ())}
    now = {each.insight_id: each.weight for each in owes}
    return before.keys() == now.keys() and all(
        abs(before[each] - now[each]) <= _CLOSE for each in now
    )
