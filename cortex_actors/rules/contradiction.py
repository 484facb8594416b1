"""Whether two texts say the opposite, by the words they negate with.

Cheap and blunt: it sees that one text says "always" and the other "never", and not what they say it
of. It is asked only about texts whose vectors already say that they are about one thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

#: A word -> phrases that say the opposite. A negated word is not the word: "should not" holds no
#: "should", and "do not use" is no "use".
PAIRS = (
    ("always", ("never", "not always")),
    ("use", ("avoid", "avoid use", "avoid the use", "never use", "not use")),
    ("should", ("should not", "should never")),
    ("prefer", ("avoid", "never prefer", "not prefer")),
    ("must", ("must not", "must never")),
    ("enable", ("disable", "never enable", "not enable")),
)

#: "don't" and its like, so that the table needs only "not".
_SHORT = re.compile(r"\b(do|does|should|must)n['\u2019]t\b")


class _Side(Enum):
    """Which side of a pair a text is on."""

    WORD = auto()
    OPPOSITE = auto()


@dataclass(frozen=True, slots=True)
class Opposition:
    """The phrases by which two texts disagree: the first text's, then the second's."""

    left: str
    right: str


def contradicts(left: str, right: str) -> bool:
    """Whether one text says a word and the other its opposite; the order does not matter."""
    return opposition(left, right) is not None


def opposition(left: str, right: str) -> Opposition | None:
    """Return the first pair of phrases by which the texts disagree, or None.

    Texts that are both on both sides of a pair do not disagree on it: the same text twice agrees.
    """
    one, other = _plain(left), _plain(right)
    for word, opposite in _PATTERNS:
        here, there = _sides(one, word, opposite), _sides(other, word, opposite)
        if here.keys() == there.keys():
            continue
        for side, against in ((_Side.WORD, _Side.OPPOSITE), (_Side.OPPOSITE, _Side.WORD)):
            if side in here and against in there:
                return Opposition(here[side], there[against])
    return None


def _sides(text: str, word: re.Pattern[str], opposite: re.Pattern[str]) -> dict[_Side, str]:
    """Return the sides a text is on, with the phrase that says so."""
    against = opposite.search(text)
    # Taken out first, so that the word inside its own negation is not met again.
    said = word.search(opposite.sub(" ", text))
    found = {_Side.WORD: said, _Side.OPPOSITE: against}
    return {side: match[0] for side, match in found.items() if match is not None}


def _plain(text: str) -> str:
    """Return the text in lower case, "don't" as "do not", one space between words."""
    return " ".join(_SHORT.sub(r"\1 not", text.lower()).split())


def _any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for whole phrases; the longest is tried first."""
    ordered = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b")


_PATTERNS = tuple((_any_of(word), _any_of(*opposites)) for word, opposites in PAIRS)
