"""The tree: as drawn, as declared and as it lives; and every actor of it comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors import tree as tree_module
from cortex_actors.testing import eventually, settled
from cortex_actors.tree import TREE, Branch
from tests.flow.support import copied, first, follow, grown, knows
from tests.flow.test_crashes import ACTORS, EVENTS, crash

if TYPE_CHECKING:
    from pathlib import Path

    from supervision import Node


def declared(branch: Branch, depth: int = 0) -> list[tuple[int, str, str | None]]:
    """Return (depth, name, strategy) of a branch and all below it, in order."""
    rows: list[tuple[int, str, str | None]] = [(depth, branch.name, branch.strategy)]
    for child in branch.children:
        if isinstance(child, str):
            rows.append((depth + 1, child, None))
        else:
            rows += declared(child, depth + 1)
    return rows


def drawn() -> list[tuple[int, str, str | None]]:
    """Return the same of the drawing in the module's docstring."""
    rows: list[tuple[int, str, str | None]] = []
    for line in (tree_module.__doc__ or "").split("```")[1].strip().splitlines():
        text = line.lstrip("│├└─ ")
        name, _, strategy = text.partition(" ")
        rows.append(((len(line) - len(text)) // 4, name, strategy.strip() or None))
    return rows


def living(node: Node, depth: int = 0) -> list[tuple[int, str, str | None]]:
    """Return the same of the live tree."""
    rows: list[tuple[int, str, str | None]] = [(depth, node.name, node.strategy)]
    for child in node.children:
        rows += living(child, depth + 1)
    return rows


def actors(branch: Branch = TREE) -> set[str]:
    """Return the names of all actors."""
    found: set[str] = set()
    for child in branch.children:
        found |= {child} if isinstance(child, str) else actors(child)
    return found


class TestDrawing:
    def test_agrees(self) -> None:
        """The drawing in the docstring is the tree that is declared."""
        assert declared(TREE) == drawn()

    def test_consumers(self) -> None:
        """Every consumer that the catalogue of topics names is an actor of the tree."""
        assert set() == topics.consumers() - actors()

    def test_crashed(self) -> None:
        """The tests of crashes leave no actor of the tree out."""
        assert actors() | {"watcher(atlas-api)"} == set(ACTORS)


class TestLive:
    @pytest.mark.slow
    async def test_every_actor_comes_back(self, tmp_path: Path, tmp_home: Path) -> None:
        """The live tree is the declared one, and stays so while each actor crashes in turn."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home, events=EVENTS) as tree:
            assert declared(TREE) == living(tree.supervisor.snapshot())
            await follow(tree, root)
            shape = living(tree.supervisor.snapshot())
            for n, name in enumerate(ACTORS):
                await crash(tree, name)
                (root / "CLAUDE.md").write_text(f"## Zebra\n\nZebra number {n}.\n")
                await knows(tree, f"Zebra number {n}.")
                hit = await first(tree, f"zebra number {n}")
                assert f"Zebra number {n}." == hit["text"]

            await eventually(lambda: set(ACTORS) == set(tree.parts.names.known()))
            assert shape == living(tree.supervisor.snapshot())
            await settled(tree)
            assert 0 == (await tree.cortex.status())["dead"]

    async def test_drawn_for_people(self, tmp_home: Path) -> None:
        """The verb that draws the tree shows every actor, as text and as data."""
        async with grown(tmp_home) as tree:
            found = await tree.cortex.tree()

        assert [] == [name for name in actors() if name not in found["text"]]
        assert "cortex" == found["root"]["name"]

    async def test_news(self, tmp_home: Path) -> None:
        """That an actor crashed and was started again is said on its topics."""
        said: list[str] = []
        async with grown(tmp_home) as tree:
            tree.bus.subscribe("actor:*", lambda event: said.append(event.topic))
            await crash(tree, "organiser")
            await eventually(lambda: {"actor:crashed", "actor:restarted"} <= set(said))

    async def test_stops_in_order(self, tmp_home: Path) -> None:
        """A tree that is stopped ends as a shutdown, and nobody has a name any more."""
        async with grown(tmp_home) as tree:
            await tree.stop(8)

            assert "shutdown" == await tree.exited()
            assert {} == tree.parts.names.known()
