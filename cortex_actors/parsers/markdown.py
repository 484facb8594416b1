"""Markdown to sections: split at H2 headings, every byte in exactly one section.

A heading is `##` at the very start of a line, then a space or tab. What only looks like one inside
code, comments or front matter is content. Files that have no H2 but several H1 are split at those.
What we wrote ourselves is a section and never a fragment, else each resolution would be read back
as something humans say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.domain.fragment import Fragment, file_hash
from cortex_actors.parsers import blocks
from cortex_actors.parsers.blocks import Kind
from cortex_actors.parsers.lines import Line, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The heading of a resolved section that stands without marks, as Cerno wrote it.
RESOLVED_HEADING = "Resolved Knowledge from Cerno"

#: H1 headings from which a file without H2 is split at H1; a single one is its title.
_SEVERAL = 2

_H1 = re.compile(r"#(?=[ \t])")
_H2 = re.compile(r"##(?=[ \t])")


class Role(StrEnum):
    """Whose words a section holds."""

    #: A human's.
    TEXT = "text"
    #: The file's metadata, in front of everything.
    FRONT_MATTER = "front_matter"
    #: Ours; replaced at each resolution, never read back.
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Section:
    """One stretch of a file; the sections of a file join to exactly its bytes.

    Text that goes on behind our own marked section is a section of its own, under the heading it
    had before. `content` is trimmed, has LF at its line ends and leaves the heading line out;
    of a resolved or front matter section it is everything, marks included.
    """

    role: Role
    heading: str | None
    content: str
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int


class _Cut(NamedTuple):
    """The start of a section: the line's number from 0, and what begins there."""

    line: int
    role: Role
    heading: str | None
    #: Lines at the start that are no content: 1 for a heading line.
    skip: int


def sections(data: bytes, *, path: str) -> tuple[Section, ...]:
    """Return all sections of a file in order, blank ones too; at least one.

    Raises `FileTooLarge` and `NotText`, naming `path`; nothing else, whatever the bytes are.
    """
    text = lines(data, path=path)
    cuts = list(_cuts(text, blocks.kinds(text)))
    ends = [cut.line for cut in cuts[1:]] + [len(text)]
    return tuple(_section(text, cut, end) for cut, end in zip(cuts, ends, strict=True))


def fragments(data: bytes, *, path: str, project: str) -> tuple[Fragment, ...]:
    """Return what a human says in a file: its text sections that are not blank.

    `path` is the expanded, absolute path, part of each fragment's id; `project` is the name of the
    project the file belongs to. Raises `FileTooLarge` and `NotText`, naming `path`.
    """
    digest = file_hash(data)
    return tuple(
        Fragment(
            content=section.content,
            source_path=path,
            source_project=project,
            heading=section.heading,
            line_start=section.line_start,
            line_end=section.line_end,
            byte_start=section.byte_start,
            byte_end=section.byte_end,
            file_hash=digest,
        )
        for section in sections(data, path=path)
        if section.role is Role.TEXT and section.content
    )


def _cuts(text: Sequence[Line], kinds: Sequence[Kind]) -> Iterator[_Cut]:
    """Yield where each section starts; the first one starts at line 0."""
    heading_of = _split_level(text, kinds)
    # What the text belongs to where no heading says otherwise.
    around = _Cut(0, Role.TEXT, None, 0)
    previous: Kind | None = None
    for number, (line, kind) in enumerate(zip(text, kinds, strict=True)):
        if number and line.start == line.end:
            # Behind the final line end; without bytes of its own it starts nothing.
            break
        if kind is Kind.FRONT_MATTER:
            if previous is None:
                yield _Cut(number, Role.FRONT_MATTER, None, 0)
        elif kind is Kind.OURS:
            if previous is not Kind.OURS or blocks.begins_ours(line.text):
                yield _Cut(number, Role.RESOLVED, None, 0)
        else:
            cut = _cut_at(number, line, kind, around.role, heading_of)
            resumes = previous in {None, Kind.FRONT_MATTER, Kind.OURS}
            if cut is not None:
                around = cut
                yield cut
            elif resumes:
                yield around._replace(line=number, skip=0)
        previous = kind


def _cut_at(
    number: int, line: Line, kind: Kind, around: Role, pattern: re.Pattern[str]
) -> _Cut | None:
    """Return the section that starts at this line, if one does."""
    if kind is not Kind.TEXT:
        return None
    heading = _heading(line.text, _H2)
    if heading == RESOLVED_HEADING:
        return _Cut(number, Role.RESOLVED, heading, 1)
    heading = _heading(line.text, pattern)
    if heading is not None:
        return _Cut(number, Role.TEXT, heading, 1)
    if around is Role.RESOLVED and _H1.match(line.text):
        # We never write an H1, so whoever did is human.
        return _Cut(number, Role.TEXT, None, 0)
    return None


def _split_level(text: Sequence[Line], kinds: Sequence[Kind]) -> re.Pattern[str]:
    """Return the heading that splits this file: H2, or H1 where only that can."""
    candidates = [line.text for line, kind in zip(text, kinds, strict=True) if kind is Kind.TEXT]
    # Ours does not count: writing it into a file must not change how the rest is split.
    if any(_heading(line, _H2) not in {None, RESOLVED_HEADING} for line in candidates):
        return _H2
    several = sum(1 for line in candidates if _H1.match(line)) >= _SEVERAL
    return _H1 if several else _H2


def _heading(text: str, pattern: re.Pattern[str]) -> str | None:
    """Return the heading's text without a closing run of `#`, or None if it is no heading."""
    found = pattern.match(text)
    if found is None:
        return None
    rest = text[found.end() :].strip()
    bare = rest.rstrip("#")
    closed = not bare or bare[-1] in " \t"
    return bare.rstrip() if closed else rest


def _section(text: Sequence[Line], cut: _Cut, end: int) -> Section:
    """Return the section from a cut to the line before `end`."""
    body = text[cut.line + cut.skip : end]
    return Section(
        role=cut.role,
        heading=cut.heading,
        content="\n".join(line.text for line in body).strip(),
        line_start=cut.line + 1,
        line_end=end,
        byte_start=text[cut.line].start,
        byte_end=text[end - 1].end,
    )
