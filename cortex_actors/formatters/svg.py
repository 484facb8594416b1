"""A graph of principles as an SVG picture: one file that any browser shows, light or dark.

Nothing in it is loaded from elsewhere, and nothing runs: it is text, lines and boxes. What a link
means stands in its tooltip.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.principle import LinkType
from cortex_actors.formatters.graph import DIRECTED, plain, width
from cortex_actors.formatters.layout import GAP, layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cortex_actors.domain.principle import Link
    from cortex_actors.formatters.graph import Box, Graph

#: Size of a box, and of the letters in it: pixels.
BOX: Final = (244.0, 84.0)
_LINE, _LETTER, _PAD = 17.0, 7.2, 12.0

#: Letters that are wider than most, as capitals are, and by how much.
_BROAD, _MORE = frozenset("mw@%_#&—…"), 1.7

#: Room below the picture for what the lines mean, and between two of them.
_KEY, _KEYS = 44.0, 26.0

#: Type of a link -> colours on a light and on a dark ground, width and dashes of its line.
_LINES: Final[Mapping[LinkType, tuple[str, str, float, str]]] = {
    LinkType.REINFORCES: ("#1a7f37", "#3fb950", 2.2, ""),
    LinkType.GENERALIZES: ("#0969da", "#58a6ff", 1.6, ""),
    LinkType.SPECIALIZES: ("#0969da", "#58a6ff", 1.6, ""),
    LinkType.CONTRADICTS: ("#cf222e", "#ff7b72", 2.2, "7 5"),
    LinkType.DEPENDS_ON: ("#9a6700", "#d29922", 1.6, "2 4"),
    LinkType.RELATED: ("#8c959f", "#6e7681", 1.2, ""),
}

_LIGHT = {"ground": "#ffffff", "box": "#f6f8fa", "edge": "#d0d7de", "text": "#1f2328"}
_DARK = {"ground": "#0d1117", "box": "#161b22", "edge": "#3d444d", "text": "#e6edf3"}
_FAINT = ("#57606a", "#9198a1")

#: What ends text and values of XML.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


def svg(graph: Graph, *, title: str) -> str:
    """Return a graph as an SVG document; the same for the same graph."""
    laid = layout(
        [each.id for each in graph.boxes],
        {each.pair: each.strength for each in graph.links},
        size=BOX,
    )
    across = max(laid.width, _legend_width(graph.types) + GAP[0], BOX[0] + GAP[0])
    down = laid.height + _KEY
    parts = [
        *_head(across, down, title),
        *(_link(each, laid.places) for each in graph.links),
        *(_box(each, laid.places[each.id]) for each in graph.boxes),
        *_legend(graph.types, laid.height + _KEY / 2),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _head(across: float, down: float, title: str) -> Iterator[str]:
    """Yield what stands before the picture: its size, its colours, its arrows."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}"'
        f' viewBox="0 0 {across:.0f} {down:.0f}" role="img">'
    )
    yield f"<title>{_escaped(title)}</title>"
    yield "<style>"
    yield from _colours(0, _LIGHT)
    yield "text { font: 13px system-ui, sans-serif; }"
    yield ".about { font-size: 11px; }"
    yield ".box { stroke-width: 1; } .asked { stroke-width: 2.5; }"
    yield ".line { fill: none; } .related { stroke-opacity: 0.6; }"
    yield "@media (prefers-color-scheme: dark) {"
    yield from _colours(1, _DARK)
    yield "}"
    yield "</style>"
    for kind in sorted(DIRECTED):
        yield (
            f'<marker id="to-{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9"'
            f' markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path class="fill-{kind}" d="M 0 0 L 10 5 L 0 10 z"/></marker>'
        )
    yield f'<rect class="ground" width="{across:.0f}" height="{down:.0f}"/>'


