"""Accumulator: a changed instruction file becomes insights.

hears   file:changed, scan:requested
says    accumulation:complete, file:changed, scan:requested
asks    ledger, cache (vectors)
keeps   - (a file that is being read at a crash is handed out again)

Job: one instruction file that is being read, from its path to the reader of what it says.

Learning: what a file says becomes rows of the ledger, unless its source was taken back.

Looked up before, and once more in the transaction that writes: a file is read, and its texts are
embedded, while a person may revoke it. A text that is revoked is left out of whatever file says it.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.domain.event import AccumulationComplete, FileChanged, ScanRequested, split_ids
from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.project import Alert, AlertKind, Project, find_innermost, is_pruned
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.files.ignores import is_left_out
from cortex_actors.files.repository import find_origin
from cortex_actors.pipeline import reading
from cortex_actors.pipeline.likeness import Likeness, embed_texts
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import embeddings, insight_records, projects
from cortex_actors.storage.pipeline import insights, reviews
from cortex_actors.text.markdown import require_utf8
from cortex_actors.text.sections import Dialect, find_dialect, find_folder
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.project import Revocation
    from cortex_actors.sections import AccumulationSettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.pipeline.insights import Finding
    from cortex_actors.storage.search.matrix import Neighbours


#: How the names of files end that are one person's own, whatever their dialect.
PRIVATE = ".local.md"


@dataclass(frozen=True, slots=True)
class FileJob:
    """One file that is being read; `run` is its audit row as far as it is known."""

    project: Project
    path: str
    run: projects.PipelineRun

    @property
    def relative(self) -> str:
        """The file's path from the root of its project."""
        return os.path.relpath(self.path, self.project.root)

    @property
    def dialect(self) -> Dialect | None:
        """How to read the file; None when it is none of ours."""
        return None if is_pruned(self.relative) else find_dialect(self.relative)

    def explain_refusal(self) -> str:
        """Return the reason why a file is not read: it instructs no agent here."""
        if is_pruned(self.relative):
            return (
                f"cannot read {self.path}: it lies in a folder of dependencies or of build "
                "output; move it to one of the project's own"
            )
        if self.dialect is not None:
            return (
                f"cannot read {self.path}: git ignores its folder, or it lies in a linked "
                "worktree; take it out of .gitignore, or follow the folder by itself"
            )
        return (
            f"cannot read {self.path}: {Path(self.path).name} is not the name of an instruction "
            "file there; docs/cli.md lists them"
        )


