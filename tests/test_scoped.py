"""Memories and crumbs belong to projects: which one that is, who finds them, and what is merged."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api import status
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.project import Project, make_project_id
from cortex_actors.errors import BadInput, NotFound, UnknownProject
from cortex_actors.files.repository import find_origin
from cortex_actors.storage import projects
from cortex_actors.testing import eventually, temporary_cortex
from tests.storage.support import opened
from tests.test_origins import remote, repository

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.tree import Tree

#: Two wordings of one thing, which become one memory wherever they may.
PORT, AGAIN = "Redis listens on port 6379 by default.", "By default Redis listens on port 6379."

ATLAS = "git@github.com:acme/atlas.git"


def worktree(main: Path, folder: Path) -> Path:
    """Make a linked worktree of a repository, as git writes one."""
    git = main / ".git" / "worktrees" / folder.name
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {git}\n")
    return folder


async def found(root: Path, *folders: Path, at: tuple[Path, ...]) -> list[str | None]:
    """Follow folders in their order, and return to which of them others belong, by their names."""
    followed = [Project.from_root(str(each), number) for number, each in enumerate(folders)]
    async with opened(root) as store:
        for each in followed:
            await store.write(partial(projects.add, project=each))
            await store.write(partial(projects.locate, origins={each.id: find_origin(each.root)}))
        some = [
            await store.read(partial(status.find_project_around, folder=str(each))) for each in at
        ]
    return [None if each is None else each.name for each in some]


class TestBelongs:
    async def test_folders(self, tmp_path: Path) -> None:
        """A folder belongs to the innermost project that holds it, whether or not it is there."""
        outer, inner = tmp_path / "atlas", tmp_path / "atlas" / "web"
        inner.mkdir(parents=True)
        at = (outer, outer / "docs", inner / "src", tmp_path, tmp_path / "atlas-api")

        assert ["atlas", "atlas", "web", None, None] == await found(tmp_path, outer, inner, at=at)

    async def test_worktree(self, tmp_path: Path) -> None:
        """A worktree belongs to the project of its repository, with all its folders."""
        main = repository(tmp_path / "atlas")
        tree = worktree(main, tmp_path / "elsewhere" / "fix")

        assert ["atlas"] * 2 == await found(tmp_path, main, at=(tree, tree / "docs"))

    async def test_clone(self, tmp_path: Path) -> None:
        """A clone with the same remote belongs to the project, one of another does not."""
        main = repository(tmp_path / "atlas", remote(ATLAS))
        clone = repository(tmp_path / "copy", remote("https://github.com/acme/atlas"))
        other = repository(tmp_path / "other", remote("https://github.com/acme/borealis"))

        assert ["atlas", None] == await found(tmp_path, main, at=(clone, other))

    async def test_same_place(self, tmp_path: Path) -> None:
        """Of a repository with several projects that one is meant which lies at the same place."""
        main = repository(tmp_path / "all", remote(ATLAS))
        for name in ("web", "api"):
            (main / name).mkdir()
        tree, inside = (
            worktree(main, tmp_path / "fix"),
            worktree(main, main / "web" / "trees" / "x"),
        )
        at = (tree / "web" / "src", tree / "api", tree, inside / "api")

        assert ["web", "api", None, "api"] == await found(
            tmp_path, main / "web", main / "api", at=at
        )

    async def test_followed_itself(self, tmp_path: Path) -> None:
        """A worktree that is followed is a project of its own; of two clones the first counts."""
        first = repository(tmp_path / "first", remote(ATLAS))
        second = repository(tmp_path / "second", remote(ATLAS))
        third = repository(tmp_path / "third", remote(ATLAS))

        assert ["second", "first"] == await found(tmp_path, first, second, at=(second, third))

    async def test_git_itself(self, tmp_path: Path) -> None:
        """What git itself makes of a repository is understood: a worktree, and a clone of it."""
        main, tree, clone = (tmp_path / name for name in ("atlas", "fix", "copy"))
        me = ("-c", "user.name=me", "-c", "user.email=me@example.org")
        for words in (
            ("init", "-q", str(main)),
            ("-C", str(main), *me, "commit", "-q", "--allow-empty", "-m", "begin"),
            ("-C", str(main), "worktree", "add", "-q", str(tree)),
            ("clone", "-q", str(tree), str(clone)),
        ):
            subprocess.run(["git", *words], check=True, capture_output=True)

        assert ["atlas"] * 2 == await found(tmp_path, main, at=(tree, clone))


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[Tree]:
    """Give a tree that follows two projects, atlas and borealis."""
    async with temporary_cortex() as tree:
        for name in ("atlas", "borealis"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "CLAUDE.md").write_text(f"# {name}\n\n- Redis of {name} is local.\n")
            await tree.cortex.add_project(str(tmp_path / name))
        yield tree


async def texts(desk: FrontDesk, **asked: Any) -> set[str]:
    """Return the texts of the memories and crumbs that a recall finds."""
    answer = await desk.recall("redis port", 50, **asked)
    ours = [each for each in answer["hits"] if each["store"] != "cortex_insights"]
    return {each["text"] for each in ours}


@pytest.mark.slow
class TestProjects:
    async def test_remember(self, tree: Tree, tmp_path: Path) -> None:
        """A memory belongs to what is named, else to the caller's project, else to none."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        given: list[dict[str, str]] = [
            {"here": f"{here}/docs"},
            {"here": here, "project": "borealis"},
            {"here": here, "project": ""},
            {"here": str(tmp_path)},
            {},
        ]
        for number, each in enumerate(given):
            said = await desk.remember(f"Fact {number}.", merge=False, **each)
            shown = await desk.memory(said["id"])
            assert said["project"] == shown["project"], each
        listed = (await desk.memories(sort="oldest"))["memories"]

        assert ["atlas", "borealis", None, None, None] == [each["project"] for each in listed]
        assert make_project_id(here) == listed[0]["project_id"]
        with pytest.raises(UnknownProject):
            await desk.remember("x", project="nowhere")
        with pytest.raises(BadInput, match="absolute"):
            await desk.recall("x", here="docs")

    async def test_others_kept(self, tree: Tree, tmp_path: Path) -> None:
        """A post and a crumb of another system belong to a project as a memory does."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        given: list[dict[str, str]] = [
            {"here": f"{here}/docs"},
            {"here": here, "project": "borealis"},
            {"here": here, "project": ""},
            {},
        ]
        for number, each in enumerate(given):
            # The same is posted in each place, and the village keeps them apart.
            said = await desk.post("Redis is local.", type="fact", **each)
            assert said["state"] == ("existing" if number == 3 else "saved")
            shown = await desk.memory(said["id"])
            assert said["project"] == shown["project"], each
            await desk.leave_crumb("Moved the tests.", agent=f"AGENT-{number}", **each)
        every = (await desk.crumbs(limit=50))["crumbs"]
        of = {each["agent"]: each["project_id"] for each in every}

        assert ["atlas", "borealis", None] == [
            each["project"] for each in (await desk.memories(sort="oldest"))["memories"]
        ]
        ids = [make_project_id(str(tmp_path / name)) for name in ("atlas", "borealis")]
        assert [*ids, "", ""] == [of[f"AGENT-{number}"] for number in range(4)]
        with pytest.raises(UnknownProject):
            await desk.post("x", project="nowhere")
        with pytest.raises(UnknownProject):
            await desk.leave_crumb("x", project="nowhere")

    async def test_merged_within(self, tree: Tree, tmp_path: Path) -> None:
        """What two projects say is two memories, to the letter and in other words; so is global."""
        desk = tree.cortex
        asked: list[dict[str, str]] = [
            {},
            *({"here": str(tmp_path / each)} for each in ("atlas", "borealis")),
        ]
        first = [await desk.remember(PORT, **each) for each in asked]
        again = [await desk.remember(PORT, **each) for each in asked]
        other = [await desk.remember(AGAIN, **each) for each in asked]

        assert [["saved"] * 3, ["existing"] * 3, ["merged"] * 3] == [
            [each["state"] for each in some] for some in (first, again, other)
        ]
        assert [[each["id"]] for each in first] == [each["merged"] for each in other]
        with pytest.raises(BadInput, match="different projects"):
            await desk.consolidate(other[0]["id"], other[1]["id"])
        await eventually(lambda: _have_vectors(desk))
        pairs = await desk.duplicates()
        assert ([], 3) == (pairs["duplicates"], pairs["compared"])
        assert 0 == (await desk.memory_health(duplicates=True))["summary"]["total_duplicates"]

    async def test_found(self, tree: Tree, tmp_path: Path) -> None:
        """A recall that is narrowed to a project finds what is its, and any other finds all."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        await desk.remember("Redis port of atlas.", here=here)
        await desk.remember("Redis port of borealis.", project="borealis")
        await desk.remember("Redis port anywhere.")
        await desk.leave_crumb("Looked for the redis port.", here=here)
        mine = {"Redis port of atlas.", "Looked for the redis port."}
        every = {*mine, "Redis port of borealis.", "Redis port anywhere."}

        assert mine == await texts(desk, project="atlas")
        assert every == await texts(desk, here=here)
        assert every == await texts(desk, here=here, project="")
        hits = (await desk.search("redis port", project="atlas"))["hits"]
        assert [("atlas", make_project_id(here))] == [
            (each["project"], each["extra"]["project_id"]) for each in hits
        ]
        assert 1 == (await desk.memories(project="borealis"))["total"]
        assert 3 == (await desk.memories())["total"]

    async def test_preferred(self, tree: Tree, tmp_path: Path) -> None:
        """The caller's and the global memories come first, all are there; a name goes before."""
        desk, folders = tree.cortex, {each: str(tmp_path / each) for each in ("atlas", "borealis")}
        for name in ("borealis", "atlas", ""):
            await desk.remember("The staging host is called mercury.", project=name)
            await desk.leave_crumb(f"Moved staging of {name or 'all'}.", project=name)
        await eventually(lambda: _are_read(desk))
        for here, folder in folders.items():
            hits = (await desk.recall("which staging host is it", 50, here=folder))["hits"]
            said = [each["project"] for each in hits if "mercury" in each["text"]]
            assert {here, None} == set(said[:2])
            assert 3 == len(said)
            named = f"which staging host is it for {here}"
            for other in folders.values():
                hits = (await desk.recall(named, 50, here=other))["hits"]
                said = [each["project"] for each in hits if "mercury" in each["text"]]
                assert {here, None} == set(said[:2])
                assert 3 == len(said)
            found = (await desk.recall("local redis", here=folder))["hits"]
            assert here == next(each["project"] for each in found if each["path"])

    async def test_crumbs(self, tree: Tree, tmp_path: Path) -> None:
        """A session is shown what its project's sessions left, and those of none."""
        desk, (here, there) = tree.cortex, (str(tmp_path / each) for each in ("atlas", "borealis"))
        for name, where in (("a", here), ("any", str(tmp_path)), ("b", there)):
            await desk.leave_crumb(name, unfinished_business=[f"{name} todo"], here=where)

        async def left(**asked: str) -> list[str]:
            tasks = (await desk.unfinished(**asked))["tasks"]
            shown = (await desk.crumbs(**asked))["crumbs"]
            assert [each["task"] for each in tasks] == [
                f"{e['session_summary']} todo" for e in shown
            ]
            latest = (await desk.latest_crumb(**asked))["crumb"]
            assert latest == shown[0]
            return [each["session_summary"] for each in shown]

        assert ["any", "a"] == await left(here=here)
        assert ["b", "any"] == await left(here=there)
        assert ["b"] == await left(here=here, project="borealis")
        assert ["b", "any", "a"] == await left(here=str(tmp_path))
        assert ["b", "any", "a"] == await left(here=here, project="")

    async def test_rights(self, tree: Tree, tmp_path: Path) -> None:
        """A project changes nothing about who may read: what is private stays its agent's."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        vajra, azoth = Caller("VAJRA"), Caller("AZOTH")
        kept = await desk.remember("Redis port, secretly.", here=here, caller=vajra)
        await desk.leave_crumb("Redis port, my own.", here=here, caller=vajra)
        await desk.remember("Redis port, for all.", realm="village", here=here, caller=vajra)

        assert {"Redis port, for all."} == await texts(desk, project="atlas", caller=azoth)
        assert 3 == len(await texts(desk, project="atlas", caller=vajra))
        assert [] == (await desk.crumbs(project="atlas", caller=azoth))["crumbs"]
        assert 1 == (await desk.memories(project="atlas", caller=azoth))["total"]
        with pytest.raises(NotFound):
            await desk.memory(kept["id"], caller=azoth)

    async def test_outward(self, tree: Tree, tmp_path: Path) -> None:
        """Other programs are told what the village says, and not of which project it is."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        await desk.remember("Redis port, for all.", realm="village", here=here)
        (hit,) = (await desk.outside_memories("redis port"))["hits"]

        assert "prj_" not in str(hit)
        assert "atlas" not in str(hit)

    async def test_removed(self, tree: Tree, tmp_path: Path) -> None:
        """What belonged to a project stays its own when it is removed, and when it comes back."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        await desk.remember("Redis port of atlas.", here=here)
        await desk.remove_project(here)
        assert "Redis port of atlas." in await texts(desk)
        assert (await desk.remember("Redis port of atlas.", here=here))["project"] is None
        with pytest.raises(UnknownProject):
            await desk.memories(project="atlas")
        await desk.add_project(here)

        assert {"Redis port of atlas."} == await texts(desk, project="atlas")
        assert 2 == (await desk.memories())["total"]

    async def test_carried(self, tree: Tree, tmp_path: Path) -> None:
        """An import keeps the project that is known, by its id or its name, and names any other."""
        desk, here = tree.cortex, str(tmp_path / "atlas")
        await desk.remember("Redis port of atlas.", here=here)
        await desk.remember("Redis port of borealis.", project="borealis")
        await desk.leave_crumb("Looked at borealis.", project="borealis")
        await desk.post("Redis is local.", here=here)
        file = tmp_path / "all.json"
        found = {
            name: (await desk.export(kind))["records"]
            for name, kind in (("cortex_private", "memories"), ("cortex_crumbs", "crumbs"))
        }
        file.write_text(json.dumps({"format_version": "1.0", "collections": found}))
        async with temporary_cortex() as other:
            (tmp_path / "there" / "atlas").mkdir(parents=True)
            await other.cortex.add_project(str(tmp_path / "there" / "atlas"))
            done = await other.cortex.import_memories(str(file))
            listed = (await other.cortex.memories(sort="oldest"))["memories"]
            (crumb,) = (await other.cortex.crumbs())["crumbs"]
            again = await other.cortex.import_memories(str(file))

        assert {"borealis": 2} == done["unplaced"]
        assert [("atlas", "private"), (None, "private"), ("atlas", "village")] == [
            (each["project"], each["realm"]) for each in listed
        ]
        assert "" == crumb["project_id"]
        assert ({}, {}) == (again["added"], again["unplaced"])


async def _have_vectors(desk: FrontDesk) -> bool:
    """Tell whether every memory could be compared with the others."""
    return bool(0 == (await desk.duplicates())["without_vector"])


async def _are_read(desk: FrontDesk) -> bool:
    """Tell whether what the files of both projects say is known."""
    total: int = (await desk.insights())["total"]
    return total == 2  # one of each
