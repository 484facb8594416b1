"""What is rendered, how, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

#: Heading of our section; the document's is "Resolved Knowledge from Cerno".
TITLE = "Resolved Knowledge from Cortex"

#: Tokens of a section (Cerno's `max_output_tokens`).
MAX_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class Bullet:
    """A principle that was chosen for a file.

    Attributes:
        principle_id: which one.
        content: what it says, as it was learned: any text.
        domain: the first of its fields, None when it has none.
        rank: from 0 to 1; what is ranked lowest is left out first.
        confidence: from 0 to 1.
        conflict: what the project itself says to the contrary, None when it says nothing.

    """

    principle_id: str
    content: str
    domain: str | None
    rank: float
    confidence: float
    conflict: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How a section is to look; `max_tokens` holds for its text, marks not counted."""

    title: str = TITLE
    include_metadata: bool = False
    max_tokens: int = MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a section, and what it holds.

    Attributes:
        text: lines that end in LF, without the marks around a section; empty when there is no
            room even for its heading.
        used: what stands in it, in the order of the text.
        lines: the line of each of these, exactly as it stands in the text.
        dropped: what had no room, the highest ranked first; and what says nothing that can be
            written, or the same line as another.
        tokens: how many the text has.

    """

    text: str
    used: tuple[Bullet, ...]
    lines: tuple[str, ...]
    dropped: tuple[Bullet, ...]
    tokens: int
