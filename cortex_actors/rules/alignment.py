"""Two statements word by word: where they differ, and whether that turns what they say.

Most contradictions of one file with an older version of itself are of this kind: everything is the
same but one number, name or path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, auto
from typing import TYPE_CHECKING

from cortex_actors.text.claims import SPELT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon, Word

#: Share of words in the same order from which two statements are one with changes.
ALIKE = 0.55

#: Words compared: what differs in pages is no single change.
MOST = 80

#: Words that may stand where the other statement has a name.
_FEW = 4

_DIGITS = re.compile(r"[<>~^]?v?\d[\d.,]*[%+x]?[a-z]{0,2}")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "enabled", "disabled", "none"})
_ARTICLES = frozenset({"a", "an", "the", "your", "our", "its", "their", "der", "die", "das", "ein"})


class Difference(Enum):
    """What kind of thing stands at one place of two statements that are else the same."""

    NUMBER = auto()
    SWITCH = auto()
    NAME = auto()
    #: A name on one side, some words on the other.
    PLACE = auto()
    #: One word for one other.
    WORD = auto()
    OPPOSITE = auto()
    WORDS = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """One place where two statements differ.

    Attributes:
        left, right: what stands there; one of them may be empty.
        before: the last words before it, in the left statement.
        tool: whether it is the beginning of a command that goes on alike: another tool for it.

    """

    kind: Difference
    left: str
    right: str
    before: tuple[str, ...]
    tool: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """How two statements lie beside each other."""

    ratio: float
    shared: int
    changes: tuple[Change, ...]

    @property
    def is_close(self) -> bool:
        """Whether they are one statement with changes."""
        return self.ratio >= ALIKE


def align(left: Reading, right: Reading, *, lexicon: Lexicon) -> Alignment:
    """Return how two statements lie beside each other."""
    one, other = left.wording.spoken[:MOST], right.wording.spoken[:MOST]
    matcher = SequenceMatcher(None, _keys(one, lexicon), _keys(other, lexicon), autojunk=False)
    changes = [
        Change(
            _kind(one[a:b], other[c:d], lexicon),
            " ".join(each.text for each in one[a:b]),
            " ".join(each.text for each in other[c:d]),
            _before(left, one, a),
            tool=_goes_on(one, b) and _goes_on(other, d),
        )
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]
    shared = sum(block.size for block in matcher.get_matching_blocks())
    return Alignment(matcher.ratio(), shared, tuple(changes))


def _keys(words: Sequence[Word], lexicon: Lexicon) -> list[str]:
    return [lexicon.synonyms.get(each.stem, each.stem) for each in words]


def _before(said: Reading, words: Sequence[Word], number: int) -> tuple[str, ...]:
    """Return the three words or signs before a word of a statement, or before its code."""
    if number >= len(words):
        return ()
    every = said.wording.words
    place = every.index(words[number])
    while place and every[place].code and every[place - 1].code == every[place].code:
        place -= 1
    return tuple(each.text for each in every[max(0, place - 3) : place])


def _goes_on(words: Sequence[Word], end: int) -> bool:
    """Whether the code in which a change ends goes on after it."""
    return 0 < end < len(words) and words[end - 1].code == words[end].code > 0


def _kind(left: Sequence[Word], right: Sequence[Word], lexicon: Lexicon) -> Difference:
    """Return what kind of thing differs."""
    if not left or not right:
        return Difference.WORDS
    one, other = {each.text for each in left}, {each.text for each in right}
    if any(lexicon.antonyms.get(each, frozenset()) & other for each in one):
        return Difference.SWITCH if one & _SWITCHES else Difference.OPPOSITE
    if _has_number(one) and _has_number(other):
        return Difference.NUMBER
    if any(map(_is_name, left)) and any(map(_is_name, right)):
        return Difference.NAME
    if any(map(_is_name, [*left, *right])) and max(len(left), len(right)) <= _FEW:
        return Difference.PLACE
    left, right = _weighty(left), _weighty(right)
    if len(left) == len(right) == 1 and not {left[0].stem, right[0].stem} & lexicon.light:
        return Difference.WORD
    return Difference.WORDS


def _weighty(words: Sequence[Word]) -> Sequence[Word]:
    """Return words without an article: "mallory" stands for "a colleague" as one word for one."""
    return [each for each in words if each.text not in _ARTICLES]


def _has_number(words: set[str]) -> bool:
    return any(_DIGITS.fullmatch(each) or each in SPELT for each in words)


def _is_name(word: Word) -> bool:
    return word.code > 0 or word.proper or any(each in word.text for each in "./_@#")
