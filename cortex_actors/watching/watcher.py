"""Watcher: says which instruction files of one project may have changed.

hears   -
says    file:changed
asks    ledger (what the files looked like when they were read)
keeps   what it saw last (lost on a restart: the next sweep compares with the ledger again)
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchfiles import DefaultFilter, awatch

from cortex_actors.domain.payload import FileChanged
from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.storage import projects
from cortex_actors.topics import FILE_CHANGED
from cortex_actors.watching.sweep import Swept, differences, sweep

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.settings import WatchingSettings
    from cortex_actors.storage.projects import FileState
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.watcher")

#: Seconds before the kernel's events are asked for again after they failed; doubled up to the
#: longest, because what is used up (a user has 128 inotify instances) stays so for a while.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0

#: Share of the time between two sweeps for which looks must miss a file before it counts as gone:
#: editors delete and write anew, and hints bring several looks in that moment.
MISSING = 0.5

#: Milliseconds in which watchfiles gathers events before it hands them over.
STEP_MS = 20


@dataclass(frozen=True, slots=True)
class LookNow:
    """Sweep the project."""


@dataclass(frozen=True, slots=True)
class WatcherParts:
    """What every watcher is handed."""

    bus: Bus
    clock: Clock
    records: Records
    threads: Threads
    settings: WatchingSettings


class Watcher(AsyncioActor):
    """Compares what is there with what was read, at start, on the kernel's hints and by the clock.

    It says `file:changed` for what differs and leaves it to the accumulator to find out whether
    the bytes do. Losing an event costs at most one sweep's delay.
    """

    def __init__(self, project: Project, parts: WatcherParts) -> None:
        """Watch one project."""
        super().__init__()
        self._project = project
        self._parts = parts
        self._seen: dict[str, FileState] = {}
        self._missed: dict[str, float] = {}
        self._folders: frozenset[str] = frozenset()
        self._hints: asyncio.Task[None] | None = None
        self._looking = False

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Take the ledger's word for what was read, then look."""
        read = await self._parts.records.read(lambda c: projects.files(c, self._project.id))
        self._seen = dict(read)
        self.look()
        self.spawn(self._clockwork(), name="sweeps")

    async def on_receive(self, message: object) -> None:
        """Sweep once."""
        if not isinstance(message, LookNow):
            return
        self._looking = False
        try:
            await self._look()
        except (LedgerDown, ActorAway, DeadlineExceeded) as error:
            log.warning("%s will be looked at again: %s", self._project.name, error)

    def look(self) -> None:
        """Ask for a sweep; many wishes before it are one."""
        if not self._looking:
            self._looking = True
            self.actor_ref.tell(LookNow())

    async def _look(self) -> None:
        """Sweep, say what differs, and listen to the folders that matter now."""
        swept = await self._parts.threads.run(self._sweep)
        for path in self._told(swept):
            await self._parts.bus.publish(
                FILE_CHANGED, FileChanged(self._project.id, path), source=self.actor_name
            )
            state = swept.files.get(path)
            if state is None:
                self._seen.pop(path, None)
            else:
                self._seen[path] = state
        if swept.folders != self._folders or self._hints is None:
            self._listen(swept.folders)

    def _told(self, swept: Swept) -> list[str]:
        """Return the paths to speak of: what differs, and what was missed long enough."""
        now = self._parts.clock.monotonic()
        different = differences(self._seen, swept.files)
        gone = [path for path in different if path not in swept.files]
        self._missed = {path: self._missed.get(path, now) for path in gone}
        enough = MISSING * self._parts.settings.sweep_s
        early = {path for path, since in self._missed.items() if now - since < enough}
        return [path for path in different if path not in early]

    def _sweep(self) -> Swept:
        """Look at the project's files (on a thread)."""
        depth = self._parts.settings.max_depth
        return sweep(self._project.root, self._project.id, max_depth=depth)

    async def _clockwork(self) -> None:
        """Ask for a sweep again and again."""
        while True:
            await self._parts.clock.sleep(self._parts.settings.sweep_s)
            self.look()

    def _listen(self, folders: frozenset[str]) -> None:
        """Take hints from those folders from now on."""
        if self._hints is not None:
            self._hints.cancel()
        self._folders = folders
        self._hints = self.spawn(self._take_hints(folders), name="hints")

    async def _take_hints(self, folders: Iterable[str]) -> None:
        """Sweep when the kernel says that something happened in a folder.

        Folders are watched one by one, not as a tree: a tree's watches are used up by its
        dependencies. Anything may go wrong here (one name that is not UTF-8 ends it); the sweeps
        go on without hints and hints are asked for again.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                async for _ in awatch(
                    *folders,
                    watch_filter=DefaultFilter(ignore_dirs=()),
                    debounce=self._parts.settings.debounce_ms,
                    step=STEP_MS,
                    recursive=False,
                    ignore_permission_denied=True,
                ):
                    pause = FIRST_PAUSE
                    self.look()
            except Exception as error:  # noqa: BLE001 - watchfiles raises what its Rust side does
                told = logging.WARNING if pause == FIRST_PAUSE else logging.DEBUG
                log.log(told, "%s is only swept for now: %s", self._project.name, error)
            self.look()
            await self._parts.clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
