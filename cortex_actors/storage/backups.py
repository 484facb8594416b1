"""The copies of the ledger in `backups/`: their names, which there are, which go.

`cortex-<time>.db` is one that the schedule made, `manual-<time>.db` one that a user asked for, and
`before-v<N>-<time>.db` the ledger as it was before a migration from version N. A file that is not
finished ends in `.part`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.clock import DAY, SECOND
from cortex_actors.errors import BadInput, LedgerDown, NotFound
from cortex_actors.home import HOME_MODE, write_private
from cortex_actors.rules.decay import BACKUP_HOUR, kept_backups
from cortex_actors.storage.copying import PART, copy
from cortex_actors.storage.files import Halt, beside, failure, settle, stamp, stamped

if TYPE_CHECKING:
    from pathlib import Path

#: Copies from before migrations that are kept.
MIGRATIONS = 3

#: Nanoseconds in which a file system may give two writes the same time, with room to spare.
_RACY = 2_000_000_000

#: The file that says when the whole ledger was checked last.
_CHECKED = "checked"

#: What the copies are called.
_NAME = re.compile(r"(cortex|manual|before-v\d+)-(\d{8}T\d{6}Z)\.db")


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy."""

    path: Path
    #: When it was made, UTC microseconds: to the second, as its name says.
    at: int
    #: Bytes.
    size: int
    #: Whether a migration came after it.
    migrated: bool = False
    #: Whether a user asked for it.
    manual: bool = False


