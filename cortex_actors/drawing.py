"""The supervision tree as a drawing: one line a node, with what is unusual about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervision import Node


def render(node: Node, *, detail: bool = True) -> str:
    """Draw a tree, one line a node: name, strategy, what is unusual, and `detail` if wanted."""
    rows = list(_rows(node, "", "", detail=detail))
    width = max(len(left) for left, _ in rows)
    return "\n".join(f"{left:<{width}}  {right}".rstrip() for left, right in rows)


def _rows(node: Node, first: str, rest: str, *, detail: bool) -> Iterator[tuple[str, str]]:
    yield first + node.name, ", ".join(_remarks(node, detail=detail))
    for child in node.children:
        last = child is node.children[-1]
        branch, below = ("└── ", "    ") if last else ("├── ", "│   ")
        yield from _rows(child, rest + branch, rest + below, detail=detail)


def _remarks(node: Node, *, detail: bool) -> Iterator[str]:
    if node.strategy is not None:
        yield node.strategy
    if node.state != "running":
        yield node.state
    if node.restarts:
        yield f"restarts {node.restarts}"
    if detail:
        yield from (f"{key} {value}" for key, value in node.detail.items())
