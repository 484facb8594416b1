"""Accumulator: a changed instruction file becomes insights.

hears   file:changed, scan:requested
says    accumulation:complete, file:changed
asks    ledger, cache (vectors)
keeps   - (a file in hand when it crashes is handed out again)
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, TypeVarTuple, Unpack

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome, Work
from cortex_actors.clock import ulid
from cortex_actors.domain.payload import AccumulationComplete, FileChanged, ScanRequested
from cortex_actors.domain.project import innermost, pruned
from cortex_actors.errors import ActorAway, BadInput, DeadlineExceeded, EmbedderDown, MailboxFull
from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.pipeline import reading
from cortex_actors.pipeline.findings import said
from cortex_actors.runtime.overflow import Overflow
from cortex_actors.storage import indexing, insights, projects, runs, sources
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.payload import Payload
    from cortex_actors.domain.project import Project
    from cortex_actors.parsers.dialect import Dialect
    from cortex_actors.settings import AccumulationSettings
    from cortex_actors.storage.indexing import Matrix
    from cortex_actors.storage.insights import Finding
    from cortex_actors.storage.projects import FileState
    from cortex_actors.storage.records import Connection, Records


A = TypeVarTuple("A")
T = TypeVar("T")

#: Why a text is kept without a vector for now.
UNEMBEDDED = (EmbedderDown, BadInput, MailboxFull, ActorAway, DeadlineExceeded)

log = logging.getLogger("cortex.accumulator")


class Embed(Protocol):
    """Turns texts into unit vectors."""

    def __call__(self, texts: Sequence[str], *, model: str | None = None) -> Awaitable[Matrix]:
        """Return one row of that model for each text; raises one of `UNEMBEDDED` if it cannot."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file in hand; `run` is its audit row as far as it is known."""

    project: Project
    path: str
    run: runs.Run

    @property
    def dialect(self) -> Dialect | None:
        """How to read the file; None when it is none of ours."""
        relative = os.path.relpath(self.path, self.project.root)
        return None if pruned(relative) else dialect_of(relative)


