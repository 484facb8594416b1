"""Whether two memories become one: thresholds of likeness, and the gates that a merged text passes.

Thresholds are cosines, of the two texts and of nothing else: not the score of a search, which says
how a text ranks among others and is near 1 for the best of them however unlike it is. Two texts
that contradict each other, or differ in a value, a name or a place, are never one, however alike:
opposite statements lie nearest of all. Pure.

Whether a text that a model wrote may replace the texts it was made of. Pure.

A merge must lose nothing and add nothing. What cannot be seen in the words themselves is left to
the vectors; but every name, number and piece of code of the sources has to be there and no other,
and what turns or limits a statement may neither come nor go. Where it is unclear the text is not
taken: the sentences of both, each once, cost nothing.

Whether one sentence that a model wrote may replace the texts it was made of. Pure.

What is written here speaks in every project, and a model that is wrong is wrong in a plausible way.
So it may contradict none of its sources, name nothing that none of them names, turn or reorder
nothing in words of its own, say hardly a word that none of them says, and hold nothing that a
person would have to look at first. A caller that rejects it takes the words of one of the
sources, which costs nothing: where it is unclear the sentence is dropped.

Two texts as one, without a model: everything that either says, once. Pure.

A sentence is left out only where another one has all of its words, side by side and in their order,
or with one phrase moved that says how, when or where; and where nothing beside them
could turn what they say. Everything else stays as it was written, so that no merge loses a
sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.insight import Claim, Decider, Judgement, Relation
from cortex_actors.domain.memory import Layer
from cortex_actors.rules import clustering, contradiction
from cortex_actors.rules.sameness import measure_overlap, moves
from cortex_actors.text.claims import read
from cortex_actors.text.hazards import find_caution
from cortex_actors.text.lexicon import (
    STOP_WORDS,
    Lexicon,
    load_standard,
    load_table,
    read_wording,
    stem,
)
from cortex_actors.text.summary import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: Words that turn, limit or doubt what is beside them: with one of these, more words are not
#: more of the same, and with one of them in another place a sentence says something else.
TURNING: Final = frozenset(load_table("likeness")["turning"].split())

#: Words that change places at least: of two, each may be the other's subject.
_FEWEST: Final = 3

#: Signs that belong to a sentence and to no word of it, before a word and behind it.
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019)]"
_OPENING: Final = "\"'`\u201c\u2018(["
_CLOSING: Final = f"{_QUOTES}.,;:!?\u2026\u3002\uff01\uff1f"


class Prefer(StrEnum):
    """Whose words count where two texts say the same."""

    #: The text that was said last.
    A = "a"
    #: The one that it is merged with.
    B = "b"
    EQUAL = "equal"


def unite_texts(a: str, b: str, *, prefer: Prefer = Prefer.EQUAL) -> str:
    """Return one text that says what two say.

    One of them where it says all that the other does, else every sentence of both once: those of
    the preferred text first, of `b`, the older one, where neither is preferred. Which of two equal
    wordings stays does not depend on the order then.
    """
    first, second = (a, b) if prefer is Prefer.A else (b, a)
    is_said = says(second, first)
    # Of two that say the same the richer one stays, whatever their order.
    is_richer = is_said and (len(second), second) > (len(first), first)
    if says(first, second) and not (prefer is Prefer.EQUAL and is_richer):
        return first
    if is_said:
        return second
    kept = list(split_sentences(first))
    for each in split_sentences(second):
        if any(covers(there, each) for there in kept):
            continue
        shorter = [there for there in kept if covers(each, there)]
        if shorter:  # the longer one takes the first one's place
            kept[kept.index(shorter[0])] = each
        else:
            kept.append(each)
        kept = [there for there in kept if there not in shorter]
    # Sentences as one text: on a line each, where they would not be recognised again.
    line = " ".join(kept)
    return line if split_sentences(line) == tuple(kept) else "\n".join(kept)


def says(text: str, other: str) -> bool:
    """Tell whether a text says all that another one does: each of its sentences."""
    mine = split_sentences(text)
    return all(any(covers(there, each) for there in mine) for each in split_sentences(other))


def covers(sentence: str, other: str) -> bool:
    """Tell whether a sentence has all words of another one, and nothing that would turn them."""
    mine, its = _spoken(sentence), _spoken(other)
    if mine == its:
        return bool(its) or sentence == other
    if not its or len(mine) < len(its):
        return False
    if len(mine) == len(its):
        # The place of one phrase that turns nothing may differ.
        differing = [x for x, y in zip(mine, its, strict=True) if x != y]
        turns = len(differing) < _FEWEST or not TURNING.isdisjoint(differing)
        return not turns and moves(mine, its)
    # Where a row of words has another one in it; None where it has not.
    last = len(mine) - len(its)
    place = next((n for n in range(last + 1) if mine[n : n + len(its)] == its), None)
    return place is not None and TURNING.isdisjoint((*mine[:place], *mine[place + len(its) :]))


def _spoken(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence as they are compared: signs within them count, and asking."""
    found = (each.lstrip(_OPENING).rstrip(_CLOSING) for each in sentence.casefold().split())
    asked = ("?",) if sentence.rstrip(_QUOTES).endswith("?") else ()
    return (*(each for each in found if each), *asked)


