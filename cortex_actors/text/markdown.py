"""Bytes to lines that know their place in the file.

The metadata on top of a file: how far it reaches, which files the rest is for, its tags.

Only a few keys matter, and their values are often no YAML (`globs: *.ts` is an alias there), so
that a YAML library would refuse half of the files that name globs.

Stretches of a file that no person wrote: the section that is ours, and other tools'.

A tool that keeps a part of an instruction file up to date marks it, and writes it again whenever it
likes: `<!-- nx configuration start-->` and `... end-->`, `<!-- BEGIN BEADS INTEGRATION v:1 -->` and
`<!-- END BEADS INTEGRATION -->`, `<!-- rtk-instructions v2 -->` and `<!-- /rtk-instructions -->`,
`<claude-mem-context>` and `</claude-mem-context>`. The text between is no person's word. A mark
without its counterpart is a comment like any other, and so is a pair such as `<!-- braindump -->`
and `<!-- /braindump -->` that names no version and no generator: people set such marks, too.

Which lines of a Markdown file are text, and which only look like it.

A line scanner in one pass. It knows the blocks in which `## x` is no heading: fenced code, HTML
comments, front matter, the section that we write ourselves and those of other tools. The rules are
CommonMark's (0.31, sections 4.5, 4.6 and 5.2), with one simplification: block quotes are not
entered, because a line in them starts with `>` and is never a heading of the file. A full Markdown
parser was rejected: it reports lines, not bytes, and costs a dependency for four kinds of block.
Other HTML is not entered either: a `## x` right below a `<div>` was meant as a heading.

Headings: which lines are one, and what is above a line.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.errors import FileTooLarge, NotText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: Bytes an instruction file or a document may have; 1 MiB is six times the largest instruction file
#: seen in the wild.
MAX_BYTES = 1_048_576


class Line(NamedTuple):
    """One line: its text without the line end, and its byte range with it."""

    text: str
    start: int
    end: int


def require_room(size: int, *, path: str, what: str) -> None:
    """Raise `FileTooLarge`, naming `path` and what it is, above `MAX_BYTES`."""
    if size > MAX_BYTES:
        raise FileTooLarge(
            f"cannot read {path}: it has {size:,} bytes and {what} may have {MAX_BYTES:,}; split it"
        )


def split_lines(data: bytes, *, path: str) -> list[Line]:
    """Return the lines of a file; their byte ranges join to the whole file.

    A line ends at LF, CR LF or a bare CR, and nowhere else. Behind a final line end is one more
    line, empty in text and bytes, so that every file has at least one. A byte order mark belongs to
    the first line's bytes and not to its text. What is no UTF-8 is read as U+FFFD: a file that was
    saved in another encoding says most of what it says in ASCII. `path` names the file in errors;
    nothing is read.

    Raises `FileTooLarge` above `MAX_BYTES` and `NotText` for NUL bytes, which text never has.
    """
    require_room(len(data), path=path, what="an instruction file")
    nul = data.find(b"\0")
    if nul >= 0:
        raise NotText(f"cannot read {path} as text: byte {nul:,} is NUL; save the file as UTF-8")
    found: list[Line] = []
    offset = 0
    # Splitting bytes knows only the three line ends; str.splitlines() knows eight more.
    for raw in data.splitlines(keepends=True):
        end = offset + len(raw)
        # Each by itself: a character that was cut off takes no line end with it.
        found.append(Line(raw.rstrip(b"\r\n").decode("utf-8", "replace"), offset, end))
        offset = end
    if not data or data.endswith((b"\n", b"\r")):
        found.append(Line("", offset, offset))
    if data.startswith(codecs.BOM_UTF8):
        found[0] = found[0]._replace(text=found[0].text.removeprefix("\ufeff"))
    return found


def require_utf8(data: bytes, *, path: str) -> None:
    """Raise `NotText`, naming `path` and the line, for bytes that are no UTF-8.

    What another encoding wrote says something else in each word that has a letter beyond ASCII.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = len(data[: error.start + 1].splitlines())
        raise NotText(
            f"cannot read {path} as text: line {line} is not UTF-8; save the file as UTF-8"
        ) from None


