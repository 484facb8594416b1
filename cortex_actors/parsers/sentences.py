"""A long text as sentences that can stand alone.

A text that people keep in one list item is mostly one thing, so it is left whole unless it is
long. A paragraph is more often several rules in a row, of which somebody else repeats one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes of a list item that stays whole: three sentences of an ordinary one, and a fourth of what
#: an embedding model reads of a text. Bytes, because a Chinese sign is half a word and has three.
ITEM = 280

#: Bytes of a paragraph that stays whole: two short sentences.
PARAGRAPH = 120

#: Bytes of a sentence that says something by itself.
_ALONE = 25

#: What may be a sentence's end, and what hides one: code, and what stands in brackets.
_TOKEN = re.compile(
    r"`[^`]*`|[(\[]|[)\]]"
    r"|(?P<end>(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]*_]{0,3}[ ]+"
    r"(?=[\"'\u201c\u2018(\[*_`]{0,3}[^\W_a-z])"
    r"|[\u3002\uff01\uff1f]+[\"'\u201d\u2019\u300d\u300f\uff09)]{0,2}[ ]*)"
)

#: Words that end in a dot and end no sentence; letters and numbers are none either.
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|incl|esp|resp|fig|no|dr|mr|ms|st|\w|\d+)\.$",
    re.IGNORECASE,
)

#: How a sentence begins that means nothing without the one before it.
_LEANS = re.compile(
    r"[\W_]*(?:it|its|it['\u2019]s|this|that|that['\u2019]s|these|those|they|their|them|such|otherwise"
    r"|however|then|instead|but|and|or|so|also|if so|if not|in that case|in this case|for example"
    r"|e\.g|for instance|here|there|same|likewise|both|either|yes|thus|therefore|hence|because"
    r"|which|one|ones|note|he|she|his|her)\b",
    re.IGNORECASE,
)


def sentences(text: str, *, whole: int = ITEM) -> tuple[str, ...]:
    """Return a text's sentences in their order; one of that many bytes is left `whole`.

    One that leans on the sentence before it, or is a few words only, stays with it. Joined with
    spaces they are the text. Linear.
    """
    if len(text.encode()) <= whole:
        return (text,)
    found: list[list[str]] = []
    length = 0
    for piece in _pieces(text):
        size = len(piece.encode())
        if found and (length < _ALONE or size < _ALONE or _LEANS.match(piece)):
            found[-1].append(piece)
        else:
            found.append([piece])
            length = 0
        length += size
    return tuple(" ".join(pieces) for pieces in found)


def _pieces(text: str) -> Iterator[str]:
    """Yield a text's sentences as the signs between them tell."""
    begin = depth = 0
    for token in _TOKEN.finditer(text):
        if token["end"] is None:
            depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token[0], 0))
        elif depth == 0 and not _SHORT.search(
            text, max(begin, token.start() - 8), token.start() + 1
        ):
            yield text[begin : token.end()].strip()
            begin = token.end()
    if text[begin:].strip():
        yield text[begin:].strip()
