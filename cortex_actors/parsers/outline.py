"""A section as blocks: headings, paragraphs, list items, tables and code, and where each stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from cortex_actors.parsers.blocks import Part, Row, Scanner
from cortex_actors.parsers.headings import UNDERLINE, Heading, heading, underlined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The marks of a quotation, however deep, and the indentation in front of them.
_QUOTE = re.compile(r"([ \t]*)(?:>[ \t]?)+")

#: The first line of a quotation that GitHub shows as a note.
_ALERT = re.compile(r"\[!\w+\]\s*")

_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}")

#: A line of tags alone: the frame of what people write between.
_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]{0,400}>[ \t]*)+")

#: Fields that describe a file: a second front matter, or what its rule makes a heading of.
_FIELD = re.compile(r"(?:description|globs|alwaysApply|applyTo|paths)[ \t]*:")


class Form(Enum):
    """What a block is."""

    HEADING = auto()
    TEXT = auto()
    ITEM = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(slots=True)
class Block:
    """A block of a section: its form, and the numbers of its first and last line, from 0.

    `lines` are its lines without indentation and markers; of code without those of the fence, and
    `language` is what stands behind the opening one. `depth` counts the list items it stands in.
    """

    form: Form
    first: int
    last: int
    depth: int = 0
    lines: list[str] = field(default_factory=list)
    level: int = 0
    language: str = ""

    def take(self, number: int, text: str) -> None:
        """Go on over a line."""
        self.last = number
        self.lines.append(text)


def outline(texts: Sequence[str]) -> list[Block]:
    """Return the blocks of a section's lines; one pass, linear in their length."""
    found: list[Block] = []
    reader = _Reader()
    for number, text in enumerate(texts):
        reader.read(number, text, found)
    return [each for block in found for each in _split(block)]


class _Reader:
    """Where a reader stands: in which block, and whether in a quotation."""

    def __init__(self) -> None:
        self._scanner = Scanner()
        self._quoted = False
        #: The block that the next line may go on.
        self._block: Block | None = None

    def read(self, number: int, text: str, found: list[Block]) -> None:
        """Take the next line."""
        row = self._row(text)
        title = heading(row.rest) if row.part is Part.TEXT and not row.goes_on else None
        if row.part in {Part.FENCE_END, Part.CODE}:
            self._code(number, row, found)
        elif row.part is Part.FENCE:
            language = row.rest.strip("`~ \t")
            self._begin(Block(Form.CODE, number, number, row.depth, language=language), found)
        elif row.part is not Part.TEXT or (not row.rest and not row.opened):
            self._block = None
        elif _TAGS.fullmatch(row.rest):
            # What is indented below a tag is not the rest of a paragraph.
            self._scanner.interrupt()
            self._block = None
        elif title is not None:
            self._heading(number, title, row.depth, found)
        elif self._block is not None and row.goes_on:
            self._go_on(number, row.rest)
        elif _RULE.fullmatch(row.rest.rstrip()):
            self._underline(number, row.rest)
        else:
            form = Form.ITEM if row.opened else Form.TEXT
            self._begin(Block(form, number, number, row.depth, [row.rest]), found)

    def _row(self, text: str) -> Row:
        """Return what the scanner makes of a line, without its marks of a quotation."""
        quote = _QUOTE.match(text) if ">" in text else None
        quoted = quote is not None and (self._quoted or not self._in_code)
        if quoted != self._quoted:
            if self._in_code:
                # A fence ends with the quotation that it stands in.
                self._scanner = Scanner()
            self._scanner.interrupt()
            self._block, self._quoted = None, quoted
        if quote is None or not quoted:
            return self._scanner.read(text)
        return self._scanner.read(quote[1] + _ALERT.sub("", text[quote.end() :], count=1))

    @property
    def _in_code(self) -> bool:
        """Whether the block is code, whose lines are left as they are."""
        return self._block is not None and self._block.form is Form.CODE

    def _begin(self, block: Block, found: list[Block]) -> None:
        """Come to another block."""
        found.append(block)
        self._block = block

    def _code(self, number: int, row: Row, found: list[Block]) -> None:
        """Take a line of code, or the one that closes it."""
        if self._block is None or self._block.form is not Form.CODE:
            self._begin(Block(Form.CODE, number, number, row.depth), found)
        assert self._block is not None  # noqa: S101 - a fact for mypy
        if row.part is Part.CODE:
            self._block.take(number, row.rest)
        else:
            self._block.last = number
            self._block = None

    def _heading(self, number: int, title: Heading, depth: int, found: list[Block]) -> None:
        """Come to a heading; one in a list item is the item's label."""
        form = Form.ITEM if depth else Form.HEADING
        text = f"**{title.text}**" if depth else title.text
        found.append(Block(form, number, number, depth, [text], level=title.level))
        self._block = None

    def _go_on(self, number: int, text: str) -> None:
        """Take a line that goes on a paragraph, unless it underlines it."""
        if UNDERLINE.fullmatch(text):
            self._underline(number, text)
        elif self._block is not None:
            self._block.take(number, text)

    def _underline(self, number: int, text: str) -> None:
        """Make a heading of the line above, if it is one; else it is a rule."""
        block, self._block = self._block, None
        if block is None or block.form is not Form.TEXT or block.depth:
            return
        title = underlined(block.lines[0], text) if len(block.lines) == 1 else None
        if all(_FIELD.match(line) for line in block.lines):
            block.lines.clear()
        elif title is not None:
            block.form, block.last, block.level = Form.HEADING, number, title.level


def _split(block: Block) -> Iterator[Block]:
    """Yield what a run of lines holds: text and tables."""
    if block.form not in {Form.TEXT, Form.ITEM}:
        yield block
        return
    part = Block(block.form, block.first, block.first, block.depth)
    lines, number = block.lines, 0
    while number < len(lines):
        if number + 1 < len(lines) and "|" in lines[number] and _delimits(lines[number + 1]):
            yield part
            part = _part(Form.TABLE, block, number)
            while number < len(lines) and "|" in lines[number]:
                part.take(block.first + number, lines[number])
                number += 1
            yield part
            part = _part(Form.TEXT, block, number)
        else:
            part.take(block.first + number, lines[number])
            number += 1
    yield part


def _part(form: Form, block: Block, number: int) -> Block:
    """Return a part of a block that begins at one of its lines."""
    return Block(form, block.first + number, block.first + number, block.depth)


def _delimits(text: str) -> bool:
    """Whether a line is the one between a table's head and its rows."""
    return "|" in text and "-" in text and not text.strip("|-: \t")
