"""A statement: one thing that a section of an instruction file says, able to stand alone.

Statements are not stored. The accumulator keeps what they say as insights (granularity
`statement`), and where they stood as sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StatementKind(StrEnum):
    """What a statement does."""

    #: Tells somebody to do something, or not to.
    RULE = "rule"
    #: Says how something is.
    FACT = "fact"
    #: Says what to type.
    COMMAND = "command"
    #: Shows how a rule looks when it is kept, or broken.
    EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class Statement:
    """A list item, a paragraph, a table row or a command: what it says and exactly where.

    The ranges are those of the file, and the text is never all of them: list markers, indentation
    and quotation marks of the block are in the range and not in the text.

    Attributes:
        text: what is said, on one line, its inline Markdown as written.
        headings: what it stands under, outermost first: headings, then the sentence or the list
            item that it belongs to.
        line_start: the first line, counted from 1.
        line_end: the last line, inclusive.
        byte_start: offset of its first byte in the file.
        byte_end: offset behind its last byte, line end included where it ends a line.
        ordinal: which statement of its fragment, from 0.

    """

    text: str
    kind: StatementKind
    headings: tuple[str, ...]
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    ordinal: int

    @property
    def heading(self) -> str:
        """What it stands under, on one line; empty for a statement under nothing."""
        return " > ".join(self.headings)
