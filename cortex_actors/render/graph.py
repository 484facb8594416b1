"""A graph of principles as a picture needs it: short lines of text in boxes, and what joins them.

Texts come from files that somebody else wrote. What is drawn of them is plain: one line without
anything that could hide, turn around or end what stands around it; DOT and SVG escape the rest.

A graph of principles in DOT, which Graphviz and others draw.

A graph of principles as an SVG picture: one file that any browser shows, light or dark.

Nothing in it is loaded from elsewhere, and nothing runs: it is text, lines and boxes. What a link
means stands in its tooltip.

Where the boxes of a picture lie: near what they are linked with, and none above another.

Boxes repel each other and links pull (Fruchterman and Reingold 1991), from places that depend on
their order alone: one graph has one picture. Parts that nothing joins lie side by side. Takes the
time of all pairs of boxes, which are tens or few hundreds.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from cortex_actors.domain.principle import LinkType
from cortex_actors.rules.clustering import components, pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cortex_actors.domain.principle import Link

    Places = NDArray[np.float64]

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


#: Room a box has around it at least, pixels: across, down. Arrows and what they mean take some.
GAP = (56.0, 44.0)

#: Steps of the search, fewer where there are so many boxes that each takes long, and how far a box
#: goes at most in the first one, in boxes.
_STEPS, _FEWEST, _WORK, _FAR = 300, 60, 18_000, 2.0

#: How far boxes want to be from each other, in boxes.
_WANTED = 1.15

#: Steps in which boxes that overlap are moved apart: each settles some.
_APART = 400

#: How much wider everything becomes at once while many boxes lie above each other.
_WIDER = 1.04

#: Pixels of two boxes above each other that are none: the last digits of a float.
_TOUCH = 1e-6

#: Turn between two boxes of the first spiral: the golden angle, by which none stand in a row.
_TURN = math.pi * (3 - math.sqrt(5))

#: Width of a picture to its height.
_SHAPE = 1.5


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each box in pixels, and how large the whole is; nothing lies outside."""

    places: Mapping[str, tuple[float, float]]
    width: float
    height: float


def layout(
    ids: Sequence[str], edges: Mapping[tuple[str, str], float], *, size: tuple[float, float]
) -> Layout:
    """Return where boxes of one size lie; the weight of an edge, 0 to 1, is how hard it pulls."""
    order = {each: number for number, each in enumerate(ids)}
    known = {pair(*edge): weight for edge, weight in edges.items() if set(edge) <= order.keys()}
    parts = [sorted(part, key=order.__getitem__) for part in components(ids, [*known])]
    parts.sort(key=lambda part: (-len(part), order[part[0]]))
    cell = np.array(size) + np.array(GAP)
    laid = [_laid(part, known) * cell for part in parts]
    for places in laid:
        _part(places, cell)
    return _packed(parts, laid, cell)


