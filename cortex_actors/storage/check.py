"""Whether the ledger's file is what it should be; how thoroughly, depends on how it was left.

A ledger that was closed in order has no WAL beside it: then its header and its tables are looked
at. One that has was left by a crash: then SQLite's quick check reads its pages, for 10 s at most.
One that somebody found damaged (`suspect`), or under which the machine went down (`lock`), is
checked as a whole.

A torn or garbled end of the WAL is no damage: SQLite ends where the checksums end, and what was
acknowledged was synced before that.

A disk that could not be read is no damage either, but SQLite calls it so (EIO in a read becomes
`SQLITE_CORRUPT`). A good ledger must not make room for an older copy because a cable was loose, so
damage counts only if every byte can be read and the same check finds it again.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from cortex_actors.errors import DiskFault, LedgerDown
from cortex_actors.home import write_private
from cortex_actors.storage import faults
from cortex_actors.storage.files import Halt, beside, failure, reader, settle, size, wrong
from cortex_actors.storage.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

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
        write_private(marker(path), f"{why}\n")
        settle(marker(path))
        settle(path.parent)


def marker(path: Path) -> Path:
    """Return the file that says that a ledger was found damaged."""
    return path.with_name(f"{path.name}.suspect")


def damage(path: Path) -> str:
    """Return what is wrong with a ledger that nobody has open, "" when it may be opened.

    No file is no damage where there never was one: a new ledger is made. But its log or its backups
    alone are, because SQLite deletes a log that it finds beside a new file, and an empty ledger
    beside backups would look like a good one. Raises `LedgerDown` when the file cannot be read for
    reasons of the disk, of rights or of locks: then nobody knows, and nothing may be moved.
    """
    if not path.exists():
        return _gone(path)
    if not path.is_file():
        return "there is no file in its place"
    if not size(path):
        return "it is empty" if _had_content(path) else ""
    if not _found(path):
        return ""
    _require_readable(path)
    return _known(_found(path), path)


def _gone(path: Path) -> str:
    """Return what is wrong with a ledger that is not there; "" where there never was one."""
    if path.is_symlink():
        message = (
            f"cannot open the ledger {path}: it is a link to {path.readlink()}, which is not "
            "there; mount or restore that, or remove the link, and start again"
        )
        raise LedgerDown(message)
    if size(beside(path)[0]):
        return "it is gone, and its log is still there"
    return "it is gone, and its backups are still there" if _has_copies(path) else ""


def _found(path: Path) -> str:
    """Return what is wrong with a file as SQLite sees it."""
    try:
        with closing(reader(path)) as opened:
            return _looked_at(opened, path)
    except sqlite3.Error as error:
        if faults.is_damage(error):
            return str(error)
        raise faults.of(error, path, doing="check") or _unknown(path, error) from error


def whole(path: Path, halt: Halt) -> None:
    """Check a ledger that is in use as a whole, which takes as long as reading all of it does.

    Raises `DiskFault` when it is damaged: the next start checks it again and recovers.
    """
    found = ""
    try:
        with closing(reader(path)) as opened:
            halt.cover(opened)
            try:
                found = _first(opened, _WHOLE) or ""
            finally:
                halt.leave(opened)
    except sqlite3.Error as error:
        halt.check()
        if not faults.is_damage(error):
            raise _unknown(path, error) from error
        found = str(error)
    if _known(found, path):
        suspect(path, found)
        message = (
            f"the ledger {path} is damaged: {found}; start the daemon again: it puts the file "
            "aside and restores the newest backup (docs/recovery.md)"
        )
        raise DiskFault(message)
    marker(path).unlink(missing_ok=True)


def _looked_at(opened: sqlite3.Connection, path: Path) -> str:
    """Return what is wrong with a file that SQLite opens."""
    version = int(opened.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        # A newer program's: refused before anything is changed. Its list of tables is not looked
        # at, because SQLite calls words that it does not know damage.
        return ""
    tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_schema")}
    if not version:
        return "it is another program's database" if tables else ""
    if missing := TABLES - tables:
        return f"it has no table {min(missing)}"
    if marker(path).exists():
        return _suspected(opened, path)
    if size(beside(path)[0]):
        return _first(opened, _QUICK, within=QUICK_S) or ""
    return ""


def _suspected(opened: sqlite3.Connection, path: Path) -> str:
    """Return what is wrong with a ledger that was found damaged; if nothing, that is forgotten.

    Not if it was too large to be read in time: the daemon's own check does so soon.
    """
    found = _first(opened, _WHOLE, within=WHOLE_S)
    if found == "":
        marker(path).unlink(missing_ok=True)
    return found or ""


def _first(opened: sqlite3.Connection, query: str, *, within: float | None = None) -> str | None:
    """Return the first thing that a check finds, "" for nothing, None if it takes any longer."""
    late = threading.Timer(within or 0.0, opened.interrupt)
    late.daemon = True
    if within is not None:
        late.start()
    try:
        return wrong(opened.execute(query).fetchone()[0])
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
        raise LedgerDown(message)
    return found


def _require_readable(path: Path) -> None:
    """Raise `LedgerDown` unless the disk gives every byte of a ledger that nobody has open."""
    try:
        for each in (path, beside(path)[0]):
            if each.exists():
                _read_through(each)
    except OSError as error:
        message = (
            f"cannot read the ledger {path}: {error}; nothing was moved, because nobody knows "
            "whether it is damaged: look at the disk (dmesg) and start again; if it stays "
            "unreadable, put a backup in its place with: cortex restore"
        )
        raise DiskFault(message) from error


def _read_through(path: Path) -> None:
    """Read a file to its end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while os.read(descriptor, _CHUNK):
            pass
    finally:
        os.close(descriptor)


def _had_content(path: Path) -> bool:
    """Tell whether an empty file was a ledger with something in it."""
    return bool(size(beside(path)[0])) or marker(path).exists() or _has_copies(path)


def _has_copies(path: Path) -> bool:
    """Tell whether a ledger was ever copied; raises `LedgerDown` where nobody can look."""
    folder = path.with_name("backups")
    try:
        return any(each.suffix == ".db" for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise failure(f"list the backups in {folder}", error) from error


def _unknown(path: Path, error: Exception) -> LedgerDown:
    """Return that nobody can tell how a ledger is."""
    return LedgerDown(f"cannot check the ledger {path}: {error}; try again")