#: Keys that hold globs, as Cursor, Copilot, Claude Code and Cline, and Kiro call them.
_GLOBS = frozenset({"globs", "applyto", "paths", "filematchpattern"})

#: The key with which Kiro says when a file is read, and what it says of one that is asked for.
_READ_WHEN, _ON_REQUEST = frozenset({"inclusion"}), frozenset({"manual", "auto"})

#: Keys that hold what a document is filed under.
_TAG_KEYS = frozenset({"tags", "tag", "keywords"})

#: Globs of one file, and characters of a line of them; a person writes fewer.
_MOST, _LONGEST = 64, 4_000

_KEY = re.compile(r"[\w\"'][\w .\"'-]*:(?:\s|$)")
_ENTRY = re.compile(r"([\w-]+):(.*)")
_ITEM = re.compile(r"\s*-\s+(.*)")

#: A comma between two globs; one in braces is a part of its glob.
_BETWEEN = re.compile(r",(?![^{}]*\})")


def measure_front_matter(texts: Sequence[str]) -> int:
    """Return how many lines are front matter, from the top.

    A rule `---` on the first line is not front matter: that is closed, and its first entry is a
    YAML key.
    """
    if texts[0].rstrip() != "---":
        return 0
    has_key = False
    for number, line in enumerate(texts[1:], start=1):
        text = line.rstrip()
        if text in {"---", "..."}:
            return number + 1 if has_key or number == 1 else 0
        if not has_key and text and not text.startswith("#"):
            if not _KEY.match(text):
                return 0
            has_key = True
    return 0


def find_globs(content: str) -> tuple[str, ...]:
    """Return the globs of the files that a file's text is for, given its front matter.

    Empty when it is for all files: none is named, or `**` and its like are.
    """
    found = tuple(dict.fromkeys(_named(content.split("\n"), _GLOBS)))[:_MOST]
    return () if any(each in {"*", "**", "**/*"} for each in found) else found


def is_on_request(content: str) -> bool:
    """Whether a file is read only when a person or its topic asks for it, by its front matter."""
    return not _ON_REQUEST.isdisjoint(_named(content.split("\n"), _READ_WHEN))


def find_tags(content: str) -> tuple[str, ...]:
    """Return the tags that a front matter gives its file, each once, as they are written."""
    found = dict.fromkeys(each.lstrip("#") for each in _named(content.split("\n"), _TAG_KEYS))
    return tuple(each for each in found if each)[:_MOST]


def _named(lines: Sequence[str], keys: frozenset[str]) -> Iterator[str]:
    """Yield the values of some keys as they are written, without quotation marks."""
    listed = False
    for line in lines:
        entry, item = _ENTRY.match(line), _ITEM.match(line)
        if entry is not None:
            listed = entry[1].lower() in keys
            values = entry[2] if listed else ""
        else:
            values = item[1] if item is not None and listed else ""
        values = values[:_LONGEST].strip().removeprefix("[").removesuffix("]")
        for value in _BETWEEN.split(values):
            glob = value.strip().strip("\"'")
            if glob:
                yield glob


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

#: What the begin mark of an end mark `/name` has when a tool wrote it: a version, a hash, or words
#: that keep people off.
_OF_TOOL = re.compile(
    r"\bv:?\d|\b(?:hash|sha\d*|version)[:=]|generated|managed|do not (?:edit|modify|change)"
    r"|don['\u2019]t edit|automatic|\bauto[- ]",
    re.IGNORECASE,
)

#: Tags that tools write around what they keep, each on a line of its own.
_TAGS = frozenset({"claude-mem-context", "laravel-boost-guidelines", "skills_system"})
_TAG = re.compile(r"<(/?)([a-z_-]{1,40})(?:[ \t][^<>]{0,200})?>[ \t]*")

#: Words of a begin mark by which its end may call it; versions and hashes follow.
_NAME_WORDS = 6


