"""Reload: what is changed is followed, by exactly those who were handed it, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from cortex_actors.assembly.reload import HANDED
from cortex_actors.errors import ConfigurationError
from cortex_actors.home import Home
from cortex_actors.sections import SettingsSection
from cortex_actors.storage.tables.schema import events
from cortex_actors.testing import eventually, settled
from tests.flow.support import copied, follow, grown, knows, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cortex_actors.settings import Settings
    from cortex_actors.tree import Tree
    from supervision import Node

#: What `grown` starts with.
FIRST: dict[str, dict[str, object]] = {
    "embedding": {"provider": "hashing", "batch_ms": 20},
    "storage": {"index_ms": 20},
    "watching": {"sweep_s": 0.1},
}


def write(root: Path, **sections: Mapping[str, object]) -> None:
    """Write the settings that `grown` starts with, and these over them."""
    everything = {name: {**FIRST.get(name, {}), **sections.get(name, {})} for name in HANDED}
    lines = []
    for name, each in everything.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in each.items())]
    root.mkdir(exist_ok=True)
    Home.find(root, {}).settings.write_text("\n".join(lines))


def lives(tree: Tree) -> dict[str, object]:
    """Return the life that each actor lives now."""
    return dict(tree.parts.names.list_known())


def restarts(node: Node) -> int:
    """Return how many restarts were counted anywhere in a tree."""
    return node.restarts + sum(restarts(child) for child in node.children)


@pytest.mark.slow
class TestReload:
    async def test_nothing(self, tmp_home: Path) -> None:
        """Settings that are as they were touch nobody."""
        write(tmp_home)
        async with grown(tmp_home) as tree:
            before = lives(tree)
            answer = await tree.cortex.reload()

            assert {"changed": [], "restarted": [], "needs_restart": []} == answer
            assert before == lives(tree)

    async def test_one_section(self, tmp_home: Path) -> None:
        """Only who was handed the section is started again, and no restart is counted."""
        async with grown(tmp_home) as tree:
            before = lives(tree)
            for k in range(61, 67):
                write(tmp_home, federation={"k": k})
                answer = await tree.cortex.reload()
                assert (["federation.k"], ["roster", "federation"]) == (
                    answer["changed"],
                    answer["restarted"],
                )

            after = lives(tree)
            assert {"roster", "federation"} == {
                name for name in before if before[name] != after[name]
            }
            assert 0 == restarts(tree.supervisor.snapshot())

    async def test_watchers(self, tmp_path: Path, tmp_home: Path) -> None:
        """Watchers get new settings, too, and go on noticing."""
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home) as tree:
            await follow(tree, root)
            before = tree.watchers.list_watched()
            write(tmp_home, watching={"sweep_s": 0.05, "max_depth": 3})
            answer = await tree.cortex.reload()
            assert ["watchers", "watchlist"] == answer["restarted"]

            await eventually(lambda: before == tree.watchers.list_watched())
            (root / "CLAUDE.md").write_text("## Zebra\n\nZebras are noticed.\n")
            await knows(tree, "Zebras are noticed.")

    async def test_nothing_is_lost(self, tmp_path: Path, tmp_home: Path) -> None:
        """Whatever is started again in the middle of the work, the same is learned."""
        roots = copied(tmp_path, "atlas-api", "field-notes")
        async with grown(tmp_home / "calm") as tree:
            await follow(tree, *roots)
            expected = await said(tree, tmp_path)

        async with grown(tmp_home / "busy") as tree:
            write(tmp_home / "busy")
            for root in roots:
                await tree.cortex.add_project(str(root))
            for turn in range(2):
                write(
                    tmp_home / "busy",
                    storage={"group_ms": turn + 1},
                    events={"max_deliveries": turn + 6},
                    accumulation={"max_file_bytes": 1_000_000 + turn},
                )
                assert 3 == len((await tree.cortex.reload())["changed"])
                await asyncio.gather(*(tree.cortex.scan(str(root)) for root in roots))
            await eventually(lambda: 2 == len(tree.watchers.list_watched()))
            await settled(tree, 20)

            assert expected == await said(tree, tmp_path)
            assert 0 == (await tree.cortex.status())["dead"]

    async def test_while_publishing(self, tmp_home: Path) -> None:
        """What is published while the ledger is started again is stored, once."""
        async with grown(tmp_home) as tree:
            write(tmp_home, storage={"group_ms": 1})
            reloading = asyncio.create_task(tree.cortex.reload())

            async def publish() -> list[int]:
                found = []
                while not reloading.done():
                    answer = await tree.cortex.publish("custom:noise", {"n": 1})
                    found.append(answer["seq"])
                return found

            said = await asyncio.gather(*(publish() for _ in range(20)))
            seqs = [seq for each in said for seq in each]

            pipeline = ["accumulator", "reconciler", "organiser"]
            wanted = ["ledger", "vectors", "indexer", *pipeline, "archivist", "village", "roster"]
            assert wanted == (await reloading)["restarted"]
            assert len(seqs) == len(set(seqs))
            assert set() == set(seqs) - await self.stored(tree)

    async def test_while_remembering(self, tmp_home: Path) -> None:
        """What agents say while archivist and ledger start again is kept: no call is cut."""
        async with grown(tmp_home) as tree:
            write(tmp_home, storage={"group_ms": 1})
            reloading = asyncio.create_task(tree.cortex.reload())

            async def remember(agent: str) -> list[str]:
                found: list[str] = []
                while not reloading.done():
                    text = f"the {agent} fact of number {len(found)}"
                    answer = await tree.cortex.remember(text, agent=agent, merge=False)
                    found.append(answer["id"])
                return found

            said = await asyncio.gather(*(remember(f"AGENT-{n}") for n in range(20)))

            assert "archivist" in (await reloading)["restarted"]
            assert 20 <= len({one for each in said for one in each})

    async def stored(self, tree: Tree) -> set[int]:
        """Return the numbers of the events in the ledger."""
        return await tree.parts.records.read(lambda c: set(c.scalars(select(events.c.seq))))

    async def test_two_at_once(self, tmp_home: Path) -> None:
        """Two reloads take turns: the second finds nothing left to do."""
        async with grown(tmp_home) as tree:
            write(tmp_home, federation={"k": 7})
            answers = await asyncio.gather(tree.cortex.reload(), tree.cortex.reload())

        assert [["roster", "federation"], []] == [answer["restarted"] for answer in answers]

    async def test_impatient(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A caller who does not wait for the end leaves nobody ended."""
        async with grown(tmp_home) as tree:
            write(tmp_home, events={"max_deliveries": 3})
            before, adopt = lives(tree), tree.parts.adopt
            caller = asyncio.create_task(tree.cortex.reload())

            def gone(settings: Settings) -> None:
                caller.cancel()
                adopt(settings)

            monkeypatch.setattr(tree._reload, "adopt", gone)
            await asyncio.wait({caller})
            await eventually(lambda: before["organiser"] != lives(tree).get("organiser"))

            await eventually(lambda: before.keys() == lives(tree).keys())


