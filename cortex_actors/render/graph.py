"""A graph of principles in DOT, which Graphviz and others draw: boxes of text, and their links.

Texts come from files that somebody else wrote. What is drawn of them is plain: one line without
anything that could hide, turn around or end what is around it, and escaped for DOT.
"""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Link, LinkType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Letters of a line of text in a box, and lines of one box; what is longer is cut.
COLUMNS, LINES = 28, 3

#: Types that say which end is which.
DIRECTED: Final = frozenset({LinkType.GENERALIZES, LinkType.SPECIALIZES, LinkType.DEPENDS_ON})


@dataclass(frozen=True, slots=True)
class Box:
    """One principle: its text, a line below it, and whether it was asked for."""

    id: str
    text: str
    about: str = ""
    is_asked: bool = False


def plain(text: str) -> str:
    """Return a text as one line of letters and signs: nothing that is hidden, moves or turns."""
    spaced = "".join(" " if unicodedata.category(each)[0] in "ZC" else each for each in text)
    return " ".join(spaced.split())


def wrapped(text: str) -> list[str]:
    """Return a text in lines of a box; the last may be cut, and says so."""
    return textwrap.wrap(plain(text), COLUMNS, max_lines=LINES, placeholder="…")


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


def graph_of(found: Mapping[str, Any]) -> str:
    """Return what `principles.links` answers as a graph in DOT."""
    boxes = [_box_of(each, asked=found["principle"]) for each in found["principles"]]
    return dot(boxes, [_link_of(each) for each in found["links"]])


def _box_of(principle: Mapping[str, Any], *, asked: str | None) -> Box:
    """Return the box of a principle in an answer: its text, its rank and its category."""
    return Box(
        principle["id"],
        principle["content"],
        about=f"{principle['rank']:.2f} · {principle['category'].replace('_', ' ')}",
        is_asked=principle["id"] == asked,
    )


def _link_of(answer: Mapping[str, Any]) -> Link:
    """Return a link of an answer."""
    return Link(
        answer["source_id"],
        answer["target_id"],
        LinkType(answer["type"]),
        answer["strength"],
        Decider(answer["decided_by"]),
        answer["reason"],
    )


def dot(boxes: Sequence[Box], links: Sequence[Link]) -> str:
    """Return boxes and the links between them as DOT, each told one way; the same for the same.

    One line for each box and each link; links of other ends are left out.
    """
    known = {each.id for each in boxes}
    told = [
        each.turned() if each.type is LinkType.SPECIALIZES else each
        for each in links
        if known.issuperset(each.pair)
    ]
    told.sort(key=lambda each: (each.pair, each.type, each.source_id))
    return "\n".join([*_HEAD, *map(_box, boxes), *map(_link, told), "}", ""])


def _box(box: Box) -> str:
    """Return the line of a box."""
    about = [box.about] if box.about else []
    text = r"\n".join(map(_escaped, [*wrapped(box.text), *about]))
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
