"""Whether two statements make one claim in two wordings.

Two statements word by word: where they differ, and whether that turns what they say.

Most contradictions of one file with an older version of itself are of this kind: everything is the
same but one number, name or path.

Two texts with the same words in another order: whether they still say the same. Pure.

Who does something to whom is often shown by the order alone: "Anna reviews Ben's requests". So what
both have must be in one order, but for a phrase that says how, when or where: such a one may
move. When in doubt the two say different things, and stay two.

How alike two vectors are, and from where on that means something.

Whether a question is about nothing that is known, as far as words and vectors can tell.

A search by meaning always has a nearest text, however far it is. The hits are kept, and a note says
what they are worth.

Whether a section says anything of its own.

Many instruction files begin with a title and nothing else, or only point to another file. As
insights those would be the ones that most projects "agree" on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from difflib import SequenceMatcher
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from cortex_actors.text.claims import SPELT, ClaimReading, spell_in_digits
from cortex_actors.text.lexicon import STOP_WORDS, Lexicon, Sense, Word, load_table, stem
from cortex_actors.text.summary import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


#: Share of words in the same order from which two statements are one with changes.
ALIGNED = 0.55

#: Words compared: what differs in pages is no single change.
MOST = 80

#: Words that the other statement may have in place of a name.
_FEW = 4

_DIGITS = re.compile(r"[<>~^]?v?\d[\d.,]*[%+x]?[a-z]{0,2}")
_ARTICLES = frozenset({"a", "an", "the", "your", "our", "its", "their", "der", "die", "das", "ein"})


class Difference(Enum):
    """What kind of thing is at one place of two statements that are else the same."""

    #: Another number, name or choice, or the opposite.
    HARD = auto()
    #: A name on one side, some words on the other.
    PLACE = auto()
    #: One word for one other.
    WORD = auto()
    WORDS = auto()


def align(
    left: ClaimReading, right: ClaimReading, *, lexicon: Lexicon
) -> tuple[float, list[Difference]]:
    """Return the share of words that two statements have in one order, and where they differ."""
    one, other = left.wording.spoken[:MOST], right.wording.spoken[:MOST]
    matcher = SequenceMatcher(None, _keys(one, lexicon), _keys(other, lexicon), autojunk=False)
    return matcher.ratio(), [
        _kind(one[a:b], other[c:d], lexicon)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _keys(words: Sequence[Word], lexicon: Lexicon) -> list[str]:
    return [lexicon.synonyms.get(each.stem, each.stem) for each in words]


def _kind(left: Sequence[Word], right: Sequence[Word], lexicon: Lexicon) -> Difference:
    """Return what kind of thing differs."""
    if not left or not right:
        return Difference.WORDS
    one, other = {each.text for each in left}, {each.text for each in right}
    if any(lexicon.antonyms.get(each, frozenset()) & other for each in one):
        return Difference.HARD
    if _has_number(one) and _has_number(other):
        return Difference.HARD
    if any(map(_is_name, left)) and any(map(_is_name, right)):
        return Difference.HARD
    if any(map(_is_name, [*left, *right])) and max(len(left), len(right)) <= _FEW:
        return Difference.PLACE
    left, right = _weighty(left), _weighty(right)
    if len(left) == len(right) == 1 and not {left[0].stem, right[0].stem} & lexicon.light:
        return Difference.WORD
    return Difference.WORDS


def _weighty(words: Sequence[Word]) -> Sequence[Word]:
    """Return words without an article: "mallory" for "a colleague" is one word for one."""
    return [each for each in words if each.text not in _ARTICLES]


def _has_number(words: set[str]) -> bool:
    return any(_DIGITS.fullmatch(each) or each in SPELT for each in words)


def _is_name(word: Word) -> bool:
    return word.code > 0 or word.proper or any(each in word.text for each in "./_@#")


#: Words of a statement that says less than another one, at least: fewer are a label.
LESS = 3

#: Words that a short fact has at most: two projects say the same so by chance.
BRIEF = 3

#: Likeness from which a single other word is another thing, and no other way to say it.
VERBATIM = 0.8


def measure_overlap(left: ClaimReading, right: ClaimReading) -> tuple[float, float]:
    """Return how much of both, and of the shorter one, two statements share."""
    one, other = set(left.stems), set(right.stems)
    if not one or not other:
        return 0.0, 0.0
    both = len(one & other)
    return both / len(one | other), both / min(len(one), len(other))


def find_difference(left: ClaimReading, right: ClaimReading, *, lexicon: Lexicon) -> str | None:
    """Return what keeps two statements apart however alike they are, or None."""
    return (
        _facts_differ(left, right)
        or find_opposed_stance(left, right)
        or _words(left, right, lexicon)
    )


def _facts_differ(left: ClaimReading, right: ClaimReading) -> str | None:
    """Return the command, number, name or label in which two statements differ."""
    if left.command != right.command:
        return "they are different commands"
    if _numbers(left) != _numbers(right):
        return "their numbers differ"
    if left.names != right.names:
        return "they name different things"
    is_other = left.label and right.label and not left.label & right.label
    return "their labels differ" if is_other else None


def find_opposed_stance(left: ClaimReading, right: ClaimReading) -> str | None:
    """Return what one statement is against, excepts or wants, and the other does not."""
    agreed, denied, others = list_settled(left, right), _denied(left), _denied(right)
    # What they settled may be what one is against, if it is known what that is.
    is_known = bool(agreed and denied | others) or bool(left.ranges.keys() & right.ranges.keys())
    if left.denying is not right.denying and not is_known:
        return "one is against something"
    if left.excepting is not right.excepting:
        return "one has an exception"
    # One that is against the same as another may well want something that this one bars beside it.
    if not agreed and _turned(left, right) + _turned(right, left) > bool(denied & others):
        return "one wants what the other does not"
    return None


def _words(left: ClaimReading, right: ClaimReading, lexicon: Lexicon) -> str | None:
    """Return what replaces what, where two statements are else alike."""
    one, other = ({each.text for each in some.wording.words} for some in (left, right))
    if any(lexicon.distinct.get(each, frozenset()) & (other - one) for each in one - other):
        return "one has a word and the other its opposite"
    ratio, kinds = align(left, right, lexicon=lexicon)
    if ratio >= ALIGNED and Difference.HARD in kinds:
        return "they differ in a name or a value"
    # One changed word of another author's rule would else speak with that author's voice.
    alone = ratio >= ALIGNED and kinds == [Difference.WORD]
    if alone or (ratio >= VERBATIM and {Difference.WORD, Difference.PLACE}.intersection(kinds)):
        return "they differ in the one word that matters"
    return None


def _turned(left: ClaimReading, right: ClaimReading) -> bool:
    """Whether one statement is against something that the other wants."""
    return any(right.stems.get(each) is Sense.WANTED for each in _denied(left))


def _denied(reading: ClaimReading) -> set[str]:
    """Return the stems that a statement is against."""
    against = {Sense.AGAINST, Sense.BARRED}
    return {stem for stem, sense in reading.stems.items() if sense in against}


def list_settled(left: ClaimReading, right: ClaimReading) -> list[str]:
    """Return the things of which two statements choose, or reject, the same one."""
    both = left.positions.keys() & right.positions.keys()
    sides = {slot: (left.positions[slot].stand, right.positions[slot].stand) for slot in both}
    return sorted(slot for slot, (one, other) in sides.items() if one and one == other)


def keeps(fuller: ClaimReading, other: ClaimReading) -> bool:
    """Tell whether a statement says all that another one says, and may replace it.

    Its words hold those of the other one, wanted or forbidden as there; numbers, names, conditions
    and limits are the same. A command and what only announces something are no claims.
    """
    if fuller.command or other.command or fuller.unfinished or other.unfinished:
        return False
    if _bounds(fuller) != _bounds(other):
        return False
    mine, its = _claims(fuller), _claims(other)
    if mine == its:
        return bool(its)
    narrower = NARROWING & _plain(fuller) - _plain(other)
    return its < mine and len(its) >= LESS and not narrower


def is_local(reading: ClaimReading) -> bool:
    """Tell whether a fact is no claim by itself: a few words, or an entry of a list of files.

    Its heading says what it is about, and each project has its own `package.json`.
    """
    first = next(iter(reading.wording.words), None)
    is_entry = first is not None and (first.code > 0 or not first.text.isalpha())
    return is_entry or len(reading.stems) <= BRIEF


def _claims(reading: ClaimReading) -> frozenset[tuple[str, bool]]:
    """Return the words of a statement, each with whether it is against that."""
    denied = _denied(reading)
    return frozenset((spell_in_digits(each), each in denied) for each in reading.stems)


def _numbers(reading: ClaimReading) -> frozenset[str]:
    """Return the numbers of a statement in digits."""
    return frozenset(map(spell_in_digits, reading.numbers))


def _bounds(reading: ClaimReading) -> tuple[object, ...]:
    """Return what two statements of one claim share: numbers, names, conditions and limits."""
    limits = LIMITING & _plain(reading)
    return _numbers(reading), reading.names, reading.conditional, reading.excepting, limits


def _plain(reading: ClaimReading) -> frozenset[str]:
    """Return the words and signs of a statement outside code."""
    return frozenset(each.text for each in reading.wording.words if not each.code)


#: Words and signs that weaken or bound what is beside them: what one of two statements says
#: with one of these holds for less, or for something else.
LIMITING: Final = frozenset(load_table("likeness")["limiting"].split())

#: Words with one of which more a statement asks for less: where it holds, and what would do, too.
NARROWING: Final = frozenset(load_table("likeness")["narrowing"].split())

#: Words with which a phrase begins that is first or last in a sentence, and may be either.
_LEADING: Final = frozenset(load_table("likeness")["leading"].split())

#: Words that say how or when, beside those with the ending of most; they may be anywhere.
_ADVERBS: Final = frozenset(load_table("likeness")["adverbs"].split())
_ENDING: Final = "ly"
_NO_ADVERBS: Final = frozenset(load_table("likeness")["no_adverbs"].split())

#: Phrases that may be anywhere too: where another one is shows to what it belongs.
_ANYWHERE: Final = frozenset(tuple(each.split()) for each in load_table("likeness")["anywhere"])

#: Words of a phrase that moves at most.
_LONGEST: Final = 6

#: Words at least: of two, one says what is done with the other, wherever they are.
_FEWEST: Final = 3

#: Words by which what is done is said of the one it is done to.
_BEING: Final = frozenset("be been being is are was were".split())

#: Sentences of a text that are compared: of a longer one the first.
_COMPARED: Final = 8

#: Signs that belong to no word, and what is left of a possessive.
_SIGNS: Final = "\"'`\u201c\u201d\u2018\u2019()[].,;:!?\u2026\u3002\uff01\uff1f"
_OWNING: Final = ("'s", "\u2019s")


def find_reordering(text: str, other: str) -> str | None:
    """Return why two texts of the same words say different things, or None."""
    mine = [(each, _row(each)) for each in split_sentences(text)[:_COMPARED]]
    its = [(each, _row(each)) for each in split_sentences(other)[:_COMPARED]]
    known = {row for _, row in mine} & {row for _, row in its}
    for _, one in mine:
        for _, another in its:
            if one not in known and another not in known and _is_swapped(one, another):
                return "they say the same words in another order"
    return None


def moves(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two rows of words differ in the place of one phrase that may move."""
    if len(one) != len(other):
        return False
    begin = next((n for n, (x, y) in enumerate(zip(one, other, strict=True)) if x != y), len(one))
    end = len(one)
    while end > begin and one[end - 1] == other[end - 1]:
        end -= 1
    left, right = tuple(one[begin:end]), tuple(other[begin:end])
    is_whole = len(left) == len(one)
    return any(
        left[cut:] + left[:cut] == right
        and (_may_move(left[:cut], is_whole) or _may_move(left[cut:], is_whole))
        for cut in range(1, len(left))
    )