#: Layers from the first to the deepest.
DEPTH = tuple(Layer)

#: Words that deny, and those that are beside them for the grammar's sake.
_DENYING = frozenset({"not", "never", "no"})
_BESIDE = _DENYING | {"do", "does", "did", "any", "a", "an", "the"}

#: What comes before a statement: who said it, or when, in brackets; so many at most.
_LABEL = re.compile(r"\s*(?:\[[^\]\n]{1,60}\]|\([^)\n]{1,60}\)|[A-Z][\w .'-]{0,40}:)\s+")
_LABELS = 3

#: From `MergeGates.merge_always` on two texts have this share of the shorter one's words in common.
#: Else their cosine is this, and one has all words of the other or they share the second of all
#: their words. A memory keeps every sentence and loses nothing if too much is merged: 3 of 36
#: labelled pairs.
_HALF, _MOST = 0.5, 0.6

#: Sentences of a text that are compared one by one; of a longer one the first.
_COMPARED = 8

#: Words that two sentences of longer texts share before they are judged.
_SHARED = 2

#: Sentences whose words are remembered: those of the candidates of some rounds.
_REMEMBERED = 1_024

#: Letters of a text that the rules compare as a whole: longer ones have their sentences compared.
_WHOLE = 2_000


class MergeVerdict(StrEnum):
    """What becomes of a candidate."""

    MERGE = "merge"
    #: Both hold, and stay two.
    SKIP = "skip"
    #: The two cannot both hold.
    CONFLICT = "conflict"
    #: The rules leave it open: a model may say, and without one they stay two.
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class MergeGates:
    """What merging asks for.

    Attributes:
        merge_always: cosine from which two memories are one without a judge.
        merge_never: cosine below which they are not.
        min_faithfulness: least cosine of a merged text with everything it was made of.
        max_neighbor_score: most that the mean cosine with its nearest other memories may be.
        neighbor_k: how many of these.
        top_k: candidates of a round.
        max_rounds: merges of one remembering at most.

    """

    merge_always: float = 0.9
    merge_never: float = 0.2
    min_faithfulness: float = 0.7
    max_neighbor_score: float = 0.8
    neighbor_k: int = 3
    top_k: int = 5
    max_rounds: int = 10


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules say of a candidate, and why."""

    verdict: MergeVerdict
    by: Decider
    why: str


def judge_pair(
    text: str,
    other: str,
    cosine: float,
    *,
    gates: MergeGates,
    thresholds: contradiction.ConflictThresholds,
    lexicon: Lexicon | None = None,
) -> Ruled:
    """Return what the rules say of a text and a candidate: polarity before likeness.

    A threshold itself counts as reached.
    """
    if cosine < gates.merge_never:
        return Ruled(MergeVerdict.SKIP, Decider.RULES, f"cosine {cosine:.2f}")
    text, other = _behind_labels(text, other)
    one, another = Claim(text[:_WHOLE]), Claim(other[:_WHOLE])
    found = contradiction.judge(one, another, cosine=cosine, thresholds=thresholds, lexicon=lexicon)
    against = _against(found, text, other, cosine=cosine, thresholds=thresholds, lexicon=lexicon)
    if against is not None:
        return Ruled(MergeVerdict.CONFLICT, Decider.RULES, against)
    if says(text, other) or says(other, text):
        return Ruled(MergeVerdict.MERGE, Decider.RULES, "one says all that the other does")
    # What the rules would not believe a model, they do not believe a cosine either.
    same = Judgement(Relation.SAME, Decider.RULES, f"cosine {cosine:.2f}")
    apart = contradiction.limit_verdict(same, one, another, lexicon=lexicon)
    if apart.relation is not Relation.SAME:
        return Ruled(MergeVerdict.SKIP, Decider.RULES, apart.reason)
    if _share(one, another, cosine, always=gates.merge_always, lexicon=lexicon):
        return Ruled(MergeVerdict.MERGE, Decider.RULES, same.reason)
    return Ruled(MergeVerdict.ASK, Decider.RULES, found.reason)


def are_opposites(text: str, other: str) -> bool:
    """Tell whether two texts that are near each other cannot both hold."""
    found = judge_pair(text, other, 1.0, gates=MergeGates(), thresholds=contradiction.DEFAULTS)
    return found.verdict is MergeVerdict.CONFLICT


def judge_answer(
    said: Judgement | None, text: str, other: str, *, lexicon: Lexicon | None = None
) -> Ruled:
    """Return what a model's word on an open candidate comes to; without one they stay two."""
    if said is None:
        return Ruled(MergeVerdict.SKIP, Decider.RULES, "no judge is sure that they say the same")
    found = contradiction.limit_verdict(said, Claim(text), Claim(other), lexicon=lexicon)
    verdict = {Relation.SAME: MergeVerdict.MERGE, Relation.CONTRADICTION: MergeVerdict.CONFLICT}
    return Ruled(verdict.get(found.relation, MergeVerdict.SKIP), found.decider, found.reason)


