"""What is noted of a write before the file is touched, so that a crash can be made good.

One exchange of a file for another that says more; blocks, on threads.

The new bytes are made ready beside the file under a name that the journal knows. Then the two
change places at one stroke, and what came aside is looked at: if it is not what the new bytes were
made from, it was saved in between, and it is put back.

Two files change places at one stroke: the one thing that this needs and Python does not offer.

`rename` over a file throws away what lies there, even if it was saved the moment before; an
exchange keeps it, so that it can be looked at and put back. Linux calls it `renameat2` with
`RENAME_EXCHANGE`, macOS `renameatx_np` with `RENAME_SWAP`.

What a file is beside its bytes: owner, mode, extended attributes, and with them access lists.

What an error of the system means for a write into a human's file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import stat
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cortex_actors.domain.project import hash_file
from cortex_actors.errors import CortexError, NoExchange, NotWritten, Unkept
from cortex_actors.files.place import Place, translate_error
from cortex_actors.render.fence import hash_human_part

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from cortex_actors.clock import Clock


log = logging.getLogger("cortex.writing")

T = TypeVar("T")

#: Seconds between two questions to a journal that is away; the last of them again and again.
_RESTS = (0.1, 1.0, 5.0, 15.0, 60.0)


class WriteState(StrEnum):
    """How far a write is."""

    #: Begun; whether the file was touched is to be seen from the disk.
    PENDING = "pending"
    #: The file holds, or held, what was written.
    DONE = "done"
    #: Another program saved first, or it could not be done.
    ABANDONED = "abandoned"
    #: Taken back because a user asked for it; also the write that took it back.
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class WriteEntry:
    """One write into one file.

    Attributes:
        root: the registered folder, as its project has it.
        before: the file's bytes; None when there was no file.
        after_sha256: hash of the file with our section; "" when there is to be no file.
        aside: name beside the file, first of the new bytes, then of what they displaced; "" when
            nothing of it is left in the folder.
        displaced: a human's text that had to give way to a later one of his; it is kept here.
        began_at: UTC microseconds.

    """

    run_id: str
    project_id: str
    root: str
    path: str
    agent: str
    before: bytes | None
    after_sha256: str
    aside: str
    began_at: int
    seq: int = 0
    state: WriteState = WriteState.PENDING
    displaced: bytes | None = None

    @property
    def before_sha256(self) -> str | None:
        """The hash of what was there."""
        return None if self.before is None else hash_file(self.before)


class WriteJournal(Protocol):
    """Where writes are noted; each call is one transaction that lasts when it returns."""

    async def begin(self, entry: WriteEntry) -> WriteEntry:
        """Note a write; return it with its number.

        Raises `BeingWritten` when another one into the same file is pending.
        """

    async def keep(self, seq: int, displaced: bytes) -> None:
        """Keep a human's text that no file holds any more."""

    async def end(
        self, seq: int, state: WriteState, *, aside: str = "", undone: int | None = None
    ) -> None:
        """Say how a write ended, and what of it still lies in the folder.

        With `undone`, that write was taken back by this one.
        """

    async def clear(self, seq: int) -> None:
        """Say that nothing of a write lies in the folder any more."""

    async def list_unfinished(self, path: str | None = None) -> Sequence[WriteEntry]:
        """Return writes that are pending or have left something in their folder, oldest first."""

    async def find_last(self, path: str) -> WriteEntry | None:
        """Return the newest write into a file that was not undone; None when there is none."""


async def insist(call: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Do something again until the journal answers, which may be away; a refusal is an answer."""
    rests = chain(_RESTS, repeat(_RESTS[-1]))
    while True:
        try:
            return await call()
        except NotWritten:
            raise
        except CortexError as error:
            log.info("the end of a write waits for its journal: %s", error)
        await clock.sleep(next(rests))


#: The system's call, and the flag with which it exchanges (linux/fs.h, sys/stdio.h).
_CALL, _FLAG = ("renameatx_np", 2) if sys.platform == "darwin" else ("renameat2", 2)

#: How a file system says that it cannot.
UNABLE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def exchange(folder: int, one: str, other: str) -> None:
    """Let two files of an open folder change places; both must be there.

    Raises `OSError`; its number is in `UNABLE` where the system or the file system cannot.
    """
    call = _rename()
    if call is None:
        raise OSError(errno.ENOSYS, f"this system has no {_CALL}")
    if call(folder, os.fsencode(one), folder, os.fsencode(other), _FLAG) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), other)


@cache
def _rename() -> Any:  # noqa: ANN401 - a function of the C library
    """Return the system's call; None where there is none."""
    found = getattr(ctypes.CDLL(None, use_errno=True), _CALL, None)
    if found is not None:
        found.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
        found.restype = ctypes.c_int
    return found


#: How a file system says that it knows no extended attributes.
_NONE = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP})