def _laid(part: Sequence[str], edges: Mapping[tuple[str, str], float]) -> Places:
    """Return where the boxes of one part lie, in boxes."""
    count = len(part)
    numbers = np.arange(count, dtype=np.float64)
    radius, angle = np.sqrt(numbers) * _WANTED, numbers * _TURN
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    at = {each: number for number, each in enumerate(part)}
    pulls = np.zeros((count, count))
    for (one, other), weight in edges.items():
        if one in at:
            pulls[at[one], at[other]] = pulls[at[other], at[one]] = 0.5 + weight
    steps = min(_STEPS, max(_FEWEST, _WORK // count)) if count > 1 else 0
    for step in range(steps):
        _move(places, pulls, most=_FAR * (1 - step / steps))
    return _lying(places)


def _lying(places: Places) -> Places:
    """Return a part turned so that it is wider than high, as a picture is; two lie side by side."""
    middle = places - places.mean(axis=0)
    across, down = (middle**2).sum(axis=0)
    angle = math.atan2(2 * float((middle[:, 0] * middle[:, 1]).sum()), float(across - down)) / 2
    turned = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    lying: Places = np.round(middle @ turned, 6)
    return lying


def _move(places: Places, pulls: Places, *, most: float) -> None:
    """Let every box go where it is pushed and pulled, at most so far."""
    away = places[:, np.newaxis] - places[np.newaxis]
    far = np.maximum(np.sqrt((away**2).sum(axis=2)), 1e-6)
    force = _WANTED**2 / far - pulls * far**2 / _WANTED
    np.fill_diagonal(force, 0.0)
    move = (away * (force / far)[:, :, np.newaxis]).sum(axis=1)
    length = np.maximum(np.sqrt((move**2).sum(axis=1)), 1e-9)
    places += move * (np.minimum(length, most) / length)[:, np.newaxis]


def _part(places: Places, cell: NDArray[np.float64]) -> None:
    """Move boxes apart that lie above each other: all of them, and then the last ones by pairs."""
    for _ in range(_APART):
        pairs = _above(places, cell)
        if not len(pairs):
            return
        if len(pairs) > len(places) / 2:
            places *= _WIDER
            continue
        for one, other in pairs:
            _push(places, one, other, cell=cell)


def _above(places: Places, cell: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the pairs of boxes that lie above each other, in order."""
    over = cell - np.abs(places[:, np.newaxis] - places[np.newaxis])
    return np.argwhere(np.triu((over > _TOUCH).all(axis=2), 1))


def _push(places: Places, one: int, other: int, *, cell: NDArray[np.float64]) -> None:
    """Move two boxes apart the shorter way, if they still lie above each other."""
    away = places[other] - places[one]
    left = cell - np.abs(away)
    if (left <= _TOUCH).any():
        return
    axis = int(np.argmin(left / cell))
    step = left[axis] / 2 * (1.0 if away[axis] >= 0 else -1.0)
    places[one, axis] -= step
    places[other, axis] += step


def _packed(
    parts: Sequence[Sequence[str]], laid: Sequence[Places], cell: NDArray[np.float64]
) -> Layout:
    """Return all parts side by side, in rows, the largest first."""
    sizes = [places.max(axis=0) - places.min(axis=0) + cell for places in laid]
    area = sum(float(size[0] * size[1]) for size in sizes)
    most = max([math.sqrt(area * _SHAPE), *(float(size[0]) for size in sizes)], default=0.0)
    found: dict[str, tuple[float, float]] = {}
    left = top = row = right = 0.0
    for part, places, size in zip(parts, laid, sizes, strict=True):
        if left and left + size[0] > most:
            left, top, row = 0.0, top + row, 0.0
        shift = np.array([left, top]) + cell / 2 - places.min(axis=0)
        for each, (across, down) in zip(part, places + shift, strict=True):
            found[each] = (round(float(across), 1), round(float(down), 1))
        left, row = left + float(size[0]), max(row, float(size[1]))
        right = max(right, left)
    return Layout(found, round(right, 1), round(top + row, 1))


#: Size of a box, and of the letters in it: pixels.
BOX: Final = (244.0, 84.0)
_LINE, _LETTER, _PAD = 17.0, 7.2, 12.0

#: Letters that are wider than most, as capitals are, and by how much.
_BROAD, _ELLIPSIS = frozenset("mw@%_#&—…"), 1.7

#: Room below the picture for what the lines mean, and between two of them.
_KEY, _KEYS = 44.0, 26.0

#: Type of a link -> colours on a light and on a dark ground, width and dashes of its line.
_STROKES: Final[Mapping[LinkType, tuple[str, str, float, str]]] = {
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
        *(_svg_link(each, laid.places) for each in graph.links),
        *(_svg_box(each, laid.places[each.id]) for each in graph.boxes),
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
    yield f"<title>{_svg_escaped(title)}</title>"
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
    for kind, line in _STROKES.items():
        yield f".{kind} {{ stroke: {line[scheme]}; }} .fill-{kind} {{ fill: {line[scheme]}; }}"


def _svg_box(box: Box, place: tuple[float, float]) -> str:
    """Return a box with its text, in the middle from top to bottom."""
    left, top = place[0] - BOX[0] / 2, place[1] - BOX[1] / 2
    lines = [("", each) for each in box.lines]
    lines += [("about", box.about)] if box.about else []
    first = place[1] - (len(lines) - 1) * _LINE / 2 + 4
    texts = [
        f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} x="{left + _PAD:.1f}"'
        f' y="{first + number * _LINE:.1f}"{_squeezed(each)}>{_svg_escaped(each)}</text>'
        for number, (kind, each) in enumerate(lines)
    ]
    asked = " asked" if box.is_asked else ""
    rect = (
        f'<rect class="box{asked}" x="{left:.1f}" y="{top:.1f}" width="{BOX[0]:.0f}"'
        f' height="{BOX[1]:.0f}" rx="8"/>'
    )
    name = _svg_escaped(box.id)
    return f'<g id="{name}"><title>{name}</title>{rect}{"".join(texts)}</g>'


def _squeezed(line: str) -> str:
    """Return what keeps a line inside its box that has many wide letters."""
    wide = sum(each.isupper() or each in _BROAD for each in line)
    most = BOX[0] - 2 * _PAD
    if width(line) * _LETTER + wide * _ELLIPSIS <= most:
        return ""
    return f' textLength="{most:.0f}" lengthAdjust="spacingAndGlyphs"'


def _svg_link(link: Link, places: Mapping[str, tuple[float, float]]) -> str:
    """Return the line of a link, from the border of one box to that of the other."""
    source, target = places[link.source_id], places[link.target_id]
    start, end = _border(source, target), _border(target, source)
    name = link.type.replace("_", " ")
    why = _svg_escaped(f"{name} ({link.strength:.2f}): {link.reason}")
    return f"<g>{_line(link.type, start, end)}<title>{why}</title></g>"


def _line(kind: LinkType, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a line as its type is drawn."""
    _, _, thick, dashes = _STROKES[kind]
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


def _svg_escaped(text: str) -> str:
    """Return a text that ends no element and no value."""
    return "".join(_ESCAPES.get(each, each) for each in plain(text))
