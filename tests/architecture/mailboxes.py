"""An actor states how many messages may wait for it, what happens to one more, and why.

A consumer's mailbox holds wake-ups: `Consumer` states it for those that do not say otherwise.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.architecture.actors import BRANCHES, actors
from tests.architecture.source import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.architecture.source import Module

#: What an actor in a branch of the tree says itself and does not inherit.
STATED = ("mailbox_limit", "overflow")


def mailboxes(module: Module) -> Iterator[str]:
    """Yield actors that do not state their mailbox, or not why; and ones without a bound."""
    if not module.is_product or module.unit not in BRANCHES:
        return
    lines = module.text.splitlines()
    for actor in actors(module):
        stated = {name: node for node in actor.body if (name := _stated(node))}
        is_consumer = any(dotted(base).rpartition(".")[2] == "Consumer" for base in actor.bases)
        for name in () if is_consumer else STATED:
            if name not in stated:
                yield f"{module.path}: {actor.name} does not state its {name}"
        for node in list(stated.values())[:1]:
            if not lines[node.lineno - 2].strip().startswith("#:"):
                yield f"{module.path}:{node.lineno} {actor.name} says not why (#:)"
        limit = stated.get("mailbox_limit")
        if isinstance(limit, ast.Assign) and ast.unparse(limit.value) == "0":
            yield f"{module.path}:{limit.lineno} {actor.name} has a mailbox without a bound"


def _stated(node: ast.stmt) -> str:
    """Return which of the attributes a statement assigns, if it does."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return next((name for target in targets if (name := dotted(target)) in STATED), "")