def carry(source: int, target: int, *, path: str) -> None:
    """Give an open file what another one is beside its bytes and its times.

    Raises `Unkept`, naming the path: a file that has lost its access list or its label is not the
    file that was there.
    """
    of, to = os.fstat(source), os.fstat(target)
    if (of.st_uid, of.st_gid) != (to.st_uid, to.st_gid):
        try:
            os.fchown(target, of.st_uid, of.st_gid)
        except OSError as error:
            raise Unkept.from_file(path, name="owner or group", error=error.strerror) from error
    if sys.platform == "darwin":
        # Copy everything beside the bytes, by the system's own call.
        call = ctypes.CDLL(None, use_errno=True).fcopyfile
        # What macOS copies in one call: the mode and the times, the access list, extended
        # attributes.
        if call(source, target, None, 7) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise Unkept.from_file(path, name="access list", error=reason)
    else:
        _carry_extended(source, target, path=path)
    # Last: setting an owner takes bits away, and an access list changes them.
    os.fchmod(target, stat.S_IMODE(of.st_mode))


def _carry_extended(source: int, target: int, *, path: str) -> None:
    """Give a file the extended attributes of another, and no more than those."""
    wanted, there = _extended(source), _extended(target)
    for name in {**wanted, **there}:
        try:
            if name not in wanted:
                os.removexattr(target, name)
            elif wanted[name] != there.get(name):
                os.setxattr(target, name, wanted[name])
        except OSError as error:
            raise Unkept.from_file(path, name=name, error=error.strerror) from error


def _extended(opened: int) -> dict[str, bytes]:
    """Return the extended attributes of a file; none where there can be none."""
    try:
        return {name: os.getxattr(opened, name) for name in os.listxattr(opened)}
    except OSError as error:
        if error.errno in _NONE:
            return {}
        raise


