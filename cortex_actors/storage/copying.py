"""A copy of the ledger while it is written, and whether a copy is good.

SQLite's own backup copies page by page inside one read transaction: in WAL mode that blocks no
writer, sees one moment, and never begins again however much is written meanwhile (a backup without
that transaction restarts whenever the ledger changes between two steps, possibly for ever). `VACUUM
INTO` was rejected: SQLite does not fsync what it makes, and it needs the whole time of one
statement, which cannot report progress.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from cortex_actors.errors import LedgerDown, StorageFull
from cortex_actors.storage.files import Halt, beside, failure, reader, settle, size, wrong

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes that stay free beside a copy: the ledger itself must be able to go on.
MARGIN = 64 * 1024 * 1024

#: Pages between two fsyncs of the copy, 4 MiB: one fsync of everything at the end would hold up the
#: ledger's own fsyncs behind it.
STEP = 1_024

#: What the name of a copy that is not finished ends in.
PART = ".part"

#: What SQLite puts before whatever it finds wrong; a copy has no other database.
_WHERE = "*** in database main *** "


def copy(
    source: Path,
    target: Path,
    *,
    halt: Halt | None = None,
    still: bool = False,
    quick: bool = False,
) -> None:
    """Copy a ledger as it is at one moment; the target is whole, checked and durable, or not there.

    `still` promises that nobody writes the source, `quick` is as `problem` has it. Raises
    `StorageFull` before anything is written when there is no room for it, and `LedgerDown`.
    """
    refuse_without_room(source, target.parent)
    part = target.with_name(target.name + PART)
    try:
        make_private(part)
        _copy_pages(source, part, halt or Halt(), still=still)
        if found := problem(part, quick=quick):
            message = (
                f"cannot keep the copy {target}: {found}; the ledger or the disk is damaged: "
                "copy to another disk with: cortex backup --to PATH"
            )
            raise LedgerDown(message)
        part.replace(target)
        settle(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise failure(f"copy the ledger {source} to {target}", error) from error
    finally:
        part.unlink(missing_ok=True)


def problem(path: Path, *, quick: bool = False) -> str:
    """Return what is wrong with a copy, "" when it is good; nothing is left beside it.

    Every page is read and, unless it is to be `quick`, every index compared with its table, which
    takes three quarters of the time. A row that belongs to one that is
    not there (somebody wrote by hand) is the ledger's as it is, and no reason to have no copy.
    """
    try:
        with closing(reader(path, still=True)) as opened:
            if not opened.execute("PRAGMA user_version").fetchone()[0]:
                return "it is no ledger"
            how = "quick_check" if quick else "integrity_check"
            (found,) = opened.execute(f"PRAGMA {how}(1)").fetchone()
            return wrong(found).removeprefix(_WHERE)
    except (sqlite3.Error, OSError) as error:
        return str(error)


def version(path: Path) -> int:
    """Return the schema version of a copy that is good."""
    with closing(reader(path, still=True)) as opened:
        return int(opened.execute("PRAGMA user_version").fetchone()[0])


def refuse_without_room(source: Path, folder: Path) -> None:
    """Raise `StorageFull` when a copy of a ledger does not fit into a folder with room to spare."""
    need = size(source) + sum(size(each) for each in beside(source)) + MARGIN
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise failure(f"copy the ledger {source} into {folder}", error) from error
    if free < need:
        message = (
            f"cannot copy the ledger {source} into {folder}: that needs {need:,} bytes and "
            f"{free:,} are free; make room, or copy elsewhere with: cortex backup --to PATH"
        )
        raise StorageFull(message)


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read; one of that name is replaced."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _copy_pages(source: Path, part: Path, halt: Halt, *, still: bool) -> None:
    """Copy every page, letting the disk keep up."""
    descriptor = os.open(part, os.O_RDWR)

    def keep_up(_status: int, _left: int, _total: int) -> None:
        halt.check()
        os.fsync(descriptor)

    try:
        with closing(reader(source, still=still)) as old, closing(sqlite3.connect(part)) as new:
            # A copy that is cut short is thrown away, so nothing has to be undone in it.
            new.execute("PRAGMA journal_mode = OFF")
            new.execute("PRAGMA synchronous = OFF")
            old.execute("BEGIN")
            old.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            old.backup(new, pages=STEP, progress=keep_up)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
