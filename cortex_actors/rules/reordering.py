"""Two texts with the same words in another order: whether they still say the same. Pure.

Who does something to whom is often told by the order alone: "Anna reviews Ben's requests". So what
both have must stand in one order, but for a phrase that says how, when or where: such a one may
move. When in doubt the two say different things, and stay two.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from cortex_actors.text.lexicon import STOP_WORDS, stem
from cortex_actors.text.summary import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Words with which a phrase begins that stands first or last in a sentence, and may do either.
_LEADING: Final = frozenset(
    "about above across after against along among around as at because before behind below beneath"
    " beside between by during for from in inside into like near of off on onto out outside over"
    " per since through to toward under until up upon via with within".split()
)

#: Words that say how or when, beside those with the ending of most; they may stand anywhere.
_ADVERBS: Final = frozenset(
    "again already always often usually here there now today still so very well later soon".split()
)
_ENDING: Final = "ly"
_NO_ADVERBS: Final = frozenset("anomaly apply assembly family only reply supply".split())

#: Phrases that may stand anywhere too: where another one stands tells to what it belongs.
_ANYWHERE: Final = frozenset(
    {
        ("by", "default"),
        ("by", "now"),
        ("at", "once"),
        ("at", "the", "moment"),
        ("at", "runtime"),
        ("at", "startup"),
        ("in", "general"),
        ("in", "practice"),
        ("for", "now"),
        ("of", "course"),
        ("so", "well"),
    }
)

#: Words of a phrase that moves at most.
_LONGEST: Final = 6

#: Words at least: of two, one tells what is done with the other, wherever they stand.
_FEWEST: Final = 3

#: Words by which what is done is told of whom it is done to.
_BEING: Final = frozenset("be been being is are was were".split())

#: Sentences of a text that are compared: of a longer one the first.
_COMPARED: Final = 8

#: Signs that belong to no word, and what is left of a possessive.
_SIGNS: Final = "\"'`\u201c\u201d\u2018\u2019()[].,;:!?\u2026\u3002\uff01\uff1f"
_OWNING: Final = ("'s", "\u2019s")


def reordered(text: str, other: str) -> str | None:
    """Return why two texts of the same words say different things, or None."""
    mine = [(each, _row(each)) for each in sentences(text)[:_COMPARED]]
    its = [(each, _row(each)) for each in sentences(other)[:_COMPARED]]
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

    Where a word of one is not in the other, somebody says it otherwise, and the order is free:
    asking for most words alone kept six of forty unseen duplicates apart.
    """
    mine, its = Counter(map(_bare, one)), Counter(map(_bare, other))
    content = _content(one)
    if content.total() < _FEWEST or content != _content(other):
        return False
    equal = {each for each in mine if mine[each] == its[each] and _tells(each)}
    left = [each for each in one if _bare(each) in equal]
    right = [each for each in other if _bare(each) in equal]
    rows = [*map(_bare, left)], [*map(_bare, right)]
    return rows[0] != rows[1] and not moves(left, right) and not _is_turned(mine, its, rows)


def _is_turned(
    mine: Counter[str], its: Counter[str], rows: tuple[Sequence[str], Sequence[str]]
) -> bool:
    """Tell whether two neighbours change places as another construction wants it.

    "Deploys on Friday" are "Friday deploys", and what "ought to be pinned" somebody pins. Whoever
    does it stands between the two, or behind "by", where it is told.
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


def _tells(word: str) -> bool:
    """Tell whether the place of a word means something: not that of an article."""
    return word not in STOP_WORDS or word in _LEADING


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