def _may_move(phrase: tuple[str, ...], is_whole: bool) -> bool:  # noqa: FBT001 - one plain fact
    """Tell whether a phrase says the same elsewhere: between the ends of a sentence, or within."""
    if phrase in _ANYWHERE or all(map(_is_adverb, phrase)):
        return True
    if not is_whole or len(phrase) > _LONGEST:
        return False
    return phrase[0] in _LEADING


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or (word.endswith(_ENDING) and word not in _NO_ADVERBS)


def _is_swapped(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two rows have the same words, and not in one order.

    Where a word of one is not in the other, the other says it otherwise, and the order is free:
    asking for most words alone kept six of forty unseen duplicates apart.
    """
    mine, its = Counter(map(_bare, one)), Counter(map(_bare, other))
    content = _content(one)
    if content.total() < _FEWEST or content != _content(other):
        return False
    # The place of an article means nothing.
    equal = {
        each
        for each in mine
        if mine[each] == its[each] and (each not in STOP_WORDS or each in _LEADING)
    }
    left = [each for each in one if _bare(each) in equal]
    right = [each for each in other if _bare(each) in equal]
    rows = [*map(_bare, left)], [*map(_bare, right)]
    return rows[0] != rows[1] and not moves(left, right) and not _is_turned(mine, its, rows)


def _is_turned(
    mine: Counter[str], its: Counter[str], rows: tuple[Sequence[str], Sequence[str]]
) -> bool:
    """Tell whether two neighbours change places as another construction wants it.

    "Deploys on Friday" are "Friday deploys", and what "ought to be pinned" someone pins. The one
    who does it is between the two, or behind "by", where it is named.
    """
    places = [n for n, (x, y) in enumerate(zip(*rows, strict=True)) if x != y]
    if len(places) != 2 or places[1] != places[0] + 1:  # noqa: PLR2004 - two neighbours
        return False
    is_led = any(mine[each] != its[each] for each in _LEADING)
    is_passive = bool(_BEING & mine.keys()) is not bool(_BEING & its.keys())
    return (is_led or is_passive) and not ({"by"} & (mine.keys() | its.keys()))


def _content(words: Sequence[str]) -> Counter[str]:
    """Return the words that tell something, but for those that say how or when."""
    return Counter(_bare(each) for each in words if not (each in STOP_WORDS or _is_adverb(each)))


def _bare(word: str) -> str:
    """Return a word as it is compared; one that only holds a sentence together as it is."""
    return word if word in STOP_WORDS else stem(word)


def _row(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence, without signs and possessives; a lone capital is a name."""
    found = []
    for number, each in enumerate(sentence.split()):
        word = each.strip(_SIGNS)
        for owning in _OWNING:
            word = word.removesuffix(owning)
        if word:
            is_name = len(word) == 1 and word.isupper() and (number > 0 or word not in "AI")
            found.append(f"{word}." if is_name else word.casefold())
    return tuple(found)


Vector: TypeAlias = "Sequence[float] | npt.NDArray[np.float32]"

#: Cosine at which a new text is taken for one already known, if the two do not contradict.
MERGE = 0.92

#: Cosine at which two known texts are neighbours, and within a cluster duplicates.
CLUSTER = 0.88

#: Cosines, ends included, between which two texts may be about one thing and disagree.
SUSPECT = (0.5, 0.85)


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors, -1 to 1; 0 if either has no direction.

    Raises `ValueError` for vectors of different length, which come from different models, and for
    components that are not finite: both would give a number that means nothing.
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second that `cortex lint` does without

    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"cannot compare vectors of shapes {a.shape} and {b.shape}")
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not all(map(math.isfinite, lengths)):
        raise ValueError("cannot compare vectors with components that are not finite")
    if 0.0 in lengths:
        return 0.0
    # Divided one after the other: the product of two tiny lengths would be zero.
    raw = float(np.dot(a / lengths[0], b / lengths[1]))
    return min(max(raw, -1.0), 1.0)


