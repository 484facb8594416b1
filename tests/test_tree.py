"""The tree: as drawn, as declared and as it lives; and every actor of it comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors import tree as tree_module
from cortex_actors.assembly import embedder
from cortex_actors.assembly.context import Outside
from cortex_actors.domain.event import dump_payload
from cortex_actors.domain.project import Project
from cortex_actors.errors import ActorAway, TaskEnded, TooManyTasks
from cortex_actors.runtime.tasks import MAX_TASKS
from cortex_actors.storage import projects
from cortex_actors.storage.models import ChosenModel
from cortex_actors.testing import eventually, settled
from cortex_actors.tree import TREE
from tests.flow.support import copied, first, follow, grown, knows
from tests.flow.test_crashes import ACTORS, EVENTS, crash

if TYPE_CHECKING:
    from cortex_actors.assembly.reload import Branch
    from cortex_actors.tree import Tree
    from supervision import Node, Report


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


def node(tree: Tree, name: str) -> Node:
    """Return the picture of a branch directly below the root."""
    return next(each for each in tree.supervisor.snapshot().children if each.name == name)


class TestDrawing:
    def test_agrees(self) -> None:
        """The drawing in the docstring is the tree that is declared."""
        assert declared(TREE) == drawn()

    def test_consumers(self) -> None:
        """Every consumer that the catalogue of topics names is an actor of the tree."""
        assert set() == topics.list_consumers() - actors()

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

            await eventually(lambda: set(ACTORS) == set(tree.parts.names.list_known()))
            assert shape == living(tree.supervisor.snapshot())
            await settled(tree)
            assert 0 == (await tree.cortex.status())["dead"]

    async def test_mailboxes_are_bounded(self, tmp_home: Path) -> None:
        """No actor's mailbox may grow without end."""
        async with grown(tmp_home) as tree:
            limits = {
                name: ref.actor_inbox.limit for name, ref in tree.parts.names.list_known().items()
            }

        assert actors() <= limits.keys()
        assert [] == [name for name, limit in limits.items() if not limit]

    async def test_drawn_for_people(self, tmp_home: Path) -> None:
        """The verb that draws the tree shows every actor, as text and as data."""
        async with grown(tmp_home) as tree:
            found = await tree.cortex.tree()

        assert [] == [name for name in actors() if name not in found["text"]]
        assert "cortex" == found["root"]["name"]

    async def test_tasks(self, tmp_home: Path) -> None:
        """Long work is a node below `tasks` while it runs; one more than 20 at once is refused.

        Row: elixir task/supervisor async_nolink/1: raises when :max_children is reached
        """
        gate = asyncio.Event()

        async def work() -> bool:
            return await gate.wait()

        async with grown(tmp_home) as tree:
            tasks = tree.parts.cortex._call.tasks
            running = [asyncio.create_task(tasks.run(f"work {n}", work)) for n in range(MAX_TASKS)]
            await eventually(lambda: MAX_TASKS == len(node(tree, "tasks").children))
            text = (await tree.cortex.tree())["text"]
            with pytest.raises(TooManyTasks, match="20 tasks run already"):
                await tasks.run("one more", work)
            gate.set()

            assert [True] * MAX_TASKS == await asyncio.gather(*running)
            await eventually(lambda: () == node(tree, "tasks").children)
            assert "│   └── work 19" in str(text)

    async def test_tasks_of_the_product(
        self, tmp_path: Path, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A backup, an import, a resolve, a migration and a compilation run below `tasks`."""
        said, compiled = Path(tmp_path, "said.json"), asyncio.Event()
        said.write_text('{"format_version": "1.0", "collections": {}}')
        names: list[str] = []

        async def compile_model(*_args: object, **_how: object) -> SimpleNamespace:
            compiled.set()
            return SimpleNamespace(model_id="mini+int8-0123abcd", dimension=8)

        def hear(report: Report) -> None:
            if (report.supervisor, report.kind) == ("tasks", "started"):
                names.append(str(report.child))

        monkeypatch.setattr(embedder, "compile_model", compile_model)
        monkeypatch.setattr(embedder, "find_refusal", lambda *_: None)
        async with grown(tmp_home, outside=Outside(witness=hear)) as tree:
            await tree.cortex.backup(str(tmp_path / "copy.db"))
            await tree.cortex.import_memories(str(said), dry_run=True)
            await tree.cortex.resolve(everything=True, dry_run=True)
            await tree.cortex.migrate("hashing-v1-32")
            await eventually(lambda: "hashing-v1-32" == tree.parts.model)
            mini = ChosenModel("mini", "sentence-transformers", "all-MiniLM-L6-v2", 8)
            await tree.parts._incumbent.compile_model(mini, lambda _step: None)

        assert compiled.is_set()
        kinds = {name.split()[0] for name in names}
        assert {"backup", "import", "resolve", "migrate", "compile"} <= kinds

    async def test_tasks_end(self, tmp_home: Path) -> None:
        """Work that runs when the tree stops ends with it."""
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            await asyncio.Event().wait()

        async with grown(tmp_home) as tree:
            running = asyncio.create_task(tree.parts.cortex._call.tasks.run("work", work))
            await begun.wait()
            await tree.stop(8)

            with pytest.raises(TaskEnded):
                await running

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
            assert {} == tree.parts.names.list_known()


class TestGivesUp:
    async def test_reason(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tree that gives up says which actor crashed, and how, through every branch."""
        monkeypatch.setattr(tree_module, "INTENSITY", 0)
        gave_up: list[str] = []
        async with grown(tmp_home) as tree:
            tree.bus.subscribe(
                topics.ACTOR_GAVE_UP,
                lambda event: gave_up.append(dump_payload(event.payload)["reason"]),
            )
            assert tree.explain_end() is None
            tree.crash("organiser")
            reason = await tree.exited()

        expected = "pipeline/organiser crashed too often: InternalError("
        assert isinstance(reason, str)
        assert reason.startswith(expected)
        assert [reason] * 3 == gave_up

    async def test_watcher(
        self, tmp_path: Path, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the watchers, too, the reason names the one that crashed."""
        monkeypatch.setattr(tree_module, "INTENSITY", 0)
        roots = copied(tmp_path, "atlas-api", "field-notes")
        async with grown(tmp_home) as tree:
            await follow(tree, *roots)
            tree.crash("watcher(field-notes)")
            reason = await tree.exited()

        assert str(reason).startswith("watchers/watcher(field-notes) crashed too often: Internal")

    async def test_not_yet(self, tmp_home: Path) -> None:
        """A branch that gave up and came back is no reason."""
        async with grown(tmp_home, events=EVENTS) as tree:
            for _ in range(4):
                await crash(tree, "organiser")
            assert tree.explain_end() is None
            await tree.stop(8)

            assert "shutdown" == await tree.exited()


class TestWatchers:
    async def project(self, tree: Tree, root: Path) -> Project:
        """Follow a project behind the watchlist's back, once it has looked for the first time.

        A look that began before would find a watcher of a project it does not know, and end it.
        """
        await eventually(lambda: not self.looking())
        project = Project.from_root(str(root), 1)
        await tree.parts.records.write(lambda c: projects.add(c, project))
        return project

    def looking(self) -> bool:
        """Return whether the watchlist looks which watchers there should be."""
        return any("agree" in task.get_name() for task in asyncio.all_tasks())

    def count(self, tree: Tree) -> int:
        """Return how many watchers run."""
        return sum("watcher(" in name for name in tree.parts.names.list_known())

    async def test_one(self, tmp_path: Path, tmp_home: Path) -> None:
        """A project has one watcher, however many ask for it at the same moment."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            project = await self.project(tree, root)
            await asyncio.gather(*(tree.watchers.start_watcher(project) for _ in range(5)))
            assert 1 == self.count(tree)

            await tree.watchers.end_watcher(project.id)
            assert 0 == self.count(tree)

    async def test_asker_gone(self, tmp_path: Path, tmp_home: Path) -> None:
        """Nor has it two when the first who asked ended before the answer."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            project = await self.project(tree, root)
            first = asyncio.create_task(tree.watchers.start_watcher(project))
            asyncio.get_running_loop().call_soon(first.cancel)
            await asyncio.wait({first})
            await tree.watchers.start_watcher(project)

            assert 1 == self.count(tree)
            assert {project.id} == tree.watchers.list_watched()

    async def test_refused(self, tmp_path: Path, tmp_home: Path) -> None:
        """A watcher that does not start is `ActorAway`, and may be asked for again."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            project = await self.project(tree, root)
            tree._live["watchers"].kill()
            with pytest.raises(ActorAway, match=r"cannot watch .*atlas-api"):
                await tree.watchers.start_watcher(project)
            await eventually(lambda: "running" == tree._live["watchers"].snapshot().state)
            await tree.watchers.start_watcher(project)

            # The watchlist, which came back with the watchers, may have been the first to ask.
            await eventually(lambda: 1 == self.count(tree))
