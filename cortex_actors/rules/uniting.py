"""Two texts as one, without a model: everything that either says, once. Pure.

A sentence is left out only where another one has all of its words, side by side and in their order,
or with one phrase moved that says how, when or where; and where nothing that stands beside them
could turn what they say. Everything else stays as it was written, so that no merge loses a
sentence.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.reordering import moves
from cortex_actors.text.summary import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Words that turn, limit or doubt what stands beside them: with one of these, more words are not
#: more of the same, and with one of them in another place a sentence says something else.
TURNING: Final = frozenset(
    "not no never none nor neither cannot can't don't doesn't didn't won't isn't aren't wasn't"
    " shouldn't without only just even also except unless until if when but instead rather than"
    " before after hardly rarely seldom sometimes almost maybe perhaps might may could should would"
    " false wrong untrue unlike stop stopped avoid skip ignore former formerly previously used"
    " claims claimed says said thinks believes whether why who what how was were ?".split()
)

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


def united(a: str, b: str, *, prefer: Prefer = Prefer.EQUAL) -> str:
    """Return one text that says what two say.

    One of them where it says all that the other does, else every sentence of both once: those of
    the preferred text first, of `b`, the older one, where neither is preferred. Which of two equal
    wordings stays does not depend on the order then.
    """
    first, second = (a, b) if prefer is Prefer.A else (b, a)
    if says(first, second) and not (prefer is Prefer.EQUAL and _is_richer(second, first)):
        return first
    if says(second, first):
        return second
    kept = list(sentences(first))
    for each in sentences(second):
        if any(covers(there, each) for there in kept):
            continue
        shorter = [there for there in kept if covers(each, there)]
        if shorter:  # the longer one takes the first one's place
            kept[kept.index(shorter[0])] = each
        else:
            kept.append(each)
        kept = [there for there in kept if there not in shorter]
    return _joined(kept)


def says(text: str, other: str) -> bool:
    """Tell whether a text says all that another one does: each of its sentences."""
    mine = sentences(text)
    return all(any(covers(there, each) for there in mine) for each in sentences(other))


def covers(sentence: str, other: str) -> bool:
    """Tell whether a sentence has all words of another one, and nothing that would turn them."""
    mine, its = _spoken(sentence), _spoken(other)
    if mine == its:
        return bool(its) or sentence == other
    if not its or len(mine) < len(its):
        return False
    if len(mine) == len(its):
        return _moved(mine, its)
    place = _within(mine, its)
    return place is not None and TURNING.isdisjoint((*mine[:place], *mine[place + len(its) :]))


def _spoken(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence as they are compared: signs within them count, and asking."""
    found = (each.lstrip(_OPENING).rstrip(_CLOSING) for each in sentence.casefold().split())
    asked = ("?",) if sentence.rstrip(_QUOTES).endswith("?") else ()
    return (*(each for each in found if each), *asked)


def _moved(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two rows of words differ in the place of one phrase that turns nothing."""
    differing = [x for x, y in zip(one, other, strict=True) if x != y]
    if len(differing) < _FEWEST or not TURNING.isdisjoint(differing):
        return False
    return moves(one, other)


def _within(row: tuple[str, ...], part: tuple[str, ...]) -> int | None:
    """Return where a row of words has another one in it; None where it has not."""
    last = len(row) - len(part)
    return next((n for n in range(last + 1) if row[n : n + len(part)] == part), None)


def _is_richer(text: str, other: str) -> bool:
    """Tell which of two texts that say the same stays, whatever their order."""
    return says(text, other) and (len(text), text) > (len(other), other)


def _joined(kept: Sequence[str]) -> str:
    """Return sentences as one text: on a line each, where they would not be told apart again."""
    line = " ".join(kept)
    return line if sentences(line) == tuple(kept) else "\n".join(kept)
