"""What SQLite's complaints mean: a full disk, a broken one, a locked file, a damaged one.

SQLite says `SQLITE_FULL` for ENOSPC while it writes, and otherwise `SQLITE_IOERR_...` without the
errno: a user without quota (EDQUOT), a disk that went read-only (EROFS) and shared memory that
finds no room (`SQLITE_IOERR_SHMSIZE`) look like a broken disk. So where its word leaves that open,
the disk itself is asked: a small file is written beside the ledger and removed again.

A failed fsync is never put down to a full disk: the kernel may have dropped the pages and call them
clean, so whatever the reason was, nothing may be retried on that file.

Whether the ledger's file is what it should be; how thoroughly, depends on how it was left.

A ledger that was closed in order has no WAL beside it: then its header and its tables are looked
at. One that has was left by a crash: then SQLite's quick check reads its pages, for 10 s at most.
One that was found damaged in use (`suspect`), or under which the machine went down (`lock`), is
checked as a whole.

A torn or garbled end of the WAL is no damage: SQLite ends where the checksums end, and what was
acknowledged was synced before that.

A disk that could not be read is no damage either, but SQLite calls it so (EIO in a read becomes
`SQLITE_CORRUPT`). A good ledger must not make room for an older copy because a cable was loose, so
damage counts only if every byte can be read and the same check finds it again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from cortex_actors import errors
from cortex_actors.home import write_private
from cortex_actors.storage.ledger import files

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

#: Bytes that are written to ask the disk: more than most commits, and than the 32 KiB by which
#: shared memory grows.
_ASKED = 262_144


#: What a query raises: short statements go to the driver itself.
ERRORS = (DBAPIError, sqlite3.Error)


def explain(error: BaseException, path: Path, *, doing: str) -> errors.LedgerDown | None:
    """Return what a failure means for a ledger; None where it is none of the disk's.

    Whatever failed first counts: undoing a unit after it may fail in turn. Blocks where the disk
    has to be asked. `doing` completes "cannot ... the ledger".
    """
    if isinstance(error, errors.LedgerDown):
        return error
    if isinstance(error, errors.WordsDamaged):
        return errors.LedgerDown(f"cannot {doing} the ledger {path}: {error}")
    for cause in _chain(error):
        if isinstance(cause, OSError):
            return _by_errno(cause.errno or 0, f"cannot {doing} the ledger {path}: {cause}")
        if (name := find_name(cause)).startswith(_DISK):
            said = cause.orig if isinstance(cause, DBAPIError) else cause
            return _by_name(name, path, f"cannot {doing} the ledger {path}: {said} ({name})")
    return None


def explain_query(
    error: DBAPIError | sqlite3.Error, path: Path, limit: float
) -> errors.CortexError:
    """Return what a failed query of the ledger means; `limit` is the seconds that it might take.

    `DeadlineExceeded` where it was broken off, `DiskFault` for a damaged file, else `LedgerDown`.
    """
    if find_name(error) == "SQLITE_INTERRUPT":
        return errors.DeadlineExceeded(
            f"a query of the ledger {path} was broken off after {limit:g} s"
        )
    cause = error.orig if isinstance(error, DBAPIError) else error
    unknown = errors.LedgerDown(f"cannot read the ledger {path}: {cause}")
    return explain(error, path, doing="read") or unknown


def find_name(error: BaseException) -> str:
    """Return SQLite's name of an error; empty for every other."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorname", "") if isinstance(cause, sqlite3.Error) else ""


def is_the_disk(error: BaseException) -> bool:
    """Tell whether SQLite could not do its work, whatever was asked of it."""
    return is_of_words(error) or any(find_name(c).startswith(_DISK) for c in _chain(error))


def is_damage(error: BaseException) -> bool:
    """Tell whether the file holds something else than it should (rather than cannot be reached)."""
    names = [find_name(cause) for cause in _chain(error)]
    return any(name.startswith(_DAMAGE) and name != WORDS for name in names)


def is_of_words(error: BaseException) -> bool:
    """Tell whether only the words are damaged, which are made again from the passages."""
    return any(isinstance(c, errors.WordsDamaged) or find_name(c) == WORDS for c in _chain(error))


def is_of_changed_words(error: BaseException) -> bool:
    """Tell whether a change failed because a list of words is damaged; the texts may be whole.

    Words have no constraints but the keys of their own tables: a key that is there twice means that
    the list of what is there is damaged.
    """
    return isinstance(error, sqlite3.IntegrityError) or is_of_words(error)


