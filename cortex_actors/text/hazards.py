"""What of a text is dangerous to an agent, and what is only boilerplate. Pure.

Secrets in a text: what is surely one is taken out before anything keeps the text.

Rules look for the shape that an issuer gives its keys, for private keys, for passwords in addresses
and for values under a name that says what they are. Randomness alone decides nothing: checksums
and identifiers are random, too, and a text without them means something else.

The shapes of secrets are a table, `tables/secrets.toml`: a new issuer is one line there.

Clearing a text of secrets before anything keeps it: refused, or masked where that is wanted.

How a store's description names the token that the store wants: two spellings, one meaning.

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

Quarantine keeps back what looks like an attack (`find_suspicion`). This is asked once more where a
text would become a principle, speak in every project, and be read by every agent, and it answers
more easily: it holds for whatever is dangerous when it is wrong (credentials that are moved,
programs that are fed from a pipe, addresses that are obeyed, markup, code that breaks its reader).
A false alarm costs one look; a rule that forbids such things passes. What a person approved for use
in one project has to be approved for all of them as well.

Whether a text is what tools and templates write into every instruction file.

"This file provides guidance to Claude Code (claude.ai/code) when working with code in this
repository." is in every fifth one: it is true everywhere and says nothing. Kept like
any other text, but its evidence weighs little, or it would be what most projects agree on.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cortex_actors.errors import Refused
from cortex_actors.text.lexicon import expand_pattern, load_patterns, load_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


#: Letters before a value in which its name is looked for.
BEFORE = 60

#: Signs of a value that are read to judge it, but for its first one; the table has it, too.
_LONGEST = 512

_TABLE = load_table("secrets")


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret and its place: the group `value` of the pattern."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    #: What ends right where the pattern begins; None: no letter or digit does. Asked afterwards:
    #: a pattern that begins with many words, or looks back, is searched ten times as slowly.
    before: re.Pattern[str] | None = None
    #: What the value is, right behind the pattern. Asked last: a value may hold whatever another
    #: secret's name and value are made of, so one under no name must not pass over them.
    value: re.Pattern[str] | None = None

    def find_matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match with a `value` that follows the right thing."""
        for begun in self.pattern.finditer(text):
            if self._follows(text, begun.start()):
                found = begun if self.value is None else self.value.match(text, begun.end())
                if found is not None:
                    yield found

    def _follows(self, text: str, place: int) -> bool:
        """Tell whether a match that begins there follows the right thing."""
        if self.before is None:
            return place == 0 or not text[place - 1].isalnum()
        return self.before.search(text, max(0, place - BEFORE), place) is not None


def _shape(kind: str, anchors: str, **given: str) -> Shape:
    """Return a shape of the table: a key, or a value that is known by the text around it."""
    some = {name: expand_pattern(each, _TABLE["parts"]) for name, each in given.items()}
    pattern, words = some["pattern"], tuple(anchors.split())
    if "value" not in some and "(?P<value>" not in pattern:
        return Shape(kind, words, re.compile(f"(?P<value>{pattern})"))
    before = re.compile(rf"(?i:{some.get('before', '')})\Z")
    value = re.compile(some["value"]) if "value" in some else None
    return Shape(kind, words, re.compile(pattern), before, value)


#: What kind of shape -> its shapes, in the order in which they are asked.
SHAPES: Mapping[str, tuple[Shape, ...]] = {
    group: tuple(_shape(**each) for each in shapes) for group, shapes in _TABLE["shapes"].items()
}


#: Hex digits of a fingerprint: enough to tell secrets apart, too few to guess one by trying.
FINGERPRINT_DIGITS = 16

#: Words in place of a secret in an example; a value of only these, a few digits and signs
#: is none. Read without going back, the longest first, so that no text makes it slow.
_EXAMPLE = re.compile(
    rf"(?>{'|'.join(sorted(_TABLE['examples'].split(), key=len, reverse=True))}"
    r"|[\W_]|\d{1,4}(?!\d)|12345\d*)*+",
    re.IGNORECASE,
)

