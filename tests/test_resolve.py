"""The verbs that bring what is known into files, in a whole tree."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, FolderMissing, NotFound, NothingToUndo, UnknownProject
from cortex_actors.pipeline import reading, resolution
from cortex_actors.testing import eventually, settled
from tests.flow.downward import AGREED
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.pipeline.reading import ComparedTexts
    from cortex_actors.text.sections import Dialect
    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

#: What two projects say, and a third one does not.
SHARED = "# One\n\n- Always run pytest before you push.\n- Use tabs for indentation.\n"

HUMAN = "# Atlas\n\nA Python service.\n\n- Name queues after birds.\n"


@pytest.fixture
async def tree(tmp_home: Path, tmp_path: Path) -> AsyncIterator[Tree]:
    """Give a tree that has learned something of two projects and follows a third one."""
    async with grown(tmp_home, **AGREED) as found:
        for name in ("one", "two"):
            await project(found, tmp_path / name, {"CLAUDE.md": SHARED})
        await project(found, tmp_path / "atlas", {"CLAUDE.md": HUMAN, ".cursorrules": HUMAN})
        await found.cortex.reconcile()
        await settled(found)
        yield found


async def project(tree: Tree, root: Path, files: dict[str, str]) -> None:
    """Follow a project with those files."""
    root.mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    await tree.cortex.add_project(str(root))
    await settled(tree)


def states(found: dict[str, Any]) -> dict[str, str]:
    """Return how each file's resolution ended, by the file's name."""
    return {Path(each["path"]).name: each["state"] for each in found["files"]}


async def resolved(tree: Tree, root: Path) -> None:
    """Try the ways to mean a project or a file: each is written, or shown."""
    cortex = tree.cortex
    (root / "src").mkdir()
    for given in (str(root), str(root / "src"), "atlas"):
        found = await cortex.resolve(given, dry_run=True)
        assert {"CLAUDE.md": "shown", ".cursorrules": "shown"} == states(found)
    one = await cortex.resolve(str(root / "CLAUDE.md"))
    every = await cortex.resolve(everything=True)
    again = await cortex.resolve_preview(str(root / "CLAUDE.md"))

    assert {"CLAUDE.md": "written"} == states(one)
    assert "+- Always run pytest before you push." in one["files"][0]["diff"]
    assert 2 == len(one["files"][0]["bullets"])
    assert 4 == len(every["files"])
    assert ({"CLAUDE.md": "unchanged"}, "") == (states(again), again["files"][0]["diff"])
    assert HUMAN in (root / "CLAUDE.md").read_text()


async def told(tree: Tree, root: Path) -> None:
    """Try the ways to have the text alone: no file changes."""
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    for path in ("atlas", str(root / "AGENTS.md")):
        found = await tree.cortex.resolve(path, text_only=True)
        assert ["## Resolved Knowledge from Cortex"] == [
            each["section"].partition("\n")[0] for each in found["files"]
        ]
    prompt = await tree.cortex.resolve("atlas", "chatgpt")

    assert "- Use tabs for indentation." in prompt["files"][0]["section"].splitlines()
    assert (HUMAN, HUMAN) == tuple(
        (root / name).read_text() for name in ("CLAUDE.md", ".cursorrules")
    )


async def undone(tree: Tree, root: Path) -> None:
    """Take writes back: by the file, and by the project where it is the only one."""
    cortex = tree.cortex
    with pytest.raises(BadInput, match=r"give one of .*/\.cursorrules, .*/CLAUDE\.md"):
        await cortex.undo_resolution("atlas")
    await cortex.undo_resolution(str(root / ".cursorrules"))
    await cortex.undo_resolution("atlas")
    with pytest.raises(BadInput, match="nothing was written"):
        await cortex.undo_resolution("atlas")
    with pytest.raises(NothingToUndo):
        await cortex.undo_resolution(str(root / "CLAUDE.md"))

    assert {HUMAN} == {(root / name).read_text() for name in ("CLAUDE.md", ".cursorrules")}


async def gone(tree: Tree, root: Path) -> None:
    """Delete a project's folder: it is refused by name, and of all projects it alone is left."""
    shutil.rmtree(root)
    for given in ("atlas", str(root), str(root / "CLAUDE.md")):
        with pytest.raises(FolderMissing, match="is gone; bring it back"):
            await tree.cortex.resolve(given)
    found = await tree.cortex.resolve(everything=True, dry_run=True)

    assert {"CLAUDE.md"} == set(states(found))
    assert [str(root)] == [each["path"] for each in found["left"]]
    assert "its folder" in found["left"][0]["reason"]


class TestResolve:
    async def test_unchanged(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is as it was is not read as statements again, whatever is wished of it."""
        read: list[str] = []

        def page_of(data: bytes, dialect: Dialect, *, path: str, project: str) -> ComparedTexts:
            read.append(path)
            return reading.make_page(data, dialect, path=path, project=project)

        monkeypatch.setattr(resolution, "make_page", page_of)
        found = await tree.cortex.resolve(everything=True, dry_run=True)
        assert {each["path"] for each in found["files"]} == set(read)
        before = list(read)
        again = await tree.cortex.resolve(everything=True, dry_run=True)
        assert before == read
        # Those of large files would fill the memory.
        monkeypatch.setattr(resolution, "SMALL", 0)
        resolution._read.cache_clear()
        await tree.cortex.resolve(everything=True, dry_run=True)

        assert len(before) < len(read)
        assert [each["section"] for each in found["files"]] == [
            each["section"] for each in again["files"]
        ]

    async def test_by_hand(self, tree: Tree, tmp_path: Path) -> None:
        """What is meant by a path, a name or all of it is written, shown, taken back, or gone."""
        root = tmp_path / "atlas"
        await told(tree, root)
        (root / "AGENTS.md").unlink()
        await resolved(tree, root)
        await undone(tree, root)

        for given, error in (
            ({}, BadInput),
            ({"path": str(root), "everything": True}, BadInput),
            ({"path": str(root), "edited": "maybe"}, BadInput),
            ({"path": str(root / "README.md")}, BadInput),
            ({"path": str(root), "agent": "hal"}, NotFound),
            ({"path": str(tmp_path)}, UnknownProject),
            ({"path": "strange"}, UnknownProject),
        ):
            with pytest.raises(error):
                await tree.cortex.resolve(**given)
        await gone(tree, root)

    async def test_by_itself(self, tree: Tree, tmp_path: Path) -> None:
        """A project that opts in is written at once; an edit there is told by the status."""
        path = tmp_path / "atlas" / "CLAUDE.md"
        assert (await tree.cortex.set_auto("atlas", on=True))["new"]
        await eventually(lambda: "Always run pytest" in path.read_text())
        found = await tree.cortex.projects()

        assert {"atlas": True, "one": False, "two": False} == {
            each["name"]: each["auto"] for each in found["projects"]
        }
        assert not (await tree.cortex.set_auto("atlas", on=True))["new"]
        assert (await tree.cortex.set_auto("atlas", on=False))["new"]

        path.write_text(path.read_text().replace("- Always", "- Mine.\n- Always"))
        await tree.cortex.resolve(str(path))
        status = await tree.cortex.status()
        assert [{"path": str(path), "agent": "claude", "state": "edited"}] == status["unresolved"]
