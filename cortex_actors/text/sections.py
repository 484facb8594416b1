"""Markdown to sections: split at headings, every byte in exactly one section.

A heading is `##` at the very start of a line, then a space or tab. What only looks like one inside
code, comments or front matter is content. A file without H2 is split at its H1 headings when it has
several, else at H3, else where a paragraph begins. What we wrote ourselves, and what another tool
keeps up to date, is a section and never a fragment, else it would be read as what humans say.

Markdown to fragments: what a human says in a file, section by section.

Pointers to other files: `@docs/style.md`, as Claude Code and its like import them.

They are recorded and never followed. A file that is pointed to may lie anywhere, in a person's home
folder or outside the project; one that instructs agents is found by its own name anyway.

Excerpts: what of a section is shown around a statement that was found.

A statement alone is often no answer: what introduces it, the command of the line before and the
next entry of its list belong to it. An excerpt is made of the statements that the ledger has of a
section, in their order, and of what is above them. What was kept back or taken out of a file is
no statement, and so it is in no excerpt.

Which files instruct agents, and which parser reads them.

Adding a dialect is adding one entry to `DIALECTS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from cortex_actors.domain.project import Fragment, hash_file
from cortex_actors.text import markdown
from cortex_actors.text.markdown import (
    Heading,
    HeadingTrail,
    Line,
    LineKind,
    parse_heading,
    parse_underlined,
    split_lines,
)
from cortex_actors.text.statements import strip_label
from cortex_actors.text.terms import find_matches

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence


#: Headings of a resolved section without marks: as Cerno wrote it, or ours after a person
#: deleted the marks around it.
RESOLVED_HEADINGS = ("Resolved Knowledge from Cerno", "Resolved Knowledge from Cortex")

#: H1 headings from which a file without H2 is split at H1; a single one is its title.
_SEVERAL = 2

#: How a line begins that belongs to the paragraph above it, blank lines between or not: a list
#: item, a quotation, a table, a fence, a rule, a tag, or what is indented.
_BELONGS = re.compile(r"[ \t>|<]|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|`{3}|~{3}|[-*_]{3}")


class Role(StrEnum):
    """Whose words a section holds."""

    #: A human's.
    TEXT = "text"
    #: The file's metadata, in front of everything.
    FRONT_MATTER = "front_matter"
    #: Ours; replaced at each resolution, never read back.
    RESOLVED = "resolved"
    #: Another tool's, which writes it again whenever it likes.
    MANAGED = "managed"


class _Split(IntEnum):
    """What a file is split at: the level of a heading, or 0 for paragraphs."""

    PARAGRAPHS = 0
    H1 = 1
    H2 = 2
    H3 = 3


@dataclass(frozen=True, slots=True)
class Section:
    """One stretch of a file; the sections of a file join to exactly its bytes.

    Text that goes on behind a marked section is a section of its own, under the heading it had
    before. `content` is trimmed, has LF at its line ends and leaves the heading line out; of a
    section that is no human's it is everything, marks included. `above` are the headings above
    the section, its own left out.
    """

    role: Role
    heading: str | None
    content: str
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    above: tuple[str, ...] = ()


class _Cut(NamedTuple):
    """The start of a section: the line's number from 0, and what begins there."""

    line: int
    role: Role
    heading: str | None = None
    #: Lines at the start that are no content: 1 for a heading line.
    skip: int = 0
    above: tuple[str, ...] = ()


#: What begins at the first line of a kind.
_ROLES = {
    LineKind.FRONT_MATTER: Role.FRONT_MATTER,
    LineKind.OURS: Role.RESOLVED,
    LineKind.MANAGED: Role.MANAGED,
}


def split_sections(data: bytes, *, path: str) -> tuple[Section, ...]:
    """Return all sections of a file in order, blank ones too; at least one.

    Raises `FileTooLarge` and `NotText`, naming `path`; nothing else, whatever the bytes are.
    """
    text = split_lines(data, path=path)
    cuts = list(_cuts(text, markdown.classify_lines(text)))
    ends = [cut.line for cut in cuts[1:]] + [len(text)]
    return tuple(_section(text, cut, end) for cut, end in zip(cuts, ends, strict=True))


