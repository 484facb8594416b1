"""From a folder of files to an answer, through every actor of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.testing import eventually, settled
from tests.flow.support import SAMPLES, copied, first, follow, forgets, grown, knows, runs_of, said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree


@pytest.fixture
async def tree(tmp_path: Path, tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that has read three sample projects in `tmp_path`."""
    async with grown(tmp_home) as found:
        await follow(found, *copied(tmp_path))
        yield found


class TestSamples:
    async def test_recall(self, tree: Tree, tmp_path: Path) -> None:
        """The first answer is the right statement, with the heading and lines where it stands."""
        hit = await first(tree, "Never run terraform apply from a laptop")
        lines = (tmp_path / "field-notes" / "CLAUDE.md").read_text("utf-8").split("\n")

        assert ("field-notes", "Field notes > Terraform") == (hit["project"], hit["heading"])
        assert "terraform apply" in lines[hit["line_start"] - 1]
        assert hit["path"].endswith("field-notes/CLAUDE.md")

        hit = await first(tree, "Amounts: which package manager, pnpm, npm or yarn lock file?")
        assert "harbor-web" == hit["project"]
        assert hit["heading"].endswith("Package manager")

        hit = await first(tree, "port 5433 for the test database", project="atlas-api")
        assert "atlas-api" == hit["project"]
        assert hit["heading"].endswith("Test database")

        found = await tree.cortex.projects()
        assert [] == found["broken"]
        assert [3, 6, 3] == [each["files"] for each in found["projects"]]

        secrets = await first(tree, "Never commit a .env file, a token or a private key")
        assert ["atlas-api", "field-notes", "harbor-web"] == secrets["extra"]["projects"]


class TestChanges:
    async def test_edit_and_delete(self, tree: Tree, tmp_path: Path) -> None:
        """What a watched file says now is what is recalled, a moment after the save."""
        path = tmp_path / "field-notes" / "CLAUDE.md"
        text = path.read_text("utf-8")
        path.write_text(text.replace("never on a Friday", "on Fridays only with zebra approval"))
        await knows(tree, "zebra")
        assert "zebra" in (await first(tree, "deploy on Fridays with zebra approval"))["text"]

        draft = path.with_name("draft")
        draft.write_text(text)
        draft.replace(path)
        await forgets(tree, "zebra")
        assert "zebra" not in (await first(tree, "deploy on Fridays with zebra approval"))["text"]

        nested = tmp_path / "atlas-api" / "new" / "CLAUDE.md"
        nested.parent.mkdir()
        nested.write_text("## Quokka\n\nFeed the quokka twice.\n")
        await knows(tree, "quokka")
        assert str(nested) == (await first(tree, "feed the quokka"))["path"]

        nested.unlink()
        await forgets(tree, "quokka")

    async def test_touch(self, tree: Tree, tmp_path: Path) -> None:
        """A save without a change is an unchanged run and no new observation."""
        path = tmp_path / "atlas-api" / "CLAUDE.md"
        before = (await tree.cortex.insights(limit=1_000))["insights"]
        runs = len(await runs_of(tree, path))
        path.touch()

        async def ran() -> bool:
            return len(await runs_of(tree, path)) > runs

        await eventually(ran)
        await settled(tree)
        assert "unchanged" == (await runs_of(tree, path))[0]
        assert before == (await tree.cortex.insights(limit=1_000))["insights"]


class TestRestart:
    async def test_all_there(self, tmp_path: Path, tmp_home: Path) -> None:
        """What was learned is there at the next start, and nothing is read as changed."""
        roots = copied(tmp_path)
        async with grown(tmp_home) as tree:
            await follow(tree, *roots)
            before = (await tree.cortex.insights(limit=1_000))["insights"]
        async with grown(tmp_home) as tree:
            await eventually(lambda: 3 == len(tree.watchers.list_watched()))
            await settled(tree)
            assert before == (await tree.cortex.insights(limit=1_000))["insights"]
            found = await first(tree, "never run terraform apply")
            assert found["heading"].endswith("Terraform")

    async def test_changed_meanwhile(self, tmp_path: Path, tmp_home: Path) -> None:
        """What changed, came and went while no daemon ran is noticed at the next start."""
        (root,) = copied(tmp_path, "field-notes")
        async with grown(tmp_home) as tree:
            await follow(tree, root)
        (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
        (root / "AGENTS.md").unlink()
        (root / "docs").mkdir()
        (root / "docs" / "CLAUDE.md").write_text("## Quokka\n\nFeed the quokka.\n")
        async with grown(tmp_home) as tree:
            await knows(tree, "zebra")
            await knows(tree, "quokka")
            await forgets(tree, (SAMPLES / "field-notes/AGENTS.md").read_text().split("\n")[-2])
            paths = {place[0] for each in (await said(tree, root)).values() for place in each}
            assert {"CLAUDE.md", "docs/CLAUDE.md", "runbooks/CLAUDE.md"} <= paths
            assert "AGENTS.md" not in paths

    async def test_stopped_in_the_middle(self, tmp_path: Path, tmp_home: Path) -> None:
        """A daemon that is told to stop while it reads leaves the rest to the next one."""
        roots = copied(tmp_path)
        for n in range(40):
            path = roots[0] / f"part-{n}" / "CLAUDE.md"
            path.parent.mkdir()
            path.write_text(f"## Part\n\nThis is part number {n}.\n")
        async with grown(tmp_home) as tree:
            await tree.cortex.add_project(str(roots[0]))
            await tree.cortex.scan()

            async def begun() -> bool:
                return bool((await tree.cortex.status()).get("insights", 0) > 0)

            await eventually(begun)
            promised = (await tree.cortex.status())["insights"]
        async with grown(tmp_home) as tree:
            assert promised <= (await tree.cortex.status())["insights"]
            await knows(tree, "part number 39")
            await eventually(lambda: 1 == len(tree.watchers.list_watched()))
            await settled(tree)
            assert 43 == (await tree.cortex.projects())["projects"][0]["files"]
