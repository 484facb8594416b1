"""Code points that a reader cannot see and a model reads: where they are, and how to show them.

Text can be smuggled past a human in tags, in runs of variation selectors, in zero-width letters,
and behind marks that turn the direction of what is shown. What scripts and emoji need of these is
let through where they need it: one joiner between the letters it joins, one selector behind what
it selects. Everything else is found. Nothing is ever taken out: a person decides.

Categories and ranges are those of Unicode 14 to 16 (`unicodedata` of Python 3.11 is at 14).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Code points an alert names; the others are counted. A smuggled page has thousands.
NAMED = 4

#: Letters of a text hidden in tags that an alert quotes.
SPELLED = 60

#: Tags are ASCII moved up by this much, and nothing draws them.
_TAGS, TAG = 0xE0000, "tag"

#: Letters of which is kept whether they are suspicious: more than most languages have.
_LETTERS = 8_192

#: Control characters that text files hold: tab, line feed, form feed, carriage return.
_PLAIN = frozenset("\t\n\f\r")

#: Categories nobody sees: format, private use, unassigned, surrogate, control, separators of lines.
_UNSEEN = frozenset({"Cf", "Co", "Cn", "Cs", "Cc", "Zl", "Zp"})

#: Code points of other categories that leave a blank or nothing: joiners and fillers of Hangul and
#: Khmer, the selectors of variants, the Braille cell without dots and the note without a head.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159"
    "\U000e0100-\U000e01ef]"
)

#: Of category Cf and drawn all the same: signs that stand above the number after them.
_DRAWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")

#: Unassigned in Unicode 14 and no secret: later emoji and ideographs.
_LATER = re.compile("[\U0001f000-\U0001faff\U0002ebf0-\U0002ee5d\U00031350-\U0003347f]")

#: What a text may need its zero-width joiner and non-joiner for: scripts whose letters join.
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc]"
)
_JOINER, _NON_JOINER = "\u200d", "\u200c"

#: Marks without width that put a neighbouring sign on the right side of right-to-left text.
_MARKS = frozenset("\u061c\u200e\u200f")
_RIGHT_TO_LEFT = frozenset({"R", "AL"})

#: What one variation selector may follow, beside symbols: signs that have an emoji form.
_SELECTABLE = frozenset("\u203c\u2049\u3030\u303d")
_SYMBOLS = frozenset({"So", "Sm", "Sk"})
_KEYS, _KEYCAP = frozenset("0123456789#*"), "\u20e3"
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003347f]")
_MONGOLIAN = re.compile("[\u1820-\u18aa]")

#: The three flags that are written in tags: England, Scotland and Wales.
_FLAGS = re.compile(
    "\U0001f3f4(?:\U000e0067\U000e0062)"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)

#: Blanks between the cells of Braille, in its texts and in drawings made of it.
_BLANK, _BLANKS, _LAST_CELL = "\u2800", re.compile(r"[\u2800\s]+"), "\u28ff"

#: What a found code point is called, by the first range that holds it.
_CALLED = (
    (0xE0000, 0xE007F, TAG),
    (0xE0100, 0xE01EF, "variation selector"),
    (0xFE00, 0xFE0F, "variation selector"),
    (0x202A, 0x202E, "direction control"),
    (0x2066, 0x2069, "direction control"),
    (0x200E, 0x200F, "direction control"),
    (0x061C, 0x061C, "direction control"),
    (0xDC80, 0xDCFF, "byte that is not UTF-8"),
)
_BY_CATEGORY = {
    "Cc": "control character",
    "Co": "private use",
    "Cn": "unassigned",
    "Cs": "half a character",
}


@dataclass(frozen=True, slots=True)
class Hidden:
    """A code point nobody sees.

    Attributes:
        start: where it stands, in code points from the beginning of the text.
        code: its number.
        what: what kind of thing it is, in plain words.

    """

    start: int
    code: int
    what: str

    def __str__(self) -> str:
        """Return the code point by number and name."""
        name = unicodedata.name(chr(self.code), self.what)
        return f"U+{self.code:04X} {name}"


def hidden(text: str) -> tuple[Hidden, ...]:
    """Return the code points of a text that are not seen and not needed, in its order.

    Linear in the text; for text without a suspicious letter the price is one pass over its
    distinct letters.
    """
    suspects = {letter for letter in set(text) if _is_suspect(letter)}
    if not suspects:
        return ()
    needed = _flagged(text) | (_between_cells(text) if _BLANK in suspects else frozenset())
    return tuple(
        Hidden(place, ord(letter), _called(letter))
        for place, letter in enumerate(text)
        if letter in suspects and place not in needed and not _is_needed(text, place)
    )


def visible(text: str) -> str:
    r"""Return a text with its hidden code points written out, such as `\u{200b}`.

    A byte that is not UTF-8 is written `\x{e9}`. The result holds nothing hidden, and can be
    stored and encoded. What is not hidden stays as it is.
    """
    places = {each.start for each in hidden(text)}
    if not places:
        return text
    return "".join(
        _written(letter) if place in places else letter for place, letter in enumerate(text)
    )


def seen(text: str) -> str:
    """Return a text without its hidden code points."""
    places = {each.start for each in hidden(text)}
    return "".join(letter for place, letter in enumerate(text) if place not in places)


def told(found: Sequence[Hidden]) -> str:
    """Return what was found as one line for a person: how many, which, and what tags spell."""
    spelled = "".join(chr(each.code - _TAGS) for each in found if each.what == TAG)
    counts = Counter(str(each) for each in found if each.what != TAG)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    said = [f"tags that spell {spelled[:SPELLED]!r}"] if spelled else []
    said += [f"{name} x {count}" if count > 1 else name for name, count in ranked[:NAMED]]
    said += [f"{len(ranked) - NAMED} others"] if len(ranked) > NAMED else []
    return f"{len(found)} hidden: {', '.join(said)}"


@lru_cache(maxsize=_LETTERS)
def _is_suspect(letter: str) -> bool:
    """Tell whether a letter has to be looked at where it stands."""
    if letter in _PLAIN or letter in _DRAWN:
        return False
    category = unicodedata.category(letter)
    if category == "Cn":
        # Later emoji and ideographs are known; the last two of every plane are never assigned.
        return _LATER.match(letter) is None or ord(letter) & 0xFFFE == 0xFFFE  # noqa: PLR2004
    return category in _UNSEEN or _IGNORABLE.match(letter) is not None


def _flagged(text: str) -> frozenset[int]:
    """Return the places of the tags that spell one of the known flags."""
    return frozenset(
        place for match in _FLAGS.finditer(text) for place in range(match.start() + 1, match.end())
    )


def _between_cells(text: str) -> frozenset[int]:
    """Return the places of the blanks beside a cell of Braille that has dots."""
    places: set[int] = set()
    for match in _BLANKS.finditer(text):
        start, end = match.span()
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        if any(_BLANK < each <= _LAST_CELL for each in around):
            places.update(range(start, end))
    return frozenset(places)


def _is_needed(text: str, place: int) -> bool:
    """Tell whether a letter nobody sees does there what it is for."""
    letter = text[place]
    before = text[place - 1] if place else ""
    after = text[place + 1 : place + 2]
    if letter in (_JOINER, _NON_JOINER):
        # Whether a joiner stands between emoji, or behind a letter of a script that joins.
        if _JOINING.match(before):
            return letter == _JOINER or _JOINING.match(after) is not None
        return letter == _JOINER and _is_picture(before) and _is_picture(after)
    if letter in _MARKS:
        return _is_right_to_left(before) or _is_right_to_left(after)
    return _IGNORABLE.match(letter) is not None and _selects(letter, before, after)


def _is_picture(letter: str) -> bool:
    """Tell whether a letter is an emoji or the end of one."""
    if letter == "\ufe0f" or _LATER.match(letter):
        return True
    return bool(letter) and unicodedata.category(letter) in _SYMBOLS


def _is_right_to_left(letter: str) -> bool:
    """Tell whether a letter is written from right to left."""
    return bool(letter) and unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT


def _selects(letter: str, before: str, after: str) -> bool:
    """Tell whether a variation selector stands behind something that has variants."""
    if "\u180b" <= letter <= "\u180f":
        return _MONGOLIAN.match(before) is not None
    if letter >= "\U000e0100":
        return _HAN.match(before) is not None
    if not "\ufe00" <= letter <= "\ufe0f" or not before:
        return False
    if before in _KEYS:
        return after == _KEYCAP
    has_forms = before in _SELECTABLE or unicodedata.category(before) in _SYMBOLS
    return has_forms or _HAN.match(before) is not None or _LATER.match(before) is not None


def _called(letter: str) -> str:
    """Return what kind of hidden thing a letter is."""
    code = ord(letter)
    for first, last, name in _CALLED:
        if first <= code <= last:
            return name
    return _BY_CATEGORY.get(unicodedata.category(letter), "without width")


def _written(letter: str) -> str:
    """Return a hidden letter in letters everybody sees."""
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - how Python keeps bytes that are not UTF-8
        return f"\\x{{{code - 0xDC00:02x}}}"
    return f"\\u{{{code:04x}}}"