def is_faithful(cosines: Sequence[float], least: float) -> bool:
    """Tell whether a merged text is near enough to everything it was made of."""
    return all(each >= least for each in cosines)


def score_neighbours(cosines: Sequence[float], count: int) -> float:
    """Return the mean of the highest so many cosines; 0 where there are none."""
    best = sorted(cosines, reverse=True)[:count]
    return sum(best) / len(best) if best else 0.0


def choose_deeper(one: Layer, other: Layer) -> Layer:
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


def _share(
    one: Claim, other: Claim, cosine: float, *, always: float, lexicon: Lexicon | None
) -> bool:
    """Tell whether two texts share so many words that one memory may keep what both say."""
    tables = lexicon or load_standard()
    jaccard, contained = measure_overlap(read(one, tables), read(other, tables))
    if contained == 1.0 or jaccard >= _MOST:
        return cosine >= _HALF
    return cosine >= always and contained >= _HALF


def _against(
    found: Judgement,
    text: str,
    other: str,
    *,
    cosine: float,
    thresholds: contradiction.ConflictThresholds,
    lexicon: Lexicon | None,
) -> str | None:
    """Return why two texts, or two of their sentences, cannot both hold; None where they can."""
    if found.contradicts:
        return found.reason
    mine, its = split_sentences(text)[:_COMPARED], split_sentences(other)[:_COMPARED]
    for one, another in product(mine, its):
        # The same words, and one of them a no beside them: the judge of statements looks for what
        # instructions forbid; a fact is denied more plainly.
        (words, is_no), (others, is_other_no) = _bare(one), _bare(another)
        if words and words == others and is_no is not is_other_no:
            return "one denies what the other says"
        if len(mine) * len(its) == 1 or len(words & others) < _SHARED:
            continue
        part = contradiction.judge(
            Claim(one), Claim(another), cosine=cosine, thresholds=thresholds, lexicon=lexicon
        )
        if part.contradicts:
            return part.reason
    return None


@lru_cache(_REMEMBERED)
def _bare(text: str) -> tuple[frozenset[str], bool]:
    """Return the stems of a text without what denies it, and whether it is denied."""
    found = [each.text for each in read_wording(text).spoken]
    denials = sum(each in _DENYING for each in found)
    return frozenset(stem(each) for each in found if each not in _BESIDE), denials % 2 == 1


#: What is a name in any place: code, and what holds a digit, a sign or a capital inside.
_NAMES: Final = re.compile(
    r"`([^`\n]+)`|(?<![\w.])((?:[\w@#~-]*[\d._/@#+~]|[^\W\d_]+[A-Z])[\w.@#/+~-]*\w|\w*\d\w*)"
)

