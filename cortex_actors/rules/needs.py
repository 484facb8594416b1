"""What a statement says has to come first: "after the tests pass", "before deploying", "needs X".

One principle depends on another where its words name a thing that has to be there, or be done,
before, and the other one is about that thing. Linear in the texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.text.claims import read, weighty
from cortex_actors.text.polarity import Sense, senses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.domain.insight import Claim
    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon, Word

#: What follows has to come first, and what follows comes later.
_FIRST = frozenset("after once until requires require needs need depends relies nach".split())
_LATER = frozenset("before prior vor".split())

#: Words after which "needs" or "requires" asks for something to be done, and names no thing.
_VERBAL = frozenset({"to", "be", "not"})

#: Signs and words that end what is named.
_ENDS = frozenset(".;:!?()\u2014,")
_JOINS = frozenset("and or so then when if because unless run use".split())

#: Words that only suppose what they name, and those that name what stands elsewhere.
_SUPPOSING = frozenset("if when whenever unless whether where in case wenn falls".split())
_POINTING = frozenset("this that these those it them they any".split())

#: Words that name no thing: whatever is done is a change of something.
_GENERAL = frozenset(
    "change changes changing edit edits editing modification modifications modifying update updates"
    " work task tasks file files".split()
)

#: Senses of what may not be, or not before something else has been.
_FORBIDDING = frozenset({Sense.AGAINST, Sense.BARRED})

#: Stems of what is named at most: more are a story.
_MOST = 4

#: Share of what a text says first that must be what is named: else it is about another thing.
ABOUT = 0.5


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a statement puts in order.

    Attributes:
        words: the words that say so, as they stand there.
        thing: the stems of what is named.
        comes_first: whether what is named comes before what the statement asks for.

    """

    words: str
    thing: frozenset[str]
    comes_first: bool


def needs(claim: Claim, lexicon: Lexicon) -> tuple[Need, ...]:
    """Return what a statement puts in order, as it says it."""
    said = read(claim, lexicon).wording
    if not any(word.text in _FIRST or word.text in _LATER for word in said.words):
        return ()
    return tuple(_found(said.words, senses(said, lexicon), lexicon))


def about(need: Need, other: Claim, lexicon: Lexicon) -> float:
    """Return how far a statement asks for what another one names, 0 to 1; 0 where it does not.

    Naming it by the way is not asking for it, and neither is being against it.
    """
    first = _first(read(other, lexicon), lexicon)
    if not (first and need.thing <= first):
        return 0.0
    share = len(need.thing) / len(first)
    return share if share >= ABOUT else 0.0


def _found(words: Sequence[Word], turned: Sequence[Sense], lexicon: Lexicon) -> Iterator[Need]:
    """Yield what each word names that puts something in order."""
    is_supposed = False
    for number, word in enumerate(words):
        if word.code:
            continue
        is_supposed = word.text in _SUPPOSING or (is_supposed and word.text not in _ENDS)
        if is_supposed or not _is_cue(words, number):
            continue
        is_against = not _FORBIDDING.isdisjoint(turned[max(0, number - 1) : number + 1])
        if is_against and word.text not in _LATER | {"until"}:
            continue
        named = list(_named(words[number + 1 :], lexicon))
        thing = frozenset(stem for _, stem in named if stem)
        telling = {each for each, stem in named if stem} - _GENERAL
        if telling and len(thing) <= _MOST and _POINTING.isdisjoint(dict(named)):
            said = " ".join([word.text, *(each for each, _ in named)])
            yield Need(said, thing, comes_first=word.text in _FIRST or is_against)


def _is_cue(words: Sequence[Word], number: int) -> bool:
    """Tell whether a word puts what follows it in order."""
    after = words[number + 1].text if number + 1 < len(words) else ""
    text = words[number].text
    return text in _FIRST | _LATER and after not in _VERBAL and f"{text} {after}" != "after all"


def _named(words: Sequence[Word], lexicon: Lexicon) -> Iterator[tuple[str, str | None]]:
    """Yield the words of what is named, up to the end of the clause, with their stems."""
    is_named = False
    for word in words:
        if not word.code and (word.text in _ENDS or (word.text in _JOINS and is_named)):
            return
        stem = weighty(word, lexicon)
        is_named = is_named or stem is not None
        yield word.text, stem


def _first(reading: Reading, lexicon: Lexicon) -> frozenset[str]:
    """Return the stems of what a statement asks for first; empty if it is against that.

    A label says nothing yet, and neither does what is only put in order: "before committing,".
    """
    found: dict[str, Sense] = {}
    is_named = False
    words = reading.wording.words
    for number, (word, sense) in enumerate(
        zip(words, senses(reading.wording, lexicon), strict=True)
    ):
        if not word.code and word.text in _ENDS:
            if found.keys() - reading.label:
                break
            found, is_named = {}, False
            continue
        is_named = is_named or (not word.code and _is_cue(words, number))
        stem = weighty(word, lexicon)
        if stem is not None and not is_named:
            found[stem] = sense
    return frozenset(found) if set(found.values()) <= {Sense.WANTED} else frozenset()
