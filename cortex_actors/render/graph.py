"""A graph of principles in DOT, which Graphviz and others draw: boxes of text, and their links.

Texts come from files that somebody else wrote. What is drawn of them is plain: one line without
anything that could hide, turn around or end what is around it, and escaped for DOT.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.principle import LinkType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


#: Type of a link -> how its line is drawn.
_LINES: Final[Mapping[LinkType, str]] = {
    LinkType.REINFORCES: 'color="#1a7f37", penwidth=2',
    LinkType.GENERALIZES: 'color="#0969da"',
    LinkType.SPECIALIZES: 'color="#0969da"',
    LinkType.CONTRADICTS: 'color="#cf222e", style=dashed, penwidth=2',
    LinkType.DEPENDS_ON: 'color="#9a6700"',
    LinkType.RELATED: 'color="#8c959f"',
}

_HEAD = (
    "digraph principles {",
    "  graph [overlap=false, splines=true, pad=0.3];",
    '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];',
    '  edge [fontname="sans-serif", fontsize=9];',
)


def dot(graph: Graph) -> str:
    """Return a graph as DOT; the same for the same graph, one line for each box and each link."""
    body = [*map(_box, graph.boxes), *map(_link, graph.links)]
    return "\n".join([*_HEAD, *body, "}", ""])


def _box(box: Box) -> str:
    """Return the line of a box."""
    text = r"\n".join(map(_escaped, (*box.lines, box.about) if box.about else box.lines))
    bold = ", penwidth=2" if box.is_asked else ""
    return f'  {_quoted(box.id)} [label="{text}"{bold}];'


def _link(link: Link) -> str:
    """Return the line of a link; what has no direction gets no arrow."""
    arrow = "" if link.type in DIRECTED else ", dir=none"
    name = link.type.replace("_", " ")
    return (
        f"  {_quoted(link.source_id)} -> {_quoted(link.target_id)}"
        f' [label="{name}", tooltip={_quoted(link.reason)}, {_LINES[link.type]}{arrow}];'
    )


def _quoted(text: str) -> str:
    """Return a text as a string of DOT."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    r"""Return a text so that neither a quote ends it nor a backslash means something."""
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')
