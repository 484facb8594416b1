"""A section as blocks: headings, paragraphs, list items, tables and code, and the place of each.

The lines of a paragraph as texts: joined where they were wrapped, apart where they were not.

Markdown joins all lines of a paragraph. People who write rules for agents often do not: they end a
line where a rule ends, and begin the next one with the next.

A table's rows as what they say: one sentence each, with the names of the columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.text.markdown import (
    UNDERLINE,
    ScannedLine,
    Scanner,
    TextPart,
    parse_heading,
    parse_underlined,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


#: The marks of a quotation, however deep, and the indentation in front of them.
_QUOTE = re.compile(r"([ \t]*)(?:>[ \t]?)+")

#: The first line of a quotation that GitHub shows as a note.
_ALERT = re.compile(r"\[!\w+\]\s*")

_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}")

#: A line of tags alone: the frame of what people write between.
_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]{0,400}>[ \t]*)+")

#: Fields that describe a file: a second front matter, or what its rule makes a heading of.
_FIELD = re.compile(r"(?:description|globs|alwaysApply|applyTo|paths)[ \t]*:")


class BlockForm(Enum):
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
    `language` is the text behind the opening one. `depth` counts the list items it is in;
    `step` is the number of an item of an ordered list. `listed` is the first line of the list that
    a block is in, and its own of a table or of code; -1 outside of any.
    """

    form: BlockForm
    first: int
    last: int
    depth: int = 0
    lines: list[str] = field(default_factory=list)
    level: int = 0
    language: str = ""
    step: int = 0
    listed: int = -1

    def take(self, number: int, text: str) -> None:
        """Go on over a line."""
        self.last = number
        self.lines.append(text)


def outline(texts: Sequence[str]) -> list[Block]:
    """Return the blocks of a section's lines; one pass, linear in their length."""
    found: list[Block] = []
    reader = _OutlineReader()
    for number, text in enumerate(texts):
        reader.read(number, text, found)
    blocks = [each for block in found for each in _split(block)]
    _number(blocks)
    return blocks


def _number(blocks: Iterable[Block]) -> None:
    """Give each block the list it is in, and its number there; both go on in its item.

    An ordered list that a fence at the margin cut goes on with the next number as it is written.
    """
    newest: dict[int, Block] = {}
    ended: set[int] = set()
    for block in blocks:
        if block.form is BlockForm.HEADING:
            newest.clear()
        ended.update(depth for depth in newest if depth > block.depth)
        item = newest.get(block.depth)
        is_open = item is not None and block.depth not in ended
        if block.form in {BlockForm.TABLE, BlockForm.CODE}:
            block.listed = block.first
        elif block.form is BlockForm.ITEM:
            ordered = block.step > 0
            goes_on = is_open or (item is not None and ordered and block.step == item.step + 1)
            block.listed = block.first
            if item is not None and goes_on and ordered == (item.step > 0):
                block.listed, block.step = item.listed, item.step + ordered
            newest[block.depth] = block
            ended.discard(block.depth)
        elif item is not None and is_open:
            block.listed, block.step = item.listed, item.step


class _OutlineReader:
    """The state of a reader: in which block, and whether in a quotation."""

    def __init__(self) -> None:
        self._scanner = Scanner()
        self._quoted = False
        #: The block that the next line may go on.
        self._block: Block | None = None

    def read(self, number: int, text: str, found: list[Block]) -> None:
        """Take the next line."""
        row = self._row(text)
        title = parse_heading(row.rest) if row.part is TextPart.TEXT and not row.goes_on else None
        if row.part in {TextPart.FENCE_END, TextPart.CODE}:
            # Take a line of code, or the one that closes it.
            if self._block is None or self._block.form is not BlockForm.CODE:
                self._begin(Block(BlockForm.CODE, number, number, row.depth), found)
            assert self._block is not None  # noqa: S101 - a fact for mypy
            if row.part is TextPart.CODE:
                self._block.take(number, row.rest)
            else:
                self._block.last = number
                self._block = None
        elif row.part is TextPart.FENCE:
            language = row.rest.strip("`~ \t")
            self._begin(Block(BlockForm.CODE, number, number, row.depth, language=language), found)
        elif row.part is not TextPart.TEXT or (not row.rest and not row.opened):
            self._block = None
        elif _TAGS.fullmatch(row.rest):
            # What is indented below a tag is not the rest of a paragraph.
            self._scanner.interrupt()
            self._block = None
        elif title is not None:
            # One in a list item is the item's label.
            form = BlockForm.ITEM if row.depth else BlockForm.HEADING
            said = f"**{title.text}**" if row.depth else title.text
            found.append(Block(form, number, number, row.depth, [said], title.level, step=row.step))
            self._block = None
        elif self._block is not None and row.goes_on and not UNDERLINE.fullmatch(row.rest):
            self._block.take(number, row.rest)
        elif _RULE.fullmatch(row.rest.rstrip()) or (self._block is not None and row.goes_on):
            self._underline(number, row.rest)
        else:
            form = BlockForm.ITEM if row.opened else BlockForm.TEXT
            self._begin(Block(form, number, number, row.depth, [row.rest], step=row.step), found)

    def _row(self, text: str) -> ScannedLine:
        """Return what the scanner makes of a line, without its marks of a quotation."""
        quote = _QUOTE.match(text) if ">" in text else None
        quoted = quote is not None and (self._quoted or not self._in_code)
        if quoted != self._quoted:
            if self._in_code:
                # A fence ends with the quotation that it is in.
                self._scanner = Scanner()
            self._scanner.interrupt()
            self._block, self._quoted = None, quoted
        if quote is None or not quoted:
            return self._scanner.read(text)
        return self._scanner.read(quote[1] + _ALERT.sub("", text[quote.end() :], count=1))

    @property
    def _in_code(self) -> bool:
        """Whether the block is code, whose lines are left as they are."""
        return self._block is not None and self._block.form is BlockForm.CODE

    def _begin(self, block: Block, found: list[Block]) -> None:
        """Come to another block."""
        found.append(block)
        self._block = block

    def _underline(self, number: int, text: str) -> None:
        """Make a heading of the line above, if it is one; else it is a rule."""
        block, self._block = self._block, None
        if block is None or block.form is not BlockForm.TEXT or block.depth:
            return
        title = parse_underlined(block.lines[0], text) if len(block.lines) == 1 else None
        if all(_FIELD.match(line) for line in block.lines):
            block.lines.clear()
        elif title is not None:
            block.form, block.last, block.level = BlockForm.HEADING, number, title.level


