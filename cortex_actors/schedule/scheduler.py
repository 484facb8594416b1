"""Scheduler: backups, pruning and the weekly check, each by its own timer.

hears   -
says    -
asks    ledger (to prune, and to make words anew that are damaged)
keeps   what failed last, for `status` (lost on a crash: it fails again, or it does not)
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SECOND, iso
from cortex_actors.errors import CortexError, LedgerDown, StorageFull, StorageReadOnly
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.jobs import Job, again, first
from cortex_actors.storage import backups, check, passages, retention
from cortex_actors.storage.files import Halt

if TYPE_CHECKING:
    import asyncio

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.settings import ScheduleSettings
    from cortex_actors.storage.records import Records

log = logging.getLogger("cortex.schedule")

#: Rows that one unit of work prunes, and the seconds between two: others wait for the same thread.
PRUNED, PAUSE = 500, 0.05


class Scheduler(AsyncioActor):
    """Does what is due on a thread of its own; a job that fails is logged and tried again.

    Timers run on the monotonic clock, so a wall clock that jumps neither skips a run nor doubles
    one. What is in hand when it ends is called off and leaves nothing half done.
    """

    #: Backups that people ask for: each waits for the one before.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE
    #: Seconds: a backup that somebody waits for takes as long as the disk does.
    message_limit = 21_600.0

    def __init__(
        self,
        home: Home,
        records: Records,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        keep_days: float,
    ) -> None:
        """Remember what to look after; handled events are kept for `keep_days`."""
        super().__init__()
        self._home = home
        self._records = records
        self._clock = clock
        self._settings = settings
        self._keep_days = keep_days
        self._threads = Threads("schedule", 1)
        self._halt = Halt()
        self._failing: dict[str, str] = {}

    def jobs(self) -> tuple[Job, ...]:
        """Return the schedule."""
        chosen = self._settings
        return (
            Job("backup", chosen.backup_every_s, self._backup_age, self._back_up),
            Job("prune", chosen.prune_every_s, lambda: None, self._prune),
            Job("check", chosen.check_every_s, self._check_age, self._check),
        )

    def on_start(self) -> None:
        """Set the timers."""
        self.actor_ref.on_end(self._close)
        for job in self.jobs():
            self.spawn(self._repeat(job), name=f"schedule {job.name}")

    def backup(self, to: str | None = None) -> asyncio.Task[dict[str, Any]]:
        """Copy the ledger now, into `backups/` or to an absolute path; the mailbox goes on.

        Raises as `backups.take` and `backups.take_to` do.
        """
        return self.spawn(self._backed_up(to), name="backup")

    def describe(self) -> dict[str, str]:
        """Return which jobs failed when they ran last, and why."""
        return dict(self._failing)

    async def _repeat(self, job: Job) -> None:
        """Do a job for ever."""
        wait = first(job, await self._age(job))
        while True:
            await self._clock.sleep(wait)
            wait = job.every if await self._is_done(job) else again(job)

    async def _age(self, job: Job) -> float | None:
        """Return since when a job is due; None where nobody can look, which its run then says."""
        try:
            return await self._threads.run(job.age)
        except (CortexError, OSError) as error:
            log.warning("cannot tell when the %s was done last: %s", job.name, error)
            return None

    async def _is_done(self, job: Job) -> bool:
        """Do a job once; say whether it went well. Raises only what must end the daemon."""
        try:
            said = await job.run()
        except Exception as error:
            if isinstance(error, CortexError) and error.ends_daemon:
                log.critical("%s: %s", job.name, error)
                raise
            expected = isinstance(error, CortexError)
            log.error(  # noqa: TRY400 - a traceback only of what nobody expected
                "%s failed and is tried again in %g s: %s",
                job.name,
                again(job),
                error,
                exc_info=None if expected else error,
            )
            self._failing[job.name] = str(error) or type(error).__name__
            return False
        self._failing.pop(job.name, None)
        if said:
            log.info("%s: %s", job.name, said)
        return True

    async def _backed_up(self, to: str | None) -> dict[str, Any]:
        """Return the copy that somebody asked for."""
        begun = self._clock.monotonic()
        made = await self._threads.run(self._copied, to)
        seconds = round(self._clock.monotonic() - begun, 3)
        return {"path": str(made.path), "size": made.size, "at": made.at, "took_s": seconds}

    def _copied(self, to: str | None) -> backups.Backup:
        """Copy the ledger (on the thread)."""
        ledger, now = self._home.ledger, self._clock.now()
        if to is not None:
            return backups.take_to(ledger, Path(to), at=now, halt=self._halt)
        return backups.take_now(ledger, self._home.backups, at=now, halt=self._halt)

    async def _back_up(self) -> str:
        """Copy the ledger if it was written, and delete what is no longer kept."""
        return await self._threads.run(self._copied_and_tidied)

    def _copied_and_tidied(self) -> str:
        """Do that (on the thread)."""
        home, now = self._home, self._clock.now()
        try:
            made = backups.take(home.ledger, home.backups, at=now, halt=self._halt)
        except (StorageFull, StorageReadOnly):
            raise
        except LedgerDown:
            # Is it the copy that is damaged, or what was copied? The latter ends the daemon.
            check.whole(home.ledger, self._halt)
            raise
        keep = self._settings
        gone = backups.tidy(home.backups, now=now, hourly=keep.keep_hourly, daily=keep.keep_daily)
        return (
            f"{made.path.name}, {made.size} bytes, {len(gone)} older ones deleted" if made else ""
        )

    def _backup_age(self) -> float | None:
        """Return the seconds since the newest copy."""
        return backups.age(self._home.backups, self._clock.now())

    async def _prune(self) -> str:
        """Delete what was handled long ago, a little at a time."""
        now, keep, gone = self._clock.now(), self._keep_days, 0
        before = await self._records.read(lambda c: retention.horizon(c, now, keep))
        while some := await self._records.write(
            lambda c: retention.prune(c, before, PRUNED), vital=True
        ):
            gone += some
            await self._clock.sleep(PAUSE)
        return f"{gone} rows older than {iso(before)}" if gone else ""

    async def _check(self) -> str:
        """Read the whole ledger; raises `DiskFault` when it is damaged."""
        said = await self._threads.run(self._checked)
        for words in passages.LISTS:  # one at a time, because nobody else writes meanwhile
            if await self._records.write(partial(passages.mend, words=words)):
                log.warning("%s were not the words of the texts; they were made anew", words)
        return said

    def _checked(self) -> str:
        """Do that, and remember when (on the thread)."""
        if not self._home.ledger.exists():
            return ""
        check.whole(self._home.ledger, self._halt)
        backups.note_check(self._home.backups, self._clock.now())
        return "every page of the ledger is sound"

    def _check_age(self) -> float | None:
        """Return the seconds since the last whole check; None if the ledger is under suspicion."""
        if check.marker(self._home.ledger).exists():
            return None
        at = backups.checked_at(self._home.backups)
        return None if at is None else (self._clock.now() - at) / SECOND

    def _close(self) -> None:
        """Call off what is in hand."""
        self._halt.ask()
        self._threads.close()