@contextlib.contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Raise the error of ours for an `OSError` inside, for the caller of the write."""
    try:
        yield
    except OSError as error:
        raise translate_error(path, error) from error


#: What the name of a new file ends with until all of it is on the disk.
PART = ".part"

#: What a new file may be done with: readable for all, as editors make one.
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Swapped:
    """How an exchange ended.

    Attributes:
        aside: what still lies beside the file; "" when nothing does.
        shown: hash of what lies there: if it changes, a program had it open.
        displaced: a human's text that no file holds any more.
        error: why it was not done; the state is `PENDING` if the disk has to be looked at again.

    """

    state: WriteState
    aside: str = ""
    shown: str = ""
    displaced: bytes | None = None
    error: Exception | None = None


class Swap:
    """One exchange, in steps between which anything may happen, the end of the program too."""

    def __init__(self, place: Place, entry: WriteEntry) -> None:
        """Remember what is to be done, and where."""
        self._place = place
        self._entry = entry
        #: Whether the file's name may lead to something that we put there.
        self._touched = False

    def write(self, after: bytes | None) -> Swapped:
        """Put new bytes in place of the file as the entry has it; None takes the file away.

        A text that was saved in between stays, and the state is `ABANDONED`. An error is in
        what is returned: a refusal, or `WriteFailed`.
        """
        try:
            with translate_errors(self._entry.path):
                try:
                    # Make the bytes ready, compare, and put them in place.
                    place, entry = self._place, self._entry
                    if after is not None:
                        self._prepare(after)
                    if place.peek(place.name) != (entry.before_sha256 or ""):
                        return self.give_up()
                    place.stay()
                    if entry.before is None:
                        return self._appear()
                    return self._vanish() if after is None else self._exchange()
                except FileNotFoundError:
                    # An editor moves the file away before it writes a new one.
                    if self._touched:
                        raise
                    return self.give_up()
        except CortexError as error:
            if self._touched:
                return Swapped(WriteState.PENDING, error=error)
            self._clear()
            return Swapped(WriteState.ABANDONED, error=error)

    def give_up(self) -> Swapped:
        """Leave the file as it is, without a trace of ours."""
        self._clear()
        return Swapped(WriteState.ABANDONED)

    def give_way(self, displaced: str, *, standing: str | None = None) -> Swapped:
        """Put back what a human had saved before us; what he has saved since stays in front.

        `displaced` is its hash, `standing` that of what is in its place (ours). Whatever comes
        aside must be what was put in the place before; if it is not, it is newer, and belongs
        there.
        """
        place, entry = self._place, self._entry
        standing, aside = standing or entry.after_sha256, displaced
        # Times that a human's saves may cross ours before what came aside is kept as it is.
        for _ in range(16):
            try:
                exchange(place.folder, entry.aside, place.name)
            except FileNotFoundError:  # an editor has moved ours away, and makes a new one
                return self.put_back()
            found = place.peek(entry.aside)
            if found == standing:
                break
            standing, aside = aside, found
        place.sync()
        return Swapped(WriteState.ABANDONED, entry.aside, place.peek(entry.aside), self._kept())

    def _kept(self) -> bytes | None:
        """Return what lies aside if it is a human's text that the journal does not have."""
        found, before = self._place.read(self._entry.aside), self._entry.before
        known = {self._entry.after_sha256, self._entry.before_sha256}
        if hash_file(found) in known or (
            before is not None and hash_human_part(found) == hash_human_part(before)
        ):
            return None
        return found

    def _prepare(self, after: bytes) -> None:
        """Make the new bytes ready: under their name they are whole and on the disk."""
        place, part = self._place, self._entry.aside + PART
        opened = place.create(part)
        try:
            with os.fdopen(opened, "wb", closefd=False) as file:
                file.write(after)
            if self._entry.before is None:
                os.fchmod(opened, _MODE)
            else:
                # The new file gets what the old one is beside its bytes.
                source = place.open(place.name)
                try:
                    carry(source, opened, path=self._entry.path)
                finally:
                    os.close(source)
            os.fsync(opened)
        finally:
            os.close(opened)
        place.rename(part, self._entry.aside)

    def _exchange(self) -> Swapped:
        """Exchange the two, then look at what was displaced."""
        place, entry = self._place, self._entry
        try:
            exchange(place.folder, entry.aside, place.name)
        except OSError as error:
            if error.errno in UNABLE:
                raise NoExchange.from_file(entry.path, error=error.strerror) from error
            raise
        self._touched = True
        # In this order: a program that closed it in between has changed it. What is still open goes
        # back at once, so that whatever is written, and whenever, arrives in the file.
        in_use, displaced = place.is_open(entry.aside), place.peek(entry.aside)
        if in_use or displaced != entry.before_sha256:
            return self.give_way(displaced)
        try:
            place.stay()
        except CortexError as error:
            return replace(self.give_way(displaced), error=error)
        place.sync()
        return Swapped(WriteState.DONE, entry.aside, displaced)

    def _appear(self) -> Swapped:
        """Give the new file its name, unless one was made meanwhile."""
        place, entry = self._place, self._entry
        try:
            place.link(entry.aside, place.name)
        except FileExistsError:
            return self.give_up()
        place.sync()
        self._clear()
        return Swapped(WriteState.DONE)

    def _vanish(self) -> Swapped:
        """Take the file away, if it is what was to be taken away."""
        place, entry = self._place, self._entry
        place.rename(place.name, entry.aside)
        self._touched = True
        place.sync()
        in_use, shown = place.is_open(entry.aside), place.peek(entry.aside)
        if shown == entry.before_sha256 and not in_use:
            return Swapped(WriteState.DONE, entry.aside, shown)
        return self.put_back()

    def put_back(self) -> Swapped:
        """Give a file that was taken away its name again, unless a newer one has it."""
        place, entry = self._place, self._entry
        kept = None
        try:
            place.link(entry.aside, place.name)
        except FileExistsError:
            kept = place.read(entry.aside)
        place.unlink(entry.aside)
        place.sync()
        return Swapped(WriteState.ABANDONED, displaced=kept)

    def _clear(self) -> None:
        """Remove what is ours from the folder."""
        for name in (self._entry.aside + PART, self._entry.aside):
            self._place.unlink(name)