@pytest.mark.slow
class TestRefusals:
    async def test_wrong(self, tmp_home: Path) -> None:
        """A wrong setting is named with its file, and nothing has changed."""
        async with grown(tmp_home) as tree:
            before = lives(tree)
            write(tmp_home, federation={"k": 7}, watching={"sweep_s": -1})
            with pytest.raises(ConfigurationError, match=r"watching\.sweep_s .*cortex\.toml"):
                await tree.cortex.reload()

            assert before == lives(tree)
            write(tmp_home, federation={"k": 7})
            assert ["federation.k"] == (await tree.cortex.reload())["changed"]

    async def test_fixed(self, tmp_home: Path) -> None:
        """A section with what needs a restart waits for it as a whole; others do not."""
        async with grown(tmp_home) as tree:
            before = lives(tree)
            write(
                tmp_home,
                embedding={"model": "another", "batch_ms": 3},
                reconciliation={"promotion_projects": 3},
            )
            for turn in range(2):
                answer = await tree.cortex.reload()
                assert ["embedding.model", "embedding.batch_ms"] == answer["needs_restart"]
                handed = ["reconciler", "organiser", "resolver", "archivist"]
                assert (handed, [])[turn] == answer["restarted"]

            assert before["pool"] == lives(tree)["pool"]

    async def test_does_not_start(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If somebody does not start with the new settings, everybody follows the old ones."""
        async with grown(tmp_home) as tree:
            adopt = tree.parts.adopt

            def spoilt(settings: Settings) -> None:
                adopt(settings)
                if settings.events.max_deliveries == 7:
                    tree.parts.make["organiser"] = SettingsSection  # type: ignore[assignment]

            monkeypatch.setattr(tree._reload, "adopt", spoilt)
            write(tmp_home, events={"max_deliveries": 7})
            with pytest.raises(ConfigurationError, match="organiser does not start"):
                await tree.cortex.reload()

            assert {"accumulator", "organiser", "watchlist"} <= lives(tree).keys()
            assert 5 == tree._reload.chosen.events.max_deliveries

    async def test_while_it_stops(self, tmp_home: Path) -> None:
        """A tree that stops while it reloads, stops."""
        async with grown(tmp_home) as tree:
            write(tmp_home, storage={"group_ms": 1})
            reloading = asyncio.create_task(tree.cortex.reload())
            await eventually(lambda: "indexer" not in lives(tree))
            await tree.stop(8)
            await asyncio.wait({reloading}, timeout=8)

            assert "shutdown" == await tree.exited()
            assert {} == lives(tree)
