"""Resolving: one file brought up to date, or why it was left as it is.

Whatever a human saves meanwhile counts: the section is made for what he says, so that it is made
anew when he has changed that before it could be written. What cannot be written is an outcome and
no crash; nothing is touched then.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from cortex_actors.domain.principle import Ending, Resolved
from cortex_actors.errors import BadInput, WriteFailed
from cortex_actors.pipeline.assignment import APART
from cortex_actors.pipeline.choosing import Chooser, Offer
from cortex_actors.pipeline.drafting import difference, drafted, edited
from cortex_actors.pipeline.page import placed
from cortex_actors.pipeline.presence import read
from cortex_actors.pipeline.section import Section
from cortex_actors.pipeline.sharing import Shared
from cortex_actors.refusals import EditedSection, KeepsChanging, Missing, NotWritten
from cortex_actors.render import fence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from cortex_actors.domain.principle import Given
    from cortex_actors.errors import CortexError
    from cortex_actors.files.writer import FileWriter, WriteTarget
    from cortex_actors.pipeline.assignment import Assignment
    from cortex_actors.pipeline.section import Maker
    from cortex_actors.pipeline.vectors import Embed

T = TypeVar("T")

#: Makes a file as it is to be of the file as it is.
Make: TypeAlias = "Callable[[bytes], bytes]"

#: Times that a section is made anew because somebody saved before it could be written.
TRIES = 4


class Moved(Exception):
    """The human's part of a file is another one than the section was made for."""


class Absent(Exception):
    """A file in which a section was to be brought up to date has none."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a file, what it was made of, and for which revision of the human's part.

    Attributes:
        is_edited: what stands between the marks now is not as we wrote it.
        is_absent: nothing stands there, and nobody asked for it: what we wrote last stays known, as
            the section may come back (with another branch, say).

    """

    resolved: Resolved
    section: Section | None = None
    revision: str = ""
    is_edited: bool = False
    is_absent: bool = False


