"""A graph of principles as a picture needs it: short lines of text in boxes, and what joins them.

Texts come from files that somebody else wrote. What is drawn of them is plain: one line without
anything that could hide, turn around or end what stands around it; DOT and SVG escape the rest.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.principle import LinkType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.principle import Link

#: Columns of a line of text in a box, and lines of one box; what is longer is cut.
COLUMNS, LINES = 28, 3

#: What cuts a text.
_MORE = "…"

#: Types that say which end is which.
DIRECTED: Final = frozenset({LinkType.GENERALIZES, LinkType.SPECIALIZES, LinkType.DEPENDS_ON})

#: Widths of letters that take two columns.
_WIDE = frozenset("WF")


@dataclass(frozen=True, slots=True)
class Box:
    """One principle: its text in lines, a faint line below, and whether it was asked for."""

    id: str
    lines: tuple[str, ...]
    about: str = ""
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and links between them, both in order; links of other ends are left out."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]

    @classmethod
    def of(cls, boxes: Sequence[Box], links: Sequence[Link]) -> Graph:
        """Return boxes in their order and the links between them, each told one way.

        "a specializes b" is drawn as "b generalizes a": one arrow for one meaning.
        """
        known = {each.id for each in boxes}
        told = [
            each.turned() if each.type is LinkType.SPECIALIZES else each
            for each in links
            if known.issuperset(each.pair)
        ]
        order = sorted(told, key=lambda each: (each.pair, each.type, each.source_id))
        return cls(tuple(boxes), tuple(order))

    @property
    def types(self) -> list[LinkType]:
        """The types that there are, in their order."""
        found = {each.type for each in self.links}
        return [each for each in LinkType if each in found]


def box(principle_id: str, text: str, *, about: str = "", is_asked: bool = False) -> Box:
    """Return a principle as a box."""
    return Box(principle_id, wrapped(text), plain(about), is_asked)


def plain(text: str) -> str:
    """Return a text as one line of letters and signs: nothing that is hidden, moves or turns."""
    spaced = "".join(" " if unicodedata.category(each)[0] in "ZC" else each for each in text)
    return " ".join(spaced.split())


def wrapped(text: str, *, columns: int = COLUMNS, most: int = LINES) -> tuple[str, ...]:
    """Return a text in lines that are no wider than so many columns; the last may be cut."""
    lines, now = list[str](), ""
    for word in _pieces(plain(text).split(), columns):
        longer = f"{now} {word}" if now else word
        if width(longer) <= columns:
            now = longer
            continue
        lines.append(now)
        now = word
        if len(lines) == most:
            return (*lines[:-1], _cut(lines[-1], columns))
    return (*lines, now) if now else tuple(lines)


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(_columns(each) for each in text)


def _columns(letter: str) -> int:
    """Return how many columns a letter takes; a mark on another letter takes none."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in _WIDE else 1


def _pieces(words: Sequence[str], columns: int) -> list[str]:
    """Return words, those that are wider than a line in pieces."""
    found: list[str] = []
    for word in words:
        now = ""
        for letter in word:
            if width(now + letter) > columns:
                found.append(now)
                now = ""
            now += letter
        found.append(now)
    return found


def _cut(line: str, columns: int) -> str:
    """Return a line that says that something follows."""
    while width(line) >= columns:
        line = line[:-1]
    return f"{line.rstrip()}{_MORE}"