def _split(block: Block) -> Iterator[Block]:
    """Yield what a run of lines holds: text and tables."""
    if block.form not in {BlockForm.TEXT, BlockForm.ITEM}:
        yield block
        return
    part = Block(block.form, block.first, block.first, block.depth, step=block.step)
    lines, number = block.lines, 0
    while number < len(lines):
        if number + 1 < len(lines) and "|" in lines[number] and _delimits(lines[number + 1]):
            yield part
            part = _part(BlockForm.TABLE, block, number)
            while number < len(lines) and "|" in lines[number]:
                part.take(block.first + number, lines[number])
                number += 1
            yield part
            part = _part(BlockForm.TEXT, block, number)
        else:
            part.take(block.first + number, lines[number])
            number += 1
    yield part


def _part(form: BlockForm, block: Block, number: int) -> Block:
    """Return a part of a block that begins at one of its lines."""
    return Block(form, block.first + number, block.first + number, block.depth)


def _delimits(text: str) -> bool:
    """Whether a line is the one between a table's head and its rows."""
    return "|" in text and "-" in text and not text.strip("|-: \t")


#: Characters up to which a line may be wrapped, as far as the other lines do not tell.
_WIDTH = 60

#: Characters that no line has: where none was wrapped, there was always room for a word.
_UNWRAPPED = 1 << 30

#: Share of the width that an unfinished line fills at least when it was wrapped.
_FILLED = 0.66

#: How a text ends that is finished.
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\uff1a][\"'\u201d\u2019)\]*_`]{0,3}$")

#: How a line begins that is a thing of its own: a label in bold type, or a sign in place of a
#: list marker.
_BEGINS = re.compile(
    r"\*\*[^*]{1,80}\*\*|[\u2022\u2013\u2014\u2705\u274c\u26a0\u2713\u2717]|@[\w./~-]+\.mdc?$"
)

#: Words by which a line begins another rule, in small letters, too.
_RULES = re.compile(r"(?:never|always|avoid|do not|don['\u2019]?t|prefer|use|make sure)\b")

_BOX = re.compile(r"\[[ xX]\][ \t]+")


class TextRun(NamedTuple):
    """A text, and the numbers of its first and last line in the paragraph, from 0."""

    first: int
    last: int
    text: str


def split_runs(lines: Sequence[str], *, broken: bool = True) -> Iterator[TextRun]:
    """Yield the texts that a paragraph's lines are; all of it as one unless it may be `broken`."""
    if not lines:
        return
    # Where every line ends a sentence, none was wrapped.
    each = all(_ends(line.rstrip()) for line in lines)
    width = _UNWRAPPED if each else max(_WIDTH, *(len(line.rstrip()) for line in lines))
    first = 0
    for number in range(1, len(lines) + 1):
        if number == len(lines) or (broken and _breaks(lines[number - 1], lines[number], width)):
            text = join_lines(lines[first:number])
            if text:
                yield TextRun(first, number - 1, text)
            first = number


def join_lines(lines: Sequence[str]) -> str:
    """Return a text on one line, without comments and the box of a task."""
    parts = (_hard(line) for line in lines)
    text = " ".join(_without_comments(" ".join(parts)).split())
    return _BOX.sub("", text, count=1) if text.startswith("[") else text


