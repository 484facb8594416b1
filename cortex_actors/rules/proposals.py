"""What is worth asking about two statements: near duplicates and possible contradictions. Pure.

Whether rules of two projects say nearly the same, so that one of them is worth offering to all.

A small score (logistic regression, `tables/proposals.toml`) orders pairs and proposes them. It
decides nothing: what is proposed has no effect until a person or a model has answered.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.contradiction import find_separate_places
from cortex_actors.rules.sameness import measure_overlap
from cortex_actors.text.claims import SPELT, ClaimReading, read
from cortex_actors.text.lexicon import (
    STOP_WORDS,
    Lexicon,
    Sense,
    Word,
    load_standard,
    load_table,
    stem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cortex_actors.domain.insight import Claim


class ProposalKind(StrEnum):
    """What two statements may be to each other."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One question about two statements.

    Attributes:
        score: 0 to 1; it orders the proposals of one kind and is no probability, since
            contradictions are far rarer than among the pairs that it was trained on.
        reason: what of both texts speaks for it, the weightiest first.

    """

    kind: ProposalKind
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing by which pairs are scored: how much of it there is, 0 to 1, and in words."""

    value: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Model:
    """The coefficients of one kind, and the score from which on a pair is proposed."""

    kind: ProposalKind
    threshold: float
    intercept: float
    weights: Mapping[str, float]


#: Cosine, and share of the shorter statement's words, below which two are about different things.
_ABOUT: Final = 0.4
_CONTAINED: Final = 0.2

#: Features of which none of 152 duplicates has one.
_CLASHES: Final = ("numbers", "measures", "choices")

#: Cosine, and score as a duplicate, from which on rules of two projects are worth offering as one.
#: A model alone is near on topics ("Error handling: ...") and on all that is Chinese: of 320 pairs
#: of 102 public repositories above this cosine 39 % agree, of those above this score 55 %, above
#: 0.7 81 %. What is offered is the better text of a pair: 75 of 91 in one home of all 102.
_NEAR: Final = 0.62
_AGREEING: Final = 0.3

#: Senses of a word that a statement is against, and the share of words of which it is much.
_AGAINST: Final = frozenset({Sense.AGAINST, Sense.BARRED})
_HALF: Final = 0.5

#: Words before a number in which the thing is looked for that it is the number of.
_BEFORE: Final = 4

#: Numbers of one word, as in a date or an address, from which they say nothing singly.
_MOST: Final = 2

_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)*")

#: An edition of JavaScript: a project has one as the target of its compiler.
_EDITION: Final = re.compile(r"\bes20\d\d\b")
_ECMA: Final = "edition of ECMAScript"

#: Words whose digits count nothing: "#73", "e2e", "i18n".
_UNCOUNTED: Final = re.compile(r"#|.*[a-z]\d+[a-z]")

#: Words between a thing and its number: the word before them counts too.
_LINKS: Final = frozenset({"max", "maximum", "min", "minimum", "exactly", "version", "v", "use"})


def propose(
    left: Claim, right: Claim, *, cosine: float, lexicon: Lexicon | None = None
) -> Proposal | None:
    """Return what two statements may be to each other, or None; their order does not matter."""
    if " ".join(left.text.split()) == " ".join(right.text.split()):
        return None
    tables = lexicon or load_standard()
    found = compute_features(left, right, cosine=cosine, lexicon=tables)
    counted = {
        model.kind: {name: each * found[name].value for name, each in model.weights.items()}
        for model in _models()
    }
    logits = {each.kind: each.intercept + sum(counted[each.kind].values()) for each in _models()}
    # Two that differ in a fact, or of which one is against the other, are no duplicate however
    # alike they are: real files have too few of these for the score to learn it.
    why = next((found[name].words for name in _CLASHES if found[name].value), "")
    if not why and _turned(read(left, tables), read(right, tables)) >= _HALF:
        why = "one is against what the other says"
    barred = find_barred(left, right, found=found, lexicon=tables)
    above = ((logits[each.kind] - _odds(each.threshold), each) for each in _models())
    for margin, model in sorted(above, key=lambda each: -each[0]):
        kind = ProposalKind.CONTRADICTION if why else model.kind
        if margin >= 0 and kind not in barred:
            # The two things that speak most for it.
            points = counted[model.kind]
            most = sorted(points, key=lambda name: (-points[name], name))[:2]
            reasons = filter(None, (why, *(found[e].words for e in most if points[e] > 0)))
            return Proposal(kind, _probability(logits[kind]), "; ".join(dict.fromkeys(reasons)))
    return None