#: What is a name inside a sentence: a word with a capital that does not begin it.
_PROPER: Final = re.compile(r"(?<=[\w,;:'\")] )([A-Z][\w-]+)")

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")


def find_objection(text: str, sources: Sequence[str]) -> str | None:
    """Return why a text must not replace its sources; None when nothing speaks against it."""
    if (why := find_caution(text)) is not None and not any(find_caution(each) for each in sources):
        return why
    said = "\n".join(sources)
    for name in sorted({*_names(said)}):
        if not _has(text, name):
            return f"it leaves out {name!r}"
    for name in sorted({*_names(text)}):
        if not _has(said, name):
            return f"it names {name!r}, which no source does"
    own, known = _turning(text, TURNING), _turning(said, TURNING)
    if own != known:
        return f"it turns what is said: {min(own ^ known)!r}"
    return None


def _names(text: str) -> Iterator[str]:
    """Yield the names, numbers and pieces of code of a text."""
    for match in (*_NAMES.finditer(text), *_PROPER.finditer(text)):
        yield next(filter(None, match.groups())).casefold().rstrip(".,;:")


def _has(text: str, name: str) -> bool:
    """Tell whether a text has a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.casefold()) is not None


def _turning(text: str, known: frozenset[str]) -> set[str]:
    """Return the words of a text that are known to turn or limit something."""
    words = {each.replace("\u2019", "'") for each in _WORD.findall(text.casefold())}
    return {"not" if each.endswith("n't") else each for each in words} & known


#: Letters of the longest sentence: what a file is given of a principle is one line of so many.
LONGEST: Final = 300

#: Share of its words, but the commonest, that its sources must have: with less, "and delete all
#: backups" may follow what they say.
FAMILIAR: Final = 0.8

#: Words that turn, weaken, limit or reorder what is beside them, which the rules do not always
#: see: none of them may be the model's own.
_TURNING = frozenset(load_table("likeness")["own"].split())

#: Signs beside ASCII that a sentence may have of its own.
_SIGNS = frozenset("\u2018\u2019\u201c\u201d\u2013\u2014\u2026")


def find_flaw(text: str, sources: Sequence[Claim], *, lexicon: Lexicon | None = None) -> str | None:
    """Return why a sentence must not replace its sources; None when nothing speaks against it."""
    if len(text) > LONGEST or "\n" in text:
        return f"it is no single line of {LONGEST} letters"
    if (why := find_caution(text)) is not None:
        return why
    for each in sources:
        against = contradiction.find_contradiction(Claim(text), Claim(each.text), lexicon=lexicon)
        if against is not None:
            return f"it contradicts a source: {against.reason}"
    said = "\n".join(each.text for each in sources)
    return _turned(text, said) or _ordered(text, sources, lexicon) or _invented(text, said)


def _turned(text: str, said: str) -> str | None:
    """Return the word of a sentence that turns what no source turns so, or a letter of no source.

    A letter that only looks like another one hides a word from every rule.
    """
    strange = {each for each in text if not each.isascii()} - _SIGNS - set(said)
    if strange:
        return f"it has a letter that no source has: {min(strange)!a}"
    own = _turning(text, _TURNING) - _turning(said, _TURNING)
    return f"it says {min(own)!r}, which no source does" if own else None


def _ordered(text: str, sources: Sequence[Claim], lexicon: Lexicon | None) -> str | None:
    """Return what a sentence puts in order as no source does."""
    tables = lexicon or load_standard()
    known = [need for each in sources for need in clustering.find_needs(each, tables)]
    for own in clustering.find_needs(Claim(text), tables):
        if not any(
            each.comes_first is own.comes_first and not each.thing.isdisjoint(own.thing)
            for each in known
        ):
            return f"it says {own.words!r}, which no source does"
    return None


def _invented(text: str, said: str) -> str | None:
    """Return what a sentence has that no source has."""
    for name in _names(text):
        if not _has(said, name):
            return f"it names {name!r}, which no source does"
    own, known = _stems(text), _stems(said)
    if not own:
        return "it says nothing"
    strange = sorted(own - known)
    if len(own & known) < FAMILIAR * len(own):
        return f"it says what no source says: {', '.join(strange)}"
    return None


def _stems(text: str) -> set[str]:
    """Return the words of a text without their inflection, but the commonest."""
    return {each.stem for each in read_wording(text).spoken if each.text not in STOP_WORDS}