def listed(folder: Path) -> list[Backup]:
    """Return the copies in a folder, newest first; nothing for a folder that is not there."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failure(f"list the backups in {folder}", error) from error
    found = [each for path in paths if (each := _backup(path)) is not None]
    return sorted(found, key=lambda each: (each.at, each.path.name), reverse=True)


def take(ledger: Path, folder: Path, *, at: int, halt: Halt | None = None) -> Backup | None:
    """Copy a ledger into the folder of backups, unless nothing was written since the newest one.

    The first of each hour is checked as a whole, the others quickly. None, too, where there is no
    ledger. Raises as `take_now` does.
    """
    written = _written(ledger)
    if written is None or not _is_news(folder, written):
        return None
    target = folder / f"cortex-{stamp(at)}.db"
    quick = any(
        each.at // BACKUP_HOUR == at // BACKUP_HOUR for each in listed(folder) if not each.migrated
    )
    return _taken(ledger, target, written=written, at=at, halt=halt, quick=quick)


def take_now(ledger: Path, folder: Path, *, at: int, halt: Halt | None = None) -> Backup:
    """Copy a ledger into the folder of backups because a user asks for it; return the copy.

    Blocks as long as the disk takes. Raises `StorageFull`, `LedgerDown`, `NotFound` without a
    ledger.
    """
    written = _written(ledger)
    if written is None:
        raise NotFound(f"there is no ledger at {ledger} yet; start the daemon: cortex start")
    target = folder / f"manual-{stamp(at)}.db"
    made = _taken(ledger, target, written=written, at=at, halt=halt)
    return replace(made, manual=True)


def _taken(
    ledger: Path, target: Path, *, written: int, at: int, halt: Halt | None, quick: bool = False
) -> Backup:
    """Copy a ledger that was last written then (nanoseconds) into the folder of backups."""
    prepare(target.parent)
    copy(ledger, target, halt=halt, quick=quick)
    # What is written while we copy is not in the copy, so its time is that of the last write
    # before. A write in the same tick as that one would look like it: then it is a little older.
    seen = written - 1 if abs(at * 1_000 - written) < _RACY else written
    os.utime(target, ns=(seen, seen))
    return Backup(target, at // SECOND * SECOND, target.stat().st_size)


def take_to(ledger: Path, target: Path, *, at: int, halt: Halt | None = None) -> Backup:
    """Copy a ledger to a place of the user's choosing: a new file, or any folder.

    Raises `BadInput` for a place that is taken, `NotFound` where there is no folder or no ledger.
    """
    if target.is_dir():
        target /= f"cortex-{stamp(at)}.db"
    if os.path.lexists(target):
        raise BadInput(f"cannot copy the ledger to {target}: that exists; give a new name")
    if not target.parent.is_dir():
        message = f"cannot copy the ledger to {target}: there is no folder {target.parent}"
        raise NotFound(f"{message}; make it first")
    if not ledger.exists():
        raise NotFound(f"there is no ledger at {ledger} yet; start the daemon: cortex start")
    copy(ledger, target, halt=halt)
    return Backup(target, at, target.stat().st_size)


def before_migration(ledger: Path, *, version: int, at: int) -> Path:
    """Copy a ledger that is about to be migrated; of such copies the last three are kept."""
    folder = ledger.with_name("backups")
    prepare(folder)
    target = folder / f"before-v{version}-{stamp(at)}.db"
    copy(ledger, target)
    for each in [one for one in listed(folder) if one.migrated][MIGRATIONS:]:
        each.path.unlink(missing_ok=True)
    return target


def tidy(folder: Path, *, now: int, hourly: int, daily: int) -> list[Path]:
    """Delete the copies that are no longer kept and return which; see `rules.retention`.

    Those that users asked for count by themselves, or what the schedule makes every few minutes
    would push them out; but they, too, end with the last day, so that what is forgotten is gone.
    """
    copies = [each for each in listed(folder) if not each.migrated]
    last = now - max(hourly * BACKUP_HOUR, daily * DAY)
    gone = []
    for manual in (False, True):
        some = [each for each in copies if each.manual is manual]
        keep = kept_backups([each.at for each in some], now, hourly=hourly, daily=daily)
        gone += [
            each.path
            for each in some
            if each.at not in keep or (manual and each.at < last and each is not copies[0])
        ]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def age(folder: Path, now: int) -> float | None:
    """Return the seconds since the newest copy; None without any, 0 for one that lies ahead."""
    newest = next((each for each in listed(folder) if not each.migrated), None)
    return None if newest is None else max(0.0, (now - newest.at) / SECOND)


def written(ledger: Path) -> int:
    """Return when a ledger was last written, UTC microseconds; 0 where there is none."""
    return (_written(ledger) or 0) // 1_000


def note_check(folder: Path, at: int) -> None:
    """Remember that the whole ledger was found sound then."""
    prepare(folder)
    write_private(folder / _CHECKED, f"{stamp(at)}\n")


def checked_at(folder: Path) -> int | None:
    """Return when the whole ledger was found sound last, UTC microseconds; None if nobody knows."""
    try:
        return stamped((folder / _CHECKED).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None


def prepare(folder: Path) -> None:
    """Make the folder if need be, and remove what a crash left half made."""
    try:
        if not folder.exists():
            folder.mkdir(mode=HOME_MODE, exist_ok=True)
            # A copy whose folder's own name is lost in a power cut is lost, too.
            settle(folder.parent)
        for left in folder.glob(f"*.db{PART}"):
            left.unlink(missing_ok=True)
    except OSError as error:
        raise failure(f"write the backups in {folder}", error) from error


def _backup(path: Path) -> Backup | None:
    """Return what a path in the folder is; None for anything but a copy."""
    found = _NAME.fullmatch(path.name)
    at = stamped(found[2]) if found else None
    if found is None or at is None or not path.is_file():
        return None
    kind, size = found[1], path.stat().st_size
    return Backup(path, at, size, migrated=kind.startswith("before"), manual=kind == "manual")


def _written(ledger: Path) -> int | None:
    """Return when a ledger was last written, in nanoseconds; None when there is none."""
    times = []
    for path in (ledger, beside(ledger)[0]):
        try:
            found = path.stat()
            if path == ledger or found.st_size:  # a reader leaves an empty WAL
                times.append(found.st_mtime_ns)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LedgerDown(f"cannot look at {path}: {error}; check the disk") from error
    return max(times) if ledger.exists() else None


def _is_news(folder: Path, written: int) -> bool:
    """Tell whether a ledger that was last written then holds more than the newest copy."""
    newest = next((each for each in listed(folder) if not each.migrated), None)
    return newest is None or newest.path.stat().st_mtime_ns != written
