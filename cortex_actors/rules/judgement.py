"""What two statements are to each other, by rules alone.

Polarity before similarity: what contradicts is never merged, however alike. In this order: the
same text; places that exclude each other; a contradiction (families of alternatives, numbers and
versions, a single value that differs, one forbids what the other wants); the same claim; and else
related or unrelated, by the cosine and by shared topic slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Conflict, Decider, Judgement, Relation
from cortex_actors.rules.conflicts import apart, clashes
from cortex_actors.rules.reordering import reordered
from cortex_actors.rules.sameness import differ, same
from cortex_actors.text.claims import alike, read
from cortex_actors.text.lexicon import standard

if TYPE_CHECKING:
    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines of one embedding model from which on a likeness means something.

    Attributes:
        merge: two statements are one, unless they contradict or differ in a value.
        cluster: two statements of a cluster are one, under the same condition.
        judged: two statements may be one if the rules find the same claim in both.
        floor: two statements may be about one thing; below it a shared slot is needed.

    """

    merge: float = 0.92
    cluster: float = 0.88
    judged: float = 0.5
    floor: float = 0.3


#: Share of groups of three letters in common from which texts in another script are one.
LETTERS = 0.9

#: Calibrated for the default model, all-MiniLM-L6-v2.
DEFAULTS = Thresholds()


def judge(
    left: Claim,
    right: Claim,
    *,
    cosine: float | None,
    thresholds: Thresholds = DEFAULTS,
    lexicon: Lexicon | None = None,
) -> Judgement:
    """Return what two statements are to each other; the order does not matter.

    Without a cosine only what the texts themselves show is found. `Relation.SAME` is the only
    relation under which two statements may be merged.
    """
    tables = lexicon or standard()
    first, second = sorted((left, right), key=_order)
    if " ".join(first.text.split()) == " ".join(second.text.split()):
        return _said(Relation.SAME, "the same text")
    one, other = read(first, tables), read(second, tables)
    score = 0.0 if cosine is None else cosine
    places = apart(one, other)
    found = None if places else _clash(one, other, cosine, tables)
    if found is not None:
        return _placed(found, first, second)
    shared = _shared(one, other)
    if places is None and (score >= thresholds.judged or cosine is None):
        why = _same(one, other, score, thresholds, tables)
        if why is not None and reordered(first.text, second.text) is None:
            return _said(Relation.SAME, why)
    if score >= thresholds.floor or shared:
        return _said(Relation.RELATED, _related(places, shared, score))
    return _said(Relation.UNRELATED, f"cosine {score:.2f} and no topic in common")


def gate(left: Claim, right: Claim, *, lexicon: Lexicon | None = None) -> Judgement | None:
    """Return the contradiction of two statements whatever their cosine, or None."""
    tables = lexicon or standard()
    first, second = sorted((left, right))
    one, other = read(first, tables), read(second, tables)
    if apart(one, other):
        return None
    found = _clash(one, other, None, tables)
    return None if found is None else _placed(found, first, second)


def believed(
    said: Judgement, left: Claim, right: Claim, *, lexicon: Lexicon | None = None
) -> Judgement:
    """Return what a model says of two statements, as far as the rules let that stand.

    Two that differ in a number, a name, a switch or their place are not one claim, whoever says so:
    merged, one of them would be lost.
    """
    if said.relation is not Relation.SAME:
        return said
    tables = lexicon or standard()
    one, other = (read(each, tables) for each in sorted((left, right)))
    why = apart(one, other) or differ(one, other, lexicon=tables)
    why = why or reordered(left.text, right.text)
    if why is None:
        return said
    return Judgement(Relation.RELATED, said.decider, f"{said.reason}; but {why}")


def slots(claim: Claim, *, lexicon: Lexicon | None = None) -> frozenset[str]:
    """Return the topic slots of a statement: what it takes a stand on, whatever the stand.

    Two statements that share a slot are worth comparing whatever their cosine.
    """
    found = read(claim, lexicon or standard())
    return frozenset(_topics(found))


def _topics(found: Reading) -> set[str]:
    return {slot for slot, each in found.positions.items() if each.speaks} | set(found.ranges)


def _shared(one: Reading, other: Reading) -> list[str]:
    return sorted(_topics(one) & _topics(other))


def _clash(
    one: Reading, other: Reading, cosine: float | None, lexicon: Lexicon
) -> Judgement | None:
    """Return the first contradiction that counts at a cosine."""
    for each in clashes(one, other, lexicon=lexicon):
        if each.least is None or cosine is None or cosine >= each.least:
            return Judgement(
                Relation.CONTRADICTION,
                Decider.RULES,
                each.reason,
                each.conflict,
                each.confidence,
            )
    return None


def _placed(found: Judgement, first: Claim, second: Claim) -> Judgement:
    """Return a contradiction as contextual where the two hold at different places."""
    if first.scope == second.scope:
        return found
    return Judgement(
        found.relation, found.decider, found.reason, Conflict.CONTEXTUAL, found.confidence
    )


def _same(
    one: Reading, other: Reading, score: float, thresholds: Thresholds, lexicon: Lexicon
) -> str | None:
    """Return why two statements are one claim, or None.

    A model that knows one script finds any two texts of another one alike: those are compared by
    their letters.
    """
    if (one.foreign or other.foreign) and alike(one.wording.plain, other.wording.plain) < LETTERS:
        return None
    if differ(one, other, lexicon=lexicon) is not None:
        return None
    if score >= thresholds.merge:
        return f"nearly the same words: cosine {score:.2f}"
    return same(one, other, score)


def _related(places: str | None, shared: list[str], score: float) -> str:
    if places is not None:
        return f"they hold at different places: {places}"
    return f"both speak of {', '.join(shared)}" if shared else f"cosine {score:.2f}"


def _order(claim: Claim) -> tuple[str, str, str]:
    """Return what two claims are sorted by: one of them may stand under no heading."""
    return claim.text, claim.heading or "", claim.scope


def _said(relation: Relation, reason: str) -> Judgement:
    return Judgement(relation, Decider.RULES, reason)
