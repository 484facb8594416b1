"""What agents read beside a project's main files: skills, and a person's own files in the home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.testing import settled
from tests.flow.support import follow, grown, knows

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
    "claude": ".claude/CLAUDE.md",
    "codex": ".codex/AGENTS.md",
    "other": ".claude/notes.md",
    "rule": ".claude/rules/style.md",
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


class TestOwnFiles:
    @pytest.fixture
    def person(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Give the home folder of a person with files that contradict each other."""
        home = put(
            tmp_path / "person",
            claude="Always indent Python files with tabs.",
            codex="Never indent Python files with tabs.",
            rule="Ask the zebra before each release.",
            agents="Feed the quokka at noon.",
            other="Count the herons on Monday.",
        )
        monkeypatch.setenv("HOME", str(home))
        return home

    async def read(self, tree: Tree) -> list[str]:
        """Return the files of the project `~` that were read, from the home."""
        await tree.cortex.scan("~")
        await settled(tree)
        found = await tree.cortex.project_files("~")
        return [each["path"].removeprefix(f"{found['root']}/") for each in found["files"]]

    async def test_followed(self, tree: Tree, person: Path) -> None:
        """Only the known files are read, as one project in which they contradict each other."""
        before = await tree.cortex.own_files()
        assert (None, 3) == (before["followed"], len(before["files"]))
        assert "~" == (await tree.cortex.follow_own(on=True))["name"]

        assert [".claude/CLAUDE.md", ".claude/rules/style.md", ".codex/AGENTS.md"] == (
            await self.read(tree)
        )
        assert 1 == len(await open_pairs(tree))
        assert ["poll"] == [
            each["watch_mode"] for each in (await tree.cortex.projects())["projects"]
        ]
        put(person, codex="Feed the ibis at dawn.")
        await knows(tree, "ibis")

    async def test_decided(self, tree: Tree, person: Path) -> None:
        """A no is kept, and a yes is taken back as with any project; what was learned stays."""
        assert not (await tree.cortex.follow_own(on=False))["new"]
        assert (await tree.cortex.own_files())["followed"] is False
        assert 0 == len((await tree.cortex.projects())["projects"])
        await tree.cortex.follow_own(on=True)
        await self.read(tree)
        await tree.cortex.remove_project("~")

        assert (await tree.cortex.own_files())["followed"] is False
        assert 3 == (await tree.cortex.insights())["total"]

    async def test_apart(self, tree: Tree, person: Path) -> None:
        """A project in the home is its own, and a session in the home is of no project."""
        inner = put(person / "code", agents="Water the cactus on Friday.")
        await follow(tree, inner)
        await tree.cortex.follow_own(on=True)
        assert 3 == len(await self.read(tree))
        said = await tree.cortex.remember("The stove is hot.", here=str(person))
        assert said["project"] is None
        await tree.cortex.revoke("~")
        await settled(tree)

        known = {each["content"] for each in (await tree.cortex.insights())["insights"]}
        assert {"Water the cactus on Friday."} == known

    async def test_written(self, tree: Tree, person: Path, tmp_path: Path) -> None:
        """All projects are written without these files; by name the main one is, and none made."""
        for name in ("one", "two"):
            put(tmp_path / name, agents="Always feed the quokka twice before the harvest.")
        await follow(tree, tmp_path / "one", tmp_path / "two")
        await tree.cortex.follow_own(on=True)
        await self.read(tree)
        every = await tree.cortex.resolve(everything=True, dry_run=True)
        mine = await tree.cortex.resolve("~", create=True, dry_run=True)

        paths = [{each["path"] for each in found["files"]} for found in (every, mine)]
        assert not [each for each in paths[0] if each.startswith(str(person))]
        assert {str(person / ".claude/CLAUDE.md")} == paths[1]

    async def test_links(self, tree: Tree, person: Path) -> None:
        """A file that is a link into the home is read; one that leads out of it is refused."""
        (person / ".codex/AGENTS.md").rename(person / "dotfile.md")
        (person / ".codex/AGENTS.md").symlink_to(person / "dotfile.md")
        (person / ".gemini").mkdir()
        (person / ".gemini/GEMINI.md").symlink_to("/etc/hostname")
        await tree.cortex.follow_own(on=True)
        await self.read(tree)
        files = (await tree.cortex.project_files("~"))["files"]

        errors = {each["path"].rpartition("/")[2]: each["error"] for each in files}
        assert errors["AGENTS.md"] is None
        assert "refused to read" in errors["GEMINI.md"]
