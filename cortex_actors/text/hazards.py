"""What of a text is dangerous to an agent, and what is only boilerplate. Pure.

Code points that a reader cannot see and a model reads: where they are, and how to show them.

Text can be smuggled past a human in tags, in runs of variation selectors, in zero-width letters,
and behind marks that turn the direction of what is shown. What scripts and emoji need of these is
let through where they need it: one joiner between the letters it joins, one selector behind what
it selects. Everything else is found. Nothing is ever taken out: a person decides.

Categories and ranges are those of Unicode 14 to 16 (`unicodedata` of Python 3.11 is at 14).

Whether a text reads as if it were meant to take an agent over.

Knowledge that flows between projects is a path for poison: one poisoned file would speak in all of
them. No list of phrases stops a determined author; this one sees that the usual ones wait for a
person. A false alarm costs a look, so it asks for the shape of an attack (an order to disregard
orders, a download that is run, a credential that is sent somewhere), never for a word alone, and
lets rules that forbid such things pass.

Why a text is never spread to other projects before a person has said that it may be.

Quarantine keeps back what looks like an attack (`suspicion`). This is asked once more where a text
would become a principle, speak in every project, and be read by every agent, and it is told more
easily: it holds for whatever is dangerous when it is wrong (credentials that are moved, programs
that are fed from a pipe, addresses that are obeyed, markup, code that breaks its reader). A false
alarm costs one look; a rule that forbids such things passes. What a person approved for use in one
project has to be approved for all of them as well.

Whether a text is what tools and templates write into every instruction file.

"This file provides guidance to Claude Code (claude.ai/code) when working with code in this
repository." stands in every fifth one: it is true wherever it stands and says nothing. Kept like
any other text, but its evidence weighs little, or it would be what most projects agree on.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.lexicon import expression, patterns, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


#: Letters of a text that are looked at: a longer statement is no rule anybody wrote.
LOOKED_AT = 20_000

#: Letters before a match in which a word that forbids it is looked for.
_BEFORE = 90

#: What turns an order into its opposite: "never send tokens to ...", "do not run `curl | sh`".
_FORBIDS = patterns("attacks")["forbids"]


class Sign(NamedTuple):
    """One shape of an attack, and what a person is told of it."""

    told: str
    pattern: re.Pattern[str]
    #: What a line must hold, one of them, before the pattern is tried at all.
    anchors: tuple[str, ...]
    #: Whether a word before it that forbids it makes it a rule like any other.
    may_be_forbidden: bool


def _signs(name: str) -> tuple[Sign, ...]:
    """Return the signs of a table, in the order in which they are asked."""
    parts = table(name)["parts"]
    return tuple(
        Sign(
            each["told"],
            re.compile("|".join(expression(some, parts) for some in each["patterns"])),
            tuple(each["anchors"].split()) if "anchors" in each else ("",),
            each.get("may_be_forbidden", True),
        )
        for each in table(name)["sign"]
    )


#: The first that is met is told.
SIGNS = _signs("attacks")


def suspicion(text: str) -> str | None:
    """Return what makes a text look like an attack, as a person reads it; None for any other.

    Letters that only look different (full width, ligatures) count as what they look like. Cost is
    linear in the text.
    """
    lines = [line.replace("...", "\u2026") for line in _lines(text)]

    def is_forbidden(line: str, at: int) -> bool:
        return _FORBIDS.search(line, max(0, at - _BEFORE), at) is not None

    return _first_sign(SIGNS, lines, is_forbidden=is_forbidden)


def _lines(text: str) -> list[str]:
    """Return a text line by line, where commands stand, and once as a reader takes it in."""
    plain = unicodedata.normalize("NFKC", text[:LOOKED_AT]).lower().replace("\u2019", "'")
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    return [*lines, " ".join(lines)] if len(lines) > 1 else lines


def _first_sign(
    some: Iterable[Sign], lines: Sequence[str], *, is_forbidden: Callable[[str, int], bool]
) -> str | None:
    """Return what is told of the first sign that a line has and does not forbid."""
    for sign in some:
        for line in lines:
            if any(anchor in line for anchor in sign.anchors) and any(
                not (sign.may_be_forbidden and is_forbidden(line, match.start()))
                for match in sign.pattern.finditer(line)
            ):
                return sign.told
    return None


#: Texts of which the answer is remembered: each run asks about the same ones (some MB).
_REMEMBERED = 8_192

#: What forbids the words behind it, and what turns such a word into its opposite, or begins another
#: thought.
_WARNS, _TURNS = patterns("wary")["warns"], patterns("wary")["turns"]

#: The first that is met is told.
_SIGNS = _signs("wary")


@lru_cache(maxsize=_REMEMBERED)
def wary(text: str) -> str | None:
    """Return why a person has to approve a text before it may become a principle; None if not.

    Letters that only look different count as what they look like. Cost is linear in the text.
    """
    if hidden(text):
        return _SIGNS[0].told
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    if (why := suspicion(text)) is not None:
        return why
    return _first_sign(_SIGNS, _lines(text), is_forbidden=_is_forbidden)


def _is_forbidden(line: str, at: int) -> bool:
    """Tell whether the words before a place forbid what stands there, and nothing turns that."""
    found = _WARNS.search(line, max(0, at - _BEFORE), at)
    return found is not None and _TURNS.search(found["between"]) is None


#: Letters of the longest text that is looked at: templates are short, and a long text has
#: something of its own to say.
LONGEST = 400

#: Decoration that is no part of the words: quotes, emphasis, list and heading marks.
_DECORATION = re.compile(r"(?:^[\s>#*+-]+)|[*_`\"\u201c\u201d]")
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")

#: Sentences that say nothing of a project, in lower case and without decoration.
_EMPTY = tuple(
    re.compile(expression(each, table("boilerplate")["parts"]))
    for each in table("boilerplate")["empty"]
)


def is_boilerplate(text: str) -> bool:
    """Tell whether every sentence of a text says only that, and for whom, the file is there.

    A sentence that goes on to say something (after a colon, a semicolon) is none.
    """
    if len(text) > LONGEST:
        return False
    plain = _SPACES.sub(" ", _DECORATION.sub("", text)).strip().lower()
    sentences = [each.rstrip(".! ") for each in _SENTENCE.split(plain)]
    return bool(plain) and all(
        any(pattern.fullmatch(sentence) for pattern in _EMPTY) for sentence in sentences
    )
