"""Scheduler: what is done by the clock - scans, weighing, backups, pruning - each by its own timer.

hears   -
says    scan:requested, reconciliation:requested, organisation:requested
asks    ledger (when jobs were done last, what is new, to let fade, to prune, to mend words; the
        verbs of the front desk, to try them), tasks (which a backup is one of)
keeps   when each job was done last and how it ended, as far as the ledger was not written for it,
        and when trying the daemon went well last (lost on a crash: what is due by the ledger's
        rows is done once more, and it is tried soon)

The table of jobs as this life of the daemon knows it, and the way of its rows into the ledger.

A run that wrote nothing else writes no row: a ledger without writes must stay as it is, or it
would be copied every hour for nothing. Such rows wait for the next run that writes anyway, which
one of the daily jobs does. A crash loses them: what is due by the older row is done once more.

Trying the daemon in earnest by the clock, where that tells anything new.

A trial writes into the ledger, and a ledger without writes must stay as it is, or it would be
copied every hour for nothing. So after a trial that went well there is none until the next write,
but for one a day.

What the schedule has others do: requests on topics, the fading of principles, the digest.

What keeps the ledger: copies of it, a look at every page, and the end of what was handled.

What the schedule does for memories: their attention, promotions by age, putting faded ones away.

Each run writes on its own way, a little at a time; the scheduler notes that it was done.
"""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import errors
from cortex_actors.clock import DAY, SECOND, Clock, iso
from cortex_actors.domain.event import Nothing, ReconciliationRequested, ScanRequested
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.tasks import ALONE, TaskSupervisor
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.jobs import (
    SOON,
    Job,
    JobResult,
    Timer,
    compute_age,
    compute_delay,
    compute_first,
    compute_retry,
)
from cortex_actors.storage import passages, projects
from cortex_actors.storage.events import Publisher
from cortex_actors.storage.health.file import NO_LIMIT, CheckupScope, LedgerReader, check_words
from cortex_actors.storage.ledger import backups, faults
from cortex_actors.storage.ledger.backups import DONE, FAILED, JobRow
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.storage.memory import memory_delete
from cortex_actors.storage.memory.memory_attention import Tending
from cortex_actors.storage.pipeline import principle_decay
from cortex_actors.topics import ORGANISATION_REQUESTED, RECONCILIATION_REQUESTED, SCAN_REQUESTED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.home import Home
    from cortex_actors.sections import MemorySettings, OrganisationSettings, ScheduleSettings
    from cortex_actors.storage.ledger.actor import Connection, Records


#: Who says the events of the schedule.
SOURCE = "scheduler"