#: What says that a program or a reader fills the value in: variables, templates, masks, gaps. A
#: character that no one sees is written in braces, too, and hides nothing by that.
_FILLED_IN = re.compile(
    r"\A[<{]|\A\[\w|\[secret: ?|<[^<>\s]*>|(?<!\\[ux])\{[^{}]*\}|\A\$[\w:]+\Z|\$[({]"
    r"|%\(|%\w{3,}%|\*{3}|\.{3}|\u2026|x{6}|your[_-]|placeholder|changeme|\[\^?(?:\w-\w|\\)",
    re.IGNORECASE,
)

#: How Amazon's documentation marks the keys that it shows.
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?\Z")

#: What a program works out, and addresses and colours: where it is not between quotes, it is none.
_CODE = re.compile(
    r"\(*[A-Za-z_.]+[(\[]|(?:[\w.]*+\([^()]*\)+)+\Z|[\w.]+[!=<>]=|[\w+.-]+://"
    r"|#(?:[0-9a-fA-F]{3,4}){1,2}\Z"
)

#: Names of variables in capitals, used for a password in a command or an address.
_VARIABLE = re.compile(r"[A-Z]{2,}(?:_[A-Z]+)+")

#: What closes a bracket or quote at the end of a value, with the marks of a sentence behind it.
_CLOSING = re.compile(r"([)\]}>\"'`|])[.,:;!?]*\Z")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}

#: Signs before a value among which what is open there is looked for.
AROUND = 256

#: What is left of a value that is longer than its pattern.
_REST = re.compile(r"\S*")

#: Signs of a chosen password that names, versions and paths have not, and its fewest signs in all.
_SIGN, CHOSEN = re.compile(r"[^\w\s./:,'-]"), 6

#: One letter so often in a row that it was not drawn by chance.
_RUN = re.compile(r"(.)\1{7}")

#: Different letters a random value has at least.
FEWEST_LETTERS = 6

#: Changes between letters and digits in one piece of a random value, and such a piece's length.
CHANGES, PIECE = 3, 8
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SEPARATOR = re.compile(r"[-_./:]")

#: Share of neighbours that differ in case, or where digits begin or end: half of them in a drawn
#: value, a third in names like `getUserToken`. Shorter values, or in one case, tell too little.
MIXED, LONG = 0.4, 16
_TURN = re.compile(r"(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])")

