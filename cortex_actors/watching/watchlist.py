"""Watchlist: which projects are followed, and that each has its watcher.

hears   scan:requested, project:added, project:removed
says    file:changed
asks    ledger, watching (to start and end watchers)
keeps   nothing (the followed projects are rows of the ledger)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar, Protocol

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.domain.payload import FileChanged, ScanRequested
from cortex_actors.errors import CortexError
from cortex_actors.storage import projects
from cortex_actors.topics import FILE_CHANGED, PROJECT_ADDED, PROJECT_REMOVED, SCAN_REQUESTED
from cortex_actors.watching.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.settings import WatchingSettings
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.watchlist")


class Watchers(Protocol):
    """Starts and ends watchers under their supervisor."""

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project; nothing happens when it has one."""

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project; nothing happens when it has none."""

    def watched(self) -> frozenset[str]:
        """Return the ids of the projects that have a watcher."""


class Watchlist(Consumer):
    """Keeps one watcher for each followed project, and none for any other."""

    hears: ClassVar[Mapping[str, str]] = {
        SCAN_REQUESTED: "on_scan",
        PROJECT_ADDED: "on_project",
        PROJECT_REMOVED: "on_project",
    }

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: WatchingSettings,
        threads: Threads,
        watchers: Watchers,
    ) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._settings = settings
        self._threads = threads
        self._watchers = watchers

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Give every followed project its watcher once the actor runs."""
        await super().on_start()
        self.spawn(self._agree(), name="agree")

    async def on_project(self, _event: Event[Payload]) -> Outcome:
        """Start or end watchers after projects came or went."""
        await self._agree()
        return Outcome()

    async def on_scan(self, event: Event[ScanRequested]) -> Outcome:
        """Say every instruction file of a project, or of all, whatever it looks like."""
        followed = await self._records.read(projects.followed)
        wanted = event.payload.project_id
        found = [
            self.say(FILE_CHANGED, FileChanged(project.id, path))
            for project in followed
            if wanted in (None, project.id)
            for path in await self._threads.run(self._paths, project)
        ]
        return Outcome(say=found)

    async def _agree(self) -> None:
        """Make the watchers those of the followed projects."""
        followed = {each.id: each for each in await self._records.read(projects.followed)}
        for project_id in self._watchers.watched() - followed.keys():
            await self._watchers.end_watcher(project_id)
        for project_id in followed.keys() - self._watchers.watched():
            try:
                await self._watchers.start_watcher(followed[project_id])
            except CortexError as error:
                log.warning("%s is not watched: %s", followed[project_id].name, error)

    def _paths(self, project: Project) -> list[str]:
        """Return a project's instruction files (on a thread)."""
        swept = sweep(project.root, project.id, max_depth=self._settings.max_depth)
        return sorted(swept.files)