def _cuts(text: Sequence[Line], kinds: Sequence[LineKind]) -> Iterator[_Cut]:
    """Yield where each section starts; the first one starts at line 0."""
    reader = _SectionReader(_split(text, kinds))
    previous: LineKind | None = None
    for number, (line, kind) in enumerate(zip(text, kinds, strict=True)):
        if number and line.start == line.end:
            # Behind the final line end; without bytes of its own it starts nothing.
            break
        role = _ROLES.get(kind)
        if role is None:
            cut = reader.read(number, line.text, kind)
            if cut is not None:
                yield cut
            elif previous is None or previous in _ROLES:
                yield reader.around._replace(line=number, skip=0)
        elif previous is not kind or (kind is LineKind.OURS and markdown.begins_ours(line.text)):
            yield _Cut(number, role)
        previous = kind


class _SectionReader:
    """The state of a reader: under which headings, in whose words, behind which text."""

    def __init__(self, split: _Split) -> None:
        self._split = split
        self._trail = HeadingTrail()
        #: What the text belongs to where no heading says otherwise.
        self.around = _Cut(0, Role.TEXT)
        #: Whether the section has said anything but headings yet.
        self._said = False
        self._blank = True
        #: The line above, if it began a paragraph: the one below may make a heading of it.
        self._first = ""

    def read(self, number: int, text: str, kind: LineKind) -> _Cut | None:
        """Take the next line of a human's, and return the section that starts there, if one does.

        An unmarked section of ours ends at the next H1 or H2 alone: those we never write inside.
        """
        found = parse_heading(text) if kind is LineKind.TEXT else None
        cut = None if kind is not LineKind.TEXT else self._cut(number, text, found)
        if cut is not None:
            self.around, self._said = cut, False
        title = found or parse_underlined(self._first, text) if self._first or found else None
        if title is not None:
            self._trail.enter(title)
        begins = (
            self._blank and found is None and kind is LineKind.TEXT and not _BELONGS.match(text)
        )
        self._first = text if begins else ""
        self._said = self._said or (found is None and bool(text.strip()))
        self._blank = not text.strip() or found is not None
        return cut

    def _cut(self, number: int, text: str, found: Heading | None) -> _Cut | None:
        """Return the section that starts at this line, if one does."""
        ours = self.around.role is Role.RESOLVED
        if found is not None and _is_resolved(found):
            return _Cut(number, Role.RESOLVED, found.text, 1)
        if found is not None and found.level == self._split and not (ours and found.level > 2):  # noqa: PLR2004 - H2
            above = self._trail.find_above(found.level)
            return _Cut(number, Role.TEXT, found.text, 1, above)
        if ours:
            # We never write an H1, so one that is there is human.
            ends = found is not None and found.level == 1
            return _Cut(number, Role.TEXT) if ends else None
        # A paragraph that does not belong to what is above it.
        begins = found is not None or (self._blank and bool(text) and not _BELONGS.match(text))
        if self._split is _Split.PARAGRAPHS and self._said and begins:
            above = self._trail.texts if found is None else self._trail.find_above(found.level)
            return _Cut(number, Role.TEXT, above=above)
        return None


def _split(text: Sequence[Line], kinds: Sequence[LineKind]) -> _Split:
    """Return what this file is split at."""
    # Ours does not count: writing it into a file must not change how the rest is split.
    levels = [found.level for found in _of_humans(text, kinds)]
    if _Split.H2 in levels:
        return _Split.H2
    if levels.count(_Split.H1) >= _SEVERAL:
        return _Split.H1
    return _Split.H3 if _Split.H3 in levels else _Split.PARAGRAPHS


def _of_humans(text: Sequence[Line], kinds: Sequence[LineKind]) -> Iterable[Heading]:
    """Yield the headings that are not in a section of ours, marked or not."""
    ours = False
    for line, kind in zip(text, kinds, strict=True):
        found = parse_heading(line.text) if kind is LineKind.TEXT else None
        if found is None:
            continue
        if found.level <= _Split.H2:
            ours = _is_resolved(found)
        if not ours:
            yield found


