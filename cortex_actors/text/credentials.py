"""Secrets in a text: what is surely one is taken out before anything keeps the text.

Rules look for the shape that an issuer gives its keys, for private keys, for passwords in addresses
and for values under a name that says what they are. Randomness alone decides nothing: checksums
and identifiers are random, too, and a text without them means something else.

The shapes of secrets are a table, `tables/secrets.toml`: a new issuer is one line there.

Clearing a text of secrets before anything keeps it: refused, or masked where that is wanted.

How a store's description names the token that the store wants: two spellings, one meaning.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import Refused
from cortex_actors.text.lexicon import expression, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


#: Letters before a value in which its name is looked for.
BEFORE = 60

#: Signs of a value that are read to judge it, but for its first one; the table has it, too.
LONGEST = 512

_TABLE = table("secrets")


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret and where it stands: the group `value` of the pattern."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    #: What ends right where the pattern begins; None: no letter or digit does. Asked afterwards:
    #: a pattern that begins with many words, or looks back, is searched ten times as slowly.
    before: re.Pattern[str] | None = None
    #: What the value is, right behind the pattern. Asked last: a value may hold whatever another
    #: secret's name and value are made of, so one under no name must not pass over them.
    value: re.Pattern[str] | None = None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match with a `value` that stands behind the right thing."""
        for begun in self.pattern.finditer(text):
            if self._follows(text, begun.start()):
                found = begun if self.value is None else self.value.match(text, begun.end())
                if found is not None:
                    yield found

    def _follows(self, text: str, place: int) -> bool:
        """Tell whether a match that begins there stands behind the right thing."""
        if self.before is None:
            return place == 0 or not text[place - 1].isalnum()
        return self.before.search(text, max(0, place - BEFORE), place) is not None


def _shape(kind: str, anchors: str, **given: str) -> Shape:
    """Return a shape of the table: a key, or a value that is told by what stands around it."""
    some = {name: expression(each, _TABLE["parts"]) for name, each in given.items()}
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

#: Words that stand for a secret in an example; whoever writes only these, a few digits and signs
#: has none. Read without going back, the longest first, so that no text makes it slow.
_EXAMPLE = re.compile(
    rf"(?>{'|'.join(sorted(_TABLE['examples'].split(), key=len, reverse=True))}"
    r"|[\W_]|\d{1,4}(?!\d)|12345\d*)*+",
    re.IGNORECASE,
)

#: What says that a program or a reader fills the value in: variables, templates, masks, gaps. A
#: character that nobody sees is written in braces, too, and hides nothing by that.
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

#: Names of variables in capitals, which stand for a password in a command or an address.
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

#: One letter so often in a row that nobody has drawn it by chance.
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
    """A secret that stands in a text.

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
            for match in shape.matches(text):
                start, end = match.start("value"), _end(match)
                if match.end("value") > reached and admits(match, text[start:end]):
                    rest = _REST.match(text, end) if end - start > LONGEST else None
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
    """Tell whether what stands where a password stands is one somebody chose."""
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

#: Words, one of which stands wherever a shape matches: asked for once, whatever shapes share them.
_ANCHORS = frozenset(anchor for shapes, _ in _RULES for one in shapes for anchor in one.anchors)


def cleared(text: str, *, what: str, redact: bool | None = False) -> str:
    """Return a text that holds no secret: as it was, or masked where `redact` is set.

    Raises `Refused` otherwise, which names the kind and the place of each secret and never the
    secret itself; `what` says whose text it is. None for `redact`: nobody can ask for it there.
    """
    found = mask_secrets(text)
    if not found.secrets or redact:
        return found.text
    places = "; ".join(_place(text, each) for each in found.secrets)
    or_masked = "" if redact is None else ", or have it masked with --redact (redact=true)"
    raise Refused(f"refused to keep {what}: it holds {places}; take it out{or_masked}")


def _place(text: str, secret: Secret) -> str:
    """Return which kind of secret stands where, counted from 1."""
    before = text[: secret.start]
    line, column = before.count("\n") + 1, secret.start - (before.rfind("\n") + 1) + 1
    return f"a secret ({secret.kind}) in line {line} at character {column}"


#: Where a token comes from, in the order in which they win.
TOKEN_KEYS: Final = ("token", "token_keyring", "token_env")

#: What the other spelling begins with.
BEARER: Final = "bearer_"


def plain(entry: Mapping[str, Any]) -> dict[str, Any]:
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
