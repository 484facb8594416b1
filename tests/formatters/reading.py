"""What other programs make of our section: a CommonMark parser, and those who follow `@path`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

#: CommonMark with what GitHub adds to it that could change a line's meaning.
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

#: What may stand within a line of ours.
INLINE = frozenset(
    "text code_inline softbreak em_open em_close strong_open strong_close s_open s_close".split()
)

#: `@path`, as agents look for it in what is no code.
_IMPORT = re.compile(r"(?:^|[\s*_(\[\"'])@\S+")


def blocks(text: str) -> list[Token]:
    """Return the blocks of a Markdown text."""
    return _PARSER.parse(text)


def shape(text: str) -> list[str]:
    """Return the kinds of the blocks that a text has, in their order; headings by their level."""
    return [
        each.tag if each.type == "heading_open" else each.type.removesuffix("_open")
        for each in blocks(text)
        if each.nesting >= 0 and each.type != "inline"
    ]


def within(text: str) -> Iterator[Token]:
    """Yield what stands within the lines of a text."""
    for each in blocks(text):
        yield from each.children or ()


def imported(text: str) -> list[str]:
    """Return what an agent would read in because a text says so."""
    plain = ("\0" if each.type == "code_inline" else each.content or "\n" for each in within(text))
    return _IMPORT.findall("".join(plain))