class Accumulator(Consumer):
    """Reads several files at once, no path twice; a file is one transaction, whatever it says.

    The event is a hint: what counts is what lies at the path now. A file that cannot be read is a
    failed run and leaves what it said before as it was. Its project is the innermost one that holds
    it, whatever the event says. Text that cannot be embedded now is kept
    without a vector; the indexer embeds it when the model is there.
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
    ) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._settings = settings
        self._model = model
        self._embed = embed
        # Its own, because a share that hangs must cost nobody else a thread.
        self._threads = ThreadPoolExecutor(self.concurrency, "accumulator")

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics; the threads end with the actor, those that hang excepted."""
        self.actor_ref.on_end(partial(self._threads.shutdown, wait=False, cancel_futures=True))
        await super().on_start()

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
        if job.dialect is None:
            return await self._silenced(replace(job.run, state="failed", error=_foreign(job)))
        return await self._read(job, job.dialect)

    async def _read(self, job: Job, dialect: Dialect) -> Outcome:
        """Take in what a project's file says now."""
        limit = self._settings.max_file_bytes
        try:
            look = await reading.look(job.path, job.project, limit=limit, executor=self._threads)
        except (FileNotFoundError, NotADirectoryError):
            return await self._vanished(job)
        if look.data is None:
            return await self._failed(job, look.state)
        before, other = await self._records.read(
            lambda c: (projects.file(c, job.path), projects.file(c, look.real))
        )
        if other is not None and other.path != job.path and other.project_id == job.project.id:
            # Another name of a file that is known by its own: what it says is counted once.
            return await self._vanished(job)
        if before is not None and before.sha256 == look.state.sha256 and not before.error:
            return await self._stands(replace(job.run, state="unchanged"), look.state)
        try:
            findings = await self._on_thread(said, look.data, dialect, job.path, job.project.name)
        except BadInput as error:
            return await self._failed(job, replace(look.state, error=str(error)))
        return await self._changed(job, look.state, findings)

    async def on_scan(self, event: Event[ScanRequested]) -> Outcome:
        """Notice files that are known and no longer there; the watchlist finds those that are."""
        wanted = event.payload.project_id

        def known(connection: Connection) -> list[FileState]:
            return [
                state
                for project in projects.followed(connection)
                if wanted in (None, project.id)
                for state in projects.files(connection, project.id).values()
            ]

        states = await self._records.read(known)
        gone = await self._on_thread(_gone, states)
        return Outcome(
            say=[self.say(FILE_CHANGED, FileChanged(s.project_id, s.path)) for s in gone]
        )

    async def _changed(self, job: Job, state: FileState, findings: Sequence[Finding]) -> Outcome:
        """Make what the file says the ledger's."""
        owner, path = job.project.id, job.path
        vectors = await self._vectors(findings)
        # Read beforehand, because events are said in the outcome: the path is in our hand.
        other = await self._records.read(lambda c: insights.difference(c, path, owner, findings))
        at = self.desk.clock.now()

        def work(connection: Connection) -> None:
            insights.learn(connection, findings, project_id=owner, path=path, at=at)
            indexing.keep_vectors(connection, self._model, vectors)
            projects.saw(connection, state, at)

        run = replace(job.run, counts={"fragments": len(findings), "embedded": len(vectors)})
        # A new revision is new evidence for everything it still says, so that is weighed, too.
        weighed = {*other.changed, *(each.insight_id for each in findings)}
        return self._outcome(run, work, sorted(weighed))

    async def _failed(self, job: Job, state: FileState) -> Outcome:
        """Record why a file cannot be read; what it said before stands."""
        log.warning("%s", state.error)
        return await self._stands(replace(job.run, state="failed", error=state.error), state)

    async def _vanished(self, job: Job) -> Outcome:
        """Withdraw what a file said that is no longer there."""
        return await self._silenced(replace(job.run, counts={"vanished": 1}))

    async def _stands(self, run: runs.Run, state: FileState) -> Outcome:
        """Only note what a file looks like and whose it is: it may be another project's now."""
        path, owner, at = state.path, state.project_id, self.desk.clock.now()
        moved = await self._records.read(lambda c: sources.strangers(c, path, owner))

        def work(connection: Connection) -> None:
            sources.hand_over(connection, path, owner)
            projects.saw(connection, state, at)

        return self._outcome(run, work, sorted(moved))

    async def _silenced(self, run: runs.Run, *, say: Sequence[Event[Payload]] = ()) -> Outcome:
        """Withdraw what was said at a path, and forget the path."""
        path, at = run.path or "", self.desk.clock.now()
        before = await self._records.read(lambda c: sources.live(c, path))

        def work(connection: Connection) -> None:
            insights.silence(connection, path, at)
            projects.forget(connection, path)

        return self._outcome(run, work, sorted(set(before.values())), say)

    async def _vectors(self, findings: Sequence[Finding]) -> dict[bytes, Matrix]:
        """Return what can be embedded now, by the hash of the text."""
        texts = {
            each.text_hash: indexing.embedded_text(each.source.heading, each.content)
            for each in findings
        }
        if not texts:
            return {}
        try:
            rows = await self._embed(list(texts.values()), model=self._model)
        except UNEMBEDDED:
            return {}
        return dict(zip(texts, rows, strict=True))

    def _run(self, payload: FileChanged) -> runs.Run:
        """Return the audit row of a run that begins now."""
        now = self.desk.clock.now()
        return runs.Run(
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
        run: runs.Run,
        work: Work | None = None,
        changed_ids: Sequence[str] = (),
        say: Sequence[Event[Payload]] = (),
    ) -> Outcome:
        """Return a run's effects with its audit row, and the event that ends it."""
        ended = replace(run, finished_at=self.desk.clock.now())

        def all_of_it(connection: Connection) -> None:
            if work is not None:
                work(connection)
            runs.record(connection, ended)

        done = AccumulationComplete(run.id, run.project_id, tuple(changed_ids))
        return Outcome(all_of_it, [*say, self.say(ACCUMULATION_COMPLETE, done)])


def _foreign(job: Job) -> str:
    """Return the text for a file that instructs nobody here."""
    if pruned(os.path.relpath(job.path, job.project.root)):
        return (
            f"cannot read {job.path}: it lies in a folder of dependencies or of build output; "
            "move it to one of the project's own"
        )
    return (
        f"cannot read {job.path}: {Path(job.path).name} is not the name of an instruction "
        "file there; docs/cli.md lists them"
    )


def _gone(states: Sequence[FileState]) -> list[FileState]:
    """Return the states of files that are not there (on a thread)."""
    return [state for state in states if not os.path.lexists(state.path)]
