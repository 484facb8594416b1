"""Which lines of a Markdown file are text, and which only look like it.

A line scanner in one pass. It knows the blocks in which `## x` is no heading: fenced code, HTML
comments, front matter, the section that we write ourselves and those of other tools. The rules are
CommonMark's (0.31, sections 4.5, 4.6 and 5.2), with one simplification: block quotes are not
entered, because a line in them starts with `>` and is never a heading of the file. A full Markdown
parser was rejected: it reports lines, not bytes, and costs a dependency for four kinds of block.
Other HTML is not entered either: a `## x` right below a `<div>` was meant as a heading.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.parsers import frontmatter, marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.parsers.lines import Line

#: Columns of indentation from which a line is indented code; also a tab's width.
_CODE_INDENT = 4

#: Spaces behind a list marker up to which its text starts behind them (CommonMark 5.2, rule 1).
_MARKER_GAP = 4

_FENCE = re.compile(r"`{3,}+(?=[^`]*$)|~{3,}+")
#: List items that one line may open; deeper nesting is taken as text, else a line of a million
#: markers would cost its length squared.
_DEPTH = 32

_COMMENT = "<!--"
_COMMENT_END = "-->"
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")


class Kind(Enum):
    """What a line is to whoever looks for headings."""

    #: May be a heading.
    TEXT = auto()
    #: Inside code or a comment; content of the section around it.
    OPAQUE = auto()
    #: Metadata of the file, between `---` on the first line and the next `---`.
    FRONT_MATTER = auto()
    #: Written by us, from the begin mark to the end mark.
    OURS = auto()
    #: Written by another tool, from its begin mark to its end mark.
    MANAGED = auto()


class Part(Enum):
    """What a line is to whoever reads what the text says."""

    BLANK = auto()
    TEXT = auto()
    #: Opens a fence, closes one, stands between, or is code by its indentation.
    FENCE = auto()
    FENCE_END = auto()
    CODE = auto()
    #: Inside a comment that does not end on the line it begins on.
    COMMENT = auto()


class Row(NamedTuple):
    """A line as the scanner has read it."""

    part: Part
    #: What stands behind its indentation and its list markers.
    rest: str
    #: List items that it stands in, and how many of them it begins.
    depth: int
    opened: int = 0
    #: Whether it goes on the paragraph above it.
    goes_on: bool = False
    #: Whether it begins inside a fence or a comment.
    inside: bool = False


#: The kind of each stretch that nobody wrote by hand.
_KINDS = {marks.Whose.OURS: Kind.OURS, marks.Whose.ANOTHER_TOOL: Kind.MANAGED}


def kinds(lines: Sequence[Line]) -> list[Kind]:
    """Return the kind of each line; one pass, linear in the number of bytes."""
    stretches = marks.stretches(lines)
    front = frontmatter.length([line.text for line in lines])
    found = [Kind.FRONT_MATTER] * front
    scanner = Scanner()
    while len(found) < len(lines):
        number = len(found)
        opaque = scanner.read(lines[number].text).inside
        if opaque or number not in stretches:
            found.append(Kind.OPAQUE if opaque else Kind.TEXT)
        else:
            stretch = stretches[number]
            found += [_KINDS[stretch.whose]] * (stretch.end - number)
            scanner = Scanner()
    return found


class Scanner:
    """Where a reader stands: in a fence, a comment or text, and in which list items."""

    def __init__(self) -> None:
        #: Columns at which the text of each open list item starts, outermost first.
        self._items: list[int] = []
        #: What opened the fence or comment this is in: "```", "~~~~", "<!--"; empty outside.
        self._opener = ""
        #: Whether a paragraph is open, which a line without a block of its own goes on.
        self._paragraph = False

    def read(self, text: str) -> Row:
        """Take the next line and return what it is."""
        stripped = text.lstrip(" \t")
        inside = Part.COMMENT if self._opener == _COMMENT else Part.CODE
        if not stripped:
            self._paragraph = False
            part = inside if self._opener else Part.BLANK
            return Row(part, "", len(self._items), inside=bool(self._opener))
        column = _columns(text)
        if self._opener and column >= self._base:
            if self._closes(stripped, column):
                inside = Part.COMMENT if self._opener == _COMMENT else Part.FENCE_END
                self._opener = ""
            return Row(inside, stripped, len(self._items), inside=True)
        # A line left of the list item ends the item, and with it the fence inside.
        self._opener = ""
        return self._open(stripped, column)

    def interrupt(self) -> None:
        """End the open paragraph: what comes next is another block."""
        self._paragraph = False

    @property
    def _base(self) -> int:
        """The column at which the innermost open list item's text starts."""
        return self._items[-1] if self._items else 0

    def _closes(self, stripped: str, column: int) -> bool:
        """Whether this line ends the open fence or comment."""
        if self._opener == _COMMENT:
            return _COMMENT_END in stripped
        run = stripped.rstrip(" \t")
        return (
            column - self._base < _CODE_INDENT
            and len(run) >= len(self._opener)
            and not run.strip(self._opener[0])
        )

    def _open(self, stripped: str, column: int) -> Row:
        """Leave and enter list items, and open what this line opens."""
        rest, column, opened = self._enter(stripped, column)
        depth = len(self._items)
        if column - self._base >= _CODE_INDENT:
            part = Part.TEXT if self._paragraph else Part.CODE
            return Row(part, rest, depth, opened, goes_on=self._paragraph)
        part = Part.TEXT
        goes_on = self._paragraph and not _starts_block(rest)
        fence = _FENCE.match(rest)
        if fence is not None:
            self._opener, part = fence[0], Part.FENCE
        elif rest.startswith(_COMMENT) and _COMMENT_END not in rest:
            self._opener, part = _COMMENT, Part.COMMENT
        self._paragraph = bool(rest) and not _starts_block(rest)
        return Row(part, rest, depth, opened, goes_on=goes_on)

    def _enter(self, stripped: str, column: int) -> tuple[str, int, int]:
        """Return the line behind its list markers, its column, and how many items it opens."""
        lazy = self._paragraph and not _starts_block(stripped)
        while column < self._base and not lazy:
            self._items.pop()
            self._paragraph = False
        before = len(self._items)
        for _ in range(_DEPTH):
            marker = _MARKER.match(stripped)
            indented = column - self._base >= _CODE_INDENT
            if marker is None or indented or _RULE.match(stripped):
                break
            behind = stripped[marker.end() :]
            rest = behind.lstrip(" \t")
            if self._paragraph and not rest:
                # Underlines the paragraph; an item without text cannot interrupt one.
                break
            gap = _columns(behind, column + marker.end())
            if not rest or gap > _MARKER_GAP:
                gap = 1
            column += marker.end() + gap
            self._items.append(column)
            self._paragraph = False
            stripped = rest
        return stripped, column, len(self._items) - before


def _columns(text: str, start: int = 0) -> int:
    """Return how many columns of white space a text starts with; tabs go to multiples of four."""
    column = start
    for character in text:
        if character == "\t":
            column += _CODE_INDENT - column % _CODE_INDENT
        elif character == " ":
            column += 1
        else:
            break
    return column - start


def _starts_block(stripped: str) -> bool:
    """Whether a line cannot go on the paragraph above it."""
    return (
        stripped.startswith(("#", ">", _COMMENT))
        or _FENCE.match(stripped) is not None
        or _MARKER.match(stripped) is not None
        or _RULE.match(stripped) is not None
    )
