"""What the schedule has others do: requests on topics, the fading of principles, the digest.

What keeps the ledger: copies of it, a look at every page, and the end of what was handled.

What the schedule does for memories: their attention, promotions by age, putting faded ones away.

Each run writes on its own way, a little at a time; the scheduler notes that it was done.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import DAY, SECOND, iso, ulid
from cortex_actors.domain.event import Nothing
from cortex_actors.errors import LedgerDown, StorageFull, StorageReadOnly
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.jobs import Done
from cortex_actors.storage import memory_delete, passages, principle_decay, projects
from cortex_actors.storage.health import passages as words
from cortex_actors.storage.health.file import NO_LIMIT, Reader, Scope
from cortex_actors.storage.ledger import backups, faults
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.storage.memory_attention import Tending
from cortex_actors.topics import ORGANISATION_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.home import Home
    from cortex_actors.sections import MemorySettings, ScheduleSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.principle_decay import Scales


#: Who says the events of the schedule.
SOURCE = "scheduler"


class Errands:
    """Prepares what a run says or writes; the scheduler commits it with the job's row."""

    def __init__(
        self, bus: Bus, records: Records, clock: Clock, *, scales: Scales = principle_decay.DEFAULTS
    ) -> None:
        """Remember whom to ask; principles fade by `scales`."""
        self._bus = bus
        self._records = records
        self._clock = clock
        self._scales = scales

    async def request(self, topic: str, payload: Payload, said: str) -> Done:
        """Say an event that has another actor do something."""
        event: Event[Payload] = self._bus.event(topic, payload, source=SOURCE)
        return Done(said, say=[event])

    async def decay(self) -> Done:
        """Let principles fade that nobody observes any more; one step down at most in a run.

        The last step takes several runs in a row, and the time is that of the ledger's last events
        where the clock is ahead of them: a clock that is wrong must not make everything old. Where
        one stands otherwise now the organiser is asked to tell whoever gave it to a file.
        """
        now, scales = self._clock.now(), self._scales

        def judged(connection: Connection) -> list[principle_decay.Faded]:
            return principle_decay.faded(connection, principle_decay.today(connection, now), scales)

        found = await self._records.read(judged)
        if not found:
            return Done()
        # Judged again where it is written: some may have been observed or distilled meanwhile.
        return Done(
            _steps(found),
            work=lambda connection: principle_decay.write(connection, judged(connection)),
            say=self._asked() if any(each.status != each.before for each in found) else (),
        )

    def _asked(self) -> list[Event[Payload]]:
        """Return what has the organiser look at all principles."""
        return [self._bus.event(ORGANISATION_REQUESTED, Nothing(), source=SOURCE)]

    async def digest(self) -> Done:
        """Say what was learned since the last digest, and keep that as a run, if it is anything."""
        begun = self._clock.now()
        found = await self._records.read(_digest_until(begun))
        if not found.news:
            return Done()
        now = self._clock.now()
        run = projects.Run(
            id=f"run_{ulid(now)}",
            kind=projects.KIND,
            started_at=begun,
            finished_at=now,
            counts=asdict(found),
        )
        return Done(_told(found), work=lambda connection: projects.record(connection, run))


def _digest_until(now: int) -> Callable[[Connection], projects.Digest]:
    """Return the query for what is new since the last digest.

    One that lies ahead was made while the clock was wrong: then it is what is new of a day.
    """

    def query(connection: Connection) -> projects.Digest:
        last = projects.since(connection)
        return projects.digest(connection, last if last <= now else now - DAY, now)

    return query


def _told(found: projects.Digest) -> str:
    """Return a digest as a sentence."""
    news = ", ".join(f"{number} {words}" for words, number in found.news.items())
    start = f" since {iso(found.since)}" if found.since else ""
    waits = f"{found.open} contradictions and {found.review} texts wait for a decision"
    return f"{news}{start}; {waits}, {found.candidates} candidates"


def _steps(found: list[principle_decay.Faded]) -> str:
    """Return how principles came to stand, as a sentence."""
    moved = Counter(each.status for each in found if each.status != each.before)
    steps = "".join(f", {number} {status}" for status, number in sorted(moved.items()))
    return f"{len(found)} principles ranked anew{steps}"


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
        handled, before = await self._pruned(backups.prune, self._keep_days)
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
        before = await self._records.read(lambda c: backups.horizon(c, now, keep))
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


class Custody:
    """Three jobs."""

    def __init__(
        self, records: Records, bus: Bus, clock: Clock, *, settings: MemorySettings, by: str
    ) -> None:
        """Remember whom to ask; memories fade and sink by those settings."""
        self._tending = Tending(records, bus, clock, settings=settings, by=by, source=by)
        self._archive_days = settings.archive_days

    async def attention(self) -> Done:
        """Write the attention that memories have now, and say which have faded."""
        found = await self._tending.weigh()
        if not found.updated:
            return Done()
        said = f"{found.updated} of {found.total} memories weighed anew, {found.faded} have faded"
        return Done(said, wrote=True)

    async def promotions(self) -> Done:
        """Let memories sink that were read often enough and are old enough by now."""
        moved = await self._tending.sink_ripe()
        return Done(f"{len(moved)} memories promoted", wrote=True) if moved else Done()

    async def archive(self) -> Done:
        """Put memories away that have lain faded for `memory.archive_days`; none for 0."""
        gone = await self._tending.archive(self._archive_days)
        if not gone:
            return Done()
        return Done(f"{len(gone)} faded memories archived; each can be restored", wrote=True)
