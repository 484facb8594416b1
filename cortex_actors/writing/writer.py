"""Writing our section into a human's file, so that no save of his is ever lost.

    async with the path: is a write of ours unfinished? finish it
    look until the file rests, make the new bytes of it      (refused: nothing was touched)
    note the write in the journal
    exchange, look at what was displaced                      (saved in between: put back, again)
    note how it ended; take the name of what was displaced away, and watch that for a while

Each of these can be the last thing that the program does: see `recovery`. Everything that waits for
a disk runs on the executor's threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import defaultdict
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cortex_actors.clock import ulid
from cortex_actors.errors import CortexError, WriteFailed
from cortex_actors.refusals import FolderMissing, KeepsChanging, NothingToUndo, NotWritten
from cortex_actors.render.fence import revision
from cortex_actors.writing import grace, recovery, rest
from cortex_actors.writing.admission import admit_disk
from cortex_actors.writing.failures import told
from cortex_actors.writing.journal import Entry, Journal, State, insist, sha256
from cortex_actors.writing.place import Place, Seen
from cortex_actors.writing.rest import Pace
from cortex_actors.writing.swap import Swap, Swapped
from cortex_actors.writing.target import Target, Written
from cortex_actors.writing.undoing import older

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
    from concurrent.futures import Executor

    from cortex_actors.clock import Clock
    from cortex_actors.writing.grace import Kept

log = logging.getLogger("cortex.writing")

P = ParamSpec("P")
T = TypeVar("T")

#: Times that a write is tried whose file was saved in between.
TRIES = 5

#: Characters of a ULID that tell the files of two writes apart.
_TOKEN = 10


class FileWriter:
    """Writes files, one write a file at a time; what it has displaced is watched in between.

    `spawn` has a coroutine run beside what is awaited; `late` is told of a write whose file a human
    has saved after all, when his text stands there again: our section can be written once more.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        spawn: Callable[[Coroutine[None, None, None]], object],
        pace: Pace | None = None,
        executor: Executor | None = None,
        late: Callable[[Entry], Awaitable[None]] | None = None,
    ) -> None:
        """Remember whom to ask."""
        self._journal = journal
        self._clock = clock
        self._spawn = spawn
        self._pace = pace or Pace()
        self._executor = executor
        self._late = late
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._in_hand: defaultdict[str, int] = defaultdict(int)

    async def read(self, target: Target) -> bytes | None:
        """Return a file that could be written now, None if it could be made; changes nothing.

        Raises the refusal that a write would.
        """
        found = await self._on_thread(_looked, target)
        if found is None and not target.create:
            return None
        return None if found is None else found.data

    async def write(self, target: Target, make: Callable[[bytes], bytes]) -> Written:
        """Let a file hold what `make` makes of it; asked again when somebody saved meanwhile.

        `make` is pure and runs on a thread. Raises a refusal (`refusals.py`), its own included, or
        `WriteFailed`; the file is then as it was.
        """
        async with self._alone(target.path):
            for _ in range(TRIES):
                base = await self._settled(target)
                data = b"" if base is None else base.data
                after = await self._on_thread(make, data)
                if base is not None and after == data:
                    return Written(data, data, changed=False)
                if await self._put(target, base, after):
                    return Written(None if base is None else base.data, after, changed=True)
            raise KeepsChanging.of(target.path, tries=TRIES)

    async def undo(self, target: Target) -> Written:
        """Take the newest write into a file back that stands; what a human wrote since stays.

        A file that was made is taken away, unless there is more in it. Raises as `write`, also
        `EditedSection` and `NothingToUndo`.
        """
        async with self._alone(target.path):
            for _ in range(TRIES):
                undone = await self._journal.last(target.path)
                if undone is None:
                    raise NothingToUndo.of(target.path)
                base = await self._settled(target)
                data = b"" if base is None else base.data
                after = await self._on_thread(older, data, undone)
                if await self._put(target, base, after, undone=undone.seq):
                    return Written(None if base is None else base.data, after, changed=True)
            raise KeepsChanging.of(target.path, tries=TRIES)

    async def recover(self) -> list[Entry]:
        """Finish or take back what an earlier life began; return those writes as they stand now.

        One whose folder is not there, an unmounted disk perhaps, stays as it is. Waits for the
        journal as long as it is away.
        """
        found = []
        for entry in await insist(self._journal.unfinished, self._clock):
            try:
                found.append(await insist(partial(self._recovered, entry), self._clock))
            except NotWritten as error:
                log.warning("a write into %s stays unfinished: %s", entry.path, error)
        return found

    async def _recovered(self, entry: Entry) -> Entry:
        """Finish or take back one write."""
        async with self._alone(entry.path, mend=False):
            return await self._mend(entry)

    @asynccontextmanager
    async def _alone(self, path: str, *, mend: bool = True) -> AsyncIterator[None]:
        """Let nobody else of us write a file, and nothing of ours be unfinished there."""
        self._in_hand[path] += 1
        try:
            async with self._locks[path]:
                for entry in await self._journal.unfinished(path) if mend else ():
                    if entry.state is State.PENDING:
                        await self._mend(entry)
                yield
        finally:
            self._in_hand[path] -= 1
            if not self._in_hand[path]:
                del self._in_hand[path], self._locks[path]

    async def _settled(self, target: Target) -> Seen | None:
        """Return a file at rest, None if it is to be made; raises a refusal."""

        async def look() -> Seen | None:
            return await self._on_thread(_looked, target)

        return await rest.settled(
            look,
            self._clock,
            path=target.path,
            pace=self._pace,
            known=target.known,
            create=target.create,
        )

    async def _put(
        self, target: Target, base: Seen | None, after: bytes | None, *, undone: int | None = None
    ) -> bool:
        """Write once; False when somebody saved in between and has his text."""
        entry = _entry(target, base, after, now=self._clock.now())
        try:
            entry = await self._journal.begin(entry)
            found = await self._on_thread(_swapped, target, entry, after)
            await self._note(entry, found, undone=undone)
        except NotWritten:
            raise
        except CortexError:
            # The row says less than the disk: it is looked at again when the journal is back.
            self._spawn(self._finish(entry))
            raise
        if found.error is not None:
            raise found.error
        return found.state is not State.ABANDONED

    async def _mend(self, entry: Entry) -> Entry:
        """Bring a write to its end that was cut off."""
        found = await self._on_thread(_mended, entry)
        await self._note(entry, found)
        return replace(entry, state=found.state, aside=found.aside)

    async def _note(self, entry: Entry, found: Swapped, *, undone: int | None = None) -> None:
        """Write down how a write ended, and watch what it left aside."""
        if found.displaced is not None:
            log.warning("a text of %s is kept in file_writes, number %d", entry.path, entry.seq)
            await self._journal.keep(entry.seq, found.displaced)
        if found.state is State.PENDING:
            return
        state = State.UNDONE if undone and found.state is State.DONE else found.state
        taken = undone if state is State.UNDONE else None
        await self._journal.end(entry.seq, state, aside=found.aside, undone=taken)
        if found.aside:
            try:
                kept = await self._on_thread(grace.kept, entry, found.shown)
            except (NotWritten, WriteFailed) as error:
                # The row still names what lies aside: the next start looks at it again.
                log.warning("what a write into %s displaced stays there: %s", entry.path, error)
                return
            self._spawn(self._watch(entry, kept))

    async def _watch(self, entry: Entry, kept: Kept | None) -> None:
        """Watch what has no name any more; put what somebody writes into it into the file."""
        await insist(partial(self._journal.clear, entry.seq), self._clock)
        if kept is None:
            return
        known, late = entry.before or b"", False
        while True:
            text = await grace.written_late(kept, self._on_thread, self._clock, self._pace)
            if text is None:
                break
            await insist(partial(self._return, entry, text, known=known), self._clock)
            known, late = text, True
        if late:
            log.warning("%s was saved while it was written; that text stands there", entry.path)
            if self._late is not None:
                await self._late(entry)

    async def _return(self, entry: Entry, text: bytes, *, known: bytes) -> None:
        """Let a text that came late stand in the file, if a human has saved nothing newer.

        `known` is the text that its writer had before him. What does not come into the file is
        kept in the write's row.
        """
        target = Target(entry.root, entry.path, entry.project_id, entry.agent, entry.run_id)
        older = {revision(known), revision(text)}
        async with self._alone(entry.path):
            try:
                for _ in range(TRIES):
                    base = await self._on_thread(_there, entry)
                    if base is not None and base.data == text:
                        return
                    if base is not None and revision(base.data) not in older:
                        break
                    if await self._put(target, base, text, undone=entry.seq):
                        return
            except (NotWritten, WriteFailed) as error:
                log.warning("what was saved late in %s is not there: %s", entry.path, error)
            log.warning("a text of %s is kept in file_writes, number %d", entry.path, entry.seq)
            await self._journal.keep(entry.seq, text)

    async def _finish(self, entry: Entry) -> None:
        """Bring a write to its end of which nobody knows what its row says."""

        async def mend() -> None:
            async with self._alone(entry.path, mend=False):
                for each in await self._journal.unfinished(entry.path):
                    if each.aside == entry.aside:
                        await self._mend(each)

        try:
            await insist(mend, self._clock)
        except NotWritten as error:
            log.warning("a write into %s stays unfinished: %s", entry.path, error)

    async def _on_thread(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that blocks on a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: call(*args, **kwargs))


