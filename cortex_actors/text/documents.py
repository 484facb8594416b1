"""A document to passages: which headings are above each, what is text and what is code.

A passage begins at every heading of the levels 1 to 4; what only looks like one inside code or a
comment is none. The front matter is left off, its tags are kept; comments are left out, because
no reader sees them, and so is the section that we write into instruction files ourselves.

Passages of a document to pieces of a size that can be found and read.

What is longer than a piece may be is split between paragraphs, and the last paragraph of a piece
begins the next one, too, if it is short: what refers to it is then found with it. What is shorter
than a piece should be goes into its neighbour, so that nothing a document says is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from cortex_actors.text import markdown
from cortex_actors.text.markdown import (
    Heading,
    Scanner,
    TextPart,
    parse_heading,
    parse_underlined,
    split_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cortex_actors.text.markdown import Line, ScannedLine


#: Raised with every change of what comes of a document: what was read before is then read again.
READ_AS = 1

#: The deepest level of a heading that begins a passage.
DEEPEST = 4

#: Characters of a heading that are kept, and of the word that says in which language code is.
_HEADING, _LANGUAGE = 200, 40


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a document: what it says, and what it points at.

    `headings` are outermost first, the document's title left out. `text` has no blanks around it;
    the lines of code are as they are in the file.
    """

    headings: tuple[str, ...]
    text: str
    is_code: bool = False
    language: str | None = None
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document as it was read."""

    title: str
    tags: tuple[str, ...]
    passages: tuple[Piece, ...]


def parse_document(data: bytes, *, path: str) -> ParsedDocument:
    """Return a document; `path` names it in errors, and is its title where it has no heading.

    Raises `FileTooLarge` and `NotText`; nothing else, whatever the bytes are. Linear.
    """
    markdown.require_room(len(data), path=path, what="a document")
    text = split_lines(data, path=path)
    front = markdown.measure_front_matter([line.text for line in text])
    reader = _DocumentReader()
    for line in _said(text, front):
        reader.read(line)
    reader.begin()
    return ParsedDocument(
        title=reader.title or PurePath(path).stem or path,
        tags=markdown.find_tags("\n".join(line.text for line in text[:front])),
        passages=tuple(reader.found),
    )


def _said(text: Sequence[Line], front: int) -> Iterator[str | None]:
    """Yield the lines that are the document's own words; None where something was left out."""
    ours = {
        number: stretch.end
        for number, stretch in markdown.find_stretches(text).items()
        if stretch.kind is markdown.LineKind.OURS
    }
    number = front
    while number < len(text):
        end = ours.get(number)
        yield text[number].text if end is None else None
        number = number + 1 if end is None else end


class _DocumentReader:
    """The state of a reader: under which headings, in text or in code."""

    def __init__(self) -> None:
        self.title = ""
        self.found: list[Piece] = []
        #: What the next lines belong to, without its text yet; and the lines of it.
        self._now, self._lines = Piece((), ""), list[str]()
        self._scanner = Scanner()
        self._open: list[Heading] = []
        #: The line above, while it may be a heading that the next one underlines.
        self._above = ""

    def read(self, text: str | None) -> None:
        """Take the next line."""
        if text is None:
            self._scanner, self._above = Scanner(), ""
            return
        row = self._scanner.read(text)
        if row.part is TextPart.COMMENT or _is_comment(row):
            return
        if row.part is TextPart.FENCE:
            self.begin(is_code=True, language=_language(row.rest))
        elif row.part is TextPart.FENCE_END:
            self.begin()
        elif row.inside:
            if not self._now.is_code:
                self.begin(is_code=True)
            self._lines.append(text.rstrip())
        else:
            # Take a line that is no code: a heading, or what is below one.
            if self._now.is_code:
                # A line left of the list item ends the fence inside.
                self.begin()
            alone = not row.depth and not row.goes_on
            title = parse_heading(text) if alone and row.part is TextPart.TEXT else None
            below = parse_underlined(self._above, text) if self._above else None
            if title is None and below is not None:
                self._lines.pop()
            title = title or below
            self._above = text if alone and title is None and text.strip() else ""
            if title is not None and title.level <= DEEPEST:
                self._enter(title)
            else:
                self._lines.append(text.rstrip())

    def _enter(self, title: Heading) -> None:
        """Come to a heading; the first of level 1 is the title of it all."""
        said = title.text[:_HEADING].strip()
        while self._open and self._open[-1].level >= title.level:
            self._open.pop()
        if title.level == 1 and not self.title and said:
            self.title = said
        else:
            self._open.append(Heading(title.level, said))
        self.begin()

    def begin(self, *, is_code: bool = False, language: str | None = None) -> None:
        """End what was read, and begin another passage: paragraphs, or one block of code."""
        whole = "\n".join(self._lines)
        if text := whole.strip("\n") if self._now.is_code else whole.strip():
            self.found.append(replace(self._now, text=text))
        under = tuple(each.text for each in self._open if each.text)
        self._now, self._lines = Piece(under, "", is_code, language), []


def _is_comment(row: ScannedLine) -> bool:
    """Whether a line is one comment and nothing else."""
    rest = row.rest.strip()
    return not row.inside and rest.startswith("<!--") and rest.endswith("-->")


def _language(fence: str) -> str | None:
    """Return the language that a fence's first line names, in lower case."""
    said = fence.strip("`~ \t{}.")
    word = said.split()[0] if said.split() else ""
    return word.lower()[:_LANGUAGE] or None


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


def cut_pieces(passages: Iterable[Piece]) -> list[Piece]:
    """Return the pieces of a document, in its order; linear."""
    found = [piece for each in _whole(passages) for piece in _split(each)]
    return [replace(each, refs=find_refs(each.text)) for each in found]


def find_refs(text: str) -> tuple[str, ...]:
    """Return what a text points at: other documents and addresses, each once, in its order."""
    met = [
        (each.start(), each[1] if each.re.groups else each[0])
        for pattern in (_LINK, _DEFINITION, _WIKI, _ADDRESS)
        for each in pattern.finditer(text)
    ]
    said = (target.rstrip(".,;:!?").split("#")[0].strip() for _, target in sorted(met))
    return tuple(dict.fromkeys(each[:_LONGEST] for each in said if each))[:REFS]


def _whole(passages: Iterable[Piece]) -> list[Piece]:
    """Return passages as pieces of any length; what is too short goes into a neighbour.

    That is the one before it, under the same headings or above them, or else the one behind it.
    """
    found: list[Piece] = []
    for piece in passages:
        before = found[-1] if found else None
        if (
            before is not None
            and min(len(piece.text), len(before.text)) < LEAST
            and _beside(before, piece)
        ):
            # Two pieces as one: each below what of its headings the two do not share.
            shared = _shared(before, piece)
            parts = [_below(before, shared), _below(piece, shared)]
            found[-1] = Piece(shared, "\n\n".join(parts))
        else:
            found.append(piece)
    return found


def _beside(before: Piece, piece: Piece) -> bool:
    """Whether two pieces may be one: text of one branch of headings, and not too long."""
    shared = _shared(before, piece)
    related = shared in {before.headings, piece.headings} or len(shared) >= 1
    room = len(before.text) + len(piece.text) <= MOST
    return room and (related or not before.headings or not piece.headings)


def _shared(left: Piece, right: Piece) -> tuple[str, ...]:
    """Return the headings that are above both of two pieces."""
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
