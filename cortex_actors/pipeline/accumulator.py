"""Accumulator: a changed instruction file becomes insights.

hears   file:changed, scan:requested
says    accumulation:complete, file:changed, scan:requested
asks    ledger, cache (vectors)
keeps   - (a file in hand when it crashes is handed out again)
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, TypeVarTuple, Unpack

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.clock import ulid
from cortex_actors.domain.event import AccumulationComplete, FileChanged, ScanRequested
from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.project import innermost
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.files.repository import origin
from cortex_actors.pipeline import reading, taking
from cortex_actors.pipeline.findings import READ_AS
from cortex_actors.pipeline.job import Job
from cortex_actors.pipeline.likeness import Likeness
from cortex_actors.pipeline.taking import Taking
from cortex_actors.pipeline.vectors import vectors
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import insights, projects, reviews
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.project import Project
    from cortex_actors.pipeline.findings import Said
    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.sections import AccumulationSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.projects import FileState
    from cortex_actors.storage.search.matrix import Neighbours
    from cortex_actors.text.sections import Dialect


A = TypeVarTuple("A")
T = TypeVar("T")

#: Ids that one event names: an event takes 64 KiB, and a large file says more than that.
NAMED = 1_500

log = logging.getLogger("cortex.accumulator")


class Accumulator(Consumer):
    """Reads several files at once, no path twice; a file is one transaction, whatever it says.

    The event is a hint: what counts is what lies at the path now. A file that cannot be read is a
    failed run and leaves what it said before as it was. Its project is the innermost one that holds
    it, whatever the event says. Text that cannot be embedded now is kept without a vector; the
    indexer embeds it when the model is there. A file that was read otherwise (another granularity,
    an older release) is read again, though its bytes are the same.
    """

    #: Wake-ups, of which one waits at most: the journal keeps the events.
    mailbox_limit = 16
    overflow = Overflow.BACK_PRESSURE

    #: A file of 1 MiB may have thousands of sections, each embedded in some 20 ms.
    message_limit: ClassVar[float] = 600.0

    hears: ClassVar[Mapping[str, str]] = {FILE_CHANGED: "on_changed", SCAN_REQUESTED: "on_scan"}

    #: Files in hand at once: their texts gather in the embedder's batches. Each is at most 1 MiB.
    concurrency = 8

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: AccumulationSettings,
        model: str,
        embed: Embed,
        neighbours: Neighbours,
    ) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._settings = settings
        self._granularity = Granularity(settings.granularity)
        self._read_as = READ_AS[self._granularity]
        self._model = model
        self._embed = embed
        self._likeness = Likeness(records, neighbours, merge=settings.merge)
        # Its own, because a share that hangs must cost nobody else a thread.
        self._threads = ThreadPoolExecutor(self.concurrency, "accumulator")

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics; the threads end with the actor, those that hang excepted."""
        self.actor_ref.on_end(partial(self._threads.shutdown, wait=False, cancel_futures=True))
        await super().on_start()
        self.spawn(self._read_anew(), name="read anew")

    async def on_changed(self, event: Event[FileChanged]) -> Outcome:
        """Take in what a file says now."""
        given = event.payload
        run = self._run(given)
        try:
            path = await self._on_thread(reading.place, given.path)
        except BadInput as error:
            return self._outcome(replace(run, state="failed", error=str(error)))
        if path != given.path:
            # Under its one name, so that no file is in hand twice.
            again = self.say(FILE_CHANGED, FileChanged(given.project_id, path))
            return await self._silenced(replace(run, counts={"renamed": 1}), say=[again])
        project = innermost(await self._records.read(projects.followed), path)
        if project is None:
            reason = f"cannot read {path}: no project that holds it is followed; cortex init it"
            return self._outcome(replace(run, state="failed", error=reason))
        job = Job(project, path, replace(run, project_id=project.id))
        if job.dialect is None or await self._on_thread(job.is_left_out):
            return await self._silenced(replace(job.run, state="failed", error=job.refusal()))
        taken_back = await self._records.read(lambda c: reviews.bars(c, project.id, path))
        if taken_back is not None:
            return await self._silenced(replace(job.run, counts={"revoked": 1}))
        return await self._read(job, job.dialect)

    async def on_scan(self, event: Event[ScanRequested]) -> Outcome:
        """Notice files that are known and no longer there; the watchlist finds those that are.

        Of which repository a project is a checkout is found out anew, too.
        """
        wanted = event.payload.project_id
        followed, known = await self._records.read(lambda c: taking.known(c, wanted))
        gone = await self._on_thread(_gone, known)
        origins = await self._on_thread(_origins, followed)
        return Outcome(
            lambda connection: projects.locate(connection, origins),
            [self.say(FILE_CHANGED, FileChanged(s.project_id, s.path)) for s in gone],
        )

    async def _read_anew(self) -> None:
        """Have every file looked at when some were read otherwise than this life reads."""
        try:
            if await self._records.read(lambda c: projects.read_otherwise(c, self._read_as)):
                said = ScanRequested(None)
                await self.desk.bus.publish(SCAN_REQUESTED, said, source=self.desk.name)
        except CortexError as error:
            log.warning("files that were read otherwise wait for the next scan: %s", error)

    async def _read(self, job: Job, dialect: Dialect) -> Outcome:
        """Take in what a project's file says now."""
        limit = self._settings.max_file_bytes
        try:
            look = await reading.look(job.path, job.project, limit=limit, executor=self._threads)
        except (FileNotFoundError, NotADirectoryError):
            return await self._vanished(job)
        state = replace(look.state, read_as=self._read_as)
        if look.data is None:
            return await self._failed(job, state)
        before, other = await self._records.read(
            lambda c: (projects.file(c, job.path), projects.file(c, look.real))
        )
        if other is not None and other.path != job.path and other.project_id == job.project.id:
            # Another name of a file that is known by its own: what it says is counted once.
            return await self._vanished(job)
        # Another project's now: what it says holds elsewhere, so that it is read anew.
        is_ours = before is not None and before.project_id == state.project_id
        if before is not None and is_ours and before.says_as(state):
            return await self._stands(replace(job.run, state="unchanged"), state)
        try:
            reader = job.reader(dialect, self._granularity)
            said = await self._on_thread(reader.read, look.data)
        except BadInput as error:
            return await self._failed(job, replace(state, error=str(error)))
        return await self._changed(job, state, said, is_private=job.is_private)

    async def _changed(
        self, job: Job, state: FileState, said: Said, *, is_private: bool
    ) -> Outcome:
        """Make what the file says the ledger's."""
        findings = said.findings
        found = await vectors(self._embed, findings, model=self._model)
        same = {} if is_private else await self._likeness.same(findings, found)
        # Read beforehand, because events are said in the outcome: the path is in our hand.
        other = await self._records.read(lambda c: taking.noted(c, state, findings))
        taken = Taking(state, said, self._model, found, same, at=self.desk.clock.now())
        run = replace(job.run, counts={**said.counts, "embedded": len(found)})
        # A new revision is new evidence for everything it still says, so that is weighed, too.
        seen = [each.insight_id for each in findings] if other.is_new else []
        return self._outcome(run, taken.write, sorted({*other.changed, *seen, *same.values()}))

    async def _failed(self, job: Job, state: FileState) -> Outcome:
        """Record why a file cannot be read; what it said before stands."""
        log.warning("%s", state.error)
        return await self._stands(replace(job.run, state="failed", error=state.error), state)

    async def _vanished(self, job: Job) -> Outcome:
        """Withdraw what a file said that is no longer there."""
        return await self._silenced(replace(job.run, counts={"vanished": 1}))

    async def _stands(self, run: projects.Run, state: FileState) -> Outcome:
        """Only note what a file looks like and whose it is: it may be another project's now."""
        path, owner, at = state.path, state.project_id, self.desk.clock.now()
        moved = await self._records.read(lambda c: insights.strangers(c, path, owner))

        def work(connection: Connection) -> None:
            insights.hand_over(connection, path, owner)
            projects.saw(connection, state, at)

        return self._outcome(run, work, sorted(moved))

    async def _silenced(self, run: projects.Run, *, say: Sequence[Event[Payload]] = ()) -> Outcome:
        """Withdraw what was said at a path, and forget the path."""
        path, at = run.path or "", self.desk.clock.now()
        before = await self._records.read(lambda c: insights.difference(c, path, "", ()))

        def work(connection: Connection) -> None:
            taking.silence(connection, path, at)

        return self._outcome(run, work, before.changed, say)

    def _run(self, payload: FileChanged) -> projects.Run:
        """Return the audit row of a run that begins now."""
        now = self.desk.clock.now()
        return projects.Run(
            id=f"run_{ulid(now)}",
            kind=self.desk.name,
            started_at=now,
            finished_at=now,
            project_id=payload.project_id,
            path=payload.path,
        )

    async def _on_thread(self, call: Callable[[Unpack[A]], T], *args: *A) -> T:
        """Run what may hang on a disk, or take a while, on a thread of our own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, call, *args)

    def _outcome(
        self,
        run: projects.Run,
        work: Callable[[Connection], Mapping[str, int] | None] | None = None,
        changed_ids: Sequence[str] = (),
        say: Sequence[Event[Payload]] = (),
    ) -> Outcome:
        """Return a run's effects with its audit row, and the event that ends it.

        What `work` counted is written into the audit.
        """
        ended = replace(run, finished_at=self.desk.clock.now())

        def all_of_it(connection: Connection) -> None:
            counted = work(connection) if work is not None else None
            shown = {name: count for name, count in (counted or {}).items() if count}
            projects.record(connection, replace(ended, counts={**ended.counts, **shown}))

        done = [
            self.say(ACCUMULATION_COMPLETE, AccumulationComplete(run.id, run.project_id, some))
            for some in _parts(changed_ids)
        ]
        return Outcome(all_of_it, [*say, *done])


def _parts(ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the ids in parts that one event can name; one part at least."""
    for start in range(0, max(len(ids), 1), NAMED):
        yield tuple(ids[start : start + NAMED])


def _origins(followed: Sequence[Project]) -> dict[str, str | None]:
    """Return of which repositories projects are checkouts, by their ids (on a thread)."""
    return {each.id: origin(each.root) for each in followed}


def _gone(states: Sequence[FileState]) -> list[FileState]:
    """Return the states of files that are not there (on a thread)."""
    return [state for state in states if not os.path.lexists(state.path)]
