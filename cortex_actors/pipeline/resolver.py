"""Resolver: what is known, brought back into instruction files.

hears   organisation:complete, resolution:requested
says    resolution:requested, resolution:complete
asks    ledger, cache (vectors), tasks (which a resolve is one of)
keeps   - (a file is whole after a crash; the next life ends the write that was begun)

Errands: from a wish to the files that it is about, and to what came of each of them.

Planning: which files a wish is about, each with the formatter that writes it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import posixpath
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias
from weakref import ref

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.agent import OWNER
from cortex_actors.domain.event import Event, OrganisationComplete, Payload, ResolutionRequested
from cortex_actors.domain.principle import Ending, ResolutionReport, ResolutionWish, Unwritten
from cortex_actors.domain.project import Approval, Decision, DecisionWay, Project, find_innermost
from cortex_actors.errors import BadInput, NotFound, NotWritten, UnknownProject
from cortex_actors.files.place import Pace
from cortex_actors.files.swap import WriteEntry, insist
from cortex_actors.files.writer import FileWriter, WriteTarget
from cortex_actors.pipeline import reading, resolution
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.pipeline.resolution import (
    Finished,
    Maker,
    Resolving,
    is_outdated,
    make_failed,
    make_finished,
)
from cortex_actors.pipeline.selection import (
    Assignment,
    Offer,
    find_present,
    hash_offer,
    load_offer,
    read,
)
from cortex_actors.render import fence, section
from cortex_actors.render.section import PLACES, Formatter, Present, Target, Targets, choose_targets
from cortex_actors.runtime.tasks import ALONE, TaskSupervisor
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import projects
from cortex_actors.storage.events import Publisher, store
from cortex_actors.storage.pipeline import principles, resolutions, reviews
from cortex_actors.storage.tables.dialect import execute
from cortex_actors.topics import ORGANISATION_COMPLETE, RESOLUTION_COMPLETE, RESOLUTION_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.principle import Derivation, Principle, Resolved
    from cortex_actors.sections import ReconciliationSettings, ResolutionSettings
    from cortex_actors.storage.embeddings import Embed
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.pipeline.resolutions import Resolution


def plan(project: Project, wish: ResolutionWish, present: Iterable[Present]) -> Targets:
    """Return which files of a project are written for a wish, and which are left alone.

    Raises `NotFound` for an agent without a formatter, and `BadInput` for a file of no agent.
    """
    relative = os.path.relpath(wish.path, project.root)
    if relative == ".":
        return choose_targets(present, agent=wish.agent, create=wish.create)
    named = find_target(project, wish)
    found = choose_targets(present, agent=named.formatter.name, create=wish.create)
    mine = tuple(each for each in found.write if each.path == relative)
    left = tuple(each for each in found.left if each.path == relative)
    if mine or left:
        return Targets(mine, () if mine else left)
    # Another file of the agent's comes first; the one that was named is written all the same.
    return Targets((named,))


def find_target(project: Project, wish: ResolutionWish) -> Target:
    """Return the file that a wish names, as one that is there; raises `NotFound`, `BadInput`."""
    relative = os.path.relpath(wish.path, project.root)
    return Target(relative, _formatter(wish.path, relative, wish.agent))


def explain_refusal(project: Project, left: Unwritten) -> str:
    """Return why a file was left alone, as a sentence."""
    return f"{posixpath.join(project.root, left.path)} {left.reason}"


def _formatter(path: str, relative: str, agent: str | None) -> Formatter:
    """Return who writes a file; raises `NotFound` and `BadInput`."""
    wanted = None if agent is None else section.find(agent)
    found = section.find_by_place(relative)
    if found is None:
        raise BadInput(f"cannot resolve into {path}: {_nobodys(path, relative)}")
    if wanted is not None and wanted is not found:
        raise BadInput(
            f"cannot resolve into {path} for {wanted.name}: it is read by {found.name}; leave "
            "--agent out, or give the project's root"
        )
    return found


def _nobodys(path: str, relative: str) -> str:
    """Return why a file is not written, and what to do about it."""
    if section.find_by_place(posixpath.basename(relative)) is None:
        return f"no agent reads it; there are {', '.join(PLACES)}"
    folder = posixpath.dirname(path)
    return f"it is not at its project's root; follow its folder by itself: cortex init {folder}"


#: Writes down what came of a file.
Keep: TypeAlias = "Callable[[Finished], Awaitable[None]]"

#: Files that are updated at once.
AT_ONCE = 8


#: The files that a wish is about, and those that are left alone.
FoundFiles: TypeAlias = "tuple[list[Assignment], list[Unwritten]]"


class FileUpdater:
    """Finds the files of a wish and has each brought up to date.

    One file may be updated twice at a time; then it is written by one after the other.
    """

    def __init__(
        self, records: Records, resolving: Resolving, maker: Maker, *, clock: Clock
    ) -> None:
        """Remember whom to ask."""
        self._records = records
        self._resolving = resolving
        self._maker = maker
        self._clock = clock
        self._offer: Callable[[], Offer | None] = lambda: None
        self.on_thread = resolving.run

    async def offer(self) -> Offer:
        """Return the principles that files may be given now."""
        await self.on_thread(self._maker.ruling.read)
        return await self._records.read(self._offered)

    async def preview_offer(self, principle: Principle, owed: Sequence[Derivation]) -> Offer:
        """Return what files would be given if a person approved a principle now."""
        await self.on_thread(self._maker.ruling.read)
        said = Approval(
            principle.id, Decision.APPROVED, self._clock.now(), OWNER.by, DecisionWay.REVIEW
        )

        def suppose(connection: Connection) -> Offer:
            execute(connection, "SAVEPOINT supposed")
            try:
                principles.add(connection, [principle])
                principles.derive(connection, owed)
                reviews.decide_approval(connection, said)
                return load_offer(connection, self._maker.model)
            finally:
                execute(connection, "ROLLBACK TO supposed")
                execute(connection, "RELEASE supposed")

        return await self._records.write(suppose)

    async def offer_name(self) -> Offer:
        """Return what files may be given now by its name alone: for `list_changed`."""
        await self.on_thread(self._maker.ruling.read)
        return Offer(name=await self._records.read(lambda c: hash_offer(c, self._maker.model)))

    async def find(self, project: Project, wish: ResolutionWish) -> FoundFiles:
        """Return which files a wish is about; raises `NotFound` and `BadInput`."""
        there = await self.on_thread(partial(find_present, own=project.is_own), project.root)
        # No agent would read a file in the home folder itself.
        found = plan(project, replace(wish, create=wish.create and not project.is_own), there)
        embed = self._resolving.get_embed()
        jobs = [Assignment(project, e.formatter, e, wish, there, embed) for e in found.write]
        if wish.text_only and not jobs:
            reader = (
                section.find(wish.agent) if wish.agent else find_target(project, wish).formatter
            )
            return [Assignment(project, reader, None, wish, there)], []
        return jobs, [Unwritten(e.path, e.agent, explain_refusal(project, e)) for e in found.left]

    async def list_changed(self, project: Project, given: Offer) -> list[Assignment]:
        """Return the files of a project whose section is made of something else by now."""
        jobs, _ = await self.find(project, ResolutionWish(project.root))
        known = await self._records.read(lambda c: resolutions.load_of_project(c, project.id))
        return [
            job
            for job in jobs
            if await self._differs(job, known.get((job.path, job.formatter.name)), given)
        ]

    async def grant(self, project: Project, wish: ResolutionWish) -> list[Finished]:
        """Do what is wished in a project; what is named and not written is a failed run.

        Raises `NotFound` and `BadInput`.
        """
        jobs, left = await self.find(project, wish)
        if jobs:
            return await self.run_all(jobs, await self.offer())
        return _left_alone(left, project, wish, at=self._clock.now())

    async def run_all(
        self, jobs: Sequence[Assignment], given: Offer, *, keep: Keep | None = None
    ) -> list[Finished]:
        """Bring files up to date, several at once: most of the time each waits for its file.

        Each is handed to `keep` as soon as it is done. What one of them raises is raised when all
        have ended: what was written of the others is kept.
        """
        enough = asyncio.Semaphore(AT_ONCE)

        async def one(job: Assignment) -> Finished:
            async with enough:
                done = await self.run(job, given)
                if keep is not None and not job.wish.text_only:
                    await keep(done)
                return done

        ended = await asyncio.gather(*(one(job) for job in jobs), return_exceptions=True)
        done = [each for each in ended if not isinstance(each, BaseException)]
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return done

    async def run(self, job: Assignment, given: Offer) -> Finished:
        """Bring a file up to date; return what is to be kept of that."""
        began = self._clock.now()
        target, known = await self._target(job, began)
        ours = "" if known is None else known.section
        done = await self._resolving.resolve(job, given, target=target, ours=ours)
        inputs = await self._inputs(job, given) if done.inputs is None else done.inputs
        times = began, self._clock.now()
        return make_finished(job, done, run_id=target.run_id, inputs=inputs, times=times)

    async def undo(self, project: Project, path: str) -> Finished:
        """Take the newest write into a file back; return what is to be kept of that.

        The section that is there then is not overwritten by itself before it would be made of
        something else. Raises refusals, `Refused` where what was taken back would come back with
        it, and `BadInput` for a file that is not ours to write.
        """
        await self._records.read(lambda c: resolution.refuse(c, path))
        began = self._clock.now()
        wish = ResolutionWish(path)
        named = find_target(project, wish)
        job = Assignment(project, named.formatter, named, wish)
        target, known = await self._target(job, began)
        there = await self._records.read(lambda c: resolutions.load_bullets(c, path, target.agent))
        done = await self._resolving.undo(job, target=target, standing=there)
        done = replace(done, resolved=await self._with_older(done.resolved))
        inputs = known.inputs if known is not None else ""
        times = began, self._clock.now()
        made = make_finished(job, done, run_id=target.run_id, inputs=inputs, times=times)
        if done.is_edited and made.row is not None:
            # What a human wrote there must not pass for ours: it would be lost as that.
            ours = known.section if known is not None else ""
            made = replace(made, row=replace(made.row, section=ours))
        return made

    async def _with_older(self, found: Resolved) -> Resolved:
        """Return what came of an undo with the bullets that stood only in the older section."""
        given = {each.text: each for each in found.bullets}
        lines = [each for each in found.section.split("\n") if each.startswith(resolution.BULLET)]
        some = [each for each in lines if each not in given]
        older = (
            await self._records.read(lambda c: resolution.match_bullets(c, some)) if some else []
        )
        given |= {each.text: each for each in older}
        return replace(found, bullets=tuple(given[each] for each in lines if each in given))

    def _offered(self, connection: Connection) -> Offer:
        """Return what files may be given now; what other updates use is not read again."""
        known = self._offer()
        if known is None or known.name != hash_offer(connection, self._maker.model):
            known = load_offer(connection, self._maker.model)
            # Some MB of it are freed once no file is being updated.
            self._offer = ref(known)
        return known

    async def _target(self, job: Assignment, began: int) -> tuple[WriteTarget, Resolution | None]:
        """Return what is to be written, and how it stood the last time."""
        path, agent = job.path, job.formatter.name

        def look(connection: Connection) -> tuple[Resolution | None, projects.FileState | None]:
            return resolutions.find(connection, path, agent), projects.load_file(connection, path)

        known, state = await self._records.read(look)
        target = WriteTarget(
            root=job.project.root,
            path=path,
            project_id=job.project.id,
            agent=agent,
            run_id=f"run_{make_ulid(began)}",
            known=None if state is None else state.size,
            create=job.is_new,
        )
        return target, known

    async def _differs(self, job: Assignment, known: Resolution | None, given: Offer) -> bool:
        """Tell whether a file has to be looked at again."""
        if known is None or known.inputs != await self._inputs(job, given):
            return True
        return known.ending is not Ending.EDITED and await self.on_thread(_edited, job)

    async def _inputs(self, job: Assignment, given: Offer) -> str:
        """Return the name of all that a file's section would be made of now."""
        data = job.get_base(await self.on_thread(read, job.path))
        return await self.on_thread(self._maker.hash_inputs, job, data, given)


