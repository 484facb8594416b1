"""Watcher: says which instruction files of one project may have changed.

hears   -
says    file:changed
asks    ledger (what the files looked like when they were read, which other projects there are)
keeps   what it said and the ledger does not show yet (lost on a restart: it is said once more,
        unless it waits to be heard), and what it has hashed (lost: it is hashed once more)
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.domain.event import FileChanged
from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown
from cortex_actors.files.ignores import Ignores, mounts, silent
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import events, projects
from cortex_actors.topics import FILE_CHANGED
from cortex_actors.watching.doubt import Doubts
from cortex_actors.watching.pending import Pending
from cortex_actors.watching.sweep import Swept, inner_roots, lies_in, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import WatchingSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.projects import FileState
    from cortex_actors.watching.hints import Hints

log = logging.getLogger("cortex.watcher")

#: Seconds to rest after a look that failed; doubled with each further one, up to the longest.
FIRST_REST, LONGEST_REST = 1.0, 60.0

#: A look may take this share of a thread's time: a huge root must not keep one busy for ever.
SHARE = 0.1

#: Who reads what is said: nothing is said again that still waits for it.
READER = "accumulator"

#: Seconds up to which a sweep is so quick that every hint is worth one.
QUICK = 0.5


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
    hints: Hints


class Watcher(AsyncioActor):
    """Compares what is there with what was read, at start, on the kernel's hints and by the clock.

    It says `file:changed` for what differs and leaves it to the accumulator to find out whether
    the bytes do. Losing an event costs at most the time between two sweeps.
    """

    #: It tells itself to look, once at a time; a look that waits sees what a later one would.
    mailbox_limit = 16
    overflow = Overflow.DROP_NEW

    #: A sweep waits for the four threads that all projects share, on a disk that may be slow.
    message_limit: ClassVar[float] = 600.0

    def __init__(self, project: Project, parts: WatcherParts) -> None:
        """Watch one project."""
        super().__init__()
        self._project = project
        self._parts = parts
        self._pending = Pending(parts.settings.sweep_s)
        self._doubts = Doubts()
        self._ignores = Ignores(project.root)
        self._is_first = True
        self._looking = False
        self._looked = asyncio.Event()
        self._absent = False
        #: Seconds a sweep takes on its thread, and when the last one was.
        self._took = self._at = 0.0
        #: Seconds the last sweep took; before the first one, longer than any.
        self._last = math.inf
        #: Seconds to rest before the next look; 0 while looks succeed.
        self._rest = 0.0

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Look, and go on doing so."""
        self.spawn(self._clockwork(), name="sweeps")

    async def on_receive(self, message: object) -> None:
        """Sweep once.

        The guard is meant: what ails one project (its disk, its names, a fault of ours that only
        its files bring out) must not use up the restarts that all watchers share. The supervisor
        is the second net.
        """
        if not isinstance(message, LookNow):
            return
        self._looking = False
        try:
            await self._look()
            self._rest = 0.0
        except (LedgerDown, ActorAway, DeadlineExceeded) as error:
            log.warning("%s will be looked at again: %s", self._project.name, error)
        except Exception as error:  # noqa: BLE001 - see above
            self._stumble(error)
        finally:
            self._looked.set()

    def look(self) -> None:
        """Ask for a sweep; many wishes before it are one."""
        if not self._looking:
            self._looking = True
            self.actor_ref.tell(LookNow())

    def _hinted(self) -> None:
        """Look because of a hint, unless it is time to rest: the clockwork looks then."""
        since = self._parts.clock.monotonic() - self._at
        busy = self._took > QUICK and since < self._took / SHARE
        if self.actor_ref.is_alive() and not self._rest and not busy:
            self.look()

    def _stumble(self, error: Exception) -> None:
        """Rest longer after each failed look in a row; the first one is told with all it has."""
        first = self._rest == 0
        self._rest = FIRST_REST if first else min(self._rest * 2, LONGEST_REST)
        log.log(
            logging.ERROR if first else logging.DEBUG,
            "looking at %s failed, the next look is in %.0f s: %r",
            self._project.root,
            self._rest,
            error,
            exc_info=error if first else None,
        )

    async def _look(self) -> None:
        """Sweep, listen to the folders that matter now, and say what differs."""
        known, apart = await self._parts.records.read(self._known)
        swept, heard = await self._parts.threads.run(self._sweep, apart)
        self._at = self._parts.clock.monotonic()
        polled = heard != swept.folders
        self._parts.hints.listen(self._project.id, heard, self._hinted, polled=polled)
        self._note_presence(swept)
        if not swept.present:
            return
        ours = self._ours(known, swept)
        now = self._parts.clock.now()
        doubtful = await self._parts.threads.run(self._doubts.differing, ours, swept.files, now)
        due = self._pending.choose(ours, swept.files, self._at)
        waiting = await self._waiting(due)
        await self._say([*(path for path in due if path not in waiting), *doubtful])
        self._pending.note(due, swept.files, self._at)
        self._doubts.settled(doubtful, ours)
        self._is_first = False

    async def _say(self, paths: Sequence[str]) -> None:
        """Say that some files may have changed, in one commit."""
        said = [(FILE_CHANGED, FileChanged(self._project.id, path)) for path in paths]
        await self._parts.bus.publish_all(said, source=self.actor_name)

    async def _waiting(self, due: Sequence[str]) -> frozenset[str]:
        """Return what need not be said again: it waits for whoever reads it.

        Only of what was said before as it is now, by this life or, at its first look, by another:
        what has changed since may be in the reader's hand, and already read.
        """
        asked = frozenset(due) if self._is_first else self._pending.repeated(due)
        if not asked:
            return frozenset()
        return await self._parts.records.read(lambda c: events.waiting_keys(c, READER, asked))

    def _known(self, connection: Connection) -> tuple[dict[str, FileState], frozenset[str]]:
        """Return what the ledger knows of our files, and the roots below ours (a query).

        What lies in a project of its own is that one's watcher's business, even while the ledger
        still has it from a time when it was ours; and what lies in ours is our business, even
        while the ledger has it from a time when it was another's.
        """
        apart = inner_roots(self._project.root, projects.followed(connection))
        states = projects.files_in(connection, self._project.root)
        ours = {path: state for path, state in states.items() if not lies_in(path, apart)}
        return ours, apart

    def _ours(self, known: dict[str, FileState], swept: Swept) -> dict[str, FileState]:
        """Return what we know: a file that is here and was read as another's is news to us."""
        return {
            path: state
            for path, state in known.items()
            if state.project_id == self._project.id or path not in swept.files
        }

    def _note_presence(self, swept: Swept) -> None:
        """Tell once that the root is away: its files are not gone, they come back with it."""
        if swept.present and self._absent:
            log.info("%s is there again", self._project.root)
        elif not swept.present and not self._absent:
            self._pending.clear()
            log.warning(
                "%s cannot be listed; what its files say stands until it is back",
                self._project.root,
            )
        self._absent = not swept.present

    def _sweep(self, apart: frozenset[str]) -> tuple[Swept, frozenset[str]]:
        """Look at the project's files; return the folders to listen to, too (on a thread)."""
        began = self._parts.clock.monotonic()
        swept = sweep(
            self._project.root,
            self._project.id,
            max_depth=self._parts.settings.max_depth,
            apart=apart,
            ignores=self._ignores,
        )
        took = self._parts.clock.monotonic() - began
        # The quicker of two: one that was slow once had to wait for a busy machine.
        self._took, self._last = min(took, self._last), took
        if self._parts.settings.mode == "poll":
            return swept, frozenset()
        return swept, swept.folders - silent(swept.folders, mounts())

    async def _clockwork(self) -> None:
        """Look again and again."""
        try:
            while True:
                self._looked.clear()
                self.look()
                await self._looked.wait()
                usual = max(self._parts.settings.sweep_s, self._took / SHARE)
                await self._parts.clock.sleep(self._rest or usual)
        finally:
            self._parts.hints.forget(self._project.id)