def _is_resolved(found: Heading) -> bool:
    """Whether a heading begins a section of ours without marks."""
    return found.level == _Split.H2 and found.text in RESOLVED_HEADINGS


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
        above=cut.above,
    )


#: Pointers of one file that are recorded.
_MOST = 64

#: Code in a line, in which nothing is a pointer.
_CODE = re.compile(r"`[^`]*`")

#: `@` and a path with the ending of a text file: `@pytest.mark.slow` is a decorator, `@acme/ui` a
#: package and `@mary` a person.
_PATH = re.compile(
    r"(?<![\w@./-])@(~?[\w./-]{1,400}\.(?:mdc?|markdown|txt|rst|adoc|ya?ml|toml|json))(?![\w/-])"
)

#: A line that is nothing but a pointer needs no ending: `@README`, `@~/notes`.
_ALONE = re.compile(r"[ \t]*@(~?[\w./-]{1,400})[ \t]*")

#: A whole text that is one path: what a link becomes where links cannot be stored.
_LINK = re.compile(r"\s*((?:\.{0,2}/)?[\w./-]{1,400}\.mdc?)\s*")


def find_imports(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that some lines point to, as written, each once, in their order."""
    lines = list(texts)
    whole = _LINK.fullmatch("\n".join(lines)) if len(lines) <= _MOST else None
    found = [whole[1]] if whole is not None else [each for line in lines for each in _in(line)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _in(line: str) -> list[str]:
    """Return the paths that one line points to."""
    if "@" not in line:
        return []
    alone = _ALONE.fullmatch(line)
    return [alone[1]] if alone is not None else _PATH.findall(_CODE.sub("", line))


def split_fragments(data: bytes, *, path: str, project: str) -> tuple[Fragment, ...]:
    """Return what a human says in a file: its text sections that are not blank.

    `path` is the expanded, absolute path, part of each fragment's id; `project` is the name of the
    project the file belongs to. Raises `FileTooLarge` and `NotText`, naming `path`.
    """
    found = split_sections(data, path=path)
    digest = hash_file(data)
    front = next((each.content for each in found if each.role is Role.FRONT_MATTER), "")
    # What is read on request alone holds for nothing but itself.
    asked = (PurePosixPath(path).name,) if markdown.is_on_request(front) else ()
    globs = markdown.find_globs(front) or asked
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
            above=section.above,
            applies_to=globs,
            imports=find_imports(section.content.split("\n")),
            raw=data[section.byte_start : section.byte_end],
        )
        for section in found
        if section.role is Role.TEXT and section.content
    )


def count_left_out(data: bytes, *, path: str) -> int:
    """Return how many lines of a file another tool keeps up to date; no fragment has them.

    Raises `FileTooLarge` and `NotText`, naming `path`.
    """
    if b"<!--" not in data and b"</" not in data:
        # No mark could end anything; saves a second pass over most files.
        return 0
    return markdown.classify_lines(split_lines(data, path=path)).count(LineKind.MANAGED)


class Parser(Protocol):
    """Turns a file's bytes into fragments; pure.

    Raises `FileTooLarge` and `NotText`, naming the path.
    """

    def __call__(self, data: bytes, *, path: str, project: str) -> tuple[Fragment, ...]:
        """Return what a human says in the file, in its order."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write instruction files.

    Attributes:
        agent: whose files these are, as `cortex resolve --agent` takes it.
        where: a bare name is met in any folder of a project, a path only there from its root, and
            a name behind a `/` only in the root. A path may begin with `**/`, for any folder, and
            hold `*` for what has no `/` in it.
        parse: the parser.
        private: whether the file is one person's own: what it says stays in its project.
        on_request: whether an agent reads it only for some task (a skill) or in some mode: what it
            says holds in its own folder, and contradicts nothing that holds always.

    """

    agent: str
    where: str
    parse: Parser = split_fragments
    private: bool = False
    on_request: bool = False


#: Folders of tools: what lies in one speaks for the folder around it.
TOOLS = frozenset(
    ".agents .claude .clinerules .codex .cursor .gemini .github .junie .kiro .roo .windsurf".split()
)

#: Every file we read. Names are compared exactly, upper and lower case too.
DIALECTS = (
    Dialect("claude", "CLAUDE.md"),
    Dialect("claude", "CLAUDE.local.md", private=True),
    Dialect("claude", ".claude/CLAUDE.md"),
    Dialect("claude", "**/.claude/rules/**/*.md"),
    Dialect("agents", "AGENTS.md"),
    Dialect("gemini", "GEMINI.md"),
    Dialect("copilot", ".github/copilot-instructions.md"),
    Dialect("copilot", ".github/instructions/**/*.instructions.md"),
    Dialect("cursor", ".cursorrules"),
    Dialect("cursor", "**/.cursor/rules/**/*.mdc"),
    Dialect("windsurf", ".windsurfrules"),
    Dialect("windsurf", "**/.windsurf/rules/**/*.md"),
    # Skills in other folders are what a project makes, and instruct no one who works on it.
    Dialect("claude", "**/.claude/skills/**/SKILL.md", on_request=True),
    Dialect("agents", "**/.*/skills/**/SKILL.md", on_request=True),
    Dialect("cline", ".clinerules"),
    Dialect("cline", "**/.clinerules/**/*.md"),
    Dialect("roo", ".roorules"),
    Dialect("roo", "**/.roo/rules/**/*.md"),
    Dialect("roo", "**/.roo/rules-*/**/*.md", on_request=True),
    Dialect("junie", ".junie/guidelines.md"),
    Dialect("kiro", "**/.kiro/steering/**/*.md"),
    # Aider reads it where its configuration or a person says so; in other folders it is for people.
    Dialect("aider", "/CONVENTIONS.md"),
)

#: Folders in `.clinerules` that hold no rules: Cline runs what lies there when it is asked to.
_NO_RULES = frozenset({"hooks", "workflows"})

_BY_PLACE = {dialect.where: dialect for dialect in DIALECTS if "*" not in dialect.where}


def find_dialect(relative_path: str) -> Dialect | None:
    """Return how to read a file, given its path from the project's root; None: not for us.

    Every file of a project is asked about at each sweep: most are known by their name.
    """
    path = PurePosixPath(relative_path)
    known = _BY_PLACE.get(str(path)) or _BY_PLACE.get(path.name) or _BY_PLACE.get(f"/{path}")
    if known is not None or TOOLS.isdisjoint(path.parts):
        return known
    if ".clinerules" in path.parts and not _NO_RULES.isdisjoint(path.parts):
        return None
    matching = (each for pattern, each in _patterns() if pattern.fullmatch(str(path)))
    return next(matching, None)


def find_folder(relative_path: str) -> str:
    """Return the folder that a file speaks for, from the project's root; "" for all of it.

    That is the folder it lies in, and of what lies in a tool's own folder (`.cursor/rules`) the
    folder around that, unless it is read on request alone.
    """
    parts = PurePosixPath(relative_path).parent.parts
    inner = next((number for number, part in enumerate(parts) if part in TOOLS), len(parts))
    dialect = find_dialect(relative_path) if inner < len(parts) else None
    if dialect is not None and dialect.on_request:
        inner = len(parts)
    return "/".join(parts[:inner])


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Dialect], ...]:
    """Return the dialects that are known by a pattern of their path."""
    starred = [each for each in DIALECTS if "*" in each.where]
    parts = [re.split(r"(\*\*/|\*)", each.where) for each in starred]
    known = {"**/": "(?:.+/)?", "*": "[^/]*"}
    written = ("".join(known.get(part, re.escape(part)) for part in some) for some in parts)
    return tuple(zip(map(re.compile, written), starred, strict=True))


#: A fragment, and which of its statements.
Spot: TypeAlias = tuple[str, int]

#: Characters of an excerpt's statements: five of six of the 2,887 lists and paragraphs under one
#: heading in 101 real repositories have fewer, half of them 231 at most. Ten hits of this length
#: are about 1,500 tokens.
EXCERPT: Final = 600

#: Lines from one statement to the next of the same list or fence: one may have a comment above it.
_GAP: Final = 2

#: What ends a part of a heading that was too long.
_SHORTENED: Final = "\u2026"


class ExcerptLine(NamedTuple):
    """A statement: its place, lines counted from 1, and what it says there."""

    spot: Spot
    heading: str | None
    line_start: int
    line_end: int
    text: str

    @property
    def path(self) -> list[str]:
        """What is above it, outermost first."""
        return self.heading.split(" > ") if self.heading else []


def find_around(
    section: Sequence[ExcerptLine], spot: Spot, *, taken: Container[Spot] = ()
) -> Sequence[ExcerptLine]:
    """Return a statement with those around it that belong to it, in their order.

    `section` holds the statements of its fragment in their order; nothing where it lacks the spot.
    What is nearer comes first, while there is room. What is `taken` is shown elsewhere and ends the
    excerpt.
    """
    at = next((number for number, each in enumerate(section) if each.spot == spot), -1)
    if at < 0:
        return ()
    room, ends, sides = EXCERPT - len(section[at].text), {-1: at, 1: at}, {-1, 1}
    while sides:
        side = min(sides, key=lambda each: (abs(ends[each] - at), each))
        number = ends[side] + side
        other = section[number] if 0 <= number < len(section) else None
        if (
            other is None
            or other.spot in taken
            or len(other.text) > room
            or not _is_near(section[at], other, edge=section[ends[side]])
        ):
            sides.remove(side)
        else:
            ends[side], room = number, room - len(other.text)
    return section[ends[-1] : ends[1] + 1]


def _is_near(own: ExcerptLine, other: ExcerptLine, *, edge: ExcerptLine) -> bool:
    """Tell whether another statement is shown: not under more, or directly beside what is shown."""
    gap = max(other.line_start - edge.line_end, edge.line_start - other.line_end)
    return _common(own.path, other.path) == other.path or gap <= _GAP


def _common(*paths: Sequence[str]) -> list[str]:
    """Return what paths have in common, from the outermost part on."""
    parts = zip(*paths, strict=False)
    return [each[0] for each in takewhile(lambda some: len(set(some)) == 1, parts)]


def make_excerpt(
    some: Sequence[ExcerptLine], found: Mapping[Spot, str], *, question: str
) -> dict[str, Any]:
    """Return an excerpt as plain JSON values.

    `heading` is what is above all of it, `marks` where the found statements are (by id: their
    lines in the file, their characters in `text` from `start` up to `end`), `words` the characters
    of the words that the question has, too. An innermost heading is a line of the text: it may be
    the sentence that introduces a list.
    """
    shared = _common(*(each.path for each in some))
    above = shared[:-1] or shared
    text, marks, before, said = "", [], above, ""
    for each in some:
        path = each.path
        for level in range(max(len(_common(before, path)), len(above)), len(path)):
            # The item that a list is nested in is a statement, too, and is there already.
            if not said.startswith(path[level].rstrip(_SHORTENED)):
                # Of a label in bold type the heading has lost the first marks.
                text += f"{'  ' * (level - len(above))}{path[level].replace('**', '')}:\n"
        text += "  " * (len(path) - len(above))
        if name := found.get(each.spot):
            lines, end = {"line_start": each.line_start, "line_end": each.line_end}, len(each.text)
            marks.append({"id": name, "start": len(text), "end": len(text) + end, **lines})
        text, before, said = f"{text}{each.text}\n", path, strip_label(each.text)
    return {
        "heading": " > ".join(above),
        "text": text.rstrip("\n"),
        "line_start": some[0].line_start,
        "line_end": max(each.line_end for each in some),
        "marks": marks,
        "words": [list(each) for each in find_matches(text, question)],
    }
