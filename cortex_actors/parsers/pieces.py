"""Passages of a document to pieces of a size that can be found and read.

What is longer than a piece may be is split between paragraphs, and the last paragraph of a piece
begins the next one, too, if it is short: what refers to it is then found with it. What is shorter
than a piece should be goes into its neighbour, so that nothing a document says is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cortex_actors.parsers.documents import Passage

#: Characters a piece has at least and at most, and those of a paragraph that two pieces share.
LEAST, MOST, OVERLAP = 80, 1_500, 200

#: Things that one piece points at; a list of links has hundreds.
REFS = 32

#: Characters of one such thing.
_LONGEST = 500

#: A link `[text](target "title")`, a definition `[name]: target`, a wiki link, a bare address.
_LINK = re.compile(r"(?<!!)\[[^\[\]]{0,300}\]\(<?([^\s()<>]{1,500})>?(?:\s+[\"'][^\"')]{0,200})?\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]^]{1,200}\]:[ \t]*<?(\S{1,500}?)>?(?:\s|$)", re.MULTILINE)
_WIKI = re.compile(r"\[\[([^\[\]|#]{1,200})(?:[|#][^\[\]]{0,200})?\]\]")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]{1,500}")

#: Where one paragraph ends and the next begins.
_BETWEEN = re.compile(r"\n[ \t]*\n+")

#: Where a text is cut that has no paragraphs: behind a line, else a sentence, else a word.
_CUTS = (re.compile(r"\n"), re.compile(r"[.!?]\s"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a document: what it says, and what it points at."""

    headings: tuple[str, ...]
    text: str
    is_code: bool = False
    language: str | None = None
    refs: tuple[str, ...] = ()


def pieces(passages: Iterable[Passage]) -> list[Piece]:
    """Return the pieces of a document, in its order; linear."""
    found = [piece for each in _whole(passages) for piece in _split(each)]
    return [replace(each, refs=refs(each.text)) for each in found]


def refs(text: str) -> tuple[str, ...]:
    """Return what a text points at: other documents and addresses, each once, in its order."""
    met = [
        (each.start(), each[1] if each.re.groups else each[0])
        for pattern in (_LINK, _DEFINITION, _WIKI, _ADDRESS)
        for each in pattern.finditer(text)
    ]
    said = (target.rstrip(".,;:!?").split("#")[0].strip() for _, target in sorted(met))
    return tuple(dict.fromkeys(each[:_LONGEST] for each in said if each))[:REFS]


def _whole(passages: Iterable[Passage]) -> list[Piece]:
    """Return passages as pieces of any length; what is too short goes into a neighbour.

    That is the one before it, under the same headings or above them, or else the one behind it.
    """
    found: list[Piece] = []
    for each in passages:
        piece = Piece(each.headings, each.text, each.is_code, each.language)
        before = found[-1] if found else None
        if (
            before is not None
            and (_is_short(piece) or _is_short(before))
            and _beside(before, piece)
        ):
            found[-1] = _joined(before, piece)
        else:
            found.append(piece)
    return found


def _is_short(piece: Piece) -> bool:
    """Whether a piece says too little to be one."""
    return len(piece.text) < LEAST


def _beside(before: Piece, piece: Piece) -> bool:
    """Whether two pieces may be one: text of one branch of headings, and not too long."""
    shared = _shared(before, piece)
    related = shared in {before.headings, piece.headings} or len(shared) >= 1
    room = len(before.text) + len(piece.text) <= MOST
    return room and (related or not before.headings or not piece.headings)


def _joined(before: Piece, piece: Piece) -> Piece:
    """Return two pieces as one: each below what of its headings the two do not share."""
    shared = _shared(before, piece)
    parts = [_below(before, shared), _below(piece, shared)]
    return Piece(shared, "\n\n".join(parts))


def _shared(left: Piece, right: Piece) -> tuple[str, ...]:
    """Return the headings that two pieces stand under both."""
    count = 0
    for one, other in zip(left.headings, right.headings, strict=False):
        if one != other:
            break
        count += 1
    return left.headings[:count]


def _below(piece: Piece, shared: Sequence[str]) -> str:
    """Return what a piece says with the headings that are lost to it, and code in a fence."""
    lost = " > ".join(piece.headings[len(shared) :])
    text = f"```{piece.language or ''}\n{piece.text}\n```" if piece.is_code else piece.text
    return f"{lost}\n{text}" if lost else text


def _split(piece: Piece) -> Iterator[Piece]:
    """Yield a piece in parts that are short enough."""
    parts = _BETWEEN.split(piece.text) if len(piece.text) > MOST else [piece.text]
    between = "\n\n"
    held: list[str] = []
    size = 0
    for part in (bit for each in parts for bit in _cut(each)):
        if held and size + len(between) + len(part) > MOST:
            yield replace(piece, text=between.join(held))
            last = held[-1]
            again = len(last) <= OVERLAP and len(last) + len(between) + len(part) <= MOST
            held = [last] if again and not piece.is_code else []
            size = sum(len(each) for each in held)
        size += len(part) + (len(between) if held else 0)
        held.append(part)
    if held:
        yield replace(piece, text=between.join(held))


def _cut(text: str) -> Iterator[str]:
    """Yield a paragraph, cut at its lines, sentences or words where it alone is too long."""
    while len(text) > MOST:
        ends = (
            max((m.end() for m in cut.finditer(text, MOST // 2, MOST)), default=0) for cut in _CUTS
        )
        end = next(filter(None, ends), MOST)
        yield text[:end].rstrip()
        text = text[end:].lstrip("\n")
    if text.strip():
        yield text