class LineKind(Enum):
    """What a line is to a reader that looks for headings."""

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


class Stretch(NamedTuple):
    """A marked stretch of lines: ours or another tool's, and the number behind its last line."""

    kind: LineKind
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


def find_stretches(lines: Sequence[Line]) -> dict[int, Stretch]:
    """Return the number of each begin mark's line -> the stretch it begins; linear.

    A begin mark that meets another of its name, or the end of the file, before its end mark begins
    nothing: a person has deleted half of the section, and what follows may be human.
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
            yield begin, Stretch(LineKind.OURS, end + 1)


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
            yield begin, Stretch(LineKind.MANAGED, mark.line + 1)


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
    # One that says neither may be the begin mark of one that says `/name`; no end calls it "".
    ends = text.startswith("/")
    return _Mark(number, ("/", *words) if ends or _OF_TOOL.search(text) else ("",), ends=ends)


#: Columns of indentation from which a line is indented code; also a tab's width.
_CODE_INDENT = 4

#: Spaces behind a list marker up to which its text starts behind them (CommonMark 5.2, rule 1).
_MARKER_GAP = 4

_FENCE = re.compile(r"`{3,}+(?=[^`]*$)|~{3,}+")
#: List items that one line may open; deeper nesting is taken as text, else a line of a million
#: markers would cost its length squared.
_DEPTH = 32

_COMMENT_OPENS = "<!--"
_COMMENT_END = "-->"
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")


class TextPart(Enum):
    """What a line is to a reader of what the text says."""

    BLANK = auto()
    TEXT = auto()
    #: Opens a fence, closes one, is between, or is code by its indentation.
    FENCE = auto()
    FENCE_END = auto()
    CODE = auto()
    #: Inside a comment that does not end on the line it begins on.
    COMMENT = auto()


class ScannedLine(NamedTuple):
    """A line as the scanner has read it."""

    part: TextPart
    #: What is behind its indentation and its list markers.
    rest: str
    #: List items that it is in, and how many of them it begins.
    depth: int
    opened: int = 0
    #: Whether it goes on the paragraph above it.
    goes_on: bool = False
    #: Whether it begins inside a fence or a comment.
    inside: bool = False
    #: The number of the innermost list item that it begins; 0 where a list is not ordered.
    step: int = 0


def classify_lines(lines: Sequence[Line]) -> list[LineKind]:
    """Return the kind of each line; one pass, linear in the number of bytes."""
    stretches = find_stretches(lines)
    front = measure_front_matter([line.text for line in lines])
    found = [LineKind.FRONT_MATTER] * front
    scanner = Scanner()
    while len(found) < len(lines):
        number = len(found)
        opaque = scanner.read(lines[number].text).inside
        if opaque or number not in stretches:
            found.append(LineKind.OPAQUE if opaque else LineKind.TEXT)
        else:
            stretch = stretches[number]
            found += [stretch.kind] * (stretch.end - number)
            scanner = Scanner()
    return found


class Scanner:
    """The state of a reader: in a fence, a comment or text, and in which list items."""

    def __init__(self) -> None:
        #: Columns at which the text of each open list item starts, outermost first.
        self._items: list[int] = []
        #: What opened the fence or comment this is in: "```", "~~~~", "<!--"; empty outside.
        self._opener = ""
        #: The number of the list item that was begun last; 0 for one without.
        self._step = 0
        #: Whether a paragraph is open, which a line without a block of its own goes on.
        self._paragraph = False

    def read(self, text: str) -> ScannedLine:
        """Take the next line and return what it is."""
        stripped = text.lstrip(" \t")
        inside = TextPart.COMMENT if self._opener == _COMMENT_OPENS else TextPart.CODE
        if not stripped:
            self._paragraph = False
            part = inside if self._opener else TextPart.BLANK
            return ScannedLine(part, "", len(self._items), inside=bool(self._opener))
        column = _columns(text)
        if self._opener and column >= self._base:
            if self._closes(stripped, column):
                inside = TextPart.COMMENT if self._opener == _COMMENT_OPENS else TextPart.FENCE_END
                self._opener = ""
            return ScannedLine(inside, stripped, len(self._items), inside=True)
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
        if self._opener == _COMMENT_OPENS:
            return _COMMENT_END in stripped
        run = stripped.rstrip(" \t")
        return (
            column - self._base < _CODE_INDENT
            and len(run) >= len(self._opener)
            and not run.strip(self._opener[0])
        )

    def _open(self, stripped: str, column: int) -> ScannedLine:
        """Leave and enter list items, and open what this line opens."""
        rest, column, opened = self._enter(stripped, column)
        depth = len(self._items)
        if column - self._base >= _CODE_INDENT:
            part = TextPart.TEXT if self._paragraph else TextPart.CODE
            return ScannedLine(part, rest, depth, opened, goes_on=self._paragraph)
        part = TextPart.TEXT
        goes_on = self._paragraph and not _starts_block(rest)
        fence = _FENCE.match(rest)
        if fence is not None:
            self._opener, part = fence[0], TextPart.FENCE
        elif rest.startswith(_COMMENT_OPENS) and _COMMENT_END not in rest:
            self._opener, part = _COMMENT_OPENS, TextPart.COMMENT
        self._paragraph = bool(rest) and not _starts_block(rest)
        step = self._step if opened else 0
        return ScannedLine(part, rest, depth, opened, goes_on=goes_on, step=step)

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
            self._step = int(marker[0][:-1] or 0)
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
        stripped.startswith(("#", ">", _COMMENT_OPENS))
        or _FENCE.match(stripped) is not None
        or _MARKER.match(stripped) is not None
        or _RULE.match(stripped) is not None
    )


#: A heading of any level at the very start of a line.
_ATX = re.compile(r"(#{1,6})(?=[ \t])")

#: A title that only repeats the name of the file.
_FILE_NAME = re.compile(r"[`*_]{0,3}[\w./-]{1,60}\.mdc?[`*_]{0,3}")


#: The line below a heading without hashes; one sign is a typing error.
UNDERLINE = re.compile(r"(?:={2,}|-{2,})[ \t]*")

#: Characters of a heading without hashes: longer text above a rule was meant as text.
_TITLE = 80


class Heading(NamedTuple):
    """A heading line's level, from 1, and its text."""

    level: int
    text: str