@dataclass(frozen=True, slots=True)
class JobPreparer:
    """Prepares what a run says or writes; the scheduler commits it with the job's row."""

    publisher: Publisher
    clock: Clock
    #: What memories get by the clock.
    tending: Tending
    #: How principles fade.
    scales: principle_decay.DecayScales

    async def request(self, topic: str, payload: Payload, said: str) -> JobResult:
        """Say an event that has another actor do something."""
        return JobResult(said, say=[self.publisher.make_event(topic, payload)])

    async def decay(self) -> JobResult:
        """Let principles fade that are observed no more; one step down at most in a run.

        The last step takes several runs in a row, and the time is that of the ledger's last events
        where the clock is ahead of them: a clock that is wrong must not make everything old. Where
        one has another status now the organiser is asked to update the files that hold it.
        """
        now, scales = self.clock.now(), self.scales

        def judged(connection: Connection) -> list[principle_decay.Faded]:
            return principle_decay.find_faded(
                connection, principle_decay.get_today(connection, now), scales
            )

        found = await self.publisher.records.read(judged)
        if not found:
            return JobResult()
        organise = [self.publisher.make_event(ORGANISATION_REQUESTED, Nothing())]
        # Judged again where it is written: some may have been observed or distilled meanwhile.
        return JobResult(
            _steps(found),
            work=lambda connection: principle_decay.write(connection, judged(connection)),
            say=organise if any(each.status != each.before for each in found) else (),
        )

    async def digest(self) -> JobResult:
        """Say what was learned since the last digest, and keep that as a run, if it is anything."""
        begun = self.clock.now()

        def query(connection: Connection) -> dict[str, int]:
            # One that lies ahead was made while the clock was wrong: then it is the news of a day.
            last = projects.find_last_digest(connection)
            return projects.count_new(connection, last if last <= begun else begun - DAY, begun)

        found = await self.publisher.records.read(query)
        news = ", ".join(f"{found[name]} {it}" for name, it in projects.NEWS.items() if found[name])
        if not news:
            return JobResult()
        now = self.clock.now()
        run = projects.PipelineRun.from_moment(projects.KIND, now, started_at=begun, counts=found)
        start = f" since {iso(found['since'])}" if found["since"] else ""
        waits = f"{found['open']} contradictions and {found['review']} texts wait for a decision"
        said = f"{news}{start}; {waits}, {found['candidates']} candidates"
        return JobResult(said, work=lambda connection: projects.record(connection, run))

    async def attention(self) -> JobResult:
        """Write the attention that memories have now, and say which have faded."""
        found = await self.tending.weigh()
        if not found.updated:
            return JobResult()
        said = f"{found.updated} of {found.total} memories weighed again, {found.faded} have faded"
        return JobResult(said, wrote=True)

    async def promotions(self) -> JobResult:
        """Let memories sink that were read often enough and are old enough by now."""
        moved = await self.tending.sink_ripe()
        return JobResult(f"{len(moved)} memories promoted", wrote=True) if moved else JobResult()

    async def archive(self) -> JobResult:
        """Put memories away that have lain faded for `memory.archive_days`; none for 0."""
        gone = await self.tending.archive(self.tending.settings.archive_days)
        if not gone:
            return JobResult()
        return JobResult(f"{len(gone)} faded memories archived; each can be restored", wrote=True)


def _steps(found: list[principle_decay.Faded]) -> str:
    """Return how principles changed, as a sentence."""
    moved = Counter(each.status for each in found if each.status != each.before)
    steps = "".join(f", {number} {status}" for status, number in sorted(moved.items()))
    return f"{len(found)} principles ranked again{steps}"


log = logging.getLogger("cortex.schedule")

#: Days for which what a file held before a write is kept, where nothing else is set.
JOURNAL_DAYS = 30.0

#: Rows that one unit of work prunes, and the seconds between two: others wait for the same thread.
PRUNED, PAUSE = 500, 0.05


