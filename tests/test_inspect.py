"""`inspect`: what one actor is at, or how a supervisor is, in the live tree."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.assembly.inspection import NAMES_LIMIT, RESTARTS_LIMIT, Crashes
from cortex_actors.clock import SECOND
from cortex_actors.errors import UnknownActor
from cortex_actors.runtime.watchdog import find_stack
from cortex_actors.testing import eventually
from supervision import Report
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that follows nothing yet."""
    async with grown(tmp_home) as found:
        yield found


class TestActor:
    async def test_idle(self, tree: Tree) -> None:
        """An actor says its class, its place, its age, its mailbox and what it waits in."""
        life = tree.parts.names.list_known()["accumulator"].life
        await eventually(lambda: life.hand is None)
        found = await tree.cortex.inspect("accumulator")

        assert ("accumulator", "actor", "Accumulator", "pipeline", "running") == tuple(
            found[key] for key in ("name", "kind", "class", "supervisor", "state")
        )
        assert (0, None, []) == (found["restarts"], found["last_crash"], found["in_hand"])
        assert {"depth", "high", "limit", "overflow", "dropped"} < found["mailbox"].keys()
        assert 60 * SECOND > tree._clock.now() - found["started_at"] >= 0

    async def test_in_hand(self, tree: Tree) -> None:
        """What it has in hand is shown with its time, its limit and its stack, innermost last."""
        gate = asyncio.Event()
        ref = tree.parts.names.list_known()["roster"]

        async def held() -> None:
            await gate.wait()

        task = ref.life.spawn(held(), "held", 30.0)
        await eventually(lambda: 1 < len(find_stack(task)))
        found = await tree.cortex.inspect("roster")
        gate.set()
        await task

        # Beside it the roster may still set up its stores.
        (shown,) = [each for each in found["tasks"] if "held" == each["title"]]
        assert 30.0 == shown["limit"]
        assert 0 <= shown["seconds"]
        assert re.fullmatch(r"tests/test_inspect.py:\d+ in .*held", shown["stack"][0])
        assert shown["stack"][-1].endswith("in Event.wait")

    async def test_crashed(self, tree: Tree) -> None:
        """After a crash it tells why and when, and how often it was restarted."""
        before = tree._clock.now()
        tree.crash("roster")
        await eventually(lambda: bool(tree._crashes.list_restarts("federation")))
        found = await tree.cortex.inspect("roster")

        assert "was asked to crash" in found["last_crash"]["reason"]
        assert before <= found["last_crash"]["at"] <= tree._clock.now()
        assert 1 == found["restarts"]

    async def test_away(self, tree: Tree) -> None:
        """An actor whose name nobody has at the moment is known, without a life."""
        names = tree.parts.names
        names.unregister("roster", names.list_known()["roster"])
        found = await tree.cortex.inspect("roster")

        assert ("roster", "federation") == (found["name"], found["supervisor"])
        assert "class" not in found

    async def test_watcher(self, tree: Tree, tmp_path: Path) -> None:
        """The watcher of a project is found by the name that the log shows."""
        (tmp_path / "atlas").mkdir()
        await tree.cortex.add_project(str(tmp_path / "atlas"))
        await eventually(lambda: tree.parts.names.whereis("watcher(atlas)") is not None)
        said: list[tuple[str, object]] = []
        tree.bus.subscribe("actor:*", lambda event: said.append((event.topic, event.payload)))
        tree.crash("watcher(atlas)")
        await eventually(lambda: bool(tree._crashes.list_restarts("watchers")))
        found = await tree.cortex.inspect("watcher(atlas)")

        assert ("Watcher", "watchers", 1) == tuple(
            found[key] for key in ("class", "supervisor", "restarts")
        )
        assert ["watcher(atlas)"] * 2 == [getattr(payload, "name", "") for _, payload in said]
        above = await tree.cortex.inspect("watchers")
        assert ["watcher(atlas)"] == [each["child"] for each in above["recent_restarts"]]

    async def test_unknown(self, tree: Tree) -> None:
        """A name that nobody has is refused, with those there are."""
        with pytest.raises(UnknownActor, match="accumulator, archivist, cache,") as refusal:
            await tree.cortex.inspect("nobody")

        assert 66 == refusal.value.exit_code


class TestSupervisor:
    async def test_children(self, tree: Tree) -> None:
        """A supervisor says its strategy, its place and its children."""
        found = await tree.cortex.inspect("pipeline")

        assert ("one_for_one", "work", "running") == tuple(
            found[key] for key in ("strategy", "supervisor", "state")
        )
        assert ["accumulator", "reconciler", "organiser", "resolver"] == [
            child["name"] for child in found["children"]
        ]
        assert [] == found["recent_restarts"]

    async def test_restarts(self, tree: Tree) -> None:
        """It says whom it restarted last, and when."""
        before = tree._clock.now()
        tree.crash("organiser")
        await eventually(lambda: bool(tree._crashes.list_restarts("pipeline")))
        found: Any = await tree.cortex.inspect("pipeline")

        ((restart),) = found["recent_restarts"]
        assert "organiser" == restart["child"]
        assert before <= restart["at"]

    async def test_root(self, tree: Tree) -> None:
        """The root has nobody above it."""
        assert (await tree.cortex.inspect("cortex"))["supervisor"] is None


class TestCrashes:
    def test_bounded(self) -> None:
        """Names and restarts that are remembered have an end: those that crashed last stay."""
        crashes = Crashes()
        for number in range(NAMES_LIMIT + 1):
            crashes.take(Report("branch", f"actor{number}", "exited", ValueError(number)))
            crashes.take(Report("branch", f"actor{number}", "restarted"))

        assert crashes.find_last("actor0") is None
        assert crashes.find_last("actor1") is not None
        assert RESTARTS_LIMIT == len(crashes.list_restarts("branch"))

    @pytest.mark.parametrize("reason", ["normal", "shutdown"])
    def test_orderly(self, reason: str) -> None:
        """An end in order is no crash."""
        crashes = Crashes()
        crashes.take(Report("branch", "actor", "exited", reason))

        assert (None, 0) == (crashes.find_last("actor"), crashes.count("actor"))
