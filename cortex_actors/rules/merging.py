"""Whether two memories become one: the tiers of likeness, and the gates that a merged text passes.

Thresholds are cosines, of the two texts and of nothing else: not the score of a search, which says
how a text ranks among others and is near 1 for the best of them however unlike it is. Two texts
that contradict each other, or differ in a value, a name or a place, are never one, however alike:
opposite statements lie nearest of all. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Claim, Decider, Judgement, Relation
from cortex_actors.domain.memory import Layer, MemoryType
from cortex_actors.rules import judgement
from cortex_actors.rules.sameness import overlap, settled
from cortex_actors.rules.uniting import says
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import standard, stem, wording
from cortex_actors.text.summary import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.rules.judgement import Thresholds
    from cortex_actors.text.lexicon import Lexicon

#: What may be merged: somebody's claim, and no voice of a conversation.
MERGEABLE = frozenset({MemoryType.FACT, MemoryType.OBSERVATION})

#: Layers from the first to the deepest.
DEPTH = tuple(Layer)

#: Words that deny, and those that stand beside them for the grammar's sake.
_DENYING = frozenset({"not", "never", "no"})
_BESIDE = _DENYING | {"do", "does", "did", "any", "a", "an", "the"}

#: What stands in front of what is said: who said it, or when, in brackets; so many at most.
_LABEL = re.compile(r"\s*(?:\[[^\]\n]{1,60}\]|\([^)\n]{1,60}\)|[A-Z][\w .'-]{0,40}:)\s+")
_LABELS = 3

#: Share of all their words from which two texts that the rules take for one surely are, and share
#: of the shorter one's that two have in common at the highest tier.
_WORDS, _CONTAINED = 0.75, 0.5

#: Sentences of a text that are compared one by one; of a longer one the first.
_COMPARED = 8

#: Words that two sentences of longer texts share before they are judged.
_SHARED = 2

#: Sentences whose words are remembered: those of the candidates of some rounds.
_REMEMBERED = 1_024

#: Letters of a text that the rules compare as a whole: longer ones have their sentences compared.
_WHOLE = 2_000


class Tier(StrEnum):
    """What a cosine alone says."""

    ALWAYS = "always"
    JUDGED = "judged"
    NEVER = "never"


class Verdict(StrEnum):
    """What becomes of a candidate."""

    MERGE = "merge"
    #: Both hold, and stay two.
    SKIP = "skip"
    #: The two cannot both hold.
    CONFLICT = "conflict"
    #: The rules leave it open: a model may say, and without one they stay two.
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Gates:
    """What merging asks for.

    Attributes:
        always: cosine from which two memories are one without a judge.
        never: cosine below which they are not.
        faithful: least cosine of a merged text with everything it was made of.
        crowded: most that the mean cosine with its nearest other memories may be.
        neighbours: how many of these.
        nearest: candidates of a round.
        rounds: merges of one remembering at most.

    """

    always: float = 0.9
    never: float = 0.2
    faithful: float = 0.7
    crowded: float = 0.8
    neighbours: int = 3
    nearest: int = 5
    rounds: int = 10


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules say of a candidate, and why."""

    verdict: Verdict
    by: Decider
    why: str


def tier(cosine: float, gates: Gates) -> Tier:
    """Return what a cosine alone says; a threshold itself counts as reached."""
    if cosine >= gates.always:
        return Tier.ALWAYS
    return Tier.NEVER if cosine < gates.never else Tier.JUDGED


def ruled(
    text: str,
    other: str,
    cosine: float,
    *,
    gates: Gates,
    thresholds: Thresholds,
    lexicon: Lexicon | None = None,
) -> Ruled:
    """Return what the rules say of a text and a candidate: polarity before likeness."""
    how = tier(cosine, gates)
    if how is Tier.NEVER:
        return Ruled(Verdict.SKIP, Decider.RULES, f"cosine {cosine:.2f}")
    text, other = _behind_labels(text, other)
    one, another = Claim(text[:_WHOLE]), Claim(other[:_WHOLE])
    found = judgement.judge(one, another, cosine=cosine, thresholds=thresholds, lexicon=lexicon)
    against = _against(found, text, other, cosine=cosine, thresholds=thresholds, lexicon=lexicon)
    if against is not None:
        return Ruled(Verdict.CONFLICT, Decider.RULES, against)
    if says(text, other) or says(other, text):
        return Ruled(Verdict.MERGE, Decider.RULES, "one says all that the other does")
    sure, likely = _shares(one, another, lexicon)
    if found.relation is Relation.SAME and sure:
        return Ruled(Verdict.MERGE, Decider.RULES, found.reason)
    # What the rules would not believe a model, they do not believe a cosine either.
    same = Judgement(Relation.SAME, Decider.RULES, f"cosine {cosine:.2f}")
    apart = judgement.believed(same, one, another, lexicon=lexicon)
    if apart.relation is not Relation.SAME:
        return Ruled(Verdict.SKIP, Decider.RULES, apart.reason)
    if how is Tier.ALWAYS and likely:
        return Ruled(Verdict.MERGE, Decider.RULES, same.reason)
    return Ruled(Verdict.ASK, Decider.RULES, found.reason)


