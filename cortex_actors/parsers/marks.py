"""Stretches of a file that nobody wrote by hand: the section that is ours, and other tools'.

A tool that keeps a part of an instruction file up to date marks it, and writes it anew whenever it
likes: `<!-- nx configuration start-->` and `... end-->`, `<!-- BEGIN BEADS INTEGRATION v:1 -->` and
`<!-- END BEADS INTEGRATION -->`, `<!-- rtk-instructions v2 -->` and `<!-- /rtk-instructions -->`,
`<claude-mem-context>` and `</claude-mem-context>`. What stands between is no person's word. A mark
without its counterpart is a comment like any other.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.parsers.lines import Line

#: The marks around the section that we write, at the start of a line of their own.
_BEGIN = re.compile(r"<!--\s*cortex:begin\b")
_END = re.compile(r"<!--\s*cortex:end\b")

#: A line that is one comment and nothing else; the words of a mark are short.
_COMMENT = re.compile(r"<!--[ \t]*([^<>\n]{1,200}?)[ \t]*-->[ \t]*")

_WORDS = re.compile(r"[\w.-]+")

#: Words that say, first or last in a mark, which end of a stretch it is.
_BEGINS = frozenset({"start", "begin"})
_ENDS = frozenset({"end", "stop"})

#: Words of marks around people's own text, which speak to linters and formatters; and ours.
_NOT_OF_TOOLS = re.compile(r"ignore|disable|enable|lint|prettier|region|cortex:", re.IGNORECASE)

#: Tags that tools write around what they keep, each on a line of its own.
_TAGS = frozenset({"claude-mem-context", "laravel-boost-guidelines", "skills_system"})
_TAG = re.compile(r"<(/?)([a-z_-]{1,40})(?:[ \t][^<>]{0,200})?>[ \t]*")

#: Words of a begin mark by which its end may call it; versions and hashes follow.
_NAME_WORDS = 6


class Whose(Enum):
    """Who writes a marked stretch."""

    OURS = auto()
    ANOTHER_TOOL = auto()


class Stretch(NamedTuple):
    """A marked stretch of lines: its writer, and the number behind its last line."""

    whose: Whose
    end: int


class _Mark(NamedTuple):
    """A line that may begin or end a stretch of another tool's."""

    line: int
    #: What it calls the stretch; behind `/` in an end mark that has no word for it.
    name: tuple[str, ...]
    ends: bool


def begins_ours(text: str) -> bool:
    """Whether the line is the begin mark of the section that we write."""
    return _BEGIN.match(text) is not None


def ends_ours(text: str) -> bool:
    """Whether the line is the end mark of the section that we write."""
    return _END.match(text) is not None


def stretches(lines: Sequence[Line]) -> dict[int, Stretch]:
    """Return the number of each begin mark's line -> the stretch it begins; linear.

    A begin mark that meets another of its name, or the end of the file, before its end mark begins
    nothing: somebody has deleted half of the section, and what follows may be human.
    """
    found = dict(_others(lines))
    found.update(_own(lines))
    return found


def _own(lines: Sequence[Line]) -> Iterator[tuple[int, Stretch]]:
    """Yield the stretches that are ours."""
    marks = [
        (number, begins_ours(line.text))
        for number, line in enumerate(lines)
        if line.text.startswith("<!--") and (begins_ours(line.text) or ends_ours(line.text))
    ]
    for (begin, opens), (end, opens_too) in pairwise(marks):
        if opens and not opens_too:
            yield begin, Stretch(Whose.OURS, end + 1)


def _others(lines: Sequence[Line]) -> Iterator[tuple[int, Stretch]]:
    """Yield the stretches of other tools."""
    begun: dict[tuple[str, ...], int] = {}
    ended: set[int] = set()
    for mark in _marks(lines):
        if not mark.ends:
            for length in range(1, min(len(mark.name), _NAME_WORDS) + 1):
                begun[mark.name[:length]] = mark.line
        elif (begin := begun.pop(mark.name, None)) is not None and begin not in ended:
            ended.add(begin)
            yield begin, Stretch(Whose.ANOTHER_TOOL, mark.line + 1)


def _marks(lines: Sequence[Line]) -> Iterator[_Mark]:
    """Yield what may be a mark of another tool, from top to bottom."""
    for number, line in enumerate(lines):
        if not line.text.startswith("<"):
            continue
        tag = _TAG.fullmatch(line.text)
        if tag is not None and tag[2] in _TAGS:
            yield _Mark(number, ("<", tag[2]), ends=bool(tag[1]))
        comment = _COMMENT.fullmatch(line.text)
        if comment is not None and not _NOT_OF_TOOLS.search(comment[1]):
            yield _mark(number, comment[1])


def _mark(number: int, text: str) -> _Mark:
    """Return what a comment would be as a mark."""
    words = tuple(_WORDS.findall(text.lower()))
    outer = {*words[:1], *words[-1:]}
    if outer & (_BEGINS | _ENDS):
        name = tuple(word for word in words if word not in _BEGINS | _ENDS)
        return _Mark(number, name, ends=not outer.isdisjoint(_ENDS))
    # One that says neither may be the begin mark of one that says `/name`.
    return _Mark(number, ("/", *words), ends=text.startswith("/"))
