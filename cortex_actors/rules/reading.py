"""A statement as the rules understand it, read once and kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cortex_actors.rules import traits
from cortex_actors.rules.polarity import Sense, senses
from cortex_actors.rules.positions import Position, positions
from cortex_actors.rules.quantities import Range, ranges
from cortex_actors.rules.stopwords import STOP_WORDS
from cortex_actors.rules.wording import Wording, wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cortex_actors.domain.insight import Claim
    from cortex_actors.rules.lexicon import Lexicon
    from cortex_actors.rules.wording import Word

#: Readings kept: a statement is compared with many neighbours, mostly one after the other.
KEPT = 20_000

#: What makes a statement hold only now and then: it is compared, and merged only with its like.
_CONDITIONS = frozenset(
    "if when whenever unless while once except until during wenn falls cuando si quand".split()
)

#: What takes something out again.
_EXCEPTIONS = frozenset({"but", "except", "unless", "excluding", "aber", "außer", "pero", "mais"})

#: Signs after which a statement says another thing; a prohibition goes on over commas.
_ENDS = frozenset(".;!?()\u2014:,")
_LIST = _ENDS - {","}

#: Words that may stand before a prohibition: "you must never", "please do not".
_ORDERING = frozenset(
    "do does did you we one must should shall will can may please always also and to so".split()
)

#: Words after which a statement says what for, or why.
_ASIDE = frozenset({"for", "because", "so", "since", "für", "weil", "para", "pour"})

#: Words by which a statement leaves no exception.
_ALL = frozenset({"all", "every", "each", "always", "must", "any", "everywhere", "alle", "immer"})

_NUMBER = re.compile(r"v?\d[\d.,]*[%+x]?")
_HEADING = re.compile(r"[^\w.+#-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Words in a row that a statement does one thing with.

    Attributes:
        purpose: whether they only say what for, or why: "use X for Y".
        opens: whether a clause begins with them.
        orders: whether they do, and nothing but "do not" or its like stands before them.
        stems: what they say, in their order, without light words.
        names: those of them that are code.
        manner: those that say how something is done: "casually", "blindly".

    """

    sense: Sense
    purpose: bool
    opens: bool
    orders: bool
    stems: tuple[str, ...]
    names: frozenset[str] = frozenset()
    manner: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one statement says.

    Attributes:
        stems: every word that says something -> what the statement does with it.
        names: code, paths and other words that are written in one way only, but for examples.
        numbers: every number, spelt out or not.
        conditional: whether it holds only if or when something is so.
        excepting: whether it takes something out again.
        universal: whether it leaves no exception.
        permitting: whether it says that something may be.
        denying: whether it is against something.
        switched, order, amounts, lead, label, command, foreign: see `rules/traits.py`.
        unfinished: whether something follows that it only announces.
        places: dimension -> values in which it holds; a dimension that is missing is not limited.

    """

    wording: Wording
    parts: tuple[Part, ...]
    stems: Mapping[str, Sense]
    names: frozenset[str]
    numbers: frozenset[str]
    positions: Mapping[str, Position]
    ranges: Mapping[str, Range]
    places: Mapping[str, frozenset[str]]
    conditional: bool
    excepting: bool
    universal: bool
    permitting: bool
    denying: bool
    switched: bool | None
    order: int
    amounts: Mapping[str, float]
    lead: tuple[frozenset[str], bool]
    label: frozenset[str]
    command: str
    foreign: bool
    unfinished: bool


@lru_cache(maxsize=KEPT)
def read(claim: Claim, lexicon: Lexicon) -> Reading:
    """Return what a statement says; what stands above it only tells of what it speaks."""
    said = wording(claim.text)
    turned = senses(said, lexicon)
    label = frozenset(lexicon.synonyms.get(each, each) for each in traits.label(said.words))
    plain = list(_without_examples(said.words))
    above = claim.heading or ""
    around = f"{above} {claim.text}"
    parts = tuple(_parts(said.words, turned, lexicon))
    return Reading(
        wording=said,
        parts=parts,
        stems=_stems(parts),
        names=frozenset(word.text for word in plain if _is_name(word)),
        numbers=frozenset(word.text for word in said.words if _NUMBER.fullmatch(word.text)),
        positions=positions(said, turned, around=around, lexicon=lexicon),
        ranges=ranges(said, turned, lexicon=lexicon),
        places=_places(claim, said.words, lexicon),
        excepting=any(word.text in _EXCEPTIONS for word in said.words if not word.code),
        permitting=any(word.text in lexicon.cues["permitting"] for word in said.words),
        denying=any(part.sense is Sense.AGAINST for part in parts),
        switched=traits.switched(said.words, turned, lexicon),
        order=traits.order(said.words, turned, lexicon),
        amounts=traits.amounts(said.words),
        lead=traits.lead(parts, label=label),
        label=label,
        command=traits.command(claim.text, said, lexicon),
        foreign=traits.foreign(said.plain),
        universal=any(word.text in _ALL for word in said.words if not word.code),
        unfinished=said.plain.rstrip(" *`").endswith((":", "\uff1a")),
        conditional=Sense.ONLY in turned
        or any(word.text in _CONDITIONS for word in said.words if not word.code),
    )


def weighty(word: Word, lexicon: Lexicon) -> str | None:
    """Return the stem a word is compared by, or None for one that says nothing by itself."""
    if not word.is_word:
        return None
    found = lexicon.synonyms.get(word.stem, word.stem)
    if word.code:
        return found
    holds = word.text in STOP_WORDS or word.text in _turning(lexicon)
    return None if holds or found in lexicon.light else found


@lru_cache(maxsize=8)
def _turning(lexicon: Lexicon) -> frozenset[str]:
    """Return the words that turn a statement: they are read as its sense."""
    cues = lexicon.cues
    return cues["against"] | cues["towards"] | cues["only"] | cues["contrast"]


def _without_examples(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the words outside parentheses: what stands inside explains or gives examples."""
    depth = 0
    for word in words:
        if not word.code and word.text in "()":
            depth = max(0, depth + (1 if word.text == "(" else -1))
        elif not depth:
            yield word


