"""Principles as a graph: what is drawn, where it lies, and that no text leaves its place."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Link, LinkType
from cortex_actors.render.graph import (
    BOX,
    COLUMNS,
    GAP,
    LINES,
    Graph,
    Layout,
    box,
    dot,
    layout,
    plain,
    svg,
    width,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Texts that would do something to whoever draws them.
HOSTILE = (
    '"]; } digraph x { a -> b [label="\\N\\G',
    "</text><script>alert(1)</script>",
    "]]><!-- -- > &amp; &lt; <!ENTITY x 'y'>",
    "one\ntwo\r\nthree\x00\x1b[31m\u202e\u200b\ufeff\ud800",
    'x" onload="alert(1)',
    "\\",
)

NAMESPACE = "{http://www.w3.org/2000/svg}"


def link(one: str, other: str, kind: LinkType = LinkType.RELATED, reason: str = "x") -> Link:
    """Return a link."""
    return Link(one, other, kind, 0.6, Decider.RULES, reason)


def graph(*texts: str, links: Sequence[Link] = ()) -> Graph:
    """Return a graph of boxes `a`, `b`, ... that say that."""
    boxes = [box(name, text, about="0.50 · heuristic") for name, text in zip("abcdefgh", texts)]  # noqa: B905 - fewer texts than names
    return Graph.of(boxes, links)


def texts_of(drawn: str) -> list[str]:
    """Return every text of a picture, in order."""
    return [each.text or "" for each in ET.fromstring(drawn).iter(f"{NAMESPACE}text")]  # noqa: S314 - ours


class TestText:
    @given(st.text(max_size=300))
    def test_wrapped(self, text: str) -> None:
        """No line is wider than a box, there are never more than fit, and nothing is made up."""
        lines = wrapped(text)

        assert len(lines) <= LINES
        assert all(width(each) <= COLUMNS and each == plain(each) for each in lines)
        assert (
            plain(text)
            .replace(" ", "")
            .startswith("".join(lines).replace(" ", "").removesuffix("…"))
        )

    def test_whole(self) -> None:
        """A text that fits is whole; one that does not says so."""
        assert ("Use ruff.",) == wrapped("Use\nruff.")
        assert wrapped("word " * 50)[-1].endswith("…")
        assert () == wrapped("\u200b\n")
        assert 4 == width("日本")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_plain(self, text: str) -> None:
        """Nothing hidden, nothing that turns and no line end is left."""
        assert plain(text).isprintable()


class TestGraph:
    def test_one_way(self) -> None:
        """One meaning has one arrow, and a link to somebody who is not shown has none."""
        found = graph(
            "A", "B", links=[link("a", "b", LinkType.SPECIALIZES), link("a", "z"), link("z", "y")]
        )

        assert [link("b", "a", LinkType.GENERALIZES)] == list(found.links)
        assert [LinkType.GENERALIZES] == found.types


class TestDot:
    def test_document(self) -> None:
        """A graph is one line for each box and each link, with arrows where there is a way."""
        found = dot(
            graph(
                'Use "ruff".',
                "Lint.",
                links=[link("a", "b", LinkType.DEPENDS_ON), link("b", "a", reason="alike")],
            )
        )

        assert r'  "a" [label="Use \"ruff\".\n0.50 · heuristic"];' in found
        assert '"a" -> "b" [label="depends on"' in found
        assert '"b" -> "a" [label="related", tooltip="alike", color="#8c959f", dir=none];' in found

    @pytest.mark.parametrize("text", HOSTILE)
    def test_escaped(self, text: str) -> None:
        """Whatever a principle says, it stays within its quotes."""
        found = dot(graph(text, "B", links=[link("a", "b", reason=text)]))
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", found)

        assert '"' not in bare
        assert found.count("\n") == bare.count("\n") == 8
        assert {"[label=];", "[label=,"} <= set(bare.split())


class TestLayout:
    @settings(max_examples=20, deadline=None)
    @given(st.integers(1, 14), st.randoms(use_true_random=False))
    def test_apart(self, count: int, chance: object) -> None:
        """No box lies above another one or outside the picture."""
        ids = [f"p{number}" for number in range(count)]
        pairs = list(itertools.combinations(ids, 2))
        edges = {each: 0.7 for each in pairs if chance.random() < 0.2}  # type: ignore[attr-defined]
        found = layout(ids, edges, size=BOX)

        assert not [pair for pair in pairs if _overlap(found, *pair)]
        assert all(_inside(found, each) for each in ids)

    def test_near(self) -> None:
        """What is linked lies nearer than what is not, and two lie side by side."""
        chain = {("a", "b"): 0.9, ("b", "c"): 0.9}
        found = layout("abc", chain, size=BOX)
        two = layout("ab", {("a", "b"): 0.9}, size=BOX)

        assert _distance(found, "a", "b") < _distance(found, "a", "c")
        assert two.places["a"][1] == pytest.approx(two.places["b"][1], abs=2)

    def test_nothing(self) -> None:
        """A graph of nothing has a picture."""
        assert Layout({}, 0.0, 0.0) == layout([], {}, size=BOX)


class TestSvg:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_escaped(self, text: str) -> None:
        """Whatever a principle says stands there as text, and no element comes of it."""
        links = [link("a", "b", LinkType.DEPENDS_ON, text)]
        drawn = svg(graph(text, text, links=links), title=text)
        root = ET.fromstring(drawn)  # noqa: S314 - ours
        known = {"svg", "title", "style", "marker", "path", "rect", "g", "text"}

        assert known >= {each.tag.removeprefix(NAMESPACE) for each in root.iter()}
        assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]
        assert set(wrapped(text)) <= set(texts_of(drawn))

    def test_all_types(self) -> None:
        """Every type that there is has its line and its meaning below, and a light and dark one."""
        kinds = list(LinkType)
        links = [link("a", name, kind) for name, kind in zip("bcdefg", kinds, strict=True)]
        drawn = svg(graph(*"ABCDEFG", links=links), title="all")

        assert 5 == sum(f'class="line {kind}"' in drawn for kind in kinds)
        assert {"depends on", "generalizes", "contradicts"} <= set(texts_of(drawn))
        assert 1 == drawn.count("prefers-color-scheme: dark")
        assert drawn == svg(graph(*"ABCDEFG", links=links), title="all")

    def test_nothing_loaded(self) -> None:
        """A picture asks for nothing from elsewhere: no address but that of its own language."""
        drawn = svg(graph("See https://example.com/x.png"), title="one")

        assert [] == re.findall(r"(?:href|src|url)\s*=|@import|url\((?!#)", drawn)

    def test_empty(self) -> None:
        """A graph of nothing is a picture of nothing."""
        assert [] == texts_of(svg(Graph.of([], []), title="nothing"))


def _overlap(found: Layout, one: str, other: str) -> bool:
    """Tell whether two boxes lie nearer than they may."""
    away = [abs(a - b) for a, b in zip(found.places[one], found.places[other], strict=True)]
    return away[0] < BOX[0] + GAP[0] / 2 and away[1] < BOX[1] + GAP[1] / 2


def _inside(found: Layout, name: str) -> bool:
    """Tell whether a box lies within the picture."""
    across, down = found.places[name]
    return (
        BOX[0] / 2 <= across <= found.width - BOX[0] / 2
        and BOX[1] / 2 <= down <= found.height - BOX[1] / 2
    )


def _distance(found: Layout, one: str, other: str) -> float:
    """Return how far two boxes are from each other."""
    return sum((a - b) ** 2 for a, b in zip(found.places[one], found.places[other], strict=True))