def _looked(target: Target) -> Seen | None:
    """Return a file that may be written; None if there is none (on a thread)."""
    try:
        with told(target.path), Place.at(target.root, target.path) as place:
            admit_disk(target.path)
            rest.undisturbed(place)
            return place.look_whether_used()
    except FolderMissing:
        if target.create:
            return None
        raise


def _there(entry: Entry) -> Seen | None:
    """Return the file of a write as it is, whoever is at work there (on a thread)."""
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        return place.look()


def _entry(target: Target, base: Seen | None, after: bytes | None, *, now: int) -> Entry:
    """Return what is to be noted of a write."""
    token = ulid(now)[-_TOKEN:].lower()
    return Entry(
        run_id=target.run_id,
        project_id=target.project_id,
        root=target.root,
        path=target.path,
        agent=target.agent,
        before=None if base is None else base.data,
        after_sha256="" if after is None else sha256(after),
        aside=f".{os.path.basename(target.path)}.cortex-{token}",
        began_at=now,
    )


def _swapped(target: Target, entry: Entry, after: bytes | None) -> Swapped:
    """Put new bytes in a file's place (on a thread)."""
    try:
        with told(target.path), Place.at(target.root, target.path, make=target.create) as place:
            return Swap(place, entry).write(after)
    except CortexError as error:  # the folder is not there any more: nothing was touched
        return Swapped(State.ABANDONED, error=error)


def _mended(entry: Entry) -> Swapped:
    """Bring what was cut off to its end (on a thread)."""
    with told(entry.path), Place.at(entry.root, entry.path) as place:
        return recovery.mended(place, entry)
