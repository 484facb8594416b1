"""The watchlist: one watcher for each followed project, and none for any other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.event import FileChanged, Ids, ScanRequested
from cortex_actors.errors import ActorAway
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import WatchingSettings
from cortex_actors.storage import projects
from cortex_actors.storage.events import count_dead
from cortex_actors.testing import eventually
from cortex_actors.topics import PROJECT_ADDED, PROJECT_REMOVED, SCAN_REQUESTED
from cortex_actors.watching.watchlist import AGAIN, Watchlist

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.domain.project import Project
    from tests.pipeline.support import Office


class Supervisor:
    """Takes down whose watchers were started and ended; some cannot start."""

    def __init__(self) -> None:
        self.running: dict[str, Project] = {}
        self.refused: set[str] = set()
        self.started: list[str] = []
        #: Set while a start takes as long as the test wants.
        self.gate = asyncio.Event()
        self.gate.set()

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project."""
        await self.gate.wait()
        if project.name in self.refused:
            raise ActorAway("on purpose")
        self.running[project.id] = project
        self.started.append(project.name)

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project."""
        self.running.pop(project_id, None)

    def list_watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""
        return frozenset(self.running)

    @property
    def names(self) -> list[str]:
        """The names of the projects that have a watcher."""
        return sorted(each.name for each in self.running.values())


@pytest.fixture
async def supervisor(office: Office) -> AsyncIterator[Supervisor]:
    """Give a supervisor whose watchlist has yet to be employed."""
    found, threads = Supervisor(), Threads("files", 1)
    office.makers["watchlist"] = lambda: Watchlist(
        office.desk("watchlist"),
        office.records,
        settings=WatchingSettings(),
        threads=threads,
        watchers=found,
    )
    yield found
    threads.close()


async def say(office: Office, topic: str, project: Project) -> None:
    """Say that a project came or went, and return once the watchlist has heard."""
    await office.bus.publish(topic, Ids((project.id,)), source="test")
    await office.handled("watchlist")


class TestAgrees:
    async def test_at_start(self, office: Office, project: Project, supervisor: Supervisor) -> None:
        """Every followed project has its watcher once the watchlist runs."""
        await office.hire("watchlist")

        await eventually(lambda: ["atlas"] == supervisor.names)

    async def test_added(self, office: Office, tmp_path: Path, supervisor: Supervisor) -> None:
        """A project that is added gets its watcher."""
        await office.hire("watchlist")
        await say(office, PROJECT_ADDED, await office.follow(tmp_path / "harbor"))

        assert ["harbor"] == supervisor.names

    async def test_added_twice(
        self, office: Office, project: Project, supervisor: Supervisor
    ) -> None:
        """A project that is added twice has one watcher."""
        await office.hire("watchlist")
        for _ in range(3):
            await say(office, PROJECT_ADDED, project)

        assert ["atlas"] == supervisor.started

    async def test_removed(self, office: Office, project: Project, supervisor: Supervisor) -> None:
        """A project that is followed no longer loses its watcher."""
        await office.hire("watchlist")
        await eventually(lambda: ["atlas"] == supervisor.names)
        await office.write(lambda c: projects.remove(c, project.id))
        await say(office, PROJECT_REMOVED, project)

        assert [] == supervisor.names

    async def test_late_news(
        self, office: Office, project: Project, supervisor: Supervisor
    ) -> None:
        """What counts is what the ledger says now, not which news came last."""
        await office.hire("watchlist")
        await say(office, PROJECT_REMOVED, project)

        assert ["atlas"] == supervisor.names

    async def test_one_refuses(
        self, office: Office, project: Project, tmp_path: Path, supervisor: Supervisor
    ) -> None:
        """A watcher that does not start costs the other projects nothing."""
        supervisor.refused.add("atlas")
        await office.follow(tmp_path / "harbor")
        await office.hire("watchlist")

        await eventually(lambda: ["harbor"] == supervisor.names)
        assert office.names.whereis("watchlist") is not None

    async def test_tried_again(
        self, office: Office, project: Project, supervisor: Supervisor
    ) -> None:
        """A watcher that does not start is tried again though nobody says anything."""
        supervisor.refused.add("atlas")
        await office.hire("watchlist")
        await say(office, PROJECT_ADDED, project)
        await eventually(lambda: office.clock.sleepers > 0)
        supervisor.refused.clear()
        office.clock.advance(AGAIN)

        await eventually(lambda: ["atlas"] == supervisor.names)
        assert 0 == (await office.read(count_dead))

    async def test_at_once(self, office: Office, project: Project, supervisor: Supervisor) -> None:
        """News that come while watchers are being started start no second one."""
        supervisor.gate.clear()
        await office.hire("watchlist")
        said = [
            await office.bus.publish(PROJECT_ADDED, Ids((project.id,)), source="test")
            for _ in range(3)
        ]
        watchlist = await office.names.find("watchlist")
        await eventually(lambda: watchlist.life.handled > 0)
        supervisor.gate.set()
        await office.handled("watchlist")

        assert 3 == len(said)
        assert ["atlas"] == supervisor.started


class TestScan:
    async def test_noted(
        self, office: Office, project: Project, tmp_path: Path, supervisor: Supervisor
    ) -> None:
        """A scan of a day is noted for each project whose root is there, once."""
        gone = await office.follow(tmp_path / "gone")
        Path(gone.root).rmdir()
        await office.hire("watchlist")
        for _ in range(2):
            await self.scanned(office, None)
        query = "SELECT project_id FROM scans"
        noted = await office.read(lambda c: list(c.exec_driver_sql(query).scalars()))

        assert ([project.id], {project.id, gone.id}) == (noted, {*supervisor.running})

    async def scanned(self, office: Office, project_id: str | None) -> list[str]:
        """Return the paths that a scan tells of."""
        before = len(office.said)
        await office.bus.publish(SCAN_REQUESTED, ScanRequested(project_id), source="test")
        await office.handled("watchlist")
        payloads = [event.payload for event in office.said[before:]]
        return [each.path for each in payloads if isinstance(each, FileChanged)]

    async def test_all(
        self, office: Office, project: Project, tmp_path: Path, supervisor: Supervisor
    ) -> None:
        """A scan tells of every instruction file of every project, known or not."""
        other = await office.follow(tmp_path / "harbor")
        paths = [Path(project.root, "CLAUDE.md"), Path(other.root, "AGENTS.md")]
        for path in paths:
            path.write_text("x")
        await office.hire("watchlist")

        assert [str(path) for path in paths] == await self.scanned(office, None)

    async def test_one(
        self, office: Office, project: Project, tmp_path: Path, supervisor: Supervisor
    ) -> None:
        """A scan of one project tells of its files only."""
        other = await office.follow(tmp_path / "harbor")
        for each in (project, other):
            Path(each.root, "CLAUDE.md").write_text("x")
        await office.hire("watchlist")

        assert [f"{other.root}/CLAUDE.md"] == await self.scanned(office, other.id)

    async def test_nested(self, office: Office, project: Project, supervisor: Supervisor) -> None:
        """A file below two roots is told of once, for the inner project."""
        inner = await office.follow(Path(project.root, "in"))
        path = Path(inner.root, "CLAUDE.md")
        path.write_text("x")
        await office.hire("watchlist")

        assert [str(path)] == await self.scanned(office, None)
        assert [] == await self.scanned(office, project.id)

    async def test_not_followed(
        self, office: Office, project: Project, supervisor: Supervisor
    ) -> None:
        """A scan of a project that nobody follows tells of nothing."""
        Path(project.root, "CLAUDE.md").write_text("x")
        await office.write(lambda c: projects.remove(c, project.id))
        await office.hire("watchlist")

        assert [] == await self.scanned(office, project.id)
