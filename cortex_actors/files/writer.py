"""Writing our section into a human's file, so that no save of his is ever lost.

    async with the path: is a write of ours unfinished? finish it
    look until the file rests, make the new bytes of it      (refused: nothing was touched)
    note the write in the journal
    exchange, look at what was displaced                      (saved in between: put back, again)
    note how it ended; take the name of what was displaced away, and watch that for a while

Each of these can be the last thing that the program does: see `recovery`. Everything that waits for
a disk runs on the executor's threads.

Taking a write back: what a human wrote since stays, and what he wrote in our section, too.

What is to be written, and what came of it.

The time in which what was displaced is watched: a program may have had it open.

Its name is taken out of the folder as soon as the write is noted, so that nothing of ours is left
where git or a person would find it. A program that has the file open by then (an editor that was
just about to open it when the exchange came) still writes into it; so it is held open and looked at
for a while, and what is written late is put into the file. Where the system can tell that a file is
open for writing (Linux, by asking for a lease), `swap` has put it back already if it was, and it is
watched for as long as it is.

What a write that was cut off has left, and how it is finished or taken back; blocks, on threads.

Before the file is touched there is a row, and under the name in it either nothing, or the whole new
file, or what the new file displaced: an unfinished one has another name. So the disk itself says
how far it came, whatever the moment at which the program ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors import errors
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.project import hash_file
from cortex_actors.files import place as rest
from cortex_actors.files.place import FileSeen, Pace, Place, admit_disk, is_in_use
from cortex_actors.files.swap import (
    PART,
    Swap,
    Swapped,
    WriteEntry,
    WriteJournal,
    WriteState,
    insist,
    translate_errors,
)
from cortex_actors.render.fence import find, hash_human_part, remove, restore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from cortex_actors.runtime.threads import Threads


def make_older(data: bytes, undone: WriteEntry) -> bytes | None:
    """Return a file without a write: as it was before, or with the section it had then.

    None for a file that is to be taken away, because it was made by that write. Raises
    `EditedSection`, and as `fence.find`.
    """
    if hash_file(data) == undone.after_sha256:
        return undone.before
    fence = find(data, path=undone.path)
    if fence is not None and not fence.intact:
        # What was changed there since would go with the section.
        raise errors.EditedSection.from_file(undone.path)
    if undone.before is None:
        return remove(data, path=undone.path)
    return restore(data, undone.before, path=undone.path)


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """What is to be written, and for whom.

    Attributes:
        root: the registered folder's real path.
        path: the file's absolute path below it.
        known: bytes that the file had when it was last read; one that has shrunk to less than half
            may be half saved.
        create: whether the file, and the folders between the root and it, may be made.

    """

    root: str
    path: str
    project_id: str
    agent: str
    run_id: str
    known: int | None = None
    create: bool = False


@dataclass(frozen=True, slots=True)
class WriteResult:
    """How a write ended.

    Attributes:
        before: the file as it was; None when there was none.
        after: the file as it is; None when it was taken away.
        changed: whether anything had to be written.

    """

    before: bytes | None
    after: bytes | None
    changed: bool


class DisplacedFile:
    """What a write displaced, held open without a name; `shown` is the hash of what it says."""

    def __init__(self, opened: int, shown: str) -> None:
        """Take over an open file."""
        self._opened = opened
        self._shown = shown
        #: Whether it was open for writing elsewhere at the last look.
        self.in_use = False

    def __del__(self) -> None:
        """Close the file, also where the watch was called off before it began."""
        os.close(self._opened)

    def look(self) -> bytes | None:
        """Return what was written into it since the last look; None if nothing was. Blocks."""
        # In this order: who has closed it in between has changed it.
        self.in_use = is_in_use(self._opened)
        data = os.pread(self._opened, os.fstat(self._opened).st_size, 0)
        if hash_file(data) == self._shown:
            return None
        self._shown = hash_file(data)
        return data


def keep_open(entry: WriteEntry, shown: str) -> DisplacedFile | None:
    """Take the name of what lies beside a file out of the folder and hold the file open; blocks.

    None where nothing lies there. Raises a refusal, or `WriteFailed`, and leaves it there.
    """
    with translate_errors(entry.path), Place.at(entry.root, entry.path) as place:
        try:
            found = DisplacedFile(place.open(entry.aside), shown)
        except FileNotFoundError:
            return None
        place.unlink(entry.aside)
        place.sync()
        return found


async def wait_for_late_write(
    kept: DisplacedFile, on_thread: Callable[..., Awaitable[bytes | None]], clock: Clock, pace: Pace
) -> bytes | None:
    """Return what was written into it late, once two looks find the same.

    None once it can be written into no more.
    """
    begun, late = clock.monotonic(), None
    while True:
        await clock.sleep(pace.look)
        data = await on_thread(kept.look)
        if data is None and late is not None:
            return late
        late = data
        waited = clock.monotonic() - begun
        ended = waited >= (pace.longest if kept.in_use else pace.grace)
        if late is None and ended:
            return None


def mend_write(place: Place, entry: WriteEntry) -> Swapped:
    """Return the state of a write, after the folder has been put in order."""
    place.unlink(entry.aside + PART)
    target, aside = place.peek(place.name), place.peek(entry.aside)
    if aside and _is_one(place, entry):
        # Cut off between giving the file a name and taking the other one away.
        place.unlink(entry.aside)
        place.sync()
        return Swapped(_state(entry, WriteState.DONE if aside == entry.after_sha256 else None))
    if not aside:
        is_there = target == entry.after_sha256
        return Swapped(_state(entry, WriteState.DONE if is_there else None))
    if aside == entry.after_sha256:
        # Never exchanged, or back again: then a program may have it open.
        if entry.before is not None:
            return Swapped(_state(entry, None), entry.aside, aside)
        place.unlink(entry.aside)
        return Swapped(_state(entry, None))
    if aside == entry.before_sha256:
        return Swapped(_state(entry, WriteState.DONE), entry.aside, aside)
    # Deal with a human's text that lies aside: it had been saved between two steps of ours.
    if entry.after_sha256 == "" and not target:
        return Swap(place, entry).put_back()
    if target == entry.after_sha256 or _is_newer(place, entry):
        return Swap(place, entry).give_way(aside, standing=target)
    return bring_back(place, entry, aside)


def bring_back(place: Place, entry: WriteEntry, aside: str) -> Swapped:
    """Put a human's text that came too late into the file, unless it holds a newer one of his.

    `aside` is its hash. It is still being written, perhaps: what is exchanged is the file that the
    writer has open, so that the rest of it arrives, too.
    """
    if not place.holds(place.name):
        return Swap(place, entry).put_back()
    standing = place.peek(place.name)
    if standing != entry.after_sha256 and not _has_part_of(place, entry.before):
        kept = place.read(entry.aside)
        place.unlink(entry.aside)
        return Swapped(WriteState.ABANDONED, displaced=kept)
    return Swap(place, entry).give_way(aside, standing=standing)


def _has_part_of(place: Place, before: bytes | None) -> bool:
    """Tell whether the file has the human's part that it had before, whatever our section says."""
    return before is not None and hash_human_part(place.read(place.name)) == hash_human_part(before)