def filter_allowed(connection: Connection, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings whose text was not taken back."""
    gone = reviews.load_revoked_insights(connection)
    return [each for each in findings if each.insight_id not in gone] if gone else findings


def silence(connection: Connection, path: str, at: int) -> dict[str, int]:
    """Withdraw everything a file said, and forget the file; return numbers for the audit.

    It is read again, whatever it looks like, as soon as that is allowed.
    """
    changed = insights.silence(connection, path, at)
    insight_records.end(connection, path, at)
    projects.forget(connection, path)
    return {"withdrawn": len(changed)}


def find_owner(connection: Connection, path: str) -> tuple[Project | None, Revocation | None]:
    """Return the project that holds a file, and what keeps the file from being taken in."""
    project = find_innermost(projects.list_followed(connection), path)
    return project, None if project is None else reviews.find_bar(connection, project.id, path)


def _placed(path: str, project: Project | None) -> tuple[str, bool]:
    """Return the one name of a file, and whether its project leaves its folder out. Blocks."""
    name = reading.resolve_place(path)
    return name, name == path and project is not None and is_left_out(project.root, path)


def load_known(
    connection: Connection, project_id: str | None
) -> tuple[list[Project], list[projects.FileState]]:
    """Return a followed project, or all of them, and what their files looked like."""
    followed = [
        each for each in projects.list_followed(connection) if project_id in (None, each.id)
    ]
    return followed, [
        state for each in followed for state in projects.load_files(connection, each.id).values()
    ]


def _told(said: reading.Said, findings: Sequence[Finding]) -> Sequence[Alert]:
    """Return the alerts of a file without those of texts that were taken back.

    A person has looked at these; a secret stays one.
    """
    if len(findings) == len(said.findings):
        return said.alerts
    kept = {each.source.spot for each in findings}
    gone = {
        (each.source.fragment_id, each.source.line_start)
        for each in said.findings
        if each.source.spot not in kept
    }
    return [
        each
        for each in said.alerts
        if each.kind is AlertKind.SECRET or (each.fragment_id, each.line_start) not in gone
    ]


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

    #: A file of 1 MiB may have thousands of sections, each embedded in some 20 ms.
    message_limit: ClassVar[float] = 600.0

    hears: ClassVar[Mapping[str, str]] = {FILE_CHANGED: "on_changed", SCAN_REQUESTED: "on_scan"}

    #: Files processed at once. Together they fill a batch of the embedder (20 texts) even if each
    #: has one statement: eight such files waited half a second for more. Each has 1 MiB at most.
    concurrency = 24

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: AccumulationSettings,
        model: str,
        embed: embeddings.Embed,
        neighbours: Neighbours,
    ) -> None:
        """Remember whom to ask."""
        super().__init__(desk)
        self._records = records
        self._settings = settings
        self._granularity = Granularity(settings.granularity)
        self._read_as = reading.READ_AS[self._granularity]
        self._model = model
        self._embed = embed
        self._likeness = Likeness(neighbours, merge=settings.merge)
        # Its own, because a share that hangs must cost no other actor a thread. A third of the
        # files is read or parsed at once; the others wait for the embedder.
        self._threads = Threads("accumulator", self.concurrency // 3)

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics; the threads end with the actor, those that hang excepted."""
        self.actor_ref.on_end(self._threads.close)
        await super().on_start()
        self.spawn(self._read_anew(), name="read again")

    async def on_changed(self, event: Event[FileChanged]) -> Outcome:
        """Learn what a file says now."""
        given = event.payload
        now, owner = self.desk.clock.now(), given.project_id
        run = projects.PipelineRun.from_moment(
            self.desk.name, now, project_id=owner, path=given.path
        )
        project, taken_back = await self._records.read(lambda c: find_owner(c, given.path))
        try:
            path, is_left_out = await self._threads.run(_placed, given.path, project)
        except BadInput as error:
            return self._outcome(replace(run, state="failed", error=str(error)))
        if path != given.path:
            # Under its one name, so that no file is read twice at a time.
            again = self.say(FILE_CHANGED, FileChanged(given.project_id, path))
            return await self._silenced(replace(run, counts={"renamed": 1}), say=[again])
        if project is None:
            reason = f"cannot read {path}: no project that holds it is followed; cortex init it"
            return self._outcome(replace(run, state="failed", error=reason))
        job = FileJob(project, path, replace(run, project_id=project.id))
        if job.dialect is None or is_left_out:
            return await self._silenced(
                replace(job.run, state="failed", error=job.explain_refusal())
            )
        if taken_back is not None:
            return await self._silenced(replace(job.run, counts={"revoked": 1}))
        return await self._read(job, job.dialect)

    async def on_scan(self, event: Event[ScanRequested]) -> Outcome:
        """Notice files that are known and no longer there; the watchlist finds those that are.

        It also looks again of which repository a project is a checkout.
        """
        wanted = event.payload.project_id
        followed, known = await self._records.read(lambda c: load_known(c, wanted))
        gone = await self._threads.run(lambda: [e for e in known if not os.path.lexists(e.path)])
        origins = await self._threads.run(
            lambda: {each.id: find_origin(each.root) for each in followed}
        )
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

    async def _read(self, job: FileJob, dialect: Dialect) -> Outcome:
        """Learn what a project's file says now."""
        limit, pool = self._settings.max_file_bytes, self._threads.pool
        try:
            look = await reading.read_file_state(job.path, job.project, limit=limit, executor=pool)
        except (FileNotFoundError, NotADirectoryError):
            return await self._vanished(job)
        state = replace(look.state, read_as=self._read_as)
        if look.data is None:
            return await self._failed(job, state)
        before, other = await self._records.read(
            lambda c: (
                projects.load_file(c, job.path),
                None if look.real == job.path else projects.load_file(c, look.real),
            )
        )
        if other is not None and other.project_id == job.project.id:
            # Another name of a file that is known by its own: what it says is counted once.
            return await self._vanished(job)
        # Another project's now: what it says holds elsewhere, so it is read again.
        is_ours = before is not None and before.project_id == state.project_id
        if before is not None and is_ours and before.says_as(state):
            return await self._stands(replace(job.run, state="unchanged"), state)
        try:
            require_utf8(look.data, path=job.path)
            folder, name = find_folder(job.relative), job.project.name
            reader = reading.FileReader(dialect, job.path, name, self._granularity, folder)
            said = await self._threads.run(reader.read, look.data)
        except BadInput as error:
            return await self._failed(job, replace(state, error=str(error)))
        return await self._changed(job, state, said)

    async def _changed(
        self, job: FileJob, state: projects.FileState, said: reading.Said
    ) -> Outcome:
        """Make what the file says the ledger's."""
        path, owner = state.path, state.project_id
        texts = {each.text_hash: each.embedded for each in said.findings}
        found = await embed_texts(self._embed, texts, model=self._model)

        def look(connection: Connection) -> tuple[dict[str, str], set[str]]:
            some = filter_allowed(connection, said.findings)
            changed = set(insights.compare_file(connection, path, owner, some))
            revision = next((each.source.file_hash for each in some), "")
            if not insights.has_seen(connection, path, revision):
                # A new revision, by anyone but us, is new evidence for everything it still says.
                changed |= {each.insight_id for each in said.findings}
            # Last, because it may compute for long. A person's own file stays in its project.
            is_shared = not path.endswith(PRIVATE)
            alike: dict[str, str] = {}
            if is_shared:
                alike = self._likeness.find_same(connection, said.findings, vectors=found)
            return alike, changed.union(alike.values())

        # Read beforehand, because events are said in the outcome: the path is in our hand.
        same, changed = await self._records.read(look)
        at = self.desk.clock.now()

        def work(connection: Connection) -> Mapping[str, int]:
            if reviews.find_bar(connection, owner, path) is not None:
                return silence(connection, path, at)
            findings = filter_allowed(connection, said.findings)
            learned = insights.learn(
                connection, findings, project_id=owner, path=path, at=at, same=same
            )
            insight_records.note(connection, path, _told(said, findings), project_id=owner, at=at)
            rows = {e.text_hash: found[e.text_hash] for e in findings if e.text_hash in found}
            embeddings.keep_vectors(connection, self._model, rows)
            projects.note_file(connection, state, at)
            return {**learned, "revoked": len(said.findings) - len(findings)}

        run = replace(job.run, counts={**said.counts, "embedded": len(found)})
        return self._outcome(run, work, sorted(changed))

    async def _failed(self, job: FileJob, state: projects.FileState) -> Outcome:
        """Record why a file cannot be read; what it said before stays."""
        log.warning("%s", state.error)
        return await self._stands(replace(job.run, state="failed", error=state.error), state)

    async def _vanished(self, job: FileJob) -> Outcome:
        """Withdraw what a file said that is no longer there."""
        return await self._silenced(replace(job.run, counts={"vanished": 1}))

    async def _stands(self, run: projects.PipelineRun, state: projects.FileState) -> Outcome:
        """Only note what a file looks like and whose it is: it may be another project's now."""
        path, owner, at = state.path, state.project_id, self.desk.clock.now()
        moved = await self._records.read(lambda c: insights.find_strangers(c, path, owner))

        def work(connection: Connection) -> None:
            insights.hand_over(connection, path, project_id=owner, at=at)
            projects.note_file(connection, state, at)

        return self._outcome(run, work, sorted(moved))

    async def _silenced(
        self, run: projects.PipelineRun, *, say: Sequence[Event[Payload]] = ()
    ) -> Outcome:
        """Withdraw what was said at a path, and forget the path."""
        path, at = run.path or "", self.desk.clock.now()
        before = await self._records.read(lambda c: insights.compare_file(c, path, "", ()))

        def work(connection: Connection) -> None:
            silence(connection, path, at)

        return self._outcome(run, work, before, say)

    def _outcome(
        self,
        run: projects.PipelineRun,
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
            for some in split_ids(changed_ids, NAMED) or [()]
        ]
        return Outcome(all_of_it, [*say, *done])