def _by_name(name: str, path: Path, text: str) -> errors.LedgerDown:
    """Return what one of SQLite's own words means."""
    if name == WORDS:
        return errors.LedgerDown(
            f"{text}; only the words are damaged, by which texts are searched: rebuild them from "
            "the texts with: cortex doctor --repair"
        )
    if name.startswith(_DAMAGE):
        return errors.DiskFault(
            f"{text}; it is damaged: start again, which mends it (docs/semantics.md, Faults)"
        )
    if name.startswith(_BUSY):
        return errors.LedgerBusy(
            f"{text}; another process holds it locked: find it with: fuser -v {path} (or lsof "
            f"{path}), and end it"
        )
    if name == "SQLITE_FULL":
        return _by_errno(errno.ENOSPC, text)
    if name.startswith("SQLITE_READONLY"):
        return _by_errno(errno.EROFS, text)
    refused = probe_disk(path) if name.startswith(_UNSURE) else 0
    if refused in (0, errno.EIO) and name.startswith(_MACHINE):
        return errors.LedgerDown(f"{text}; try again")
    return _by_errno(refused or errno.EIO, text)


def _by_errno(number: int, text: str) -> errors.LedgerDown:
    """Return what the system's own word means."""
    # A ledger that did not open has no callers that wait for it.
    opens = text.startswith("cannot open")
    after = ", then start again" if opens else ", and it goes on by itself"
    if number in files.NO_ROOM:
        return errors.StorageFull(f"{text}; nothing was kept: free some space{after}")
    if number in files.NO_RIGHT:
        return errors.StorageReadOnly(
            f"{text}; nothing was kept: make the disk and the folder writable{after}"
        )
    if number == errno.EIO:  # the disk cannot be trusted
        return errors.DiskFault(
            f"{text}; nothing more is acknowledged: look at the disk (dmesg), then start again"
        )
    return errors.LedgerDown(text)


def probe_disk(path: Path) -> int:
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


#: Seconds a start may spend on a check after a crash.
QUICK_S = 10.0

#: Seconds it may spend on a ledger that was found damaged: a start must answer within 60.
WHOLE_S = 30.0

#: Bytes that are read at once to see whether the disk gives them.
_CHUNK = 1_048_576

#: How a check names a page that it did not get, and SQLite's codes for one that is damaged.
_UNREAD = re.compile(r"error code=(\d+)")
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

#: Tables that every version has.
TABLES = frozenset({"owner", "projects", "events", "deliveries", "insights"})

_QUICK, _WHOLE = "PRAGMA quick_check(1)", "PRAGMA integrity_check(1)"


def suspect(path: Path, why: str) -> None:
    """Have the next start check a ledger as a whole, because of this; never raises."""
    with suppress(OSError):
        write_private(name_marker(path), f"{why}\n")
        files.settle(name_marker(path))
        files.settle(path.parent)


def name_marker(path: Path) -> Path:
    """Return the file that says that a ledger was found damaged."""
    return path.with_name(f"{path.name}.suspect")


def find_damage(path: Path) -> str:
    """Return what is wrong with a ledger that is not open, "" when it may be opened.

    No file is no damage where there never was one: a new ledger is made. But its log or its backups
    alone are, because SQLite deletes a log that it finds beside a new file, and an empty ledger
    beside backups would look like a good one. Raises `LedgerDown` when the file cannot be read for
    reasons of the disk, of rights or of locks: then its state is unknown, and nothing may move.
    """
    has_log = bool(files.measure_size(files.list_beside(path)[0]))
    if not path.exists():
        if path.is_symlink():
            raise errors.LedgerDown(
                f"cannot open the ledger {path}: it is a link to {path.readlink()}, which is not "
                "there; mount or restore that, or remove the link, and start again"
            )
        if has_log:
            return "it is gone, and its log is still there"
        return "it is gone, and its backups are still there" if _has_copies(path) else ""
    if not path.is_file():
        return "there is no file in its place"
    if not files.measure_size(path):
        return "it is empty" if has_log or name_marker(path).exists() or _has_copies(path) else ""
    if not _found(path):
        return ""
    _require_readable(path)
    return _known(_found(path), path)


