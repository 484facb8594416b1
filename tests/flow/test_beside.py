"""What agents read beside a project's main files: skills, and a person's own files in the home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.testing import settled
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that has read nothing."""
    async with grown(tmp_home) as found:
        yield found


def put(folder: Path, **files: str) -> Path:
    """Write instruction files, `.claude/CLAUDE.md` under the name `claude`, and so on."""
    for name, text in files.items():
        path = folder / PLACES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Rules\n\n- {text}\n")
    return folder


PLACES = {
    "agents": "AGENTS.md",
    "cline": ".clinerules/style.md",
    "skill": ".claude/skills/pdf/SKILL.md",
}


async def open_pairs(tree: Tree) -> list[dict[str, Any]]:
    """Return the contradictions that are found once all is compared."""
    await settled(tree)
    found = await tree.cortex.contradictions()
    pairs: list[dict[str, Any]] = found["contradictions"]
    return pairs


class TestScopes:
    async def test_skill(self, tree: Tree, tmp_path: Path) -> None:
        """A skill is known, and contradicts nothing that holds always; other rules do."""
        root = put(
            tmp_path / "atlas",
            agents="Always indent Python files with tabs.",
            skill="Never indent Python files with tabs.",
        )
        await follow(tree, root)
        known = (await tree.cortex.insights())["insights"]
        told = [await tree.cortex.insight(each["id"]) for each in known]
        scopes = {each["scope"] for one in told for each in one["sources"]}
        assert {"", ".claude/skills/pdf"} == scopes
        assert [] == await open_pairs(tree)

        put(root, cline="Never indent Python files with tabs.")
        await tree.cortex.scan(str(root))
        assert 1 == len(await open_pairs(tree))