#: What is random and no secret, whatever it is called: checksums that say so, and UUIDs.
_IDENTIFIER = re.compile(
    r"(?:sha\d{1,3}|md5|blake\w{1,3})[-:].*"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    re.IGNORECASE,
)
_HEX = re.compile(r"[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text.

    Attributes:
        kind: whose key it is, in lower case with hyphens.
        start: where it begins in the text as it was, in code points.
        end: behind its last one.
        value: the secret itself; it is in no representation, and is for `fingerprint` alone.

    """

    kind: str
    start: int
    end: int
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what they were."""

    text: str
    secrets: tuple[Secret, ...] = ()


def mask_secrets(text: str) -> Redacted:
    """Return a text with a marker such as `[secret: github-token]` for each of its secrets.

    It has as many lines as before. Linear in the text. A second time finds nothing more, and the
    same text always gives the same result, whatever its secrets are changed to.
    """
    found = [Secret(kind, start, end, text[start:end]) for start, end, kind in _apart(_found(text))]
    if not found:
        return Redacted(text)
    pieces, at = [], 0
    for each in found:
        # The lines of a key that spans several stay, so that what follows keeps its number.
        pieces += [text[at : each.start], f"[secret: {each.kind}]", "\n" * each.value.count("\n")]
        at = each.end
    return Redacted("".join([*pieces, text[at:]]), tuple(found))


def fingerprint(value: str, key: bytes) -> str:
    """Return what tells two secrets apart and gives neither away (HMAC-SHA-256, shortened)."""
    data = value.encode("utf-8", "surrogatepass")
    return hmac.new(key, data, hashlib.sha256).hexdigest()[:FINGERPRINT_DIGITS]


def _found(text: str) -> list[tuple[int, int, str]]:
    """Return beginning, end and kind of what the rules find, in the order of the rules."""
    lowered = text.lower()
    there = {anchor for anchor in _ANCHORS if anchor in lowered}
    found = []
    for shapes, admits in _RULES:
        for shape in shapes:
            if there.isdisjoint(shape.anchors):
                continue
            # Inside what this shape found already there is nothing more to take out, and to look
            # again from each name in it took 2.8 s for 64 KB of names in a row.
            reached = 0
            for match in shape.find_matches(text):
                start, end = match.start("value"), _end(match)
                if match.end("value") > reached and admits(match, text[start:end]):
                    rest = _REST.match(text, end) if end - start > _LONGEST else None
                    reached = rest.end() if rest else end
                    found.append((start, reached, shape.kind))
    return found


def _end(match: re.Match[str]) -> int:
    """Return where a value ends: one without quotes, before what closes something around it."""
    start, end = match.span("value")
    if not _is_bare(match):
        return end
    before = match.string[max(0, start - AROUND) : start].rpartition("\n")[2]
    while (last := _CLOSING.search(match.string, start, end)) is not None:
        closing = last[1]
        opening = _PAIRS.get(closing, closing)
        inside = match.string[start : last.start()]
        if opening == closing:
            is_around = before.count(closing) % 2 > inside.count(closing) % 2
        else:
            is_around = before.count(opening) > before.count(closing)
            is_around = is_around and inside.count(opening) <= inside.count(closing)
        if not is_around:
            break
        end = last.start()
    return end


def _is_bare(match: re.Match[str]) -> bool:
    """Tell whether a value ends where the blanks begin, and not where its quote is closed."""
    return "quote" in match.re.groupindex and match["quote"] is None


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return what was found as places that do not overlap, of several the one from first to last.

    No part of a secret is left, whichever rule found more of it. It is of the kind that the rule
    says which was asked first, of those that found it from its beginning.
    """
    kept: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found, key=lambda one: one[0]):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end, kept[-1][2])
    return kept


def _is_key(_match: re.Match[str], value: str) -> bool:
    """Tell whether what has an issuer's shape is a key, and not the drawing of one."""
    is_drawn = _DOCUMENTED.search(value) or _RUN.search(value)
    return _is_given(value) and len(set(value)) >= FEWEST_LETTERS and not is_drawn


def _is_named(match: re.Match[str], value: str, *, sums: bool = True) -> bool:
    """Tell whether a value under a telling name is a secret; without `sums`, a hash is none.

    A phrase between quotes is one if any word of it is.
    """
    # The tests that cost least, and turn most away, come first.
    for word in (each.rstrip(".,:;!?") for each in value.split()):
        if _is_chosen(word) or (_is_random(word) and (sums or _HEX.fullmatch(word) is None)):
            is_code = _is_bare(match) and _CODE.match(value)
            is_plain = _EXAMPLE.fullmatch(word) or _IDENTIFIER.fullmatch(word)
            if not (is_code or is_plain) and _is_given(value) and _is_key(match, word):
                return True
    return False


def _is_chosen(value: str) -> bool:
    """Tell whether a value mixes what no word, number or name mixes, as passwords have to."""
    signs = set(_SIGN.findall(value))
    if len(value) < CHOSEN or not signs or not re.search(r"[^\W\d_]", value):
        return False
    has_cases = value not in (value.lower(), value.upper())
    return re.search(r"\d", value) is not None or (has_cases and len(signs) > 1)


def _is_random(value: str) -> bool:
    """Tell whether a value was drawn by chance, and not written by a person.

    Words, paths and names of variables are not: in none of their pieces do letters and digits
    change often.
    """
    pieces = [each for each in _SEPARATOR.split(value) if len(each) >= PIECE]
    if any(len(_CHANGE.findall(each)) >= CHANGES for each in pieces):
        return True
    is_long = len(value) >= LONG and value not in (value.lower(), value.upper())
    return is_long and len(_TURN.findall(value)) >= MIXED * len(value)


def _is_password(match: re.Match[str], value: str) -> bool:
    """Tell whether a value in the place of a password is one that a person chose."""
    user = match.groupdict().get("user")
    is_name = _VARIABLE.fullmatch(value) is not None
    return value != user and not is_name and _is_given(value) and not _EXAMPLE.fullmatch(value)


def _is_given(value: str) -> bool:
    """Tell whether a value is there, and not to be filled in."""
    return _FILLED_IN.search(value) is None


#: Which shapes there are, and what a match of theirs has to be.
_RULES: tuple[tuple[tuple[Shape, ...], Callable[[re.Match[str], str], bool]], ...] = (
    (SHAPES["keys"], _is_key),
    (SHAPES["named"], _is_named),
    (SHAPES["unsure"], partial(_is_named, sums=False)),
    (SHAPES["in_addresses"], _is_password),
)

#: Words, one of which is in each match of a shape: asked for once, whatever shapes share them.
_ANCHORS = frozenset(anchor for shapes, _ in _RULES for one in shapes for anchor in one.anchors)


def clear_secrets(text: str, *, what: str, redact: bool | None = False) -> str:
    """Return a text that holds no secret: as it was, or masked where `redact` is set.

    Raises `Refused` otherwise, which names the kind and the place of each secret and never the
    secret itself; `what` says whose text it is. None for `redact`: it cannot be asked for there.
    """
    found = mask_secrets(text)
    if not found.secrets or redact:
        return found.text
    places = "; ".join(_place(text, each) for each in found.secrets)
    or_masked = "" if redact is None else ", or have it masked with --redact (redact=true)"
    raise Refused(f"refused to keep {what}: it holds {places}; take it out{or_masked}")


def _place(text: str, secret: Secret) -> str:
    """Return the kind of a secret and its place, counted from 1."""
    before = text[: secret.start]
    line, column = before.count("\n") + 1, secret.start - (before.rfind("\n") + 1) + 1
    return f"a secret ({secret.kind}) in line {line} at character {column}"


#: Where a token comes from, in the order in which they win.
TOKEN_KEYS: Final = ("token", "token_keyring", "token_env")

#: What the other spelling begins with.
BEARER: Final = "bearer_"


def normalise_token_keys(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description that says `token...` for every `bearer_token...`.

    Where both are given and `token...` says something, that one holds. Everything else is kept as
    it is, in its order.
    """
    found: dict[str, Any] = {}
    for key, value in entry.items():
        name = key.removeprefix(BEARER)
        name = name if name in TOKEN_KEYS else key
        # A spelling that says nothing leaves the word to the other one.
        if name == key and not value and f"{BEARER}{key}" in entry:
            continue
        if name == key or not entry.get(name):
            found[name] = value
    return found


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

#: Categories no one sees: format, private use, unassigned, surrogate, control, separators of lines.
_UNSEEN = frozenset({"Cf", "Co", "Cn", "Cs", "Cc", "Zl", "Zp"})

#: Code points of other categories that leave a blank or nothing: joiners and fillers of Hangul and
#: Khmer, the selectors of variants, the Braille cell without dots and the note without a head.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159"
    "\U000e0100-\U000e01ef]"
)

#: Of category Cf and drawn all the same: signs that are drawn above the number after them.
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
    """A code point no one sees.

    Attributes:
        start: its place, in code points from the beginning of the text.
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


def find_hidden(text: str) -> tuple[Hidden, ...]:
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


def show_hidden(text: str) -> str:
    r"""Return a text with its hidden code points written out, such as `\u{200b}`.

    A byte that is not UTF-8 is written `\x{e9}`. The result holds nothing hidden, and can be
    stored and encoded. What is not hidden stays as it is.
    """
    places = {each.start for each in find_hidden(text)}
    if not places:
        return text
    return "".join(
        _written(letter) if place in places else letter for place, letter in enumerate(text)
    )


def drop_hidden(text: str) -> str:
    """Return a text without its hidden code points."""
    places = {each.start for each in find_hidden(text)}
    return "".join(letter for place, letter in enumerate(text) if place not in places)


def describe_hidden(found: Sequence[Hidden]) -> str:
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
    """Tell whether a letter has to be looked at in its place."""
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
    """Tell whether a letter no one sees does there what it is for."""
    letter = text[place]
    before = text[place - 1] if place else ""
    after = text[place + 1 : place + 2]
    if letter in (_JOINER, _NON_JOINER):
        # Whether a joiner is between emoji, or behind a letter of a script that joins.
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
    """Tell whether a variation selector follows something that has variants."""
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
_FORBIDS = load_patterns("attacks")["forbids"]


class Sign(NamedTuple):
    """One shape of an attack, and what a person reads about it."""

    told: str
    pattern: re.Pattern[str]
    #: What a line must hold, one of some words, before the pattern is tried at all.
    anchors: re.Pattern[str]
    #: Whether a word before it that forbids it makes it a rule like any other.
    may_be_forbidden: bool


def _signs(name: str) -> tuple[Sign, ...]:
    """Return the signs of a table, in the order in which they are asked."""
    parts = load_table(name)["parts"]
    return tuple(
        Sign(
            each["told"],
            re.compile("|".join(expand_pattern(some, parts) for some in each["patterns"])),
            re.compile("|".join(map(re.escape, each.get("anchors", "").split()))),
            each.get("may_be_forbidden", True),
        )
        for each in load_table(name)["sign"]
    )


#: The first that is met is reported.
SIGNS = _signs("attacks")


def find_suspicion(text: str) -> str | None:
    """Return what makes a text look like an attack, as a person reads it; None for any other.

    Letters that only look different (full width, ligatures) count as what they look like. Cost is
    linear in the text.
    """
    lines = [line.replace("...", "\u2026") for line in _lines(text)]

    def is_forbidden(line: str, at: int) -> bool:
        return _FORBIDS.search(line, max(0, at - _BEFORE), at) is not None

    return _first_sign(SIGNS, lines, is_forbidden=is_forbidden)


def _lines(text: str) -> list[str]:
    """Return a text line by line, as commands are written, and once as a reader takes it in."""
    plain = unicodedata.normalize("NFKC", text[:LOOKED_AT]).lower().replace("\u2019", "'")
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    return [*lines, " ".join(lines)] if len(lines) > 1 else lines


def _first_sign(
    some: Iterable[Sign], lines: Sequence[str], *, is_forbidden: Callable[[str, int], bool]
) -> str | None:
    """Return what is reported of the first sign that a line has and does not forbid."""
    for sign in some:
        for line in lines:
            if sign.anchors.search(line) and any(
                not (sign.may_be_forbidden and is_forbidden(line, match.start()))
                for match in sign.pattern.finditer(line)
            ):
                return sign.told
    return None


#: Texts of which the answer is remembered: each run asks about the same ones (some MB).
_REMEMBERED = 8_192

#: What forbids the words behind it, and what turns such a word into its opposite, or begins another
#: thought.
_WARNS, _TURNS = load_patterns("wary")["warns"], load_patterns("wary")["turns"]

#: The first that is met is reported.
_SIGNS = _signs("wary")


@lru_cache(maxsize=_REMEMBERED)
def find_caution(text: str) -> str | None:
    """Return why a person has to approve a text before it may become a principle; None if not.

    Letters that only look different count as what they look like. Cost is linear in the text.
    """
    if find_hidden(text):
        return _SIGNS[0].told
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    if (why := find_suspicion(text)) is not None:
        return why
    return _first_sign(_SIGNS, _lines(text), is_forbidden=_is_forbidden)


def _is_forbidden(line: str, at: int) -> bool:
    """Tell whether the words before a place forbid what is there, and nothing turns that."""
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
    re.compile(expand_pattern(each, load_table("boilerplate")["parts"]))
    for each in load_table("boilerplate")["empty"]
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