def _parts(words: Sequence[Word], turned: Sequence[Sense], lexicon: Lexicon) -> Iterator[Part]:
    """Yield the parts of a statement."""
    now: list[tuple[str, Word]] = []
    sense, purpose, opens, orders = Sense.WANTED, False, True, True
    for word, its in zip(words, turned, strict=True):
        ends = not word.code and word.text in (_LIST if its is Sense.AGAINST else _ENDS)
        aside = its is Sense.WANTED and word.text in _ASIDE and not word.code
        if (its is not sense or ends or aside) and now:
            yield _part(sense, now, purpose=purpose, opens=opens, orders=orders and opens)
            now, opens = [], False
        if not word.code and word.text in _LIST:
            opens = orders = True
        elif its is Sense.WANTED and (word.code or word.text not in _ORDERING):
            orders = not now and word.text in lexicon.cues["against"] and orders
        purpose = aside or (purpose and not ends and its is sense)
        sense = its
        stem = weighty(word, lexicon)
        if stem is not None:
            now.append((stem, word))
    if now:
        yield _part(sense, now, purpose=purpose, opens=opens, orders=orders and opens)


def _part(
    sense: Sense, now: Sequence[tuple[str, Word]], *, purpose: bool, opens: bool, orders: bool
) -> Part:
    return Part(
        sense,
        purpose,
        opens,
        orders,
        tuple(stem for stem, _word in now),
        frozenset(stem for stem, word in now if word.code),
        frozenset(stem for stem, word in now if word.text.endswith("ly") and not word.code),
    )


def _stems(parts: Sequence[Part]) -> dict[str, Sense]:
    """Return each stem with what the statement does with it; wanted once is wanted."""
    found: dict[str, Sense] = {}
    for part in parts:
        for stem in part.stems:
            if found.get(stem) is not Sense.WANTED:
                found[stem] = part.sense
    return found


def _is_name(word: Word) -> bool:
    """Whether a word is written in one way only."""
    if word.code:
        return word.is_word
    return any(each in word.text for each in "./_@#") and word.is_word


def _places(claim: Claim, words: Sequence[Word], lexicon: Lexicon) -> dict[str, frozenset[str]]:
    """Return where a statement holds, by its own words and else by the nearest heading's."""
    heading = (claim.heading or "").rpartition(" > ")[2].lower()
    above = {each for each in _HEADING.split(heading) if each}
    own = {word.text for number, word in enumerate(words) if _tells(words, number, lexicon)}
    found: dict[str, frozenset[str]] = {}
    for dimension, values in lexicon.scopes.items():
        for some in (own,) if dimension in lexicon.place["own"] else (own, above):
            named = frozenset(values[word] for word in some if word in values)
            if named:
                found[dimension] = named
                break
    return found


def _tells(words: Sequence[Word], number: int, lexicon: Lexicon) -> bool:
    """Whether a word stands where a statement says for what it holds: "for Python", "UI code"."""
    if words[number].code:
        return False
    before = words[max(0, number - 3) : number]
    after = words[number + 1].text if number + 1 < len(words) else ""
    return after in lexicon.place["after"] or any(
        each.text in lexicon.place["before"] for each in before
    )
