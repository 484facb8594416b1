"""Files that cannot be read, in a project that is watched: listed honestly, costing nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.testing import eventually, settled
from tests.flow.support import copied, follow, grown, knows
from tests.pipeline.spoiling import SPOILT, clear, spoil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that follows nothing yet."""
    async with grown(tmp_home) as found:
        yield found


async def broken(tree: Tree) -> dict[str, str]:
    """Return the reasons of broken files, by path."""
    return {each["path"]: each["reason"] for each in (await tree.cortex.projects())["broken"]}


class TestWatched:
    async def test_life(self, tree: Tree, tmp_path: Path) -> None:
        """Every kind of broken file is listed with its reason, and forgotten once mended."""
        (root,) = copied(tmp_path, "atlas-api")
        reasons = {}
        for how in SPOILT:
            path = root / how / "CLAUDE.md"
            path.parent.mkdir()
            reasons[str(path)] = spoil(path, how)
        await follow(tree, root)

        found = await broken(tree)
        assert reasons.keys() - {_outside(root)} == found.keys() - {_outside(root)}
        assert [] == [path for path in found if reasons[path] not in found[path]]
        assert len(found) == (await tree.cortex.status())["broken_files"]
        assert 0 == (await tree.cortex.status())["dead"]
        assert "Atlas API > Test database" == (await _first(tree, "test database port 5433"))

        for how in SPOILT:
            path = root / how / "CLAUDE.md"
            clear(path)
            path.write_text(f"## Mended\n\nThis was: {how}.\n")
        await knows(tree, "This was: 2 MiB")

        async def mended() -> bool:
            return {} == await broken(tree)

        await eventually(mended)
        await settled(tree)

    async def test_breaks_later(self, tree: Tree, tmp_path: Path) -> None:
        """What a file said before is still recalled while it is broken."""
        (root,) = copied(tmp_path, "atlas-api")
        await follow(tree, root)
        spoil(root / "CLAUDE.md", "dangling link")

        async def listed() -> bool:
            return str(root / "CLAUDE.md") in await broken(tree)

        await eventually(listed)
        await settled(tree)
        assert "Atlas API > Test database" == (await _first(tree, "test database port 5433"))

    async def test_link_is_counted_once(self, tree: Tree, tmp_path: Path) -> None:
        """Of CLAUDE.md -> AGENTS.md one is read, whichever name an editor saves under."""
        root = tmp_path / "linked"
        root.mkdir()
        (root / "AGENTS.md").write_text("## Zebra\n\nAsk the zebra.\n")
        (root / "CLAUDE.md").symlink_to("AGENTS.md")
        await follow(tree, root)
        await tree.cortex.publish("file:changed", {"path": str(root / "CLAUDE.md")})
        await settled(tree)

        (insight,) = (await tree.cortex.insights())["insights"]
        assert 1 == insight["observations"]
        assert [str(root / "AGENTS.md")] == [each["path"] for each in insight["sources"]]


def _outside(root: Path) -> str:
    """Return the path that links out of its folder, but not out of this project."""
    return str(root / "link out of the project" / "CLAUDE.md")


async def _first(tree: Tree, question: str) -> str | None:
    """Return the heading of the first hit."""
    heading: str | None = (await tree.cortex.recall(question))["hits"][0]["heading"]
    return heading
