"""A graph of principles in DOT, which Graphviz and others draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cortex_actors.domain.principle import LinkType
from cortex_actors.formatters.graph import DIRECTED, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.principle import Link
    from cortex_actors.formatters.graph import Box, Graph

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
