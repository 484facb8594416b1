"""One life of a supervision tree, the same for Erlang and for us.

A scenario is a tree, what is to go wrong in its first start, and steps: exits, calls, failing
starts. It is all tuples and words, so that one form of it goes to Erlang (`term`), one into a file
(`dumps`), and both are read by a person.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Flags(NamedTuple):
    """The options of one supervisor."""

    strategy: str
    intensity: int
    period: int
    auto_shutdown: str


class Child(NamedTuple):
    """One child: a leaf, or a branch with flags and children of its own."""

    id: str
    restart: str
    shutdown: int | str
    type: str
    significant: bool
    below: Any = "leaf"


class Scenario(NamedTuple):
    """One life of one tree; `order` tells whether that of the events within a step counts."""

    number: int
    order: str
    flags: Flags
    children: list[Child]
    plans: list[tuple[str, str, int]]
    steps: list[tuple[Any, ...]]


def term(value: object) -> str:
    """Return a value as an Erlang term: words are atoms."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return f"[{','.join(map(term, value))}]"
        case tuple():
            return f"{{{','.join(map(term, value))}}}"
    return str(value)


def dumps(scenario: Scenario) -> str:
    """Return a scenario as one line."""
    return json.dumps(_plain(scenario), separators=(",", ":"))


def loads(line: str) -> Scenario:
    """Return the scenario of a line that `dumps` made."""
    number, order, flags, children, plans, steps = json.loads(line)
    return Scenario(
        number,
        order,
        Flags(*flags),
        [_child(each) for each in children],
        [tuple(plan) for plan in plans],
        [_step(*step) for step in steps],
    )


def levels(scenario: Scenario) -> Iterator[tuple[str, Flags, list[Child]]]:
    """Yield every supervisor the scenario begins with or may add: id, flags, children."""
    yield "top", scenario.flags, scenario.children
    added = [step[2] for step in scenario.steps if step[0] == "start_child"]
    yield from _below([*scenario.children, *added])


def _below(children: list[Child]) -> Iterator[tuple[str, Flags, list[Child]]]:
    for child in children:
        if child.below != "leaf":
            yield child.id, *child.below
            yield from _below(child.below[1])


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _child(fields: list[Any]) -> Child:
    *own, below = fields
    if below != "leaf":
        below = (Flags(*below[0]), [_child(each) for each in below[1]])
    return Child._make([*own, below])


def _step(word: str, *values: Any) -> tuple[Any, ...]:
    match word, values:
        case "start_child", (of, child):
            return word, of, _child(child)
        case "hang", (of, name, step):
            return word, of, name, _step(*step)
        case "exit" | "burst", (names, [*reason]):
            return word, names, tuple(reason)
    return word, *values
