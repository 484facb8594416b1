"""What SQLite's complaints mean: a full disk, a broken one, a locked file, a damaged one.

SQLite says `SQLITE_FULL` for ENOSPC while it writes, and otherwise `SQLITE_IOERR_...` without the
errno: a user without quota (EDQUOT), a disk that went read-only (EROFS) and shared memory that
finds no room (`SQLITE_IOERR_SHMSIZE`) look like a broken disk. So where its word leaves that open,
the disk itself is asked: a small file is written beside the ledger and removed again.

A failed fsync is never put down to a full disk: the kernel may have dropped the pages and call them
clean, so whatever the reason was, nothing may be retried on that file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from cortex_actors.errors import (
    DiskFault,
    LedgerBusy,
    LedgerDown,
    StorageFull,
    StorageReadOnly,
    WordsDamaged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Beginnings of SQLite's names for what says nothing about the statement.
_DISK = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_NOTADB",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY",
)

#: The file itself is not what it was.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_DATA")

#: What full-text tables say of their own content; it can be made again from other rows.
WORDS = "SQLITE_CORRUPT_VTAB"

#: Another process has a lock.
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_IOERR_BLOCKED")

#: Failures that lack of room or of the right to write may be behind; the disk is asked.
_UNSURE = (
    "SQLITE_CANTOPEN",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_TRUNCATE",
    "SQLITE_IOERR_SHM",
    "SQLITE_IOERR_LOCK",
    "SQLITE_IOERR_RDLOCK",
    "SQLITE_IOERR_ACCESS",
    "SQLITE_IOERR_DELETE",
)

#: No memory, no descriptors: the machine's trouble, not the file's.
_MACHINE = ("SQLITE_NOMEM", "SQLITE_IOERR_NOMEM", "SQLITE_CANTOPEN")

#: What the system says when there is no room: for anybody, or for this user.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

#: What it says when nothing may be written.
_NO_RIGHT = (errno.EROFS, errno.EACCES, errno.EPERM)

#: Bytes that are written to ask the disk: more than most commits, and than the 32 KiB by which
#: shared memory grows.
_ASKED = 262_144


def of(error: BaseException, path: Path, *, doing: str) -> LedgerDown | None:
    """Return what a failure means for a ledger; None where it is none of the disk's.

    Whatever failed first counts: undoing a unit after it may fail in turn. Blocks where the disk
    has to be asked. `doing` completes "cannot ... the ledger".
    """
    if isinstance(error, LedgerDown):
        return error
    if isinstance(error, WordsDamaged):
        return LedgerDown(f"cannot {doing} the ledger {path}: {error}")
    for cause in _chain(error):
        if isinstance(cause, OSError):
            return _by_errno(cause.errno or 0, f"cannot {doing} the ledger {path}: {cause}")
        if (name := name_of(cause)).startswith(_DISK):
            said = cause.orig if isinstance(cause, DBAPIError) else cause
            return _by_name(name, path, f"cannot {doing} the ledger {path}: {said} ({name})")
    return None


def name_of(error: BaseException) -> str:
    """Return SQLite's name of an error; empty for every other."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorname", "") if isinstance(cause, sqlite3.Error) else ""


def is_the_disk(error: BaseException) -> bool:
    """Tell whether SQLite could not do its work, whatever was asked of it."""
    return is_of_words(error) or any(name_of(c).startswith(_DISK) for c in _chain(error))


def is_damage(error: BaseException) -> bool:
    """Tell whether the file holds something else than it should (rather than cannot be reached)."""
    names = [name_of(cause) for cause in _chain(error)]
    return any(name.startswith(_DAMAGE) and name != WORDS for name in names)


def is_of_words(error: BaseException) -> bool:
    """Tell whether only the words are damaged, which are made again from the passages."""
    return any(isinstance(c, WordsDamaged) or name_of(c) == WORDS for c in _chain(error))


def _by_name(name: str, path: Path, text: str) -> LedgerDown:
    """Return what one of SQLite's own words means."""
    if name == WORDS:
        return LedgerDown(
            f"{text}; only the words are damaged, by which texts are searched: make them anew from "
            "the texts with: cortex doctor --repair"
        )
    if name.startswith(_DAMAGE):
        return DiskFault(
            f"{text}; it is damaged: start again, which mends it (docs/semantics.md, Faults)"
        )
    if name.startswith(_BUSY):
        return LedgerBusy(
            f"{text}; another process holds it locked: find it with: fuser -v {path} (or lsof "
            f"{path}), and end it"
        )
    if name == "SQLITE_FULL":
        return _full(text)
    if name.startswith("SQLITE_READONLY"):
        return _read_only(text)
    refused = refusal(path) if name.startswith(_UNSURE) else 0
    if refused in (0, errno.EIO):
        return LedgerDown(f"{text}; try again") if name.startswith(_MACHINE) else _broken(text)
    return _by_errno(refused, text)


def _by_errno(number: int, text: str) -> LedgerDown:
    """Return what the system's own word means."""
    if number in _NO_ROOM:
        return _full(text)
    if number in _NO_RIGHT:
        return _read_only(text)
    return _broken(text) if number == errno.EIO else LedgerDown(text)


def _full(text: str) -> StorageFull:
    """Return that the disk is full."""
    return StorageFull(f"{text}; nothing was kept: free some space{_after(text)}")


def _read_only(text: str) -> StorageReadOnly:
    """Return that nothing may be written."""
    return StorageReadOnly(
        f"{text}; nothing was kept: make the disk and the folder writable{_after(text)}"
    )


def _after(text: str) -> str:
    """Return what comes once it is mended: a ledger that did not open waits for nobody."""
    return ", then start again" if text.startswith("cannot open") else ", and it goes on by itself"


def _broken(text: str) -> DiskFault:
    """Return that the disk cannot be trusted."""
    return DiskFault(
        f"{text}; nothing more is acknowledged: look at the disk (dmesg), then start again"
    )


def refusal(path: Path) -> int:
    """Ask the disk: write a small file beside the ledger; return the errno, or 0 if it went."""
    asked = path.with_name(f"{path.name}-probe")
    try:
        fd = os.open(asked, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            short = os.write(fd, bytes(_ASKED)) < _ASKED
            os.fsync(fd)
        finally:
            os.close(fd)
            with contextlib.suppress(OSError):
                asked.unlink()
    except OSError as error:
        return error.errno or errno.EIO
    return errno.ENOSPC if short else 0


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Give what led to an error, the first of it first, and then the error itself."""
    found: list[BaseException] = []
    last: BaseException | None = error
    while last is not None and last not in found:
        found.append(last)
        last = last.__cause__ or last.__context__
    return reversed(found)
