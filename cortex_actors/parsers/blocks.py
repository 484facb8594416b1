"""Which lines of a Markdown file are text, and which only look like it.

A line scanner in one pass. It knows the blocks in which `## x` is no heading: fenced code, HTML
comments, front matter, and the section that we write ourselves. The rules are CommonMark's (0.31,
sections 4.5, 4.6 and 5.2), with one simplification: block quotes are not entered, because a line
in them starts with `>` and is never a heading of the file. A full Markdown parser was rejected: it
reports lines, not bytes, and costs a dependency for four kinds of block. Other HTML is not entered
either: a `## x` right below a `<div>` was meant as a heading.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.parsers.lines import Line

#: Columns of indentation from which a line is indented code; also a tab's width.
_CODE_INDENT = 4

#: Spaces behind a list marker up to which its text starts behind them (CommonMark 5.2, rule 1).
_MARKER_GAP = 4

#: The marks around the section that we write, at the start of a line of their own.
_BEGIN = re.compile(r"<!--\s*cortex:begin\b")
_END = re.compile(r"<!--\s*cortex:end\b")

_FENCE = re.compile(r"`{3,}+(?=[^`]*$)|~{3,}+")
#: List items that one line may open; deeper nesting is taken as text, else a line of a million
#: markers would cost its length squared.
_DEPTH = 32

_COMMENT = "<!--"
_COMMENT_END = "-->"
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_YAML_KEY = re.compile(r"[\w\"'][\w .\"'-]*:(?:\s|$)")


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


def kinds(lines: Sequence[Line]) -> list[Kind]:
    """Return the kind of each line; one pass, linear in the number of bytes."""
    ends = _own_blocks(lines)
    front = _front_matter(lines)
    found = [Kind.FRONT_MATTER] * front
    scanner = _Scanner()
    while len(found) < len(lines):
        number = len(found)
        opaque = scanner.read(lines[number].text)
        if opaque or number not in ends:
            found.append(Kind.OPAQUE if opaque else Kind.TEXT)
        else:
            found += [Kind.OURS] * (ends[number] - number)
            scanner = _Scanner()
    return found


def begins_ours(text: str) -> bool:
    """Whether the line is the begin mark of the section that we write."""
    return _BEGIN.match(text) is not None


class _Scanner:
    """Where a reader stands: in a fence, a comment or text, and in which list items."""

    def __init__(self) -> None:
        #: Columns at which the text of each open list item starts, outermost first.
        self._items: list[int] = []
        #: What opened the fence or comment this is in: "```", "~~~~", "<!--"; empty outside.
        self._opener = ""
        #: Whether a paragraph is open, which a line without a block of its own goes on.
        self._paragraph = False

    def read(self, text: str) -> bool:
        """Take the next line and return whether it begins inside a fence or a comment."""
        stripped = text.lstrip(" \t")
        if not stripped:
            self._paragraph = False
            return bool(self._opener)
        column = _columns(text)
        if self._opener and column >= self._base:
            if self._closes(stripped, column):
                self._opener = ""
            return True
        # A line left of the list item ends the item, and with it the fence inside.
        self._opener = ""
        self._open(stripped, column)
        return False

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

    def _open(self, stripped: str, column: int) -> None:
        """Leave and enter list items, and open what this line opens."""
        rest, column = self._enter(stripped, column)
        if column - self._base >= _CODE_INDENT:
            return
        fence = _FENCE.match(rest)
        if fence is not None:
            self._opener = fence[0]
        elif rest.startswith(_COMMENT) and _COMMENT_END not in rest:
            self._opener = _COMMENT
        self._paragraph = bool(rest) and not _starts_block(rest)

    def _enter(self, stripped: str, column: int) -> tuple[str, int]:
        """Return the line behind its list markers and the column where that starts."""
        lazy = self._paragraph and not _starts_block(stripped)
        while column < self._base and not lazy:
            self._items.pop()
            self._paragraph = False
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
        return stripped, column


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


def _front_matter(lines: Sequence[Line]) -> int:
    """Return how many lines are front matter, from the top.

    A rule `---` on the first line is not front matter: that is closed, and its first entry is a
    YAML key.
    """
    if lines[0].text.rstrip() != "---":
        return 0
    has_key = False
    for number, line in enumerate(lines[1:], start=1):
        text = line.text.rstrip()
        if text in {"---", "..."}:
            return number + 1 if has_key or number == 1 else 0
        if not has_key and text and not text.startswith("#"):
            if not _YAML_KEY.match(text):
                return 0
            has_key = True
    return 0


def _own_blocks(lines: Sequence[Line]) -> dict[int, int]:
    """Return the number of each begin mark's line -> the number behind its end mark's line.

    A begin mark that meets another begin mark, or the end of the file, before an end mark is only
    a comment: somebody has deleted half of the section, and what follows may be human.
    """
    marks = [
        (number, begins_ours(line.text))
        for number, line in enumerate(lines)
        if line.text.startswith(_COMMENT) and (begins_ours(line.text) or _END.match(line.text))
    ]
    return {
        begin: end + 1
        for (begin, opens), (end, opens_too) in pairwise(marks)
        if opens and not opens_too
    }
