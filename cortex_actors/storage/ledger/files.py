"""The ledger's file as a file: opened only to read, named, and made to outlive a power cut.

Nothing here opens a ledger with `open`: when a process closes any descriptor of a file, POSIX drops
every lock that SQLite holds on it in that process.

The version of the ledger's schema, apart from the tables: it costs no import of SQLAlchemy.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from cortex_actors import errors
from cortex_actors.clock import SECOND, iso

if TYPE_CHECKING:
    from pathlib import Path


#: What SQLite keeps beside a ledger while it is open, and after a crash. The journal is there when
#: a new ledger was cut short before it had a WAL; SQLite would undo in any file what it says.
BESIDE = ("-wal", "-shm", "-journal")

#: How a moment is written in the name of a file.
_STAMP = "%Y%m%dT%H%M%SZ"

#: Errors of the system when there is no room: for all users, or for this one.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})

#: What it says when nothing may be written.
NO_RIGHT = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

#: How SQLite's check names words that are damaged.
_OF_WORDS = "inverted index for FTS"


#: What opening and reading a file that may be no ledger raises.
UNREADABLE = (sqlite3.Error, OSError, ValueError)


class Halt:
    """Ends long work on a ledger's file from another thread; asked once, for ever."""

    def __init__(self) -> None:
        """Let work go on."""
        self._asked = threading.Event()
        self._reading: set[sqlite3.Connection] = set()

    @property
    def asked(self) -> bool:
        """Tell whether work is to end."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Let every running query fail, and every later piece of work."""
        self._asked.set()
        for connection in tuple(self._reading):
            with suppress(sqlite3.ProgrammingError):
                connection.interrupt()

    def cover(self, connection: sqlite3.Connection) -> None:
        """Interrupt this connection, too, when asked; raises `LedgerDown` if that was before."""
        self._reading.add(connection)
        self.check()

    def leave(self, connection: sqlite3.Connection) -> None:
        """Interrupt this connection no more."""
        self._reading.discard(connection)

    def check(self) -> None:
        """Raise `LedgerDown` when work is to end."""
        if self.asked:
            message = "called off: the daemon stops; what was begun is done after its next start"
            raise errors.LedgerDown(message)


def open_reader(path: Path, *, still: bool = False) -> sqlite3.Connection:
    """Return a connection that only reads; `still` promises that no process writes the file.

    A still file is opened without locks and leaves nothing beside it. What a crash left in a WAL
    beside it is not seen then.
    """
    how = "mode=ro&immutable=1" if still else "mode=ro"
    address = f"file:{quote(os.fsencode(path))}?{how}"
    connection = sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=5.0, check_same_thread=False
    )
    connection.text_factory = lambda value: value.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def list_beside(path: Path) -> list[Path]:
    """Return the paths of what SQLite keeps beside a ledger."""
    return [path.with_name(path.name + each) for each in BESIDE]


def read_finding(found: object) -> str:
    """Return what SQLite's check of a file found first, "" if the file is sound.

    From 3.44 on it reads full-text tables, after everything else. Words that are damaged are no
    reason to give up a ledger: they are made again from the texts.
    """
    said = " ".join(str(found).split())
    return "" if said == "ok" or _OF_WORDS in said else said


def measure_size(path: Path) -> int:
    """Return a file's bytes; 0 when it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def settle(path: Path) -> None:
    """Return once a file, or a folder's list of names, is on the disk.

    Some file systems (CIFS among them) cannot sync a folder; SQLite goes without there, too.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def explain_failure(doing: str, error: sqlite3.Error | OSError) -> errors.LedgerDown:
    """Return what to raise when something could not be done with a copy or a name.

    Never a `DiskFault`: what fails here may be another disk than the ledger's.
    """
    name = getattr(error, "sqlite_errorname", "")
    number = getattr(error, "errno", None)
    if name.startswith("SQLITE_FULL") or number in NO_ROOM:
        return errors.StorageFull(f"cannot {doing}: the disk is full; make room")
    if name.startswith("SQLITE_READONLY") or number in NO_RIGHT:
        return errors.StorageReadOnly(f"cannot {doing}: {error}; check who may write there")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return errors.LedgerBusy(f"cannot {doing}: another process has locked it; end that one")
    return errors.LedgerDown(
        f"cannot {doing}: {error}; check the disk and the folder's permissions"
    )


def format_stamp(at: int) -> str:
    """Return a moment (UTC microseconds) as the names of files have it, to the second."""
    return iso(at).replace("-", "").replace(":", "")


def parse_stamp(text: str) -> int | None:
    """Return the moment that a stamp means, UTC microseconds; None for any other text."""
    try:
        found = datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(found.timestamp()) * SECOND


#: What `PRAGMA user_version` holds when this code and the ledger agree.
SCHEMA_VERSION = 13

#: The oldest schema that migrations lead from: the baseline.
OLDEST_SCHEMA = 7

#: What to do about an older one.
UPGRADE = (
    "start it once with the last version that reads it (docs/ledger.md says which), then with this "
    "one"
)


def is_too_old(schema: int) -> bool:
    """Tell whether a ledger is from before the baseline; one without a schema is not."""
    return 0 < schema < OLDEST_SCHEMA


def refuse_schema(schema: int, path: Path, *, doing: str, instead: str) -> None:
    """Raise `StoreTooNew` or `StoreTooOld` for a schema that this program cannot bring to its own.

    `doing` completes "cannot ...", `instead` says what else can be done than to install another
    version.
    """
    cannot = f"cannot {doing} {path}: it has schema version {schema}, this program"
    if schema > SCHEMA_VERSION:
        what = f"knows {SCHEMA_VERSION}; install the newer cortex-actors or {instead}"
        raise errors.StoreTooNew(f"{cannot} {what}")
    if is_too_old(schema):
        raise errors.StoreTooOld(
            f"{cannot} reads {OLDEST_SCHEMA} and newer; {UPGRADE}, or {instead}"
        )
