"""A graph of principles in DOT, which Graphviz and others draw: boxes of text, and their links.

Texts come from files of other people. What is drawn of them is plain: one line without
anything that could hide, turn around or end what is around it, and escaped for DOT.
"""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Letters of a line of text in a box, and lines of one box; what is longer is cut.
COLUMNS, LINES = 28, 3

#: Types that say which end is which.
DIRECTED: Final = frozenset({"generalizes", "depends_on"})


def clean(text: str) -> str:
    """Return a text as one line of letters and signs: nothing that is hidden, moves or turns."""
    spaced = "".join(" " if unicodedata.category(each)[0] in "ZC" else each for each in text)
    return " ".join(spaced.split())


def wrap(text: str) -> list[str]:
    """Return a text in lines of a box; the last may be cut, and says so."""
    return textwrap.wrap(clean(text), COLUMNS, max_lines=LINES, placeholder="…")


#: Type of a link -> how its line is drawn.
_LINES: Final = {
    "reinforces": 'color="#1a7f37", penwidth=2',
    "generalizes": 'color="#0969da"',
    "contradicts": 'color="#cf222e", style=dashed, penwidth=2',
    "depends_on": 'color="#9a6700"',
    "related": 'color="#8c959f"',
}

_HEAD = (
    "digraph principles {",
    "  graph [overlap=false, splines=true, pad=0.3];",
    '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];',
    '  edge [fontname="sans-serif", fontsize=9];',
)


def draw_graph(found: Mapping[str, Any]) -> str:
    """Return what `principles.links` answers as a graph in DOT, each link told one way.

    One line for each box and each link; links of other ends are left out. The same for the same.
    """
    known = {each["id"] for each in found["principles"]}
    links = [
        _general(each) for each in found["links"] if {each["source_id"], each["target_id"]} <= known
    ]
    links.sort(key=lambda e: (*sorted((e["source_id"], e["target_id"])), e["type"], e["source_id"]))
    boxes = [_box(each, asked=found["principle"]) for each in found["principles"]]
    return "\n".join([*_HEAD, *boxes, *map(_link, links), "}", ""])


def _general(link: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a link from the other end where it says which one is special."""
    if link["type"] != "specializes":
        return link
    ends = {"source_id": link["target_id"], "target_id": link["source_id"]}
    return {**link, **ends, "type": "generalizes"}


def _box(principle: Mapping[str, Any], *, asked: str | None) -> str:
    """Return the line of a principle: its text, its rank and its category."""
    about = f"{principle['rank']:.2f} · {principle['category'].replace('_', ' ')}"
    text = r"\n".join(map(_escaped, [*wrap(principle["content"]), about]))
    bold = ", penwidth=2" if principle["id"] == asked else ""
    return f'  {_quoted(principle["id"])} [label="{text}"{bold}];'


def _link(link: Mapping[str, Any]) -> str:
    """Return the line of a link; what has no direction gets no arrow."""
    kind = link["type"]
    arrow = "" if kind in DIRECTED else ", dir=none"
    return (
        f"  {_quoted(link['source_id'])} -> {_quoted(link['target_id'])}"
        f' [label="{kind.replace("_", " ")}", tooltip={_quoted(link["reason"])},'
        f" {_LINES[kind]}{arrow}];"
    )


def _quoted(text: str) -> str:
    """Return a text as a string of DOT."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    r"""Return a text so that neither a quote ends it nor a backslash means something."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
