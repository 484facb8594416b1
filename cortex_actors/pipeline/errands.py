"""Errands: from a wish to the files that it is about, and to what came of each of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from weakref import ref

from cortex_actors.clock import ulid
from cortex_actors.domain.principle import Ending, Unwritten, Wish
from cortex_actors.errors import BadInput
from cortex_actors.files.writer import WriteTarget
from cortex_actors.pipeline import comeback
from cortex_actors.pipeline.assignment import Assignment
from cortex_actors.pipeline.choosing import Offer
from cortex_actors.pipeline.offers import name_of, offer
from cortex_actors.pipeline.planning import named_by, plan, refusal
from cortex_actors.pipeline.presence import present, read
from cortex_actors.pipeline.resolved import Finished, failed, finished
from cortex_actors.refusals import NotWritten
from cortex_actors.render import fence, section
from cortex_actors.storage import projects, resolutions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.principle import Resolved
    from cortex_actors.domain.project import Project
    from cortex_actors.pipeline.resolving import Resolving
    from cortex_actors.pipeline.section import Maker
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.projects import FileState
    from cortex_actors.storage.resolutions import Resolution

#: Writes down what came of a file.
Keep: TypeAlias = "Callable[[Finished], Awaitable[None]]"

#: Files in hand at once.
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Found:
    """The files that a wish is about, and those that are left alone."""

    jobs: tuple[Assignment, ...] = ()
    left: tuple[Unwritten, ...] = ()


class Errands:
    """Finds the files of a wish and has each brought up to date.

    One file may be in hand twice at a time; then it is written by one after the other.
    """

    def __init__(
        self,
        records: Records,
        resolving: Resolving,
        maker: Maker,
        *,
        clock: Clock,
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

    async def offer_name(self) -> Offer:
        """Return what files may be given now by its name alone: for `changed`."""
        await self.on_thread(self._maker.ruling.read)
        return Offer(name=await self._records.read(lambda c: name_of(c, self._maker.model)))

    async def find(self, project: Project, wish: Wish) -> Found:
        """Return which files a wish is about; raises `NotFound` and `BadInput`."""
        there = await self.on_thread(partial(present, project.root))
        found = plan(project, wish, there)
        embed = self._resolving.shared()
        jobs = [Assignment(project, e.formatter, e, wish, there, embed) for e in found.write]
        if wish.text_only and not jobs:
            reader = section.find(wish.agent) if wish.agent else named_by(project, wish).formatter
            return Found((Assignment(project, reader, None, wish, there),))
        left = [Unwritten(e.path, e.agent, refusal(project, e)) for e in found.left]
        return Found(tuple(jobs), tuple(left))

    async def changed(self, project: Project, given: Offer) -> list[Assignment]:
        """Return the files of a project whose section is made of something else by now."""
        found = await self.find(project, Wish(project.root))
        known = await self._records.read(lambda c: resolutions.resolved_of_project(c, project.id))
        return [
            job
            for job in found.jobs
            if await self._differs(job, known.get((job.path, job.formatter.name)), given)
        ]

    async def grant(self, project: Project, wish: Wish) -> list[Finished]:
        """Do what is wished in a project; what is named and not written is a failed run.

        Raises `NotFound` and `BadInput`.
        """
        found = await self.find(project, wish)
        if found.jobs:
            return await self.run_all(found.jobs, await self.offer())
        return _left_alone(found, project, wish, at=self._clock.now())

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
        inputs = done.section.inputs if done.section else await self._inputs(job, given)
        times = began, self._clock.now()
        return finished(job, done, run_id=target.run_id, inputs=inputs, times=times)

    async def undo(self, project: Project, path: str) -> Finished:
        """Take the newest write into a file back; return what is to be kept of that.

        The section that stands there then is not written over by itself before it would be made of
        something else. Raises refusals, `Refused` where what was taken back would come back with
        it, and `BadInput` for a file that nobody writes.
        """
        await self._records.read(lambda c: comeback.refuse(c, path))
        began = self._clock.now()
        wish = Wish(path)
        named = named_by(project, wish)
        job = Assignment(project, named.formatter, named, wish)
        target, known = await self._target(job, began)
        there = await self._records.read(lambda c: resolutions.bullets(c, path, target.agent))
        done = await self._resolving.undo(job, target=target, standing=there)
        done = replace(done, resolved=await self._with_older(done.resolved))
        inputs = known.inputs if known is not None else ""
        times = began, self._clock.now()
        made = finished(job, done, run_id=target.run_id, inputs=inputs, times=times)
        if done.is_edited and made.row is not None:
            # What a human wrote there must not pass for ours: it would be lost as that.
            ours = known.section if known is not None else ""
            made = replace(made, row=replace(made.row, section=ours))
        return made

    async def _with_older(self, found: Resolved) -> Resolved:
        """Return what came of an undo with the bullets that stood only in the older section."""
        given = {each.text: each for each in found.bullets}
        lines = [each for each in found.section.split("\n") if each.startswith(comeback.BULLET)]
        some = [each for each in lines if each not in given]
        older = await self._records.read(lambda c: comeback.known(c, some)) if some else []
        given |= {each.text: each for each in older}
        return replace(found, bullets=tuple(given[each] for each in lines if each in given))

    def _offered(self, connection: Connection) -> Offer:
        """Return what files may be given now; what others have in hand is not read again."""
        known = self._offer()
        if known is None or known.name != name_of(connection, self._maker.model):
            known = offer(connection, self._maker.model)
            # Nobody keeps some MB of it once no file is in hand.
            self._offer = ref(known)
        return known

    async def _target(self, job: Assignment, began: int) -> tuple[WriteTarget, Resolution | None]:
        """Return what is to be written, and how it stood the last time."""
        path, agent = job.path, job.formatter.name

        def look(connection: Connection) -> tuple[Resolution | None, FileState | None]:
            return resolutions.find(connection, path, agent), projects.file(connection, path)

        known, state = await self._records.read(look)
        target = WriteTarget(
            root=job.project.root,
            path=path,
            project_id=job.project.id,
            agent=agent,
            run_id=f"run_{ulid(began)}",
            known=None if state is None else state.size,
            create=job.is_new,
        )
        return target, known

    async def _differs(self, job: Assignment, known: Resolution | None, given: Offer) -> bool:
        """Tell whether a file has to be looked at again."""
        if known is None or known.inputs != await self._inputs(job, given):
            return True
        return known.ending is not Ending.EDITED and await self.on_thread(partial(_edited, job))

    async def _inputs(self, job: Assignment, given: Offer) -> str:
        """Return the name of all that a file's section would be made of now."""
        return await self.on_thread(partial(_inputs, self._maker, job, given))


def _inputs(maker: Maker, job: Assignment, given: Offer) -> str:
    """Return the name of what a section would be made of now. Blocks."""
    return maker.inputs(job, job.base(read(job.path)), given)


def _edited(job: Assignment) -> bool:
    """Tell whether a human wrote inside our section. Blocks."""
    try:
        standing = fence.find(read(job.path) or b"", path=job.path)
    except (NotWritten, BadInput):
        return False
    return standing is not None and not standing.intact


def _left_alone(found: Found, project: Project, wish: Wish, *, at: int) -> list[Finished]:
    """Return failed runs for what was named and is not written."""
    reason = f"there is no instruction file to write in {project.root}; --create makes one"
    some = found.left or (Unwritten(wish.path, wish.agent or "", reason),)
    return [
        failed(wish.path, each.agent, each.reason, at=at, project_id=project.id) for each in some
    ]