def _colours(scheme: int, ground: Mapping[str, str]) -> Iterator[str]:
    """Yield the rules of a light (0) or a dark (1) ground."""
    yield f".ground {{ fill: {ground['ground']}; }}"
    yield f".box {{ fill: {ground['box']}; stroke: {ground['edge']}; }}"
    yield f"text {{ fill: {ground['text']}; }} .asked {{ stroke: {ground['text']}; }}"
    yield f".about {{ fill: {_FAINT[scheme]}; }}"
    for kind, line in _LINES.items():
        yield f".{kind} {{ stroke: {line[scheme]}; }} .fill-{kind} {{ fill: {line[scheme]}; }}"


def _box(box: Box, place: tuple[float, float]) -> str:
    """Return a box with its text, in the middle from top to bottom."""
    left, top = place[0] - BOX[0] / 2, place[1] - BOX[1] / 2
    lines = [("", each) for each in box.lines]
    lines += [("about", box.about)] if box.about else []
    first = place[1] - (len(lines) - 1) * _LINE / 2 + 4
    texts = [
        f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} x="{left + _PAD:.1f}"'
        f' y="{first + number * _LINE:.1f}"{_squeezed(each)}>{_escaped(each)}</text>'
        for number, (kind, each) in enumerate(lines)
    ]
    asked = " asked" if box.is_asked else ""
    rect = (
        f'<rect class="box{asked}" x="{left:.1f}" y="{top:.1f}" width="{BOX[0]:.0f}"'
        f' height="{BOX[1]:.0f}" rx="8"/>'
    )
    return f'<g id="{_escaped(box.id)}"><title>{_escaped(box.id)}</title>{rect}{"".join(texts)}</g>'


def _squeezed(line: str) -> str:
    """Return what keeps a line inside its box that has many wide letters."""
    wide = sum(each.isupper() or each in _BROAD for each in line)
    most = BOX[0] - 2 * _PAD
    if width(line) * _LETTER + wide * _MORE <= most:
        return ""
    return f' textLength="{most:.0f}" lengthAdjust="spacingAndGlyphs"'


def _link(link: Link, places: Mapping[str, tuple[float, float]]) -> str:
    """Return the line of a link, from the border of one box to that of the other."""
    source, target = places[link.source_id], places[link.target_id]
    start, end = _border(source, target), _border(target, source)
    name = link.type.replace("_", " ")
    why = _escaped(f"{name} ({link.strength:.2f}): {link.reason}")
    return f"<g>{_line(link.type, start, end)}<title>{why}</title></g>"


def _line(kind: LinkType, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a line as its type is drawn."""
    _, _, thick, dashes = _LINES[kind]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    arrow = f' marker-end="url(#to-{kind})"' if kind in DIRECTED else ""
    return (
        f'<path class="line {kind}" stroke-width="{thick:g}"{dashed}{arrow}'
        f' d="M {start[0]:.1f} {start[1]:.1f} L {end[0]:.1f} {end[1]:.1f}"/>'
    )


def _border(inside: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Return where the way from the middle of a box to another place leaves the box."""
    across, down = towards[0] - inside[0], towards[1] - inside[1]
    if not (across or down):
        return inside
    shares = [
        half / abs(way) if way else math.inf
        for half, way in ((BOX[0] / 2, across), (BOX[1] / 2, down))
    ]
    share = min(*shares, 1.0)
    return inside[0] + across * share, inside[1] + down * share


def _legend(types: Sequence[LinkType], down: float) -> Iterator[str]:
    """Yield what each line means."""
    left = GAP[0] / 2
    for kind in types:
        name = kind.replace("_", " ")
        yield _line(kind, (left, down), (left + _KEYS, down))
        yield f'<text class="about" x="{left + _KEYS + 6:.1f}" y="{down + 4:.1f}">{name}</text>'
        left += _key_width(kind)


def _key_width(kind: LinkType) -> float:
    """Return how much room a type takes below the picture."""
    return _KEYS + 6 + width(kind) * _LETTER + _KEYS


def _legend_width(types: Sequence[LinkType]) -> float:
    """Return how much room all types take below the picture."""
    return sum(map(_key_width, types))


def _escaped(text: str) -> str:
    """Return a text that ends no element and no value."""
    return "".join(_ESCAPES.get(each, each) for each in plain(text))