def _is_newer(place: Place, entry: WriteEntry) -> bool:
    """Tell whether what lies aside was saved after what is in the file.

    Both are a human's: the end came while one of his saves was exchanged for another.
    """
    aside, there = (_found(place, name) for name in (entry.aside, place.name))
    return aside is not None and there is not None and aside.st_mtime_ns > there.st_mtime_ns


def _found(place: Place, name: str) -> os.stat_result | None:
    """Return what is known of a name in the folder; None if it is not there."""
    try:
        return os.stat(name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_one(place: Place, entry: WriteEntry) -> bool:
    """Tell whether both names are of one file."""
    there, aside = _found(place, place.name), _found(place, entry.aside)
    return there is not None and aside is not None and os.path.samestat(there, aside)


def _state(entry: WriteEntry, found: WriteState | None) -> WriteState:
    """Return a row's state: what it is already, else what was found; None means not done."""
    if entry.state is not WriteState.PENDING:
        return entry.state
    return found or WriteState.ABANDONED


log = logging.getLogger("cortex.writing")


#: Times that a write is tried whose file was saved in between.
TRIES = 5

#: Characters of a ULID that tell the files of two writes apart.
_TOKEN = 10


@dataclass(eq=False)
class FileWriter:
    """Writes files, one write a file at a time; what it has displaced is watched in between.

    `spawn` has a coroutine run beside what is awaited; `late` gets each write whose file a human
    has saved after all, when his text is there again: our section can be written once more.
    """

    journal: WriteJournal
    clock: Clock
    _: KW_ONLY
    spawn: Callable[[Coroutine[None, None, None]], object]
    pace: Pace
    threads: Threads
    late: Callable[[WriteEntry], Awaitable[None]] | None = None
    _locks: defaultdict[str, asyncio.Lock] = field(
        init=False, default_factory=partial(defaultdict, asyncio.Lock)
    )
    _in_hand: Counter[str] = field(init=False, default_factory=Counter)

    async def read(self, target: WriteTarget) -> bytes | None:
        """Return a file that could be written now, None if it could be made; changes nothing.

        Raises the refusal that a write would.
        """
        found = await self.threads.run(_looked, target)
        return None if found is None else found.data

    async def write(self, target: WriteTarget, make: Callable[[bytes], bytes]) -> WriteResult:
        """Let a file hold what `make` makes of it; asked again when the file was saved meanwhile.

        `make` is pure and runs on a thread. Raises a refusal (`refusals.py`), its own included, or
        `WriteFailed`; the file is then as it was.
        """
        async with self._alone(target.path):
            for _ in range(TRIES):
                base = await self._settled(target)
                before = None if base is None else base.data
                after = await self.threads.run(make, before or b"")
                changed = before != after
                if not changed or await self._put(target, base, after):
                    return WriteResult(before, after, changed=changed)
            raise errors.KeepsChanging.from_file(target.path, tries=TRIES)

    async def undo(self, target: WriteTarget) -> WriteResult:
        """Take the newest write into a file back that is not undone; later text of a human stays.

        A file that was made is taken away, unless there is more in it. Raises as `write`, also
        `EditedSection` and `NothingToUndo`.
        """
        async with self._alone(target.path):
            for _ in range(TRIES):
                undone = await self.journal.find_last(target.path)
                if undone is None:
                    raise errors.NothingToUndo.from_file(target.path)
                base = await self._settled(target)
                before = None if base is None else base.data
                after = await self.threads.run(make_older, before or b"", undone)
                if await self._put(target, base, after, undone=undone.seq):
                    return WriteResult(before, after, changed=True)
            raise errors.KeepsChanging.from_file(target.path, tries=TRIES)

    async def recover(self) -> list[WriteEntry]:
        """Finish or take back what an earlier life began; return those writes with their states.

        One whose folder is not there, an unmounted disk perhaps, stays as it is. Waits for the
        journal as long as it is away.
        """
        found = []

        async def recover(entry: WriteEntry) -> WriteEntry:
            async with self._alone(entry.path, mend=False):
                return await self._mend(entry)

        for entry in await insist(self.journal.list_unfinished, self.clock):
            try:
                found.append(await insist(partial(recover, entry), self.clock))
            except errors.NotWritten as error:
                log.warning("a write into %s stays unfinished: %s", entry.path, error)
        return found

    @asynccontextmanager
    async def _alone(self, path: str, *, mend: bool = True) -> AsyncIterator[None]:
        """Wait until no other write of ours uses a file, and none is unfinished there."""
        self._in_hand[path] += 1
        try:
            async with self._locks[path]:
                for entry in await self.journal.list_unfinished(path) if mend else ():
                    if entry.state is WriteState.PENDING:
                        await self._mend(entry)
                yield
        finally:
            self._in_hand[path] -= 1
            if not self._in_hand[path]:
                del self._in_hand[path], self._locks[path]

    async def _settled(self, target: WriteTarget) -> FileSeen | None:
        """Return a file at rest, None if it is to be made; raises a refusal."""
        return await rest.wait_until_settled(
            partial(self.threads.run, _looked, target),
            self.clock,
            path=target.path,
            pace=self.pace,
            known=target.known,
            create=target.create,
        )

    async def _put(
        self,
        target: WriteTarget,
        base: FileSeen | None,
        after: bytes | None,
        *,
        undone: int | None = None,
    ) -> bool:
        """Write once; False when the file was saved in between, and so stays."""
        entry = _entry(target, base, after, now=self.clock.now())
        try:
            entry = await self.journal.begin(entry)
            found = await self.threads.run(_swapped, target, entry, after)
            await self._note(entry, found, undone=undone)
        except errors.NotWritten:
            raise
        except errors.CortexError:
            # The row says less than the disk: it is looked at again when the journal is back.
            self.spawn(self._finish(entry))
            raise
        if found.error is not None:
            raise found.error
        return found.state is not WriteState.ABANDONED

    async def _mend(self, entry: WriteEntry) -> WriteEntry:
        """Bring a write to its end that was cut off."""
        found = await self.threads.run(_mended, entry)
        await self._note(entry, found)
        return replace(entry, state=found.state, aside=found.aside)

    async def _note(self, entry: WriteEntry, found: Swapped, *, undone: int | None = None) -> None:
        """Write down how a write ended, and watch what it left aside."""
        if found.displaced is not None:
            log.warning("a text of %s is kept in file_writes, number %d", entry.path, entry.seq)
            await self.journal.keep(entry.seq, found.displaced)
        if found.state is WriteState.PENDING:
            return
        state = WriteState.UNDONE if undone and found.state is WriteState.DONE else found.state
        taken = undone if state is WriteState.UNDONE else None
        await self.journal.end(entry.seq, state, aside=found.aside, undone=taken)
        if found.aside:
            try:
                kept = await self.threads.run(keep_open, entry, found.shown)
            except (errors.NotWritten, errors.WriteFailed) as error:
                # The row still names what lies aside: the next start looks at it again.
                log.warning("what a write into %s displaced stays there: %s", entry.path, error)
                return
            self.spawn(self._watch(entry, kept))

    async def _watch(self, entry: WriteEntry, kept: DisplacedFile | None) -> None:
        """Watch what has no name any more; put what is written into it into the file."""
        await insist(partial(self.journal.clear, entry.seq), self.clock)
        if kept is None:
            return
        known, late = entry.before or b"", False
        while True:
            text = await wait_for_late_write(kept, self.threads.run, self.clock, self.pace)
            if text is None:
                break
            await insist(partial(self._return, entry, text, known=known), self.clock)
            known, late = text, True
        if late:
            log.warning("%s was saved while it was written; that text is there now", entry.path)
            if self.late is not None:
                await self.late(entry)

    async def _return(self, entry: WriteEntry, text: bytes, *, known: bytes) -> None:
        """Put a text that came late into the file, if a human has saved nothing newer.

        `known` is the text that its writer had before him. What does not come into the file is
        kept in the write's row.
        """
        target = WriteTarget(entry.root, entry.path, entry.project_id, entry.agent, entry.run_id)
        older = {hash_human_part(known), hash_human_part(text)}
        async with self._alone(entry.path):
            try:
                for _ in range(TRIES):
                    base = await self.threads.run(_there, entry)
                    if base is not None and base.data == text:
                        return
                    if base is not None and hash_human_part(base.data) not in older:
                        break
                    if await self._put(target, base, text, undone=entry.seq):
                        return
            except (errors.NotWritten, errors.WriteFailed) as error:
                log.warning("what was saved late in %s is not there: %s", entry.path, error)
            log.warning("a text of %s is kept in file_writes, number %d", entry.path, entry.seq)
            await self.journal.keep(entry.seq, text)

    async def _finish(self, entry: WriteEntry) -> None:
        """End a write whose row does not say how it ended."""

        async def mend() -> None:
            async with self._alone(entry.path, mend=False):
                for each in await self.journal.list_unfinished(entry.path):
                    if each.aside == entry.aside:
                        await self._mend(each)

        try:
            await insist(mend, self.clock)
        except errors.NotWritten as error:
            log.warning("a write into %s stays unfinished: %s", entry.path, error)


def _looked(target: WriteTarget) -> FileSeen | None:
    """Return a file that may be written; None if there is none (on a thread)."""
    try:
        with translate_errors(target.path), Place.at(target.root, target.path) as place:
            admit_disk(target.path)
            rest.require_undisturbed(place)
            return place.look_whether_used()
    except errors.FolderMissing:
        if target.create:
            return None
        raise


def _there(entry: WriteEntry) -> FileSeen | None:
    """Return the file of a write as it is, even while it is used (on a thread)."""
    with translate_errors(entry.path), Place.at(entry.root, entry.path) as place:
        return place.look()


def _entry(
    target: WriteTarget, base: FileSeen | None, after: bytes | None, *, now: int
) -> WriteEntry:
    """Return what is to be noted of a write."""
    token = make_ulid(now)[-_TOKEN:].lower()
    return WriteEntry(
        run_id=target.run_id,
        project_id=target.project_id,
        root=target.root,
        path=target.path,
        agent=target.agent,
        before=None if base is None else base.data,
        after_sha256="" if after is None else hash_file(after),
        aside=f".{os.path.basename(target.path)}.cortex-{token}",
        began_at=now,
    )


def _swapped(target: WriteTarget, entry: WriteEntry, after: bytes | None) -> Swapped:
    """Put new bytes in a file's place (on a thread)."""
    try:
        with (
            translate_errors(target.path),
            Place.at(target.root, target.path, make=target.create) as place,
        ):
            return Swap(place, entry).write(after)
    except errors.CortexError as error:  # the folder is not there any more: nothing was touched
        return Swapped(WriteState.ABANDONED, error=error)


def _mended(entry: WriteEntry) -> Swapped:
    """Bring what was cut off to its end (on a thread)."""
    with translate_errors(entry.path), Place.at(entry.root, entry.path) as place:
        return mend_write(place, entry)
