"""The verbs: what a client may ask, and what it is told when that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import topics
from cortex_actors.errors import (
    BadInput,
    CortexError,
    NotFound,
    Refused,
    UnknownActor,
    UnknownProject,
    UnknownTopic,
)
from cortex_actors.testing import eventually, settled
from tests.flow.support import THREE, copied, follow, grown, knows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.tree import Tree


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that follows nothing yet."""
    async with grown(tmp_home) as found:
        yield found


@pytest.fixture
async def cortex(tree: Tree) -> FrontDesk:
    """Give its verbs."""
    return tree.cortex


@pytest.fixture
async def root(cortex: FrontDesk, tmp_path: Path) -> Path:
    """Give the root of a followed project without files."""
    (tmp_path / "atlas").mkdir()
    await cortex.add_project(str(tmp_path / "atlas"))
    return (tmp_path / "atlas").resolve()


class TestPublish:
    async def test_durable(self, tree: Tree, cortex: FrontDesk) -> None:
        """An event of a custom topic is said and has its number before the verb returns."""
        said: list[str] = []
        tree.bus.subscribe("custom:*", lambda event: said.append(event.id))
        one = await cortex.publish("custom:deployed", {"version": "1.4"})
        two = await cortex.publish("custom:deployed", {})

        assert said == [one["id"], two["id"]]
        assert "custom:deployed" == one["topic"]
        assert one["seq"] < two["seq"]

    async def test_transient(self, cortex: FrontDesk) -> None:
        """A transient event is said and has no number."""
        assert (await cortex.publish("custom:ping", {}, transient=True))["seq"] is None

    @pytest.mark.parametrize(
        ("topic", "payload", "error", "text"),
        [
            ("file:chnged", {}, UnknownTopic, "cortex debug topics"),
            ("custom:", {}, UnknownTopic, "no topic"),
            ("custom:Upper", {}, UnknownTopic, "no topic"),
            ("custom:" + "x" * 65, {}, UnknownTopic, "no topic"),
            ("scan:requested", {"project": "a"}, BadInput, "'project'"),
            ("scan:requested", {"project_id": 1}, BadInput, "'project_id'"),
            ("resolution:requested", {}, BadInput, "'path' is missing"),
            ("file:changed", {}, BadInput, "is missing"),
            ("file:changed", {"path": 7}, BadInput, "'path'"),
            ("file:changed", {"path": "CLAUDE.md"}, BadInput, "absolute"),
            ("file:changed", {"path": "/a\0b/CLAUDE.md"}, BadInput, "absolute path in UTF-8"),
            ("file:changed", {"path": "/\udce9/CLAUDE.md"}, BadInput, "UTF-8"),
            ("file:changed", {"path": "/nobody/CLAUDE.md"}, UnknownProject, "cortex init"),
            ("custom:big", {"text": "x" * 70_000}, BadInput, "limit"),
        ],
    )
    async def test_wrong(
        self,
        cortex: FrontDesk,
        topic: str,
        payload: dict[str, Any],
        error: type[CortexError],
        text: str,
    ) -> None:
        """What is wrong with a topic or a payload is refused by name."""
        with pytest.raises(error, match=text):
            await cortex.publish(topic, payload)

    async def test_owner_only(self, cortex: FrontDesk) -> None:
        """Every topic that only the daemon may say is refused, and nothing is stored."""
        mine = [topic.name for topic in topics.TOPICS if topic.owner_only]
        assert "accumulation:complete" in mine
        for name in mine:
            with pytest.raises(Refused, match=f"refused to publish {name}"):
                await cortex.publish(name, {})
        assert 0 == (await cortex.status())["waiting"]

    async def test_path_alone(self, tree: Tree, root: Path) -> None:
        """A path says by itself which project it belongs to."""
        (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
        await tree.cortex.publish("file:changed", {"path": str(root / "CLAUDE.md")})

        await knows(tree, "zebra")

    async def test_another_name(self, tree: Tree, root: Path, tmp_path: Path) -> None:
        """A file that is told of under another name is the same file."""
        (root / "sub").mkdir()
        (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
        (tmp_path / "link").symlink_to(root)
        for path in ("atlas/sub/../CLAUDE.md", "atlas//./CLAUDE.md", "link/CLAUDE.md"):
            await tree.cortex.publish("file:changed", {"path": f"{tmp_path}/{path}"})
        await knows(tree, "zebra")

        (insight,) = (await tree.cortex.insights())["insights"]
        assert [str(root / "CLAUDE.md")] == [each["path"] for each in insight["sources"]]

    async def test_other_project(self, cortex: FrontDesk, root: Path) -> None:
        """A path that is said to lie in a project where it does not lie is refused."""
        payload = {"path": str(root / "CLAUDE.md"), "project_id": "prj_other"}

        with pytest.raises(UnknownProject, match="prj_other"):
            await cortex.publish("file:changed", payload)

    async def test_no_instruction_file(self, cortex: FrontDesk, root: Path) -> None:
        """A change of a file that nobody reads is refused."""
        with pytest.raises(BadInput, match="not the name of an instruction file"):
            await cortex.publish("file:changed", {"path": str(root / "README.md")})


class TestHowMany:
    async def test_refused(self, cortex: FrontDesk) -> None:
        """Asking for fewer than one insight is refused; below zero would mean all of them."""
        for limit in (0, -1):
            with pytest.raises(BadInput, match="1 or more"):
                await cortex.insights(limit=limit)


class TestProjects:
    async def test_add(self, cortex: FrontDesk, root: Path) -> None:
        """A project that is added again is the same project and no news."""
        again = await cortex.add_project(str(root))

        assert ("atlas", str(root), False) == (again["name"], again["root"], again["new"])
        assert 1 == (await cortex.status())["projects"]

    async def test_linked(self, cortex: FrontDesk, root: Path, tmp_path: Path) -> None:
        """A project that is reached through a link is the project the link leads to."""
        (tmp_path / "link").symlink_to(root)

        assert not (await cortex.add_project(str(tmp_path / "link")))["new"]

    async def test_missing(self, cortex: FrontDesk, tmp_path: Path) -> None:
        """A path that is not there is not known, rather than wrong."""
        with pytest.raises(NotFound, match="is not there"):
            await cortex.add_project(f"{tmp_path}/missing")

    @pytest.mark.parametrize("name", ["file", "a\0b", "caf\udce9"])
    async def test_no_folder(self, cortex: FrontDesk, tmp_path: Path, name: str) -> None:
        """What is no folder that can be followed is refused with what to give instead."""
        (tmp_path / "file").write_text("x")

        with pytest.raises(BadInput, match="give a project's root folder"):
            await cortex.add_project(f"{tmp_path}/{name}")

    async def test_file(self, cortex: FrontDesk, tmp_path: Path) -> None:
        """Of a file it is said that it is one."""
        (tmp_path / "CLAUDE.md").write_text("x")

        with pytest.raises(BadInput, match="it is a file, not a folder"):
            await cortex.add_project(str(tmp_path / "CLAUDE.md"))

    async def test_files(self, tree: Tree, root: Path) -> None:
        """Of each file it is told how much it says, what was left out, and why it was not read."""
        tool = "<!-- nx start -->\n- Run nx always.\n<!-- nx end -->\n"
        (root / "AGENTS.md").write_text(f"- Ask the zebra.\n- Never push.\n\n{tool}")
        (root / "CLAUDE.md").write_bytes(b"- Caf\xe9s close at nine.\n")
        (root / "inner").mkdir()
        (root / "inner/CLAUDE.md").write_text("- Ask the zebra.\n")
        await knows(tree, "zebra")
        await settled(tree)
        found = await tree.cortex.project_files("atlas")
        rows = {each["path"].removeprefix(f"{root}/"): each for each in found["files"]}

        assert ("atlas", str(root), 2) == (found["name"], found["root"], found["insights"])
        assert {"AGENTS.md": 2, "CLAUDE.md": 0, "inner/CLAUDE.md": 1} == {
            name: row["statements"] for name, row in rows.items()
        }
        assert [3, 0, 0] == [row["left_out"] for row in rows.values()]
        assert "line 1 is not UTF-8" in rows["CLAUDE.md"]["error"]
        listed = (await tree.cortex.projects())["left_out"]
        assert [{"path": str(root / "AGENTS.md"), "lines": 3}] == listed

    async def test_too_much(
        self, cortex: FrontDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The root of everything, and a home folder, are refused as projects."""
        monkeypatch.setenv("HOME", str(tmp_path))
        for path in ("/", str(tmp_path)):
            with pytest.raises(BadInput, match="much more than a project"):
                await cortex.add_project(path)

    async def test_add_is_always_said(self, tree: Tree, root: Path) -> None:
        """Adding a project again says so again, which mends a project that is not watched."""
        await eventually(lambda: 1 == len(tree.watchers.list_watched()))
        await settled(tree)
        await tree.watchers.end_watcher(next(iter(tree.watchers.list_watched())))
        assert not tree.watchers.list_watched()
        await tree.cortex.add_project(str(root))

        await eventually(lambda: 1 == len(tree.watchers.list_watched()))

    async def test_remove(self, tree: Tree, root: Path) -> None:
        """A project that is followed no longer loses its watcher and keeps what it said."""
        (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
        await knows(tree, "zebra")
        await tree.cortex.remove_project(str(root))
        await eventually(lambda: frozenset() == tree.watchers.list_watched())
        await settled(tree)

        assert [] == (await tree.cortex.projects())["projects"]
        assert 1 == (await tree.cortex.insights())["total"]
        assert "zebra" in (await tree.cortex.recall("ask the zebra"))["hits"][0]["text"]

    async def test_added_back(self, tree: Tree, root: Path) -> None:
        """A project that is followed again is watched again."""
        await tree.cortex.remove_project(str(root))
        assert (await tree.cortex.add_project(str(root)))["new"]
        await eventually(lambda: 1 == len(tree.watchers.list_watched()))
        (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")

        await knows(tree, "zebra")

    async def test_unknown(self, cortex: FrontDesk, root: Path) -> None:
        """Each verb that takes a project refuses one that nobody follows."""
        for verb in (cortex.remove_project, cortex.scan, cortex.insights):
            with pytest.raises(UnknownProject, match="no followed project holds /nowhere"):
                await verb("/nowhere")
        with pytest.raises(UnknownProject):
            await cortex.recall("zebra", project="/nowhere")

    async def test_nested(self, cortex: FrontDesk, root: Path) -> None:
        """A path in a project inside a project means the inner one."""
        (root / "inner").mkdir()
        await cortex.add_project(str(root / "inner"))

        assert "inner" == (await cortex.remove_project(str(root / "inner" / "deep")))["name"]

    async def test_two_of_one_name(self, tree: Tree, root: Path, tmp_path: Path) -> None:
        """Two projects of one name are both watched, and the name alone is not enough."""
        other = tmp_path / "elsewhere" / "atlas"
        other.mkdir(parents=True)
        await tree.cortex.add_project(str(other))
        await eventually(lambda: 2 == len(tree.watchers.list_watched()))

        with pytest.raises(UnknownProject, match="2 projects are called atlas"):
            await tree.cortex.scan("atlas")
        assert "watcher(atlas)" in (await tree.cortex.tree())["text"]


class TestInsights:
    async def test_filters(self, tree: Tree, tmp_path: Path) -> None:
        """Insights of one project are found by its path, a path in it, its name and its id."""
        roots = copied(tmp_path)
        await follow(tree, *roots)
        cortex = tree.cortex
        everything = await cortex.insights(limit=1_000)
        found = await cortex.projects()
        atlas = next(each for each in found["projects"] if "atlas-api" == each["name"])

        for wanted in (str(roots[0]), f"{roots[0]}/app/x.py", "atlas-api", atlas["id"]):
            some = await cortex.insights(wanted, limit=1_000)
            assert atlas["insights"] == some["total"] == len(some["insights"])
            assert all("atlas-api" in each["projects"] for each in some["insights"])
        assert everything["total"] == len(everything["insights"]) > atlas["insights"]
        assert sorted(THREE) == [each["name"] for each in found["projects"]]

        two = await cortex.insights(limit=2)
        assert (everything["total"], everything["insights"][:2]) == (two["total"], two["insights"])
        assert everything["insights"] == sorted(
            everything["insights"], key=lambda each: (-each["confidence"], each["id"])
        )

        hits = (await cortex.recall("tabs and spaces", limit=50, project="atlas-api"))["hits"]
        assert {"atlas-api"} == {hit["project"] for hit in hits}

    async def test_nothing(self, cortex: FrontDesk) -> None:
        """A daemon that knows nothing says so."""
        assert {"total": 0, "insights": []} == await cortex.insights()
        assert [] == (await cortex.recall("anything"))["hits"]


class TestCrash:
    async def test_refused(self, cortex: FrontDesk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without CORTEX_DEBUG=1 nobody is made to crash."""
        monkeypatch.delenv("CORTEX_DEBUG", raising=False)

        with pytest.raises(Refused, match="CORTEX_DEBUG=1"):
            await cortex.crash("reconciler")

    async def test_allowed(self, cortex: FrontDesk, monkeypatch: pytest.MonkeyPatch) -> None:
        """With it the actor crashes and comes back, which the tree shows."""
        monkeypatch.setenv("CORTEX_DEBUG", "1")

        assert {"crashed": "reconciler"} == await cortex.crash("reconciler")

        async def shown() -> bool:
            return "restarts 1" in (await cortex.tree())["text"]

        await eventually(shown)

    async def test_unknown(self, cortex: FrontDesk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name that nobody has is refused with the names there are."""
        monkeypatch.setenv("CORTEX_DEBUG", "1")

        with pytest.raises(UnknownActor, match="accumulator"):
            await cortex.crash("acumulator")