def parse_heading(line: str) -> Heading | None:
    """Return the heading that a line is, its text without a closing run of `#`, else None."""
    found = _ATX.match(line)
    if found is None:
        return None
    rest = line[found.end() :].strip()
    bare = rest.rstrip("#")
    closed = not bare or bare[-1] in " \t"
    return Heading(len(found[1]), bare.rstrip() if closed else rest)


def parse_underlined(line: str, underline: str) -> Heading | None:
    """Return the heading that a paragraph of one line is, given the line below it, else None."""
    title = len(line) <= _TITLE and not line.rstrip().endswith((".", ":"))
    if not title or UNDERLINE.fullmatch(underline) is None:
        return None
    return Heading(1 if underline.startswith("=") else 2, line.strip())


class HeadingTrail:
    """The headings above a reader; each ends those of its level and below."""

    def __init__(self, above: tuple[str, ...] = (), *, level: int = 0) -> None:
        """Begin under some headings, the innermost of that level."""
        start = level - len(above) + 1
        self._open = [Heading(start + number, text) for number, text in enumerate(above)]

    def enter(self, found: Heading) -> None:
        """Come to a heading."""
        while self._open and self._open[-1].level >= found.level:
            self._open.pop()
        self._open.append(found)

    @property
    def texts(self) -> tuple[str, ...]:
        """The headings, outermost first, without those that say nothing of what is below them."""
        return self.find_above(7)  # a level below that of any heading

    def find_above(self, level: int) -> tuple[str, ...]:
        """Return the texts of the headings above a level."""
        return tuple(
            each.text
            for each in self._open
            if each.level < level and each.text and not _FILE_NAME.fullmatch(each.text)
        )
