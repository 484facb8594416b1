"""A watcher at work on a clock that the test turns."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete

from cortex_actors.domain.event import FileChanged
from cortex_actors.sections import WatchingSettings
from cortex_actors.storage import projects
from cortex_actors.storage.tables.schema import deliveries
from cortex_actors.testing import eventually
from cortex_actors.watching.hints import Hints
from cortex_actors.watching.sweep import sweep
from cortex_actors.watching.watcher import RARELY, Watcher, WatcherParts

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from tests.pipeline.support import Office

#: Seconds between two sweeps, on a clock that the tests turn.
SWEEP = 5.0


class Watch:
    """A watcher at work, and what it has said."""

    def __init__(self, office: Office, project: Project, threads: Threads) -> None:
        self.office = office
        self.project = project
        self.root = Path(project.root)
        settings = WatchingSettings(sweep_s=SWEEP, debounce_ms=10, max_depth=3)
        self.hints = Hints(office.clock, settings)
        self.parts = WatcherParts(
            office.bus, office.clock, office.records, threads, settings, self.hints
        )
        self.watcher: Watcher
        self._from = 0

    async def begin(self) -> None:
        """Start the watcher and return once it has looked, sweeps and hears."""
        await self.office.employ("watcher", self.make)
        await eventually(self.watcher._looked.is_set)
        await eventually(lambda: self.hints.list_wanted() == self.hints.folders)
        await self.watcher.actor_ref.ask_async(None, timeout=10)

    def make(self) -> Watcher:
        """Make the watcher."""
        self.watcher = Watcher(self.project, self.parts)
        return self.watcher

    async def heard(self) -> None:
        """Have everything that was said handled by whoever hears it."""

        def unit(connection: Connection) -> None:
            connection.execute(delete(deliveries))

        await self.office.write(unit)

    async def sweep(self) -> None:
        """Let a time pass in which every project is swept, and return once it has looked."""
        await self.turn(RARELY * SWEEP)

    async def pause(self) -> float:
        """Let the next sweep come; return how long it took, seconds."""
        await eventually(lambda: self.office.clock.sleepers > 0)
        due = self.office.clock.due
        await self.turn(due)
        return due

    async def turn(self, seconds: float) -> None:
        """Let some time pass and return once the watcher has looked."""
        await eventually(lambda: self.office.clock.sleepers > 0)
        before = self.watcher.actor_ref.life.handled
        self.office.clock.advance(seconds)
        await eventually(lambda: self.watcher.actor_ref.life.handled > before)
        # An ask behind the look is answered after it.
        await self.watcher.actor_ref.ask_async(None, timeout=10)

    async def told(self, *names: str) -> None:
        """Return once exactly those files were told of, by hints or sweeps."""
        await eventually(lambda: sorted(names) == sorted(set(self.said)))

    @property
    def said(self) -> list[str]:
        """What was told of, as paths from the root."""
        payloads = [event.payload for event in self.office.said[self._from :]]
        paths = [each.path for each in payloads if isinstance(each, FileChanged)]
        return [os.path.relpath(path, self.root) for path in paths]

    def forget(self) -> None:
        """Listen anew."""
        self._from = len(self.office.said)

    def write(self, name: str, text: str = "## A\n\nb\n") -> Path:
        """Write a file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def read(self, *, sha256: str = "") -> None:
        """Have the ledger know what the project's files look like now, as if it had read them.

        With a hash, as if they had said that.
        """
        swept = sweep(str(self.root), self.project.id, max_depth=3)

        def unit(connection: Connection) -> None:
            for path in projects.load_files(connection, self.project.id):
                projects.forget(connection, path)
            for state in swept.files.values():
                projects.note_file(connection, replace(state, sha256=sha256), 1)

        await self.office.write(unit)
