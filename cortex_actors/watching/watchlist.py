"""Watchlist: which projects are followed, and that each has its watcher.

hears   scan:requested, project:added, project:removed
says    file:changed
asks    ledger, watchers (to start and end them)
keeps   when it tries again (lost on a crash: it looks when it starts; the followed projects are
        rows of the ledger)
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, ClassVar, Protocol

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import Event, FileChanged, Payload, ScanRequested
from cortex_actors.errors import CortexError
from cortex_actors.storage import projects
from cortex_actors.topics import FILE_CHANGED, PROJECT_ADDED, PROJECT_REMOVED, SCAN_REQUESTED
from cortex_actors.watching.sweep import Swept, find_inner_roots, sweep

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import WatchingSettings
    from cortex_actors.storage.ledger.actor import Records

log = logging.getLogger("cortex.watchlist")

#: Seconds before watchers that did not start or end are tried again.
AGAIN = 5.0


class WatcherStarter(Protocol):
    """Starts and ends watchers under their supervisor."""

    async def start_watcher(self, project: Project) -> None:
        """Start the watcher of a project; nothing happens when it has one.

        Raises `ActorAway` when it does not start.
        """

    async def end_watcher(self, project_id: str) -> None:
        """End the watcher of a project; nothing happens when it has none.

        Raises `ActorAway` when it cannot be ended now.
        """

    def list_watched(self) -> frozenset[str]:
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
        watchers: WatcherStarter,
    ) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._settings = settings
        self._threads = threads
        self._watchers = watchers
        self._one_at_a_time = asyncio.Lock()
        self._trying: asyncio.Task[None] | None = None

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Give every followed project its watcher once the actor runs."""
        await super().on_start()
        self._try_soon(0.0)

    async def on_project(self, _event: Event[Payload]) -> Outcome:
        """Start or end watchers after projects came or went."""
        if not await self._agree():
            self._try_soon(AGAIN)
        return Outcome()

    async def on_scan(self, event: Event[ScanRequested]) -> Outcome:
        """Say every instruction file of a project, or of all, whatever it looks like."""
        followed = await self._records.read(projects.list_followed)
        wanted, at = event.payload.project_id, self.desk.clock.now()
        found = {
            project.id: await self._threads.run(
                self._sweep, project, find_inner_roots(project.root, followed)
            )
            for project in followed
            if wanted in (None, project.id)
        }
        present = [each for each, swept in found.items() if swept.present]
        return Outcome(
            lambda connection: projects.note_scanned(connection, present, at=at),
            [
                self.say(FILE_CHANGED, FileChanged(each, path))
                for each, swept in found.items()
                for path in sorted(swept.files)
            ],
        )

    def _try_soon(self, seconds: float) -> None:
        """Agree after so many seconds, unless that is planned already."""
        if self._trying is None or self._trying.done():
            self._trying = self.spawn(self._keep_trying(seconds), name="agree")

    async def _keep_trying(self, seconds: float) -> None:
        """Agree, as often as it takes."""
        while True:
            if seconds:
                await self.desk.clock.sleep(seconds)
            try:
                if await self._agree():
                    return
            except CortexError as error:
                log.warning("projects have yet to get their watchers: %s", error)
            seconds = AGAIN

    async def _agree(self) -> bool:
        """Make the watchers those of the followed projects; False when some are still missing.

        One at a time: two that look at the same moment would both start what is missing.
        """
        async with self._one_at_a_time:
            followed = {each.id: each for each in await self._records.read(projects.list_followed)}
            agreed = True
            for project_id in sorted(self._watchers.list_watched() - followed.keys()):
                agreed &= await self._done(self._watchers.end_watcher(project_id), project_id)
            for project_id in sorted(followed.keys() - self._watchers.list_watched()):
                project = followed[project_id]
                agreed &= await self._done(self._watchers.start_watcher(project), project.name)
            return agreed

    async def _done(self, wish: Coroutine[None, None, None], name: str) -> bool:
        """Start or end one watcher; False when it could not be, which is that project's trouble."""
        try:
            await wish
        except CortexError as error:
            log.warning("the watcher of %s will be tried again: %s", name, error)
            return False
        return True

    def _sweep(self, project: Project, apart: frozenset[str]) -> Swept:
        """Look at a project's instruction files (on a thread)."""
        depth = self._settings.max_depth
        own = project.is_own
        return sweep(project.root, project.id, max_depth=depth, apart=apart, own=own)