@dataclass(slots=True)
class Upkeep:
    """Looks after the ledger on a thread of its own, with connections of its own.

    What is running when it is closed is cancelled and leaves nothing half done.
    """

    home: Home
    records: Records
    clock: Clock
    settings: ScheduleSettings
    #: Days for which handled events are kept, and what a file held before we wrote into it.
    keep_days: float
    journal_days: float = JOURNAL_DAYS
    _threads: Threads = field(init=False, default_factory=partial(Threads, "schedule", 1))
    _halt: Halt = field(init=False, default_factory=Halt)

    async def look(self, age: Callable[[], float | None]) -> float | None:
        """Return since when something rests by the disk (`measure_backup_age`, `check_age`)."""
        return await self._threads.run(age)

    async def copy(self, to: str | None) -> dict[str, Any]:
        """Copy the ledger at a user's request; raises as `backups.copy_for_user` does."""
        copy = partial(backups.copy_for_user, clock=self.clock, halt=self._halt)
        return await self._threads.run(copy, self.home, to)

    async def back_up(self) -> JobResult:
        """Copy the ledger if it was written, and delete what is no longer kept."""
        return JobResult(await self._threads.run(self._copied_and_tidied))

    async def prune(self) -> JobResult:
        """Delete what was handled long ago, a little at a time."""
        handled, before = await self._pruned(backups.prune, self.keep_days)
        written, earlier = await self._pruned(projects.prune, self.journal_days)
        said = [f"{handled} rows older than {iso(before)}"] if handled else []
        said += [f"{written} writes into files older than {iso(earlier)}"] if written else []
        if due := await self.records.read(memory_delete.is_due):
            said.append("words of forgotten memories")
        while due:
            due = await self.records.write(memory_delete.wipe)
        return JobResult(", ".join(said), wrote=bool(said))

    async def check(self) -> JobResult:
        """Read the whole ledger; raises `DiskFault` when it is damaged.

        No writer waits for that, unless there are words to be rebuilt.
        """
        said, unlike = await self._threads.run(self._checked)
        mended = False
        for name in passages.LISTS if unlike else ():  # one at a time, because others wait
            if await self.records.write(partial(passages.mend, words=name)):
                log.warning("%s were not the words of the texts; they were rebuilt", name)
                mended = True
        return JobResult(said, wrote=mended)

    def measure_backup_age(self) -> float | None:
        """Return the seconds since the newest copy (on the thread)."""
        return backups.compute_age(self.home.backups, self.clock.now())

    def check_age(self) -> float | None:
        """Return the seconds since the last whole check (on the thread).

        None if the ledger is under suspicion.
        """
        if faults.name_marker(self.home.ledger).exists():
            return None
        at = backups.read_checked(self.home.backups)
        return None if at is None else (self.clock.now() - at) / SECOND

    def close(self) -> None:
        """Cancel what is running."""
        self._halt.ask()
        self._threads.close()

    async def _pruned(
        self, prune: Callable[[Connection, int, int], int], keep: float
    ) -> tuple[int, int]:
        """Delete what is older than so many days; return how much, and since when it is old."""
        now, gone = self.clock.now(), 0
        before = await self.records.read(lambda c: backups.compute_horizon(c, now, keep))
        while some := await self.records.write(lambda c: prune(c, before, PRUNED), vital=True):
            gone += some
            await self.clock.sleep(PAUSE)
        return gone, before

    def _copied_and_tidied(self) -> str:
        """Copy it if it was written, and tidy (on the thread)."""
        home, now = self.home, self.clock.now()
        try:
            made = backups.take(home.ledger, home.backups, at=now, halt=self._halt)
        except (errors.StorageFull, errors.StorageReadOnly):
            raise
        except errors.LedgerDown:
            # Is it the copy that is damaged, or what was copied? The latter ends the daemon.
            faults.check_whole(home.ledger, self._halt)
            raise
        keep = self.settings
        gone = backups.tidy(home.backups, now=now, hourly=keep.keep_hourly, daily=keep.keep_daily)
        return (
            f"{made.path.name}, {made.size} bytes, {len(gone)} older ones deleted" if made else ""
        )

    def _checked(self) -> tuple[str, bool]:
        """Check it, and remember when; say so, and whether words are not those of their texts.

        On the thread, on connections of its own.
        """
        ledger, now = self.home.ledger, self.clock.now()
        if not ledger.exists():
            return "", False
        faults.check_whole(ledger, self._halt)
        backups.note_check(self.home.backups, now)
        scope = CheckupScope(ledger, now, model="", online=True)
        with LedgerReader(ledger, self.clock, self._halt) as reader:
            found = reader.ask(lambda opened: list(check_words(opened, scope)), within=NO_LIMIT)
        return "every page of the ledger is sound", any(each.repair for each in found)


