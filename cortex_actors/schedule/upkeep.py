"""What keeps the ledger: copies of it, a look at every page, and the end of what was handled."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SECOND, iso
from cortex_actors.errors import LedgerDown, StorageFull, StorageReadOnly
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.jobs import Done
from cortex_actors.storage import memory_delete, passages, projects
from cortex_actors.storage.health import passages as words
from cortex_actors.storage.health.file import NO_LIMIT, Reader, Scope
from cortex_actors.storage.ledger import backups, faults, retention
from cortex_actors.storage.ledger.files import Halt

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.sections import ScheduleSettings
    from cortex_actors.storage.ledger.actor import Connection, Records

log = logging.getLogger("cortex.schedule")

#: Days for which what a file held before a write is kept, where nothing else is set.
JOURNAL_DAYS = 30.0

#: Rows that one unit of work prunes, and the seconds between two: others wait for the same thread.
PRUNED, PAUSE = 500, 0.05


class Upkeep:
    """Looks after the ledger on a thread of its own, with connections of its own.

    What is in hand when it is closed is called off and leaves nothing half done.
    """

    def __init__(
        self,
        home: Home,
        records: Records,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        keep_days: float,
        journal_days: float = JOURNAL_DAYS,
    ) -> None:
        """Remember what to look after; handled events are kept for `keep_days`.

        What a file held before we wrote into it is kept for `journal_days`.
        """
        self._home = home
        self._records = records
        self._clock = clock
        self._settings = settings
        self._keep_days = keep_days
        self._journal_days = journal_days
        self._threads = Threads("schedule", 1)
        self._halt = Halt()

    async def look(self, age: Callable[[], float | None]) -> float | None:
        """Return since when the disk says that something rests (`backup_age`, `check_age`)."""
        return await self._threads.run(age)

    async def copy(self, to: str | None) -> dict[str, Any]:
        """Copy the ledger because somebody asked for it; raises as `backups.take_to` does."""
        begun = self._clock.monotonic()
        made = await self._threads.run(self._copied, to)
        seconds = round(self._clock.monotonic() - begun, 3)
        return {"path": str(made.path), "size": made.size, "at": made.at, "took_s": seconds}

    async def back_up(self) -> Done:
        """Copy the ledger if it was written, and delete what is no longer kept."""
        return Done(await self._threads.run(self._copied_and_tidied))

    async def prune(self) -> Done:
        """Delete what was handled long ago, a little at a time."""
        handled, before = await self._pruned(retention.prune, self._keep_days)
        written, earlier = await self._pruned(projects.prune, self._journal_days)
        said = [f"{handled} rows older than {iso(before)}"] if handled else []
        said += [f"{written} writes into files older than {iso(earlier)}"] if written else []
        if await self._wiped():
            said.append("words of forgotten memories")
        return Done(", ".join(said), wrote=bool(said))

    async def check(self) -> Done:
        """Read the whole ledger; raises `DiskFault` when it is damaged.

        Nobody who writes waits for that, unless there are words to be made anew.
        """
        said, unlike = await self._threads.run(self._checked)
        mended = False
        for name in passages.LISTS if unlike else ():  # one at a time, because others wait
            if await self._records.write(partial(passages.mend, words=name)):
                log.warning("%s were not the words of the texts; they were made anew", name)
                mended = True
        return Done(said, wrote=mended)

    def backup_age(self) -> float | None:
        """Return the seconds since the newest copy (on the thread)."""
        return backups.age(self._home.backups, self._clock.now())

    def check_age(self) -> float | None:
        """Return the seconds since the last whole check (on the thread).

        None if the ledger is under suspicion.
        """
        if faults.marker(self._home.ledger).exists():
            return None
        at = backups.checked_at(self._home.backups)
        return None if at is None else (self._clock.now() - at) / SECOND

    def close(self) -> None:
        """Call off what is in hand."""
        self._halt.ask()
        self._threads.close()

    async def _pruned(
        self, prune: Callable[[Connection, int, int], int], keep: float
    ) -> tuple[int, int]:
        """Delete what is older than so many days; return how much, and since when it is old."""
        now, gone = self._clock.now(), 0
        before = await self._records.read(lambda c: retention.horizon(c, now, keep))
        while some := await self._records.write(lambda c: prune(c, before, PRUNED), vital=True):
            gone += some
            await self._clock.sleep(PAUSE)
        return gone, before

    async def _wiped(self) -> bool:
        """Write words of forgotten memories over, where a crash cut that off; tell whether any."""
        found = due = await self._records.read(memory_delete.is_due)
        while due:
            due = await self._records.write(memory_delete.wipe)
        return found

    def _copied(self, to: str | None) -> backups.Backup:
        """Copy the ledger (on the thread)."""
        ledger, now = self._home.ledger, self._clock.now()
        if to is not None:
            return backups.take_to(ledger, Path(to), at=now, halt=self._halt)
        return backups.take_now(ledger, self._home.backups, at=now, halt=self._halt)

    def _copied_and_tidied(self) -> str:
        """Copy it if it was written, and tidy (on the thread)."""
        home, now = self._home, self._clock.now()
        try:
            made = backups.take(home.ledger, home.backups, at=now, halt=self._halt)
        except (StorageFull, StorageReadOnly):
            raise
        except LedgerDown:
            # Is it the copy that is damaged, or what was copied? The latter ends the daemon.
            faults.whole(home.ledger, self._halt)
            raise
        keep = self._settings
        gone = backups.tidy(home.backups, now=now, hourly=keep.keep_hourly, daily=keep.keep_daily)
        return (
            f"{made.path.name}, {made.size} bytes, {len(gone)} older ones deleted" if made else ""
        )

    def _checked(self) -> tuple[str, bool]:
        """Check it, and remember when; say so, and whether words are not those of their texts.

        On the thread, on connections of its own.
        """
        ledger, now = self._home.ledger, self._clock.now()
        if not ledger.exists():
            return "", False
        faults.whole(ledger, self._halt)
        backups.note_check(self._home.backups, now)
        scope = Scope(ledger, now, model="", online=True)
        with Reader(ledger, self._clock, self._halt) as reader:
            found = reader.ask(lambda opened: list(words.words(opened, scope)), within=NO_LIMIT)
        return "every page of the ledger is sound", any(each.repair for each in found)