def spread(lines: Sequence[str], pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield for each piece of a text the numbers of its first and last line, given the text's.

    What is no space is counted, for that is the same in both. Where it is not, because a comment
    was left out, each piece is on all lines.
    """
    ends = list(accumulate(_signs(line) for line in lines))
    sizes = list(accumulate(_signs(piece) for piece in pieces))
    if ends[-1] != sizes[-1]:
        yield from ((0, len(lines) - 1) for _ in pieces)
        return
    begin = 0
    for size in sizes:
        yield bisect_right(ends, begin), bisect_right(ends, max(begin, size - 1))
        begin = size


def _signs(text: str) -> int:
    """Return how many characters of a text are no white space."""
    return sum(map(len, text.split()))


def _breaks(line: str, following: str, width: int) -> bool:
    """Whether a line ends where its author wanted it to."""
    text = line.rstrip()
    if line.endswith("  ") or _hard(text) != text or _BEGINS.match(following):
        return True
    # A line that was wrapped had no room for the next word.
    need = len(text) + 1 + len(following.split(maxsplit=1)[0] if following.split() else "")
    if _ends(text):
        return need <= width
    begins = not following[:1].islower() or _RULES.match(following) is not None
    return begins and need <= width * _FILLED


def _ends(text: str) -> bool:
    """Whether a text ends a sentence."""
    return _ENDS.search(text, max(0, len(text) - 5)) is not None


def _hard(line: str) -> str:
    """Return a line without the sign that breaks it."""
    text = line.rstrip()
    for sign in ("\\", "<br>", "<br/>", "<br />"):
        text = text.removesuffix(sign)
    return text


def _without_comments(text: str) -> str:
    """Return a text without its HTML comments; linear, which a pattern is not."""
    kept: list[str] = []
    begin = 0
    while (opens := text.find("<!--", begin)) >= 0:
        closes = text.find("-->", opens)
        if closes < 0:
            break
        kept.append(text[begin:opens])
        begin = closes + len("-->")
    return "".join([*kept, text[begin:]])


#: Rows of a table that a person keeps; one of more is data, or was generated.
MOST_ROWS = 40

#: Share of a table's cells, the first column left out, that have words; below it is figures.
_WORDED = 0.5

#: Columns of a table whose first may name what the second explains, and what the second is called
#: then.
_PAIR = 2
_EXPLAINS = re.compile(
    r"\W*(?:descriptions?|purpose|notes?|meaning|details?|usage|use|uses?|what.*|role|contents?"
    r"|rules?|conventions?|responsibilit.*|explanation|about|summary|value|does|function|)\W*",
    re.IGNORECASE,
)

_PIPE = re.compile(r"(?<!\\)\|")

#: A word, in letters that have words of one sign, too.
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

#: Lines that draw a tree of folders.
_TREE = re.compile(r"[\u2500-\u257f]")

#: Heads of a table that lists what happened, and not what holds.
_HISTORY = re.compile(r"(?:date|version|when|release|#|no\.?)", re.IGNORECASE)

#: Heads that say whether what is below them is wanted.
_POLAR = re.compile(
    r"\W*(?:do|don['\u2019]?ts?|do not|good|bad|right|wrong|correct|incorrect|avoid|never|always"
    r"|instead(?: of)?|use|prefer(?:red)?|yes|no)\b|\W*[\u2705\u274c\u2713\u2717]",
    re.IGNORECASE,
)


def read_rows(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each row's line, from 0 at the head, and what the row says.

    `lines` are the head, the line below it and the rows. Nothing for what is no person's word:
    figures, histories, trees of folders, and tables longer than anybody keeps by hand.
    """
    head, body = _cells(lines[0]), [_cells(line) for line in lines[2:]]
    if not body or len(body) > MOST_ROWS or _is_data(head, body):
        return
    polar = any(_POLAR.match(name) for name in head)
    for number, cells in enumerate(body, start=2):
        if text := _said(head, cells, polar=polar):
            yield number, " ".join(text.split())


def _cells(line: str) -> list[str]:
    """Return a row's cells, without the pipes around the row."""
    text = line.strip().removeprefix("|")
    text = text.removesuffix("|") if not text.endswith("\\|") else text
    return [cell.replace("\\|", "|").strip() for cell in _PIPE.split(text)]


def _is_data(head: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a table says nothing that anybody would say in a sentence."""
    if _HISTORY.fullmatch(head[0].strip("*_ ")) is not None:
        return True
    if any(_TREE.search(row[0]) for row in body):
        return True
    cells = [cell for row in body for cell in row[1:] if cell]
    worded = sum(_WORD.search(cell) is not None for cell in cells)
    return not cells or worded < len(cells) * _WORDED


def _said(head: Sequence[str], cells: Sequence[str], *, polar: bool) -> str:
    """Return what a row says; empty for one that has only a name."""
    first, rest = cells[0], cells[1:]
    if not any(rest):
        return ""
    if polar:
        return "; ".join(
            _named(name, cell) for name, cell in zip(head, cells, strict=False) if cell
        )
    if len(cells) == _PAIR and _EXPLAINS.fullmatch(head[-1]):
        return f"{first}: {rest[0]}" if first else rest[0]
    said = "; ".join(_named(name, cell) for name, cell in zip(head[1:], rest, strict=False) if cell)
    return f"{first} - {said}" if first else said


def _named(name: str, cell: str) -> str:
    """Return a cell with the name of its column."""
    return f"{name}: {cell}" if name else cell