def believed(
    said: Judgement | None, text: str, other: str, *, lexicon: Lexicon | None = None
) -> Ruled:
    """Return what a model's word on an open candidate comes to; nobody's word keeps them two."""
    if said is None:
        return Ruled(Verdict.SKIP, Decider.RULES, "nobody is sure that they say the same")
    found = judgement.believed(said, Claim(text), Claim(other), lexicon=lexicon)
    verdict = {Relation.SAME: Verdict.MERGE, Relation.CONTRADICTION: Verdict.CONFLICT}
    return Ruled(verdict.get(found.relation, Verdict.SKIP), found.decider, found.reason)


def faithful(cosines: Sequence[float], least: float) -> bool:
    """Tell whether a merged text is near enough to everything it was made of."""
    return all(each >= least for each in cosines)


def neighbour_score(cosines: Sequence[float], count: int) -> float:
    """Return the mean of the highest so many cosines; 0 where there is nobody."""
    best = sorted(cosines, reverse=True)[:count]
    return sum(best) / len(best) if best else 0.0


def deeper(one: Layer, other: Layer) -> Layer:
    """Return the layer of a memory that was made of two."""
    return max(one, other, key=DEPTH.index)


def _behind_labels(text: str, other: str) -> tuple[str, str]:
    """Return two texts without what both begin with: a name, a date in brackets.

    Said of every turn of a conversation, that makes all of them look alike.
    """
    for _ in range(_LABELS):
        one, another = _LABEL.match(text), _LABEL.match(other)
        if one is None or another is None or one[0] != another[0]:
            break
        text, other = text[one.end() :] or text, other[another.end() :] or other
    return text, other


def _shares(one: Claim, other: Claim, lexicon: Lexicon | None) -> tuple[bool, bool]:
    """Return whether two texts surely share a claim, and whether they have words for one.

    Sure is a stand or a range that both take, or nearly all words. That both begin with the same
    words is enough for two rules of two files, and not for two things that somebody said.
    """
    tables = lexicon or standard()
    left, right = read(one, tables), read(other, tables)
    jaccard, contained = overlap(left, right)
    stand = bool(settled(left, right)) or bool(left.ranges.keys() & right.ranges.keys())
    return stand or jaccard >= _WORDS, contained >= _CONTAINED


def _against(
    found: Judgement,
    text: str,
    other: str,
    *,
    cosine: float,
    thresholds: Thresholds,
    lexicon: Lexicon | None,
) -> str | None:
    """Return why two texts, or two of their sentences, cannot both hold; None where they can."""
    if found.contradicts:
        return found.reason
    mine, its = sentences(text)[:_COMPARED], sentences(other)[:_COMPARED]
    for one, another in product(mine, its):
        if _denies(one, another):
            return "one denies what the other says"
        if len(mine) * len(its) == 1 or len(_bare(one)[0] & _bare(another)[0]) < _SHARED:
            continue
        part = judgement.judge(
            Claim(one), Claim(another), cosine=cosine, thresholds=thresholds, lexicon=lexicon
        )
        if part.contradicts:
            return part.reason
    return None


def _denies(text: str, other: str) -> bool:
    """Tell whether two sentences have the same words, and one of them a no beside them.

    The judge of statements looks for what instructions forbid; a fact is denied more plainly.
    """
    (one, is_no), (another, is_other_no) = _bare(text), _bare(other)
    return bool(one) and one == another and is_no is not is_other_no


@lru_cache(_REMEMBERED)
def _bare(text: str) -> tuple[frozenset[str], bool]:
    """Return the stems of a text without what denies it, and whether it is denied."""
    found = [each.text for each in wording(text).spoken]
    denials = sum(each in _DENYING for each in found)
    return frozenset(stem(each) for each in found if each not in _BESIDE), denials % 2 == 1
