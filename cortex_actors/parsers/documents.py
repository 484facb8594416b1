"""A document to passages: which headings each stands under, what is text and what is code.

A passage begins at every heading of the levels 1 to 4; what only looks like one inside code or a
comment is none. The front matter is left off, its tags are kept; comments are left out, because
nobody sees them, and so is the section that we write into instruction files ourselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from cortex_actors.errors import FileTooLarge
from cortex_actors.parsers import frontmatter, marks
from cortex_actors.parsers.blocks import Part, Scanner
from cortex_actors.parsers.headings import Heading, heading, underlined
from cortex_actors.parsers.lines import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.parsers.blocks import Row
    from cortex_actors.parsers.lines import Line

#: Raised with every change of what comes of a document: what was read before is then read anew.
READ_AS = 1

#: Bytes a document may have (N-32 had 500 kB; this is what the line reader takes).
MAX_BYTES = 1_048_576

#: The deepest level of a heading that begins a passage.
DEEPEST = 4

#: Characters of a heading that are kept, and of the word that says in which language code is.
_HEADING, _LANGUAGE = 200, 40


@dataclass(slots=True)
class Passage:
    """A run of a document: paragraphs, or one block of code, below some headings.

    `headings` are outermost first, the document's title left out.
    """

    headings: tuple[str, ...]
    is_code: bool = False
    language: str | None = None
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it says; the lines of code as they stand, those of text without blanks around."""
        whole = "\n".join(self.lines)
        return whole.strip("\n") if self.is_code else whole.strip()


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read."""

    title: str
    tags: tuple[str, ...]
    passages: tuple[Passage, ...]


def document(data: bytes, *, path: str) -> Document:
    """Return a document; `path` names it in errors, and is its title where it has no heading.

    Raises `FileTooLarge` and `NotText`; nothing else, whatever the bytes are. Linear.
    """
    if len(data) > MAX_BYTES:
        raise FileTooLarge(
            f"cannot read {path}: it has {len(data):,} bytes and a document may have "
            f"{MAX_BYTES:,}; split it"
        )
    text = lines(data, path=path)
    front = frontmatter.length([line.text for line in text])
    reader = _Reader()
    for line in _said(text, front):
        reader.read(line)
    return Document(
        title=reader.title or PurePath(path).stem or path,
        tags=frontmatter.tags("\n".join(line.text for line in text[:front])),
        passages=tuple(each for each in reader.found if each.text),
    )


def _said(text: Sequence[Line], front: int) -> Iterator[str | None]:
    """Yield the lines that are the document's own words; None where something was left out."""
    ours = {
        number: stretch.end
        for number, stretch in marks.stretches(text).items()
        if stretch.whose is marks.Whose.OURS
    }
    number = front
    while number < len(text):
        end = ours.get(number)
        yield text[number].text if end is None else None
        number = number + 1 if end is None else end


class _Reader:
    """Where a reader stands: under which headings, in text or in code."""

    def __init__(self) -> None:
        self.title = ""
        self.found: list[Passage] = [Passage(())]
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
        if row.part is Part.COMMENT or _is_comment(row):
            return
        if row.part is Part.FENCE:
            self._begin(is_code=True, language=_language(row.rest))
        elif row.part is Part.FENCE_END:
            self._begin()
        elif row.inside:
            self._code(text)
        else:
            self._text(text, row)

    def _code(self, text: str) -> None:
        """Take a line of code."""
        if not self.found[-1].is_code:
            self._begin(is_code=True)
        self.found[-1].lines.append(text.rstrip())

    def _text(self, text: str, row: Row) -> None:
        """Take a line that is no code: a heading, or what stands below one."""
        if self.found[-1].is_code:
            # A line left of the list item ends the fence inside.
            self._begin()
        alone = not row.depth and not row.goes_on
        title = heading(text) if alone and row.part is Part.TEXT else None
        below = underlined(self._above, text) if self._above else None
        if title is None and below is not None:
            self.found[-1].lines.pop()
        title = title or below
        self._above = text if alone and title is None and text.strip() else ""
        if title is not None and title.level <= DEEPEST:
            self._enter(title)
        else:
            self.found[-1].lines.append(text.rstrip())

    def _enter(self, title: Heading) -> None:
        """Come to a heading; the first of level 1 is the title of it all."""
        said = title.text[:_HEADING].strip()
        while self._open and self._open[-1].level >= title.level:
            self._open.pop()
        if title.level == 1 and not self.title and said:
            self.title = said
        else:
            self._open.append(Heading(title.level, said))
        self._begin()

    def _begin(self, *, is_code: bool = False, language: str | None = None) -> None:
        """Begin another passage."""
        under = tuple(each.text for each in self._open if each.text)
        self.found.append(Passage(under, is_code, language))


def _is_comment(row: Row) -> bool:
    """Whether a line is one comment and nothing else."""
    rest = row.rest.strip()
    return not row.inside and rest.startswith("<!--") and rest.endswith("-->")


def _language(fence: str) -> str | None:
    """Return the language that a fence's first line names, in lower case."""
    said = fence.strip("`~ \t{}.")
    word = said.split()[0] if said.split() else ""
    return word.lower()[:_LANGUAGE] or None
