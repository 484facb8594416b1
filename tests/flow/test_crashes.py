"""Actors crash while files change, and nothing is lost or counted twice."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.testing import eventually, settled
from cortex_actors.watching import watcher as watcher_module
from cortex_actors.watching.sweep import Swept, sweep
from tests.flow.support import copied, follow, grown, knows, said

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

#: Every actor of the tree, and one watcher.
ACTORS = (
    "ledger",
    "vectors",
    "indexer",
    "cache",
    "pool",
    "migrator",
    "judge",
    "accumulator",
    "reconciler",
    "organiser",
    "resolver",
    "archivist",
    "village",
    "trail",
    "custodian",
    "librarian",
    "roster",
    "federation",
    "watchlist",
    "scheduler",
    "watcher(atlas-api)",
    "http",
)

#: Rests after a crash, in seconds: the test has no time for more.
EVENTS = {"pauses_s": [0.05, 0.1], "max_deliveries": 50}


def edit(roots: list[Path], step: int, chance: random.Random) -> None:
    """Change some files of some projects."""
    root = chance.choice(roots)
    chosen = chance.choice(["CLAUDE.md", f"part-{chance.randrange(4)}/AGENTS.md"])
    path = root / chosen
    if chosen != "CLAUDE.md" and path.exists() and chance.random() < 0.3:
        path.unlink()
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"## Step\n\nStep {step} of {root.name}.\n\n## Shared\n\nSaid by all.\n")


async def crash(tree: Tree, name: str) -> None:
    """Crash an actor and return once its successor has its name."""
    before = await tree.parts.names.find(name)
    tree.crash(name)

    def back() -> bool:
        now = tree.parts.names.whereis(name)
        return now is not None and now is not before

    await eventually(back)


async def told(folder: Path, home: Path, seed: int, crashing: list[str]) -> object:
    """Return what the ledger holds after some edits, during which actors crash."""
    chance = random.Random(seed)
    roots = copied(folder)
    async with grown(home, events=EVENTS) as tree:
        await follow(tree, *roots)
        for step, name in enumerate(crashing or ACTORS):
            for _ in range(3):
                edit(roots, step, chance)
            if crashing:
                await crash(tree, name)
        # What the last sweep sees is what counts: a file that everybody must come to know.
        for root in roots:
            (root / "GEMINI.md").write_text(f"## End\n\nThe end of {root.name}.\n")
        for root in roots:
            await knows(tree, f"The end of {root.name}")
        await tree.cortex.scan()
        await settled(tree)
        status = await tree.cortex.status()
        assert (0, 0) == (status["waiting"], status["dead"])
        return await said(tree, folder)


class TestCrashes:
    @pytest.mark.slow
    async def test_every_actor(self, tmp_path: Path, tmp_home: Path) -> None:
        """After every actor has crashed once the ledger holds what an undisturbed run holds."""
        seed = int.from_bytes(os.urandom(4), "big")
        print(f"seed: {seed}")  # noqa: T201 - what repeats a failure
        names = random.Random(seed).sample(ACTORS, len(ACTORS))

        calm = await told(tmp_path / "calm", tmp_home / "calm", seed, [])
        wild = await told(tmp_path / "wild", tmp_home / "wild", seed, names)

        assert calm == wild

    async def test_branch_gives_up(self, tmp_path: Path, tmp_home: Path) -> None:
        """An actor that crashes more often than its branch allows comes back with the branch."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home, events=EVENTS) as tree:
            await follow(tree, root)
            for _ in range(5):
                await crash(tree, "reconciler")
            (root / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
            await knows(tree, "zebra")

            assert "running" == tree.supervisor.snapshot().state

    async def test_one_project_fails(
        self, tmp_path: Path, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A project whose every look fails costs no other project anything, and no restart."""
        bad, good = copied(tmp_path, "atlas-api", "field-notes")
        looks: list[str] = []

        def failing(root: str, project_id: str, **more: Any) -> Swept:
            if root == str(bad):
                looks.append(root)
                raise ValueError("on purpose")
            return sweep(root, project_id, **more)

        monkeypatch.setattr(watcher_module, "sweep", failing)
        restarted: list[str] = []
        async with grown(tmp_home, events=EVENTS) as tree:
            tree.bus.subscribe("actor:*", lambda event: restarted.append(event.topic))
            await follow(tree, bad, good)
            restarted.clear()
            await eventually(lambda: len(looks) >= 2)
            (good / "CLAUDE.md").write_text("## Zebra\n\nAsk the zebra.\n")
            await knows(tree, "zebra")

            assert [] == restarted
            assert "running" == tree.supervisor.snapshot().state

    async def test_index_child_dies(self, tmp_path: Path, tmp_home: Path) -> None:
        """When the vectors actor dies a question is answered by exact comparison meanwhile."""
        (root,) = copied(tmp_path, "field-notes")
        async with grown(tmp_home) as tree:
            await follow(tree, root)
            tree.crash("vectors")
            found = await tree.cortex.recall("never run terraform apply from a laptop")

            assert "Field notes > Terraform" == found["hits"][0]["heading"]
            assert [] == found["failed"]
