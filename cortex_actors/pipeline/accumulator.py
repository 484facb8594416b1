"""Accumulator: a changed instruction file becomes insights.

hears   file:changed, scan:requested
says    accumulation:complete, file:changed
asks    ledger, cache (vectors)
keeps   nothing (a file in hand when it crashes is handed out again)
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome, Work
from cortex_actors.clock import ulid
from cortex_actors.domain.insight import InsightSource, insight_id, section_hash
from cortex_actors.domain.payload import AccumulationComplete, FileChanged, ScanRequested
from cortex_actors.errors import BadInput, EmbedderDown, MailboxFull
from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.pipeline import reading
from cortex_actors.rules.classification import classify
from cortex_actors.storage import indexing, insights, projects, runs
from cortex_actors.storage.insights import Finding
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from cortex_actors.domain.event import Event
    from cortex_actors.domain.fragment import Fragment
    from cortex_actors.domain.project import Project
    from cortex_actors.settings import AccumulationSettings
    from cortex_actors.storage.indexing import Matrix
    from cortex_actors.storage.projects import FileState
    from cortex_actors.storage.records import Connection, Records


class Embed(Protocol):
    """Turns texts into unit vectors."""

    def __call__(self, texts: Sequence[str]) -> Awaitable[Matrix]:
        """Return one row for each text; raises `EmbedderDown` when it cannot."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file in hand; `run` is its audit row as far as it is known."""

    project: Project
    path: str
    run: runs.Run


class Accumulator(Consumer):
    """Reads several files at once, no path twice; a file is one transaction, whatever it says.

    The event is a hint: what counts is what lies at the path now. A file that cannot be read is a
    failed run and leaves what it said before as it was. Text that cannot be embedded now is kept
    without a vector; the indexer embeds it when the model is there.
    """

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

    async def on_changed(self, event: Event[FileChanged]) -> Outcome:
        """Take in what a file says now."""
        payload = event.payload
        run = self._run(payload)
        project = await self._records.read(lambda c: projects.find(c, payload.project_id))
        if project is None:
            reason = f"cannot read {payload.path}: its project is not followed; cortex init it"
            return self._outcome(replace(run, state="failed", error=reason))
        job = Job(project, payload.path, run)
        try:
            look = await reading.look(job.path, project, limit=self._settings.max_file_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return self._vanished(job)
        if look.data is None:
            return self._failed(job, look.state)
        before, other = await self._records.read(
            lambda c: (projects.file(c, job.path), projects.file(c, look.real))
        )
        if other is not None and other.path != job.path and other.project_id == project.id:
            # Another name of a file that is known by its own: what it says is counted once.
            return self._vanished(job)
        if before is not None and before.sha256 == look.state.sha256 and not before.error:
            return self._unchanged(job, look.state)
        return await self._changed(job, look.state, look.data)

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
        gone = await asyncio.to_thread(_gone, states)
        return Outcome(
            say=[self.say(FILE_CHANGED, FileChanged(s.project_id, s.path)) for s in gone]
        )

    async def _changed(self, job: Job, state: FileState, data: bytes) -> Outcome:
        """Make what the file says the ledger's."""
        try:
            findings = await asyncio.to_thread(_findings, job, data)
        except BadInput as error:
            return self._failed(job, replace(state, error=str(error)))
        vectors = await self._vectors(findings)
        at = self.desk.clock.now()

        def work(connection: Connection) -> None:
            insights.learn(connection, findings, project_id=job.project.id, path=job.path, at=at)
            indexing.keep_vectors(connection, self._model, vectors)
            projects.saw(connection, state, at)

        run = replace(job.run, counts={"fragments": len(findings), "embedded": len(vectors)})
        return self._outcome(run, work, sorted({each.insight_id for each in findings}))

    def _unchanged(self, job: Job, state: FileState) -> Outcome:
        """Only note what the file looks like: its bytes are those we know."""
        at = self.desk.clock.now()
        return self._outcome(
            replace(job.run, state="unchanged"), lambda c: projects.saw(c, state, at)
        )

    def _failed(self, job: Job, state: FileState) -> Outcome:
        """Record why a file cannot be read; what it said before stands."""
        at = self.desk.clock.now()
        run = replace(job.run, state="failed", error=state.error)
        return self._outcome(run, lambda c: projects.saw(c, state, at))

    def _vanished(self, job: Job) -> Outcome:
        """Withdraw what a file said that is no longer there."""
        at = self.desk.clock.now()

        def work(connection: Connection) -> None:
            insights.silence(connection, job.path, at)
            projects.forget(connection, job.path)

        return self._outcome(replace(job.run, counts={"vanished": 1}), work)

    async def _vectors(self, findings: Sequence[Finding]) -> dict[bytes, Matrix]:
        """Return what can be embedded now, by the hash of the text."""
        texts = {
            each.text_hash: indexing.embedded_text(each.source.heading, each.content)
            for each in findings
        }
        if not texts:
            return {}
        try:
            rows = await self._embed(list(texts.values()))
        except (EmbedderDown, BadInput, MailboxFull):
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

    def _outcome(
        self, run: runs.Run, work: Work | None = None, changed_ids: Sequence[str] = ()
    ) -> Outcome:
        """Return a run's effects with its audit row, and the event that ends it."""
        ended = replace(run, finished_at=self.desk.clock.now())

        def all_of_it(connection: Connection) -> None:
            if work is not None:
                work(connection)
            runs.record(connection, ended)

        done = AccumulationComplete(run.id, run.project_id, tuple(changed_ids))
        return Outcome(all_of_it, [self.say(ACCUMULATION_COMPLETE, done)])


def _findings(job: Job, data: bytes) -> list[Finding]:
    """Return what a file says (on a thread: a large file takes a while)."""
    relative = os.path.relpath(job.path, job.project.root)
    dialect = dialect_of(relative)
    if dialect is None:
        message = (
            f"cannot read {job.path}: {Path(relative).name} is not the name of an "
            "instruction file; docs/cli.md lists them"
        )
        raise BadInput(message)
    fragments = dialect.parse(data, path=job.path, project=job.project.name)
    return [_finding(fragment) for fragment in fragments]


def _finding(fragment: Fragment) -> Finding:
    """Return a section as the insight it is (granularity `section`)."""
    digest = section_hash(fragment.content)
    kind = classify(fragment.content, fragment.heading)
    text = indexing.embedded_text(fragment.heading, fragment.content)
    return Finding(
        insight_id=insight_id(digest),
        content=fragment.content,
        content_hash=digest,
        category=str(kind.category),
        tags=kind.tags,
        domain=kind.domain,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
        source=InsightSource.of(insight_id(digest), fragment),
    )


def _gone(states: Sequence[FileState]) -> list[FileState]:
    """Return the states of files that are not there (on a thread)."""
    return [state for state in states if not os.path.lexists(state.path)]