#: Cosine below which two texts have nothing to do with each other. Unrelated pairs of texts stay
#: below it with all-MiniLM-L6-v2; models whose unrelated pairs lie higher only never get the note.
UNRELATED = 0.30

#: What is said of hits that share no word with the question and are not near it, either.
NOT_KNOWN = "nothing that is known holds these words; what is shown is the nearest in meaning only"

#: What is said of hits for a question of punctuation or pictures.
NO_WORDS = "the question holds no word that could be looked for"
_MEANING_ONLY = "what is shown is the nearest in meaning only"

#: What tells how a search went, of which no part was left out.
_REMARKS = frozenset({NOT_KNOWN, NO_WORDS, f"{NO_WORDS}; {_MEANING_ONLY}"})


def is_strange(*, named: int, nearest: float | None) -> bool:
    """Tell whether no text holds a word of the question and none is near it.

    `named` counts the texts that hold a word, `nearest` is the best cosine; None for no texts or no
    vector: then there is no hit that could mislead.
    """
    return not named and nearest is not None and nearest < UNRELATED


def explain_wordless(*, nearest: float | None) -> str:
    """Return what is said of a question without a word, whatever its vector is near."""
    return NO_WORDS if nearest is None else f"{NO_WORDS}; {_MEANING_ONLY}"


def is_gap(said: str) -> bool:
    """Tell whether what was said of a search means that a part of it was left out."""
    return said not in _REMARKS


#: HTML comments, which are for maintainers.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

#: Lines that name or point and say nothing: headings, rules, `@path`, a bare file name.
_EMPTY_LINE = re.compile(
    r"\s*(?:#{1,6}(?:\s.*)?|[-*_]{3,}|@\S+|\[[^\]]*\]\([^)]*\)|[\w./-]+\.(?:md|mdc|txt))?\s*"
)


def says_something(content: str) -> bool:
    """Tell whether any line is left when headings, comments and pointers are taken away."""
    lines = _COMMENT.sub("", content).splitlines()
    return any(_EMPTY_LINE.fullmatch(line) is None for line in lines)
