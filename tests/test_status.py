"""The verb that says how the daemon is, and why it is not well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import __version__, topics
from cortex_actors.api import status as lookup
from cortex_actors.api.memory import memory_changes
from cortex_actors.assembly.context import Outside
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.testing import eventually, settled
from tests.embedding.support import StagedProvider
from tests.flow.support import copied, grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree


Plant = pytest.MonkeyPatch

#: Counts the rows of every table that remembering may write.
TABLES = (
    "memories memory_tags memory_attention beliefs memory_changes memory_conflicts passages vectors"
    " index_ops events deliveries verdicts runs jobs agents"
).split()


def rows(connection: Connection) -> list[int]:
    """Return how many rows each table has."""
    return [
        connection.exec_driver_sql(f"SELECT count(*) FROM {each}").scalar_one()  # noqa: S608 - ours
        for each in TABLES
    ]


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that follows nothing yet."""
    async with grown(tmp_home) as found:
        yield found


@pytest.fixture
async def cortex(tree: Tree) -> FrontDesk:
    """Give its verbs."""
    return tree.cortex


class TestStatus:
    async def test_well(self, tree: Tree, cortex: FrontDesk, tmp_home: Path) -> None:
        """A daemon that is well says so, with its numbers."""

        async def ready() -> bool:
            return bool("ready" == (await cortex.status())["index"]["state"])

        assert [] == (await cortex.status())["reasons"]
        await eventually(ready)
        status = await cortex.status()
        assert ([], __version__, str(tmp_home)) == (
            status["reasons"],
            status["version"],
            status["home"],
        )
        numbers = "projects insights principles waiting dead unembedded unindexed passages"
        assert [0] * 9 == [status["broken_files"]] + [status[name] for name in numbers.split()]
        assert ("ready", "ready") == (status["model"]["state"], status["index"]["state"])
        assert status["uptime_s"] > 0
        assert status["started_at"] > 1_700_000_000_000_000

    async def test_watching(self, tree: Tree, cortex: FrontDesk, tmp_path: Path) -> None:
        """How changes are noticed is told of the whole and of each project, and why when not."""
        (root,) = copied(tmp_path, "atlas-api")
        await cortex.add_project(str(root))

        async def watched() -> bool:
            (project,) = (await cortex.projects())["projects"]
            return bool("events" == project["watch_mode"])

        await eventually(watched)
        status = await cortex.status()
        assert {"mode": "events"} == status["watching"]

        async def degraded() -> bool:
            # Each time anew: a round that opens meanwhile says that events come again.
            hints = tree.parts.hints
            hints._resting, hints._pause, hints._reason = True, 300.0, "No space left on device"
            status.update(await cortex.status())
            return bool({"mode": "degraded"} == status["watching"])

        await eventually(degraded)
        assert "degraded" == status["state"]
        assert "without events: No space left" in " ".join(status["reasons"])

    async def test_findings(self, tree: Tree, cortex: FrontDesk, tmp_path: Path) -> None:
        """What stands in a file is a finding: the daemon is well. Both go with the project."""
        root = tmp_path / "atlas"
        root.mkdir()
        (root / "CLAUDE.md").write_text("- Run \u200bpytest on each commit.\n- Ask the zebra.\n")
        (root / "AGENTS.md").write_bytes(b"\xff")
        await cortex.add_project(str(root))

        async def met() -> bool:
            status = await cortex.status()
            return bool(1 == len(status["findings"]) == status["broken_files"])

        await eventually(met)
        await settled(tree)
        status = await cortex.status()
        assert ("running", []) == (status["state"], status["reasons"])
        assert f"{root}/CLAUDE.md:1" in status["findings"][0]
        await cortex.remove_project(str(root))
        status = await cortex.status()
        assert ([], [], 0) == (status["findings"], status["alerts"], status["broken_files"])

    async def test_topics(self, cortex: FrontDesk) -> None:
        """The catalogue of topics is told in full."""
        told = (await cortex.topics())["topics"]

        assert [topic.name for topic in topics.TOPICS] == [each["name"] for each in told]

    async def test_loading(
        self, tmp_path: Path, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While the model loads the daemon learns all the same, and soon it is degraded."""
        provider = StagedProvider(ProviderState.LOADING)
        provider.reason = ""
        outside = Outside(provider=lambda *_, **__: provider)
        monkeypatch.setattr("cortex_actors.tree.Outside", lambda: outside)
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home, federation={"patience_s": 0.05}) as tree:
            await tree.cortex.add_project(str(root))

            async def learnt() -> bool:
                status = await tree.cortex.status()
                files = sum(p["files"] for p in (await tree.cortex.projects())["projects"])
                insights = status.get("insights", 0)  # left out where the ledger is slow
                return 3 == files and bool(status.get("unembedded", 0) >= insights > 0)

            await eventually(learnt)
            status = await tree.cortex.status()
            assert ("running", "loading") == (status["state"], status["model"]["state"])
            monkeypatch.setattr(lookup, "SETTLING", 0.0)
            status = await tree.cortex.status()
            assert "degraded" == status["state"]
            assert "model: it is still loading" in status["reasons"][0]
            found = await tree.cortex.recall("test database")
            assert "Atlas API > Test database" == found["hits"][0]["heading"]
            assert "still loading" in found["skipped"][0]["reason"]

            provider.become(ProviderState.READY)
            await settled(tree)
            found = await tree.cortex.recall("port 5433 for the test database")
            assert "Atlas API > Test database" == found["hits"][0]["heading"]

    async def test_no_model(self, tmp_path: Path, tmp_home: Path) -> None:
        """Without its model the daemon starts, keeps text, and names the setting to mend."""
        missing = {"provider": "sentence-transformers", "model": "no-such-model"}
        (root,) = copied(tmp_path, "atlas-api")
        async with grown(tmp_home, embedding=missing) as tree:
            await tree.cortex.add_project(str(root))

            async def learnt() -> bool:
                files = sum(p["files"] for p in (await tree.cortex.projects())["projects"])
                return bool(files == 3)

            await eventually(learnt)
            status = await tree.cortex.status()
            assert ("degraded", "missing") == (status["state"], status["model"]["state"])
            assert "embedding.model" in " ".join(status["reasons"])
            found = await tree.cortex.recall("test database")
            assert found["hits"]
            assert "embedding.model" in found["skipped"][0]["reason"]

    async def test_embedding(self, tree: Tree) -> None:
        """The model's part says where vectors came from, and what the pool has done for them."""
        await tree.cortex.recall("test database")
        model = (await tree.cortex.status())["model"]
        pool = model["pool"]

        assert model["embedded"] == pool["embedded"] > 0

    async def test_ledger_away(self, tree: Tree) -> None:
        """While the ledger is away the daemon is degraded, and says so soon."""
        ledger = tree.parts.names.whereis("ledger")
        assert ledger is not None
        tree.parts.names.unregister("ledger", ledger)
        status = await tree.cortex.status()
        tree.parts.names.register("ledger", ledger)

        assert "degraded" == status["state"]
        assert any("ledger" in reason for reason in status["reasons"])
        assert "insights" not in status


class TestRoundTrip:
    async def test_told(self, cortex: FrontDesk) -> None:
        """The last round trip is told with its age; before the first there is nothing to tell."""
        before = (await cortex.status())["round_trip"]
        trip = await cortex.round_trip()
        status = await cortex.status()

        assert before is None
        assert ("ok", trip["at"]) == (status["round_trip"]["state"], status["round_trip"]["at"])
        assert 0 <= status["round_trip"]["age_s"] < 60
        assert "running" == status["state"]

    async def test_leaves_nothing(self, tree: Tree, cortex: FrontDesk) -> None:
        """After a round trip the ledger has no row more than before, but for the probe's agent."""
        await cortex.round_trip()
        await settled(tree)
        before = await tree.parts.records.read(rows)
        await cortex.round_trip()
        await settled(tree)

        assert before == await tree.parts.records.read(rows)

    async def test_nobody_sees_it(self, cortex: FrontDesk, monkeypatch: Plant) -> None:
        """While a probe lies there, neither the owner nor an agent finds, lists or counts it."""

        async def kept(*_args: Any, **_more: Any) -> dict[str, Any]:
            return {"forgotten": []}

        monkeypatch.setattr(memory_changes, "forget", kept)
        trip = await cortex.round_trip()
        seen = [
            await cortex.recall("probe number"),
            await cortex.search("probe number", as_agent="CLAUDE"),
            await cortex.memories(limit=100),
            await cortex.memory_health(),
            await cortex.stale(days=0),
            await cortex.duplicates(),
            await cortex.memory_changes(),
            await cortex.agents(),
            await cortex.events(),
        ]

        assert "failed" == trip["state"]
        assert not [each for each in seen if "PROBE" in str(each) or "tries itself" in str(each)]
        assert [] == (await cortex.recall("probe number"))["hits"]