class Diary:
    """Remembers when each job was done last, and how it ended."""

    def __init__(self, publisher: Publisher) -> None:
        """Know nothing yet."""
        self._publisher = publisher
        self._rows: dict[str, JobRow] = {}
        self._unwritten: set[str] = set()

    def find_row(self, name: str) -> JobRow | None:
        """Return what is known of a job; None for one that was never noted."""
        return self._rows.get(name)

    async def open(self, schedule: Iterable[Job], now: int) -> None:
        """Read what earlier lives wrote, and note the jobs that are new: they begin to rest now.

        Raises as `Records.read` does; then nothing is noted, because what is not known must not be
        written over what the ledger has.
        """
        self._rows = await self._publisher.records.read(backups.load_jobs)
        new = [job for job in schedule if job.name not in self._rows]
        for job in new:
            due = now + round(job.every * SECOND)
            self.keep(JobRow(job.name, job.every, job.jitter, due_at=due))
        if new:
            await self.write(JobResult())

    def keep(self, row: JobRow) -> None:
        """Remember the state of a job; it is written with the next that is."""
        self._rows[row.name] = row
        self._unwritten.add(row.name)

    async def write(self, done: JobResult) -> None:
        """Commit what a run wants done, with every row that waits, and publish what it says.

        All of it or nothing: raises as `Records.write` does, and then the rows wait on.
        """
        waiting = {name: self._rows[name] for name in sorted(self._unwritten)}

        def unit(connection: Connection) -> tuple[None, Iterable[Event[Payload]]]:
            if done.work is not None:
                done.work(connection)
            backups.note_jobs(connection, waiting.values())
            return None, done.say

        await self._publisher.write(unit)
        self._unwritten -= {name for name, row in waiting.items() if self._rows[name] is row}


@dataclass(slots=True)
class Trying:
    """Tries the daemon, and knows when that went well last.

    Attributes:
        trial: tries it.
        look: runs what looks at the disk, on a thread.
        well_at: when the last trial that went well ended, UTC microseconds.
        rest: seconds until one that went well in part is repeated; twice as many after each.

    """

    trial: Callable[[], Awaitable[Mapping[str, Any]]]
    look: Callable[[Callable[[], float | None]], Awaitable[float | None]]
    ledger: Path
    clock: Clock
    well_at: int | None = None
    rest: float = SOON

    async def run(self) -> JobResult:
        """Try it, unless there was no write since it went well; report only what did not.

        Raises `RoundTripFailed`, so that it is tried again soon. A part that did not answer, such
        as a model that is still made, does so soon as a rule; what lasts is tried ever less often.
        """
        since = self.well_at
        if since is not None and 0 <= self.clock.now() - since < DAY:
            # Was there no write since?
            # Microseconds after a trial in which the index gets its vectors, which is written, too.
            settled = since + 10 * SECOND
            if await self.look(lambda: float(backups.find_written(self.ledger) <= settled)):
                return JobResult()
        found = await self.trial()
        self.well_at = self.clock.now() if found["state"] == "ok" else None
        if found["state"] == "failed":
            raise errors.RoundTripFailed(str(found["reason"]))
        is_ok = self.well_at is not None
        rest, self.rest = (math.inf, SOON) if is_ok else (self.rest, 2 * self.rest)
        return JobResult(str(found["reason"]), rest=rest)


