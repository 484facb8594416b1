"""Watcher: says which instruction files of one project may have changed.

hears   -
says    file:changed
asks    ledger (what the files looked like when they were read, which other projects there are; it
        notes the first complete look of a day)
keeps   what it said and the ledger does not show yet (lost on a restart: it is said once more,
        unless it waits to be heard), and what it has hashed (lost: it is hashed once more)

Files that may say something else than what was read of them, although they look the same.

File systems round the time of a change: to milliseconds on most disks, to two seconds on some. Two
saves of equal length in one such moment, the first of which was read, differ in nothing
but their bytes. So what was read is hashed once more when that moment is over, and every
file at the start: the content has the last word.

What a watcher has said and the ledger does not show yet, so that it is not said at every look.

The ledger's word counts, never this: an entry is dropped once the ledger knows what is there, and
what stays unknown is said again, ever more rarely. Forgetting it all costs a repeat.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.clock import DAY, Clock
from cortex_actors.domain.event import FileChanged
from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown
from cortex_actors.files.ignores import Ignores, find_silent, read_mounts
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import events, projects
from cortex_actors.topics import FILE_CHANGED
from cortex_actors.watching.sweep import (
    Swept,
    find_differences,
    find_inner_roots,
    hash_path,
    lies_in,
    sweep,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.project import Project
    from cortex_actors.runtime.threads import Threads
    from cortex_actors.sections import WatchingSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.projects import FileState
    from cortex_actors.watching.hints import Hints


#: Nanoseconds from a change within which another one may go unseen: FAT keeps times in steps of
#: two seconds, and a share's clock may be some way off ours.
UNSURE_NS = 2_000_000_000

#: Bytes of a file that are read: no larger one is ever taken in.
MOST = 1_048_576


class Doubts:
    """Hashes once what was read, when no change can hide in its time any more.

    What was hashed is kept in memory alone: after a restart every file is hashed once.
    """

    def __init__(self) -> None:
        """Begin with nothing hashed."""
        self._sure: dict[str, FileState] = {}

    def find_changed(
        self, known: Mapping[str, FileState], there: Mapping[str, FileState], now: int
    ) -> list[str]:
        """Return the paths that look as they did when they were read, and say something else.

        `now` is in UTC microseconds. Blocks: run it on a thread. Raises nothing: what cannot be
        read is not in doubt. They are returned again until `note_settled` is called.
        """
        self._sure = {path: sure for path, sure in self._sure.items() if path in known}
        due = [each for each in known.values() if self._is_due(each, there.get(each.path), now)]
        differing = [
            each.path for each in due if hash_path(each.path, MOST) not in ("", each.sha256)
        ]
        self.note_settled((each.path for each in due if each.path not in set(differing)), known)
        return differing

    def note_settled(self, paths: Iterable[str], known: Mapping[str, FileState]) -> None:
        """Ask no more about what was read of some paths; another reading is asked about again."""
        self._sure.update({path: known[path] for path in paths if path in known})

    def _is_due(self, state: FileState, there: FileState | None, now: int) -> bool:
        """Tell whether a reading was never hashed again, and no change can hide any more."""
        if there is None or not state.sha256 or state.error or not state.has_same_stat(there):
            return False
        sure = self._sure.get(state.path)
        if sure is not None and sure.has_same_stat(state) and sure.sha256 == state.sha256:
            return False
        # A time that lies ahead is of another clock, and tells nothing.
        return abs(now * 1_000 - max(state.mtime_ns, state.ctime_ns)) >= UNSURE_NS


#: Share of the time between two sweeps for which looks must miss a file before it counts as gone:
#: editors delete and write again, and hints bring several looks in that moment.
MISSING = 0.5

#: Sweeps after which something is said again that the ledger still does not know; doubled each
#: time, because it may be that no one can handle it.
AGAIN = 12


@dataclass(frozen=True, slots=True)
class _Note:
    """What a path looked like when it was said (None: gone), and when to say it again."""

    state: FileState | None
    at: float
    pause: float

    def is_as(self, state: FileState | None) -> bool:
        """Tell whether the path still looks as it did."""
        if self.state is None or state is None:
            return self.state is state
        return self.state.has_same_stat(state)


class Pending:
    """Chooses which differences to speak of now."""

    def __init__(self, sweep_s: float) -> None:
        """Begin with nothing said; `sweep_s` are the seconds between two sweeps."""
        self._sweep_s = sweep_s
        self._notes: dict[str, _Note] = {}
        self._missed: dict[str, float] = {}

    def choose(
        self, known: Mapping[str, FileState], there: Mapping[str, FileState], now: float
    ) -> list[str]:
        """Return the paths to speak of: what the ledger does not know and was not said."""
        different = find_differences(known, there)
        self._missed = {p: self._missed.get(p, now) for p in different if p not in there}
        self._notes = {
            path: note
            for path in different
            if (note := self._notes.get(path)) is not None and note.is_as(there.get(path))
        }
        return [path for path in different if self._is_due(path, now)]

    @property
    def waits(self) -> bool:
        """Whether something differs from what the ledger knows."""
        return bool(self._notes or self._missed)

    def find_repeated(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of some paths that were spoken of before, as they look now."""
        return frozenset(path for path in paths if path in self._notes)

    def note(self, paths: Iterable[str], there: Mapping[str, FileState], now: float) -> None:
        """Remember what was said, or need not be said because it waits to be heard."""
        for path in paths:
            last = self._notes.get(path)
            pause = AGAIN * self._sweep_s if last is None else 2 * last.pause
            self._notes[path] = _Note(there.get(path), now + pause, pause)

    def clear(self) -> None:
        """Forget everything."""
        self._notes.clear()
        self._missed.clear()

    def _is_due(self, path: str, now: float) -> bool:
        """Tell whether to speak of a path that differs."""
        missed, note = self._missed.get(path), self._notes.get(path)
        if missed is not None and now - missed < MISSING * self._sweep_s:
            return False
        return note is None or now >= note.at


