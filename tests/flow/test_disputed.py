"""What one project disputes: the others still receive it, and that one is told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flow.downward import AGREED, organised, section
from tests.flow.support import follow, grown

if TYPE_CHECKING:
    from pathlib import Path

#: What two projects agree on, and what a third one says instead.
AGREE, DISPUTES = "Write all times in UTC.", "Never write times in UTC."


def project(folder: Path, name: str, rule: str) -> Path:
    """Return a project whose file says one rule."""
    root = folder / name
    root.mkdir()
    (root / "CLAUDE.md").write_text(f"# {name}\n\n## Rules\n\n- {rule}\n", encoding="utf-8")
    return root


class TestDisputed:
    @pytest.mark.slow
    async def test_one_against_two(self, tmp_path: Path, tmp_home: Path) -> None:
        """A project that says the opposite silences nobody: it gets the note with a mark."""
        agreeing = [project(tmp_path, name, AGREE) for name in ("atlas", "harbor")]
        async with grown(tmp_home, **AGREED) as tree:
            await follow(tree, *agreeing)
            await organised(tree)
            other = project(tmp_path, "mill", DISPUTES)
            fourth = project(tmp_path, "quarry", "Keep functions short.")
            await follow(tree, other, fourth)
            await organised(tree)
            plain = (await tree.cortex.contradictions())["contradictions"]
            (found,) = (await tree.cortex.contradictions(kind="contextual"))["contradictions"]
            for root in (other, fourth):
                await tree.cortex.resolve(str(root))

            assert [] == plain
            assert ["unresolved", "active", "active"] == [
                found["status"],
                *(found[side]["status"] for side in "ab"),
            ]
            assert f"- {AGREE}\n" in section(fourth / "CLAUDE.md")
            assert f"- [CONFLICT] {AGREE}\n" in section(other / "CLAUDE.md")
