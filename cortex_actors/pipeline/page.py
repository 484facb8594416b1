"""Page: what a human says in a file, as principles are compared with it; and what it is about.

Our own section is left out, so that a file that was written is the same page as before. Secrets are
taken out before anything is embedded: an embedder may be somebody else's machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.domain.project import StatementKind
from cortex_actors.pipeline.likeness import vectors
from cortex_actors.pipeline.reading import Reader, without_secrets
from cortex_actors.rules.promotion import FILE_CHARACTERS, file_domains
from cortex_actors.storage.embeddings import embedded_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.storage.embeddings import Embed, Matrix
    from cortex_actors.text.sections import Dialect


#: A file that only says where to look: statements at most, and names of files it may point to.
POINTER, _POINTS = 15, re.compile(r"\b(?:AGENTS|CLAUDE|GEMINI)\.md\b")


@dataclass(frozen=True, slots=True)
class Line:
    """A statement of a file: what a principle may repeat, or contradict."""

    claim: Claim
    embedded: str
    domain: str | None = None
    #: An example shows something: it does not ask for it.
    is_example: bool = False
    #: A command says what one does, and not that one should.
    is_command: bool = False
    #: Which other file of the project says it, from the root; "" for the file itself.
    file: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A page with the vectors of its texts, as far as there is a model that makes them now."""

    page: Page
    vectors: Mapping[str, Matrix] = field(default_factory=dict)

    def row(self, text: str) -> Matrix | None:
        """Return the vector of one of its texts; None where it has none."""
        return self.vectors.get(text)

    def rows(self, texts: Sequence[str]) -> Matrix | None:
        """Return the vectors of several of its texts; None unless every one has one."""
        found = [self.vectors[each] for each in texts if each in self.vectors]
        return np.stack(found) if found and len(found) == len(texts) else None


@dataclass(frozen=True, slots=True)
class Page:
    """What is compared with principles.

    Attributes:
        text: the beginning of what the human says, which stands for all of it.
        sections: the sections, as they are embedded.
        elsewhere: what the project's other files say: they may contradict a principle, and no more.
        stacks: the technologies that the project has; None where nobody has looked.

    """

    text: str = ""
    sections: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    domains: tuple[str, ...] = ()
    elsewhere: tuple[Line, ...] = ()
    stacks: frozenset[str] | None = None

    @property
    def is_silent(self) -> bool:
        """Whether no human says anything, so that nothing can be near it."""
        return not self.text.strip()

    @property
    def is_pointer(self) -> bool:
        """Whether the file leaves to another one of the project what it does not say."""
        is_short = len(self.lines) <= POINTER and bool(self.elsewhere)
        return is_short and _POINTS.search(self.text) is not None

    @property
    def embedded(self) -> list[str]:
        """Every text of it that is embedded, each once."""
        said = [each.embedded for each in (*self.lines, *self.elsewhere)]
        return [e for e in dict.fromkeys([self.text, *self.sections, *said]) if e.strip()]


#: Sections of a file that are compared as wholes; each is embedded, in some 20 ms.
SECTIONS = 300


def page_of(data: bytes, dialect: Dialect, *, path: str, project: str) -> Page:
    """Return what a human says in a file. Blocks: a large file takes a while.

    Raises `BadInput`, naming the path, for what is no text or says too much.
    """
    found = [without_secrets(f)[0] for f in dialect.parse(data, path=path, project=project)]
    said = Reader(dialect, path, project, Granularity.STATEMENT).read(data)
    text = "\n\n".join(embedded_text(each.heading, each.content) for each in found)
    lines = (
        Line(
            Claim(each.content, each.source.heading, each.source.scope),
            each.embedded,
            each.domain,
            is_example=each.source.kind is StatementKind.EXAMPLE,
            is_command=each.source.kind is StatementKind.COMMAND,
        )
        for each in said.findings
    )
    return _whole(text, (embedded_text(each.heading, each.content) for each in found), lines)


def joined(pages: Iterable[Page]) -> Page:
    """Return several files as one: what an agent reads that is told to read them all."""
    every = list(pages)
    if len(every) == 1:
        return every[0]
    text = "\n\n".join(each.text for each in every if each.text)
    sections = (section for each in every for section in each.sections)
    return _whole(text, sections, (line for each in every for line in each.lines))


def _whole(text: str, sections: Iterable[str], lines: Iterable[Line]) -> Page:
    """Return what texts say as a page."""
    short, some = text[:FILE_CHARACTERS], tuple(islice(sections, SECTIONS))
    return Page(short, some, tuple(lines), file_domains(text))


async def placed(page: Page, embed: Embed, *, model: str) -> Placed:
    """Return a page with its vectors; without any while nobody can make them."""
    texts = {each: each for each in page.embedded}
    return Placed(page, await vectors(embed, texts, model=model))