def _edited(job: Assignment) -> bool:
    """Tell whether a human wrote inside our section. Blocks."""
    try:
        standing = fence.find(read(job.path) or b"", path=job.path)
    except (NotWritten, BadInput):
        return False
    return standing is not None and not standing.intact


def _left_alone(
    left: Sequence[Unwritten], project: Project, wish: ResolutionWish, *, at: int
) -> list[Finished]:
    """Return failed runs for what was named and is not written."""
    reason = f"there is no instruction file to write in {project.root}; --create makes one"
    some = left or (Unwritten(wish.path, wish.agent or "", reason),)
    return [
        make_failed(wish.path, each.agent, each.reason, at=at, project_id=project.id)
        for each in some
    ]


#: Threads that read, compare and write files; a disk that hangs holds up none but these.
THREADS = 4

log = logging.getLogger("cortex.resolver")


class Resolver(Consumer):
    """Writes into the files of projects that opted in, and where a user asks for it.

    After principles were distilled it asks itself for each file of a project that opted in, and
    only where something that the section is made of has changed; each such file is an event of its
    own, so that one that cannot be written holds up no other. A wish that is about no file of ours
    is a failed run.
    """

    #: Wake-ups, of which one waits at most, and what people ask for.
    mailbox_limit = 64

    #: A file of 1 MiB may have thousands of statements, each embedded in some 20 ms.
    message_limit: ClassVar[float] = 600.0

    hears: ClassVar[Mapping[str, str]] = {
        ORGANISATION_COMPLETE: "on_organised",
        RESOLUTION_REQUESTED: "on_requested",
    }

    #: Files that are updated at once; most of the time each waits for its file to come to rest.
    concurrency = 4

    def __init__(
        self,
        desk: Desk,
        records: Records,
        *,
        settings: ResolutionSettings,
        reconciliation: ReconciliationSettings,
        model: str,
        embed: Embed,
        count: Callable[[str], int],
        tables: Path | None = None,
        tasks: TaskSupervisor = ALONE,
    ) -> None:
        """Remember whom to ask.

        `reconciliation` says from which likeness on claims are judged, `count` counts the tokens of
        a text, and `tables` are the user's own rules, if there are any.
        """
        super().__init__(desk)
        self._records = records
        self._publisher = Publisher(desk.bus, records, desk.name)
        self._tasks = tasks
        self._threads = Threads("resolver", THREADS)
        pace = Pace(settings.settle_ms / 1_000, settings.settle_limit_s, settings.grace_s)
        self._writer = FileWriter(
            projects.Writes(records, desk.clock),
            desk.clock,
            spawn=partial(self.spawn, name="watch"),
            pace=pace,
            threads=self._threads,
            late=self._late,
        )
        maker = Maker(settings, model, Ruling(reconciliation, model, tables), count)
        resolving = Resolving(self._writer, maker, embed=embed, threads=self._threads)
        self._errands = FileUpdater(records, resolving, maker, clock=desk.clock)

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics, and end the writes that an earlier life began."""
        self.actor_ref.on_end(self._threads.close)
        await super().on_start()
        self.spawn(self._recover(), name="recover")

    async def on_organised(self, _event: Event[OrganisationComplete]) -> Outcome:
        """Ask for every file of a project that opted in whose section is made of other things."""
        opted = await self._records.read(projects.list_resolving)
        if not opted:
            return Outcome()
        name = await self._errands.offer_name()
        due = [job for each in opted for job in await self._errands.list_changed(each, name)]
        return Outcome(
            say=[
                self.say(RESOLUTION_REQUESTED, ResolutionRequested(job.path, job.formatter.name))
                for job in due
            ]
        )

    async def on_requested(self, event: Event[ResolutionRequested]) -> Outcome:
        """Bring a file up to date, or the file of an agent in a project's root."""
        given = event.payload
        try:
            path = await self._errands.on_thread(reading.resolve_place, given.path)
            project = await self._project(path)
            # A file says itself who reads it; an agent is named even by who means any.
            agent = given.agent if path == project.root else None
            wish = ResolutionWish(path, agent, dry_run=given.dry_run, refresh=given.refresh)
            done = await self._errands.grant(project, wish)
            _tell(done)
        except (BadInput, NotFound) as error:
            done = [make_failed(given.path, given.agent, str(error), at=self.desk.clock.now())]
        said = [self.say(RESOLUTION_COMPLETE, each.said) for each in done]
        return Outcome(partial(self._kept, done=done), said)

    def resolve(self, wishes: Sequence[ResolutionWish]) -> asyncio.Task[ResolutionReport]:
        """Resolve the wishes, each with the absolute path of a file or of a project's root.

        What cannot be written is said in the report. Raises `UnknownProject`, `NotFound` and
        `BadInput` for a path or an agent without a formatter, and nothing is done then.
        """
        work = partial(self._resolved, wishes)
        return self.spawn(self._tasks.run("resolve", work), name="resolve")

    def preview(
        self, principle: Principle, owed: Sequence[Derivation]
    ) -> asyncio.Task[ResolutionReport]:
        """Return what approving a principle would write into followed projects' files.

        It need not be one yet; nothing is written, neither into a file nor into the ledger.
        """
        return self.spawn(self._previewed(principle, owed), name="preview")

    def undo(self, path: str) -> asyncio.Task[Resolved]:
        """Take the newest write into a file back; what a human wrote since stays.

        Raises a refusal, `NothingToUndo` where there is none; `UnknownProject`.
        """
        return self.spawn(self._undone(path), name="undo")

    async def _resolved(self, wishes: Sequence[ResolutionWish]) -> ResolutionReport:
        """Do it, several files at once."""
        pairs = [(await self._project(each.path), each) for each in wishes]
        found = [await self._errands.find(*pair) for pair in pairs]
        offer = await self._errands.offer()
        jobs = [job for some, _ in found for job in some]
        done = await self._errands.run_all(jobs, offer, keep=self._commit)
        return ResolutionReport(
            tuple(each.resolved for each in done if each.resolved is not None),
            tuple(each for _, some in found for each in some),
        )

    async def _previewed(
        self, principle: Principle, owed: Sequence[Derivation]
    ) -> ResolutionReport:
        """Do it."""
        followed = await self._records.read(projects.list_written)
        offer = await self._errands.preview_offer(principle, owed)
        found = [
            await self._errands.find(each, ResolutionWish(each.root, dry_run=True))
            for each in followed
        ]
        done = await self._errands.run_all([job for some, _ in found for job in some], offer)
        files = [each.resolved for each in done if each.resolved is not None]
        return ResolutionReport(
            tuple(e for e in files if principle.id in {b.principle_id for b in e.bullets}), ()
        )

    async def _undone(self, path: str) -> Resolved:
        """Undo it, and write the state of the file."""
        real = await self._errands.on_thread(reading.resolve_place, path)
        done = await self._errands.undo(await self._project(real), real)
        await self._commit(done)
        assert done.resolved is not None  # noqa: S101 - undone, or it raised
        return done.resolved

    async def _project(self, path: str) -> Project:
        """Return the followed project that a path belongs to; raises `UnknownProject`."""
        found = find_innermost(await self._records.read(projects.list_followed), path)
        if found is None:
            message = f"cannot resolve {path}: no project that holds it is followed; cortex init it"
            raise UnknownProject(message)
        return found

    async def _commit(self, done: Finished) -> None:
        """Write what was asked for and done, and publish it, in one transaction."""
        complete = self.say(RESOLUTION_COMPLETE, done.said)

        await self._publisher.write(lambda c: (None, [*self._kept(c, done=[done]), complete]))

    async def _late(self, entry: WriteEntry) -> None:
        """Have a file looked at again that holds a human's text after all."""
        again = ResolutionRequested(entry.path, entry.agent)
        await self.desk.bus.publish(RESOLUTION_REQUESTED, again, source=self.desk.name)

    async def _recover(self) -> None:
        """End the writes that an earlier life began; each is ended before its file is written."""
        for each in await self._writer.recover():
            log.info("a write into %s that was cut off is %s", each.path, each.state)
        # Written, and cut off before the row said what the file holds: it would have no provenance.
        unknown = partial(self._records.read, projects.list_unknown)
        for path, agent in await insist(unknown, self.desk.clock):
            again = ResolutionRequested(path, agent, refresh=True)
            await self.desk.bus.publish(RESOLUTION_REQUESTED, again, source=self.desk.name)

    def _kept(self, connection: Connection, *, done: Sequence[Finished]) -> list[Event[Payload]]:
        """Write down what came of files; return what was said because some are out of date.

        A revocation during a file's update did not see the file, which now holds what was taken
        back. One that comes after this transaction sees its row.
        """
        again = []
        for each in done:
            each.write(connection)
            if is_outdated(connection, each):
                path, agent = each.run.path or "", each.run.agent or ""
                wish = ResolutionRequested(path, agent, refresh=True)
                again.append(self.say(RESOLUTION_REQUESTED, wish))
        return store(connection, again) if again else []


def _tell(done: Sequence[Finished]) -> None:
    """Log of which files something was left out that no person has approved."""
    for each in done:
        waiting = each.run.counts.get("unapproved", 0)
        if waiting:
            log.info("%s: %d not approved, left out: cortex review", each.run.path, waiting)