class Scheduler(AsyncioActor):
    """Does what is due, one row of the schedule each; a job that fails is logged and tried again.

    Timers run on the monotonic clock, so a wall clock that jumps neither skips a run nor doubles
    one. What was missed while no daemon ran is done once. What is running when it ends is
    cancelled, leaves nothing half done, and is due again.
    """

    #: Backups that people ask for: each waits for the one before.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE
    #: Seconds: a backup that a caller waits for takes as long as the disk does.
    message_limit = 21_600.0

    def __init__(
        self,
        home: Home,
        records: Records,
        bus: Bus,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        keep_days: float,
        journal_days: float = JOURNAL_DAYS,
        organisation: OrganisationSettings,
        memory: MemorySettings,
        trial: Callable[[], Awaitable[Mapping[str, Any]]] | None = None,
        chance: Callable[[], float] = random.random,
        tasks: TaskSupervisor = ALONE,
    ) -> None:
        """Remember what to look after.

        Handled events are kept for `keep_days`, what files held before we wrote into them for
        `journal_days`. `organisation` says how principles fade, `memory` how memories do; `trial`
        tries the daemon, and without it there are no trials; `chance` gives a number from 0 to 1,
        by which jobs are put off that may come later; backups run below `tasks`.
        """
        super().__init__()
        self._clock = clock
        self._chance = chance
        self._tasks = tasks
        self._upkeep = Upkeep(
            home, records, clock, settings, keep_days=keep_days, journal_days=journal_days
        )
        publisher = Publisher(bus, records, SOURCE)
        tending = Tending(publisher, clock, memory, SOURCE)
        scales = principle_decay.DecayScales.from_settings(organisation)
        self._errands = JobPreparer(publisher, clock, tending, scales)
        look = self._upkeep.look
        self._trying = trial and Trying(trial, look, home.ledger, clock)
        self._diary = Diary(publisher)
        self._timers = {job.name: Timer(job, clock) for job in self._schedule(settings)}

    def on_start(self) -> None:
        """Set the timers."""
        self.actor_ref.on_end(self._upkeep.close)
        self.spawn(self._begin(), name="schedule")

    def backup(self, to: str | None = None) -> asyncio.Task[dict[str, Any]]:
        """Copy the ledger now, into `backups/` or to an absolute path; the mailbox goes on.

        Raises as `backups.copy_for_user` does.
        """
        work = partial(self._upkeep.copy, to)
        return self.spawn(self._tasks.run("backup", work), name="backup")

    def run_now(self, name: str) -> asyncio.Future[JobResult]:
        """Do a job now, or wait for the present run, and return what it came to.

        Its timer begins again with that. Raises `NotFound` naming the jobs there are, and whatever
        the job raises.
        """
        if name not in self._timers:
            known = ", ".join(self._timers)
            raise errors.NotFound(f"cannot run {name}: no job is called so; there are {known}")
        return self._timers[name].hurry()

    def describe(self) -> dict[str, str]:
        """Return which jobs failed when they ran last, and why."""
        rows = [row for name in self._timers if (row := self._diary.find_row(name)) is not None]
        return {row.name: row.said or "" for row in rows if row.state == FAILED}

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return every job: how often, its last run, and the seconds until the next."""
        return [self._line(timer) for timer in self._timers.values()]

    def _schedule(self, chosen: ScheduleSettings) -> tuple[Job, ...]:
        """Return the jobs there are."""
        keep, errands = self._upkeep, self._errands
        back_up = partial(self._tasks.run, "backup", keep.back_up)
        scan = partial(errands.request, SCAN_REQUESTED, ScanRequested(), "all files are read again")
        said = "all insights are weighed again"
        again = ReconciliationRequested()
        reconcile = partial(errands.request, RECONCILIATION_REQUESTED, again, said)
        said = "principles are distilled"
        organise = partial(errands.request, ORGANISATION_REQUESTED, Nothing(), said)

        def put_off(name: str, every: float, run: Callable[[], Awaitable[JobResult]]) -> Job:
            return Job(name, every, run, compute_delay(every, chosen.jitter_s))

        jobs = (
            put_off("scan", chosen.scan_every_s, scan),
            put_off("reconcile", chosen.reconcile_every_s, reconcile),
            put_off("organise", chosen.organise_every_s, organise),
            put_off("decay", chosen.decay_every_s, errands.decay),
            put_off("digest", chosen.digest_every_s, errands.digest),
            Job("backup", chosen.backup_every_s, back_up, age=keep.measure_backup_age),
            Job("prune", chosen.prune_every_s, keep.prune),
            Job("check", chosen.check_every_s, keep.check, age=keep.check_age),
            put_off("attention", chosen.attention_every_s, errands.attention),
            put_off("promotions", chosen.promotions_every_s, errands.promotions),
            put_off("archive", chosen.archive_every_s, errands.archive),
        )
        if self._trying is None:
            return jobs
        # Soon after a start, even if a trial ran before.
        return (*jobs, Job("probe", chosen.probe_every_s, self._trying.run, age=lambda: None))

    async def _begin(self) -> None:
        """Read when jobs were done last, and set the timers."""
        jobs = [timer.job for timer in self._timers.values()]
        try:
            await self._diary.open(jobs, self._clock.now())
        except errors.CortexError as error:
            _end_with(error)
            log.warning("cannot read when jobs were done last; they count from now on: %s", error)
        for timer in self._timers.values():
            self.spawn(self._repeat(timer), name=f"schedule {timer.job.name}")

    async def _repeat(self, timer: Timer) -> None:
        """Do a job for ever."""
        wait = compute_first(timer.job, await self._age(timer.job))
        while True:
            wait += self._chance() * timer.job.jitter
            await timer.rest(wait, lambda nap: self.spawn(nap, name="rest"))
            wait = await self._done(timer)

    async def _age(self, job: Job) -> float | None:
        """Return since when a job is due; None where that cannot be read, which its run reports."""
        if job.age is None:
            return compute_age(self._diary.find_row(job.name), self._clock.now())
        try:
            age = await self._upkeep.look(job.age)
        except (errors.CortexError, OSError) as error:
            log.warning("cannot tell when the %s was done last: %s", job.name, error)
            return None
        row = self._diary.find_row(job.name)
        if age is not None and row is not None and row.state != FAILED:
            # The disk knows better than a row that a crash may have lost.
            done = self._clock.now() - round(age * SECOND)
            self._diary.keep(replace(row, finished_at=done, state=DONE))
        return age

    async def _done(self, timer: Timer) -> float:
        """Do a job once; return the seconds to the next run. Raises what must end the daemon."""
        timer.begin()
        began = self._clock.now()
        try:
            done = await timer.job.run()
            # Commit what a run wants done and says, with its row, and tell everybody.
            wait = min(timer.job.every, done.rest)
            self._diary.keep(self._row(timer.job, began, wait, said=done.said or None))
            if done.is_written:
                await self._diary.write(done)
        except Exception as error:  # noqa: BLE001 - whatever a job raises, the others go on
            self._failed(timer.job, began, error)
            timer.end(error)
            _end_with(error)
            return compute_retry(timer.job)
        timer.end(done)
        if done.said:
            log.info("%s: %s", timer.job.name, done.said)
        return wait

    def _failed(self, job: Job, began: int, error: Exception) -> None:
        """Remember and log that a job failed."""
        row = self._row(job, began, compute_retry(job), said=str(error) or type(error).__name__)
        self._diary.keep(replace(row, state=FAILED))
        if isinstance(error, errors.CortexError) and error.ends_daemon:
            log.critical("%s: %s", job.name, error)
            return
        log.error(
            "%s failed and is tried again in %g s: %s",
            job.name,
            compute_retry(job),
            error,
            # A traceback only of unexpected errors.
            exc_info=None if isinstance(error, errors.CortexError) else error,
        )

    def _row(self, job: Job, began: int, wait: float, *, said: str | None) -> JobRow:
        """Return the row of a job that has just been done, and is due again after `wait` s."""
        now = self._clock.now()
        due = now + round(wait * SECOND)
        return JobRow(job.name, job.every, job.jitter, began, now, due, DONE, said)

    def _line(self, timer: Timer) -> dict[str, Any]:
        """Return one job as a client gets it."""
        job, now = timer.job, self._clock.monotonic()
        row = self._diary.find_row(job.name) or JobRow(job.name, job.every)
        return {
            **asdict(row),
            "every_s": job.every,
            "jitter_s": job.jitter,
            "due_in_s": None if timer.due is None else round(max(0.0, timer.due - now), 3),
            "running_s": None if timer.since is None else round(now - timer.since, 3),
        }


def _end_with(error: Exception) -> None:
    """Raise an error that must end the daemon."""
    if isinstance(error, errors.CortexError) and error.ends_daemon:
        raise error