def score_agreement(
    left: Claim, right: Claim, *, cosine: float, lexicon: Lexicon | None = None
) -> float | None:
    """Return how alike rules of two projects are, 0 to 1; None where they are not offered as one.

    One denies and the other does not: these are two rules, however near they are.
    """
    tables = lexicon or load_standard()
    if cosine < _NEAR or read(left, tables).denying is not read(right, tables).denying:
        return None
    found = compute_features(left, right, cosine=cosine, lexicon=tables)
    duplicate, _ = _models()
    points = sum(each * found[name].value for name, each in duplicate.weights.items())
    score = _probability(duplicate.intercept + points)
    return score if score >= _AGREEING else None


def compute_features(
    left: Claim, right: Claim, *, cosine: float, lexicon: Lexicon | None = None
) -> dict[str, Feature]:
    """Return all that a pair is scored by; the order of the two does not matter."""
    tables = lexicon or load_standard()
    first, second = sorted((left, right), key=lambda one: (one.text, one.heading or "", one.scope))
    one, other = read(first, tables), read(second, tables)
    shared, contained = measure_overlap(one, other)
    # A number or a choice of two statements with little in common is of two things.
    about = min(1.0, contained / _HALF)
    split = one.denying is not other.denying
    numbers = _numbers_differ(one, other)
    measures, choices = _measures_differ(one, other), _choices_differ(one, other, lexicon=tables)
    denial = contained * max(0.0, cosine - _ABOUT) if split else 0.0
    heads = next(iter(one.stems), ""), next(iter(other.stems), None)
    listed = bool(first.heading) and first.heading == second.heading
    return {
        # Likeness of meaning, and of words: what both are about, and most of what a duplicate is.
        "cosine": Feature(cosine, f"cosine {cosine:.2f}"),
        "words": Feature(shared, f"{shared:.0%} of the words in common"),
        # Most contradictions between real files are two numbers of one thing: of a unit alone
        # ("120 lines" and "310 lines") less than of two words in common.
        "numbers": Feature(
            about * min(1.0, len(numbers) / 2), f"different numbers of {', '.join(numbers[:2])}"
        ),
        "measures": Feature(float(bool(measures)), f"different values of {measures}"),
        "choices": Feature(about * bool(choices), f"different choices of {choices}"),
        # The same said of another path, file or option.
        "names": Feature(_names_differ(one, other), "other names in much the same words"),
        # Counting denials alone is useless: they count among words that both have.
        "denial": Feature(denial, "one denies what the other says"),
        "denials": Feature(float(one.denying and other.denying), "both deny"),
        # "Tests: ..." and "Tests: ..." speak of one thing.
        "beginning": Feature(float(heads[0] == heads[1]), "they begin alike"),
        # Rows of one list differ in a name or a number by their nature.
        "list": Feature(float(listed and not split)),
    }


def find_barred(
    left: Claim, right: Claim, *, found: Mapping[str, Feature], lexicon: Lexicon | None = None
) -> frozenset[ProposalKind]:
    """Return what is not asked about two statements, whatever their score.

    Neither is asked where they hold at different places. A duplicate is not where each names
    another thing in much the same words. A contradiction needs something in which the two differ,
    and one thing that they are about; of texts under one heading, which are mostly entries of one
    list, one has to be against what the other says.
    """
    tables = lexicon or load_standard()
    one, other = read(left, tables), read(right, tables)
    if find_separate_places(one, other) is not None:
        return frozenset(ProposalKind)
    turned, contained = _turned(one, other), measure_overlap(one, other)[1]
    differs = turned > 0 or any(found[name].value for name in _CLASHES)
    has_thing = contained >= _CONTAINED or _ECMA in found["measures"].words
    is_about_one = has_thing and found["cosine"].value >= _ABOUT
    is_listed = bool(left.heading) and left.heading == right.heading and turned < _HALF
    barred = {
        ProposalKind.DUPLICATE: found["names"].value >= _HALF,
        ProposalKind.CONTRADICTION: not differs or not is_about_one or is_listed,
    }
    return frozenset(kind for kind, is_barred in barred.items() if is_barred)


def _turned(one: ClaimReading, other: ClaimReading) -> float:
    """Return the share of words that one statement is against and the other one is not."""
    both = one.stems.keys() & other.stems.keys()
    turned = sum((one.stems[e] in _AGAINST) is not (other.stems[e] in _AGAINST) for e in both)
    return turned / max(1, min(len(one.stems), len(other.stems)))


