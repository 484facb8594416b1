"""Resolver: what is known, brought back into instruction files.

hears   organisation:complete, resolution:requested
says    resolution:requested, resolution:complete
asks    ledger, cache (vectors)
keeps   - (a file in hand when it crashes is whole; the next life ends the write that was begun)
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.bus.journal import Outcome
from cortex_actors.domain.event import OrganisationComplete, ResolutionRequested
from cortex_actors.domain.principle import Report, Wish
from cortex_actors.domain.project import innermost
from cortex_actors.errors import BadInput, NotFound, UnknownProject
from cortex_actors.files.journal import insist
from cortex_actors.files.place import Pace
from cortex_actors.files.writer import FileWriter
from cortex_actors.pipeline import reading
from cortex_actors.pipeline.errands import Errands
from cortex_actors.pipeline.resolved import failed, outdated
from cortex_actors.pipeline.resolving import Resolving
from cortex_actors.pipeline.ruling import Ruling
from cortex_actors.pipeline.section import Maker
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import projects
from cortex_actors.storage.events import store
from cortex_actors.storage.projects import Writes
from cortex_actors.topics import ORGANISATION_COMPLETE, RESOLUTION_COMPLETE, RESOLUTION_REQUESTED

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.principle import Resolved
    from cortex_actors.domain.project import Project
    from cortex_actors.files.journal import Entry
    from cortex_actors.flowsections import ResolutionSettings
    from cortex_actors.pipeline.resolved import Finished
    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.storage.ledger.actor import Connection, Records

#: Threads that read, compare and write files; a disk that hangs costs nobody else one.
THREADS = 4

log = logging.getLogger("cortex.resolver")


class Resolver(Consumer):
    """Writes into the files of projects that opted in, and wherever somebody asks for it.

    After principles were distilled it asks itself for each file of a project that opted in, and
    only where something that the section is made of has changed; each such file is an event of its
    own, so that one that cannot be written holds up no other. A wish that is about no file of ours
    is a failed run.
    """

    #: Wake-ups, of which one waits at most, and what people ask for.
    mailbox_limit = 64
    overflow = Overflow.BACK_PRESSURE

    #: A file of 1 MiB may have thousands of statements, each embedded in some 20 ms.
    message_limit: ClassVar[float] = 600.0

    hears: ClassVar[Mapping[str, str]] = {
        ORGANISATION_COMPLETE: "on_organised",
        RESOLUTION_REQUESTED: "on_requested",
    }

    #: Files in hand at once; most of the time each waits for its file to come to rest.
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
    ) -> None:
        """Remember whom to ask.

        `reconciliation` says from which likeness on claims are judged, `count` counts the tokens of
        a text, and `tables` are the user's own rules, if there are any.
        """
        super().__init__(desk)
        self._records = records
        self._threads = ThreadPoolExecutor(THREADS, "resolver")
        pace = Pace(settings.settle_ms / 1_000, settings.settle_limit_s, settings.grace_s)
        self._writer = FileWriter(
            Writes(records, desk.clock),
            desk.clock,
            spawn=partial(self.spawn, name="watch"),
            pace=pace,
            executor=self._threads,
            late=self._late,
        )
        maker = Maker(settings, model, Ruling(reconciliation, model, tables), count)
        resolving = Resolving(self._writer, maker, embed=embed, threads=self._threads)
        self._errands = Errands(records, resolving, maker, clock=desk.clock)

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Hear the topics, and end the writes that an earlier life began."""
        self.actor_ref.on_end(partial(self._threads.shutdown, wait=False, cancel_futures=True))
        await super().on_start()
        self.spawn(self._recover(), name="recover")

    async def on_organised(self, _event: Event[OrganisationComplete]) -> Outcome:
        """Ask for every file of a project that opted in whose section is made of other things."""
        opted = await self._records.read(projects.resolving)
        if not opted:
            return Outcome()
        name = await self._errands.offer_name()
        due = [job for each in opted for job in await self._errands.changed(each, name)]
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
            path = await self._errands.on_thread(partial(reading.place, given.path))
            project = await self._project(path)
            # A file says itself who reads it; an agent is named even by who means any.
            agent = given.agent if path == project.root else None
            wish = Wish(path, agent, dry_run=given.dry_run, refresh=given.refresh)
            done = await self._errands.grant(project, wish)
            _tell(done)
        except (BadInput, NotFound) as error:
            done = [failed(given.path, given.agent, str(error), at=self.desk.clock.now())]
        return Outcome(partial(self._kept, done=done), [self._complete(each) for each in done])

    def resolve(self, wishes: Sequence[Wish]) -> asyncio.Task[Report]:
        """Do what somebody wishes, each with the absolute path of a file or of a project's root.

        What cannot be written is said in the report. Raises `UnknownProject`, `NotFound` and
        `BadInput` for a path or an agent that nobody writes for, and nothing is done then.
        """
        return self.spawn(self._resolved(wishes), name="resolve")

    def undo(self, path: str) -> asyncio.Task[Resolved]:
        """Take the newest write into a file back; what a human wrote since stays.

        Raises a refusal, `NothingToUndo` where there is none; `UnknownProject`.
        """
        return self.spawn(self._undone(path), name="undo")

    async def _resolved(self, wishes: Sequence[Wish]) -> Report:
        """Do it, several files at once."""
        pairs = [(await self._project(each.path), each) for each in wishes]
        found = [await self._errands.find(*pair) for pair in pairs]
        offer = await self._errands.offer()
        jobs = [job for some in found for job in some.jobs]
        done = await self._errands.run_all(jobs, offer, keep=self._commit)
        return Report(
            tuple(each.resolved for each in done if each.resolved is not None),
            tuple(each for some in found for each in some.left),
        )

    async def _undone(self, path: str) -> Resolved:
        """Do it, and write down how the file stands now."""
        real = await self._errands.on_thread(partial(reading.place, path))
        done = await self._errands.undo(await self._project(real), real)
        await self._commit(done)
        assert done.resolved is not None  # noqa: S101 - undone, or it raised
        return done.resolved

    async def _project(self, path: str) -> Project:
        """Return the followed project that a path belongs to; raises `UnknownProject`."""
        found = innermost(await self._records.read(projects.followed), path)
        if found is None:
            message = f"cannot resolve {path}: no project that holds it is followed; cortex init it"
            raise UnknownProject(message)
        return found

    async def _commit(self, done: Finished) -> None:
        """Write down what somebody had done, and say so, in one transaction."""
        complete = self._complete(done)

        def unit(connection: Connection) -> list[Event[Payload]]:
            again = self._kept(connection, done=[done])
            return [*again, *store(connection, [complete])]

        for each in await self._records.write(unit):
            self.desk.bus.announce(each)

    async def _late(self, entry: Entry) -> None:
        """Have a file looked at again in which a human's text stands after all."""
        again = ResolutionRequested(entry.path, entry.agent)
        await self.desk.bus.publish(RESOLUTION_REQUESTED, again, source=self.desk.name)

    async def _recover(self) -> None:
        """End the writes that an earlier life began; each is ended before its file is written."""
        for each in await self._writer.recover():
            log.info("a write into %s that was cut off is %s", each.path, each.state)
        # Written, and cut off before anybody knew what stands there: whom to blame for it.
        unknown = partial(self._records.read, projects.unknown)
        for path, agent in await insist(unknown, self.desk.clock):
            again = ResolutionRequested(path, agent, refresh=True)
            await self.desk.bus.publish(RESOLUTION_REQUESTED, again, source=self.desk.name)

    def _kept(self, connection: Connection, *, done: Sequence[Finished]) -> list[Event[Payload]]:
        """Write down what came of files; return what was said because some are out of date.

        What was taken back while a file was in hand stands in it now, and who took it back did not
        know. He is who is told of it, if he comes after this transaction.
        """
        again = []
        for each in done:
            each.write(connection)
            if outdated(connection, each):
                path, agent = each.run.path or "", each.run.agent or ""
                wish = ResolutionRequested(path, agent, refresh=True)
                again.append(self.say(RESOLUTION_REQUESTED, wish))
        return store(connection, again) if again else []

    def _complete(self, done: Finished) -> Event[Payload]:
        """Return what is said of a resolution."""
        return self.say(RESOLUTION_COMPLETE, done.said)


def _tell(done: Sequence[Finished]) -> None:
    """Log of which files something was left out that no person has approved."""
    for each in done:
        waiting = each.run.counts.get("unapproved", 0)
        if waiting:
            log.info("%s: %d not approved, left out: cortex review", each.run.path, waiting)
