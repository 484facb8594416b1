"""Secrets in a text: what is surely one is taken out before anything keeps the text.

Rules look for the shape that an issuer gives its keys, for private keys, for passwords in addresses
and for values under a name that says what they are. Randomness alone decides nothing: checksums
and identifiers are random, too, and a text without them means something else.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.rules.keyshapes import IN_ADDRESSES, KEYS, NAMED, UNSURE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.rules.keyshapes import Shape

#: Hex digits of a fingerprint: enough to tell secrets apart, too few to guess one by trying.
FINGERPRINT_DIGITS = 16

#: Words that stand for a secret in an example; whoever writes only these, a few digits and signs
#: has none. Read without going back, the longest first, so that no text makes it slow.
_EXAMPLE_WORDS = (
    "placeholder password postgres example redacted passwd secret sample string dummy admin token "
    "value local mysql redis guest mongo rabbit hidden rails minio apikey access client server "
    "change user pass test root here your fake none null true false demo todo pwd key foo bar baz "
    "qux dev the api app env xyz abc xxx my me db id"
).split()
_EXAMPLE = re.compile(
    rf"(?>{'|'.join(sorted(_EXAMPLE_WORDS, key=len, reverse=True))}"
    r"|[\W_]|\d{1,4}(?!\d)|12345\d*)*+",
    re.IGNORECASE,
)

#: What says that a program or a reader fills the value in: variables, templates, masks, gaps.
_FILLED_IN = re.compile(
    r"[<>{}]|\A\$\w+\Z|\$\(|\[\w|%\(|%\w{3,}%|\*{3}|\.{3}|\u2026|x{6}|your[_-]"
    r"|placeholder|changeme",
    re.IGNORECASE,
)

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
    r"(?:sha\d{1,3}|md5|blake\w{1,3})-.*"
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


def redact(text: str) -> Redacted:
    """Return a text with a marker such as `[secret: github-token]` for each of its secrets.

    It has as many lines as before. Linear in the text. A second time finds nothing more, and the
    same text always gives the same result, whatever its secrets are changed to.
    """
    found = _apart(_found(text))
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


def _found(text: str) -> list[Secret]:
    """Return what the rules find, in the order of the rules."""
    lowered = text.lower()
    there = {anchor for anchor in _ANCHORS if anchor in lowered}
    return [
        Secret(shape.kind, *match.span("value"), match["value"])
        for shapes, admits in _RULES
        for shape in shapes
        if not there.isdisjoint(shape.anchors)
        for match in shape.pattern.finditer(text)
        if shape.follows(text, match.start()) and admits(match)
    ]


def _apart(found: Iterable[Secret]) -> list[Secret]:
    """Return what was found without what overlaps: the earlier one counts, then the longer."""
    kept: list[Secret] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _is_key(match: re.Match[str]) -> bool:
    """Tell whether what has an issuer's shape is a key, and not the drawing of one."""
    value = match["value"]
    return _is_given(value) and len(set(value)) >= FEWEST_LETTERS and _RUN.search(value) is None


def _is_random(match: re.Match[str]) -> bool:
    """Tell whether a value under a telling name was drawn by chance, and not written by a person.

    Words, paths and names of variables are not: in none of their pieces do letters and digits
    change often.
    """
    value = match["value"].rstrip(".,:;!")
    if not _is_key(match) or _EXAMPLE.fullmatch(value) or _IDENTIFIER.fullmatch(value):
        return False
    pieces = [each for each in _SEPARATOR.split(value) if len(each) >= PIECE]
    if any(len(_CHANGE.findall(each)) >= CHANGES for each in pieces):
        return True
    is_long = len(value) >= LONG and value not in (value.lower(), value.upper())
    return is_long and len(_TURN.findall(value)) >= MIXED * len(value)


def _is_no_checksum(match: re.Match[str]) -> bool:
    """Tell whether a value is random and more than a number in hex."""
    return _is_random(match) and _HEX.fullmatch(match["value"]) is None


def _is_password(match: re.Match[str]) -> bool:
    """Tell whether what stands where a password stands is one somebody chose."""
    value = match["value"]
    user = match.groupdict().get("user")
    return value != user and _is_given(value) and _EXAMPLE.fullmatch(value) is None


def _is_given(value: str) -> bool:
    """Tell whether a value is there, and not to be filled in."""
    return _FILLED_IN.search(value) is None


#: Which shapes there are, and what a match of theirs has to be.
_RULES: tuple[tuple[tuple[Shape, ...], Callable[[re.Match[str]], bool]], ...] = (
    (KEYS, _is_key),
    (NAMED, _is_random),
    (UNSURE, _is_no_checksum),
    (IN_ADDRESSES, _is_password),
)

#: Words, one of which stands wherever a shape matches: asked for once, whatever shapes share them.
_ANCHORS = frozenset(anchor for shapes, _ in _RULES for one in shapes for anchor in one.anchors)