def _numbers_differ(left: ClaimReading, right: ClaimReading) -> list[str]:
    """Return of what two statements give different numbers; nothing if one number is the same."""
    one, other = _numbers(left), _numbers(right)
    both = sorted(one.keys() & other.keys())
    if any(one[each][0] == other[each][0] for each in both):
        return []
    return [one[each][1] for each in both]


def _numbers(said: ClaimReading) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return stem of what may be counted -> the numbers in or beside it, and the word itself."""
    words = [each for each in said.wording.spoken if each.text not in STOP_WORDS]
    counted: dict[str, tuple[tuple[str, ...], str]] = {}
    for place, word in enumerate(words):
        digits = () if _UNCOUNTED.match(word.text) else _NUMBER.findall(word.text)
        found = tuple(each.replace(",", "") for each in digits)
        spelt = SPELT.get(word.text, 0)
        values = found or ((str(spelt),) if spelt > 1 else ())
        if values and len(values) <= _MOST:
            things = list(_things(words, place))
            if said.wording.plain[word.end : word.end + 1] == "~":
                # Joined with its unit, "4-space", it counts that alone.
                things = [each.text for each in words[place + 1 : place + 2]]
            counted |= {stem(thing): (values, thing) for thing in things}
    return counted


def _things(words: list[Word], place: int) -> Iterator[str]:
    """Yield the words that a number may be the number of: "es2022", "port 80", "80 lines"."""
    text = words[place].text  # a number in words has no unit in it
    parts = re.split(r"[^a-z%]+", text) if _NUMBER.search(text) else []
    unit = [each for each in parts if len(each) > 1 or each == "%"]
    yield from unit
    if unit and unit != ["%"]:
        return
    after = words[place + 1 : place + 2]
    yield from (each.text for each in after if not _NUMBER.search(each.text))
    for each in reversed(words[max(0, place - _BEFORE) : place]):
        if not _NUMBER.search(each.text):
            yield each.text
            if each.text not in _LINKS:
                return


def _choices_differ(left: ClaimReading, right: ClaimReading, *, lexicon: Lexicon) -> str:
    """Return of what two statements name different choices, without those they are against."""
    one, other = _chosen(left, lexicon), _chosen(right, lexicon)
    both = sorted(one.keys() & other.keys())
    return ", ".join(each for each in both if not one[each] & other[each])


def _chosen(said: ClaimReading, lexicon: Lexicon) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for word in said.wording.spoken:
        of, choice = _choices().get(word.text, ("", ""))
        known = lexicon.synonyms.get(word.stem, word.stem)
        if of and said.stems.get(known) not in _AGAINST:
            found.setdefault(of, set()).add(choice)
    return found


@cache
def _choices() -> dict[str, tuple[str, str]]:
    """Return word -> of what it is a choice, and which (`tables/choices.toml`)."""
    made = load_table("choices", package="rules")["choices"]
    return {
        word: (of, choice)
        for of, some in made.items()
        for choice in some
        for word in choice.split()
    }


def _measures_differ(left: ClaimReading, right: ClaimReading) -> str:
    """Return the measures and versions for which two statements give different bounds."""
    both = left.ranges.keys() & right.ranges.keys()
    found = [
        each for each in both if left.ranges[each].get_bounds() != right.ranges[each].get_bounds()
    ]
    one, other = ({*_EDITION.findall(said.wording.plain)} for said in (left, right))
    if one and other and one.isdisjoint(other):
        found.append(_ECMA)
    return ", ".join(sorted(found))


def _names_differ(left: ClaimReading, right: ClaimReading) -> float:
    """Return the share of other words in common where each has names that the other lacks."""
    one, other = left.names - left.numbers, right.names - right.numbers
    if one <= other or other <= one:
        return 0.0
    these, those = (
        {each.stem for each in some.wording.spoken if each.text not in some.names | STOP_WORDS}
        for some in (left, right)
    )
    return len(these & those) / max(1, min(len(these), len(those)))


@cache
def _models() -> tuple[_Model, ...]:
    made = load_table("proposals", package="rules")
    return tuple(
        _Model(kind, each["threshold"], each["intercept"], each["weights"])
        for kind in ProposalKind
        for each in (made[kind.value],)
    )


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _odds(score: float) -> float:
    return math.log(score / (1 - score))