def _found(path: Path) -> str:
    """Return what is wrong with a file as SQLite sees it."""
    try:
        # What was half written when the power went, before a new ledger had its log, is taken back.
        # SQLite does so by itself, but for a connection that only reads: every start would be
        # refused.
        if files.measure_size(path.with_name(f"{path.name}-journal")):
            with closing(sqlite3.connect(path, timeout=5.0)) as opened:
                opened.execute("PRAGMA user_version")
        with closing(files.open_reader(path)) as opened:
            return _looked_at(opened, path)
    except sqlite3.Error as error:
        if is_damage(error):
            return str(error)
        raise explain(error, path, doing="check") or _unknown(path, error) from error


def check_whole(path: Path, halt: files.Halt) -> None:
    """Check a ledger that is in use as a whole, which takes as long as reading all of it does.

    Raises `DiskFault` when it is damaged: the next start checks it again and recovers.
    """
    found = ""
    try:
        with closing(files.open_reader(path)) as opened:
            halt.cover(opened)
            try:
                found = _first(opened, _WHOLE) or ""
            finally:
                halt.leave(opened)
    except sqlite3.Error as error:
        halt.check()
        if not is_damage(error):
            raise _unknown(path, error) from error
        found = str(error)
    if _known(found, path):
        suspect(path, found)
        raise errors.DiskFault(
            f"the ledger {path} is damaged: {found}; start the daemon again: it puts the file "
            "aside and restores the newest backup (docs/recovery.md)"
        )
    name_marker(path).unlink(missing_ok=True)


def _looked_at(opened: sqlite3.Connection, path: Path) -> str:
    """Return what is wrong with a file that SQLite opens."""
    version = int(opened.execute("PRAGMA user_version").fetchone()[0])
    if version > files.SCHEMA_VERSION or files.is_too_old(version):
        # Refused before anything is changed. A newer program's list of tables is not looked at,
        # because SQLite calls words that it does not know damage.
        return ""
    tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_schema")}
    if not version:
        return "it is another program's database" if tables else ""
    if missing := TABLES - tables:
        return f"it has no table {min(missing)}"
    if name_marker(path).exists():  # found damaged before; if nothing is wrong, that is forgotten
        found = _first(opened, _WHOLE, within=WHOLE_S)
        # Not if it was too large to be read in time: the daemon's own check does so soon.
        if found == "":
            name_marker(path).unlink(missing_ok=True)
        return found or ""
    if files.measure_size(files.list_beside(path)[0]):
        return _first(opened, _QUICK, within=QUICK_S) or ""
    return ""


def _first(opened: sqlite3.Connection, query: str, *, within: float | None = None) -> str | None:
    """Return the first thing that a check finds, "" for nothing, None if it takes any longer."""
    late = threading.Timer(within or 0.0, opened.interrupt)
    late.daemon = True
    if within is not None:
        late.start()
    try:
        return files.read_finding(opened.execute(query).fetchone()[0])
    except sqlite3.OperationalError as error:
        if within is not None and error.sqlite_errorname == "SQLITE_INTERRUPT":
            return None  # too large to be read in time; the daily check reads all of it
        raise
    finally:
        late.cancel()
        if within is not None:
            late.join()


def _known(found: str, path: Path) -> str:
    """Return what a check found; raises `LedgerDown` if that is a page which it did not get."""
    if (code := _UNREAD.search(found)) and int(code[1]) & 0xFF not in _DAMAGED:
        message = f"cannot check the ledger {path}: {found}; look at the disk (dmesg), try again"
        raise errors.LedgerDown(message)
    return found


def _require_readable(path: Path) -> None:
    """Raise `LedgerDown` unless the disk gives every byte of a ledger that is not open."""
    try:
        for each in (path, files.list_beside(path)[0]):
            if each.exists():
                descriptor = os.open(each, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    while os.read(descriptor, _CHUNK):
                        pass
                finally:
                    os.close(descriptor)
    except OSError as error:
        raise errors.DiskFault(
            f"cannot read the ledger {path}: {error}; nothing was moved, because it is not "
            "known whether it is damaged: look at the disk (dmesg) and start again; if it stays "
            "unreadable, put a backup in its place with: cortex daemon restore"
        ) from error


def _has_copies(path: Path) -> bool:
    """Tell whether a ledger was ever copied; raises `LedgerDown` if that cannot be read."""
    folder = path.with_name("backups")
    try:
        return any(each.suffix == ".db" for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise files.explain_failure(f"list the backups in {folder}", error) from error


def _unknown(path: Path, error: Exception) -> errors.LedgerDown:
    """Return the error for a ledger whose state cannot be checked."""
    return errors.LedgerDown(f"cannot check the ledger {path}: {error}; try again")