log = logging.getLogger("cortex.watcher")

#: Seconds to rest after a look that failed; doubled with each further one, up to the longest.
FIRST_REST, LONGEST_REST = 1.0, 60.0

#: A look may take this share of a thread's time: a huge root must not keep one busy for ever.
SHARE = 0.1

#: Who reads what is said: nothing is said again that still waits for it.
READER = "accumulator"

#: Seconds up to which a sweep is so quick that every hint is worth one.
QUICK = 0.5

#: How many times longer a project in which looks find nothing may go without one, while the kernel
#: tells of every folder: 30 s as shipped. 25 projects took 2 % of a core at 5 s each.
RARELY = 6


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
        #: The day of the last complete look that is noted, days since 1970.
        self._day = -1
        #: Seconds a sweep takes on its thread, and when the last one was.
        self._took = self._at = 0.0
        #: Seconds the last sweep took; before the first one, longer than any.
        self._last = math.inf
        #: How many times longer than usual the next sweep may wait.
        self._calm = 1
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
        except Exception as error:
            # Rest longer after each failed look in a row; the first one is logged with all it has.
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

    async def _look(self) -> None:
        """Sweep, listen to the folders that matter now, and say what differs."""
        known, apart = await self._parts.records.read(self._known)
        swept, heard = await self._parts.threads.run(self._sweep, apart)
        self._at = self._parts.clock.monotonic()
        polled = heard != swept.folders
        self._parts.hints.listen(self._project.id, heard, self._hinted, polled=polled)
        # Tell once that the root is away: its files are not gone, they come back with it.
        if swept.present and self._absent:
            log.info("%s is there again", self._project.root)
        elif not swept.present and not self._absent:
            self._pending.clear()
            log.warning(
                "%s cannot be listed; what its files say holds until it is back",
                self._project.root,
            )
        self._absent = not swept.present
        if not swept.present:
            return
        # A file that is here and was read as another project's is news to us.
        ours = {
            path: state
            for path, state in known.items()
            if state.project_id == self._project.id or path not in swept.files
        }
        now = self._parts.clock.now()
        doubtful = await self._parts.threads.run(self._doubts.find_changed, ours, swept.files, now)
        due = self._pending.choose(ours, swept.files, self._at)
        waiting = await self._waiting(due)
        await self._say([*(path for path in due if path not in waiting), *doubtful])
        self._pending.note(due, swept.files, self._at)
        self._doubts.note_settled(doubtful, ours)
        stirs = polled or doubtful or self._pending.waits
        self._calm = 1 if stirs else min(2 * self._calm, RARELY)
        self._is_first = False
        # The daily job counts the hours that a machine is awake: one that sleeps at night would be
        # scanned every third day.
        if now // DAY != self._day:
            ours_alone = [self._project.id]
            await self._parts.records.write(lambda c: projects.note_scanned(c, ours_alone, at=now))
            self._day = now // DAY

    async def _say(self, paths: Sequence[str]) -> None:
        """Say that some files may have changed, in one commit."""
        said = [(FILE_CHANGED, FileChanged(self._project.id, path)) for path in paths]
        await self._parts.bus.publish_all(said, source=self.actor_name)

    async def _waiting(self, due: Sequence[str]) -> frozenset[str]:
        """Return what need not be said again: it waits for its reader.

        Only of what was said before as it is now, by this life or, at its first look, by another:
        what has changed since may be in the reader's hand, and already read.
        """
        asked = frozenset(due) if self._is_first else self._pending.find_repeated(due)
        if not asked:
            return frozenset()
        return await self._parts.records.read(lambda c: events.list_waiting_keys(c, READER, asked))

    def _known(self, connection: Connection) -> tuple[dict[str, FileState], frozenset[str]]:
        """Return what the ledger has about our files, and the roots below ours (a query).

        What lies in a project of its own is that one's watcher's business, even while the ledger
        still has it from a time when it was ours; and what lies in ours is our business, even
        while the ledger has it from a time when it was another's.
        """
        apart = find_inner_roots(self._project.root, projects.list_followed(connection))
        if self._project.is_own:
            return projects.load_files(connection, self._project.id), apart
        states = projects.load_files_in(connection, self._project.root)
        ours = {path: state for path, state in states.items() if not lies_in(path, apart)}
        return ours, apart

    def _sweep(self, apart: frozenset[str]) -> tuple[Swept, frozenset[str]]:
        """Look at the project's files; return the folders to listen to, too (on a thread)."""
        began = self._parts.clock.monotonic()
        swept = sweep(
            self._project.root,
            self._project.id,
            max_depth=self._parts.settings.max_depth,
            apart=apart,
            ignores=self._ignores,
            own=self._project.is_own,
        )
        took = self._parts.clock.monotonic() - began
        # The quicker of two: one that was slow once had to wait for a busy machine.
        self._took, self._last = min(took, self._last), took
        # Tools write all the time into the folders of a person's own files.
        if self._parts.settings.mode == "poll" or self._project.is_own:
            return swept, frozenset()
        return swept, swept.folders - find_silent(swept.folders, read_mounts())

    async def _clockwork(self) -> None:
        """Look again and again."""
        try:
            while True:
                self._looked.clear()
                self.look()
                await self._looked.wait()
                usual = max(self._parts.settings.sweep_s * self._calm, self._took / SHARE)
                await self._parts.clock.sleep(self._rest or usual)
        finally:
            self._parts.hints.forget(self._project.id)
