"""Principles as a graph: what is drawn, and that no text leaves its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.cli.pipeline.principles import COLUMNS, LINES, clean, draw_graph, wrap

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


def link(one: str, other: str, kind: str = "related", reason: str = "x") -> dict[str, Any]:
    """Return a link, as an answer has it."""
    return {"source_id": one, "target_id": other, "type": kind, "reason": reason}


def graph(*texts: str, links: Sequence[dict[str, Any]] = ()) -> str:
    """Return a graph of principles `a`, `b`, ... that say that."""
    about = {"rank": 0.5, "category": "heuristic"}
    rows = [{"id": name, "content": text, **about} for name, text in zip("abcdefgh", texts)]  # noqa: B905 - fewer texts than names
    return draw_graph({"principle": None, "principles": rows, "links": links})


class TestText:
    @given(st.text(max_size=300))
    def test_wrapped(self, text: str) -> None:
        """No line is wider than a box, there are never more than fit, and nothing is made up."""
        lines = wrap(text)

        assert len(lines) <= LINES
        assert all(len(each) <= COLUMNS and each == clean(each) for each in lines)
        assert (
            clean(text)
            .replace(" ", "")
            .startswith("".join(lines).replace(" ", "").removesuffix("…"))
        )

    def test_whole(self) -> None:
        """A text that fits is whole; one that does not says so."""
        assert ["Use ruff."] == wrap("Use\nruff.")
        assert wrap("word " * 50)[-1].endswith("…")
        assert [] == wrap("\u200b\n")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_plain(self, text: str) -> None:
        """Nothing hidden, nothing that turns and no line end is left."""
        assert clean(text).isprintable()


class TestGraph:
    def test_one_way(self) -> None:
        """One meaning has one arrow, and a link to somebody who is not shown has none."""
        found = graph(
            "A", "B", links=[link("a", "b", "specializes"), link("a", "z"), link("z", "y")]
        )

        assert ['"b" -> "a" [label="generalizes"'] == re.findall(r'".+" -> .+?"generalizes"', found)
        assert 1 == found.count(" -> ")


class TestDot:
    def test_document(self) -> None:
        """A graph is one line for each box and each link, with arrows where there is a way."""
        found = graph(
            'Use "ruff".',
            "Lint.",
            links=[link("a", "b", "depends_on"), link("b", "a", reason="alike")],
        )

        assert r'  "a" [label="Use \"ruff\".\n0.50 · heuristic"];' in found
        assert '"a" -> "b" [label="depends on"' in found
        assert '"b" -> "a" [label="related", tooltip="alike", color="#8c959f", dir=none];' in found

    @pytest.mark.parametrize("text", HOSTILE)
    def test_escaped(self, text: str) -> None:
        """Whatever a principle says, it stays within its quotes."""
        found = graph(text, "B", links=[link("a", "b", reason=text)])
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", found)

        assert '"' not in bare
        assert found.count("\n") == bare.count("\n") == 8
        assert {"[label=];", "[label=,"} <= set(bare.split())