class Resolving:
    """Brings files up to date, one a call; several calls may be under way at once."""

    def __init__(
        self, writer: FileWriter, maker: Maker, *, embed: Embed, threads: Executor
    ) -> None:
        """Remember whom to ask; texts are read and compared on those threads."""
        self.writer = writer
        self._maker = maker
        self._embed = embed
        self._threads = threads

    async def resolve(
        self, job: Assignment, offer: Offer, *, target: WriteTarget, ours: str = ""
    ) -> Done:
        """Return what came of a file; `ours` is the section as we wrote it the last time.

        Raises nothing but what the ledger raises: whatever keeps a file from being written is said
        in what is returned.
        """
        seen: list[bytes] = []
        try:
            if job.target is None or job.wish.text_only:
                return self._told(job, await self._section(job, await self._text(job), offer))
            for _ in range(TRIES):
                data = await self.writer.read(target)
                if data is None and not target.create:
                    raise Absent if job.wish.refresh else Missing.of(job.path)
                seen.append(data or b"")
                section = await self._section(job, job.base(data), offer)
                if data is None and not section.body:
                    return _unmade(job, section)
                make = _maker(job, section, ours)
                try:
                    if job.wish.dry_run:
                        return await self._previewed(job, section, make, data=data)
                    return await self._written(job, section, make, target=target)
                except Moved:
                    continue
            raise KeepsChanging.of(job.path, tries=TRIES)
        except Absent:
            told = Resolved(job.path, job.formatter.name, Ending.UNCHANGED)
            return Done(told, is_absent=True)
        except EditedSection as error:
            # Nothing but a section that was read can be an edited one.
            return await self.run(partial(self._edited, job, error, data=seen[-1], ours=ours))
        except (NotWritten, WriteFailed, BadInput) as error:
            return _refused(job, error)

    async def undo(
        self, job: Assignment, *, target: WriteTarget, standing: Sequence[Given] = ()
    ) -> Done:
        """Take the newest write into a file back; of the bullets `standing` those stay that do.

        Raises refusals.
        """
        found = await self.writer.undo(target)
        after = found.after or b""
        fenced = await self.run(partial(fence.find, after, path=job.path))
        body = "" if fenced is None else fenced.body.decode("utf-8", "replace")
        lines = set(body.split("\n"))
        left = tuple(each for each in standing if each.text in lines)
        revision = await self.run(partial(fence.revision, after))
        section = Section(body, revision, "", left, 0, {"undone": 1})
        diff = await self.run(partial(difference, found.before, after, path=job.path))
        done = _done(job, section, Ending.WRITTEN, diff=diff)
        return replace(done, is_edited=fenced is not None and not fenced.intact)

    def shared(self) -> Embed:
        """Return who makes the vectors of the files of one wish."""
        return Shared(self._embed)

    async def _written(
        self, job: Assignment, section: Section, make: Make, *, target: WriteTarget
    ) -> Done:
        """Write a section; raises `Moved`, and whatever keeps the file from being written."""
        found = await self.writer.write(target, make)
        ending = Ending.WRITTEN if found.changed else Ending.UNCHANGED
        before, after = found.before, found.after or b""
        diff = await self.run(partial(difference, before, after, path=job.path))
        return _done(job, section, ending, diff=diff)

    async def _previewed(
        self, job: Assignment, section: Section, make: Make, *, data: bytes | None
    ) -> Done:
        """Return what writing a section would change; raises what making the new file raises."""
        after = await self.run(partial(make, data or b""))
        diff = await self.run(partial(difference, data, after, path=job.path))
        return _done(job, section, Ending.SHOWN, diff=diff)

    def _told(self, job: Assignment, section: Section) -> Done:
        """Return a section that nobody wants written."""
        return _done(job, section, Ending.SHOWN, diff="")

    def _edited(self, job: Assignment, error: EditedSection, *, data: bytes, ours: str) -> Done:
        """Return what a human changed inside our section. Blocks."""
        diff = edited(data, ours, path=job.path)
        told = Resolved(job.path, job.formatter.name, Ending.EDITED, str(error), error.code, diff)
        return Done(told, revision=fence.revision(data))

    async def _text(self, job: Assignment) -> bytes:
        """Return what stands in the file of an agent, for whom only text is wanted."""
        path = job.place
        return (b"" if path is None else await self.run(partial(read, path))) or b""

    async def _section(self, job: Assignment, data: bytes, offer: Offer) -> Section:
        """Return what a file is to be given; raises `BadInput` for what is no text."""
        maker = self._maker
        page = await self.run(partial(maker.page, job, data))
        found = await placed(page, job.embed or self._embed, model=maker.model)
        inputs = await self.run(partial(maker.inputs, job, data, offer))
        chooser = Chooser(
            maker.settings,
            maker.ruling.limits,
            maker.ruling.relations().lexicon,
            repeats=job.formatter.name == APART,
        )
        allowed, waiting = offer, Offer()
        # A dry run shows what waits for a person as well; a text that leaves us holds none of it.
        if not maker.settings.unapproved and (job.wish.text_only or not job.wish.dry_run):
            allowed, waiting = offer.parted(job.project.id)
        choice = await self.run(partial(chooser.choose, allowed, found))
        if waiting.principles:
            count = await self.run(partial(chooser.count, waiting, found))
            choice = replace(choice, waiting=count)
        if page.embedded and not found.vectors:
            inputs = ""
        revision = await self.run(partial(fence.revision, data))
        return await self.run(
            partial(maker.make, job, choice, offer=offer, revision=revision, inputs=inputs)
        )

    async def run(self, call: Callable[[], T]) -> T:
        """Run what takes a while, or may hang on a disk, on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _maker(job: Assignment, section: Section, ours: str) -> Make:
    """Return what makes a file as it is to be of the file as it is; it raises `Moved`, `Absent`."""

    def make(data: bytes) -> bytes:
        base, wish = data or job.base(None), job.wish
        if wish.refresh and not fence.stands(base, path=job.path):
            raise Absent
        if fence.revision(base) != section.revision:
            raise Moved
        return drafted(
            base, section.body, ours=ours, path=job.path, edits=wish.edits, adopt=wish.adopt
        )

    return make


def _done(job: Assignment, section: Section, ending: Ending, *, diff: str) -> Done:
    """Return what came of a file whose section was made."""
    told = Resolved(
        job.path,
        job.formatter.name,
        ending,
        diff=diff,
        section=section.body,
        bullets=section.bullets,
        tokens=section.tokens,
        counts=section.counts,
    )
    return Done(told, section, section.revision)


def _unmade(job: Assignment, section: Section) -> Done:
    """Return that a file is not made: it would say nothing."""
    ending = Ending.SHOWN if job.wish.dry_run else Ending.UNCHANGED
    return _done(job, section, ending, diff="")


def _refused(job: Assignment, error: CortexError) -> Done:
    """Return why a file was left as it is."""
    code = error.code if isinstance(error, NotWritten) else "unreadable"
    return Done(Resolved(job.path, job.formatter.name, Ending.REFUSED, str(error), code))
