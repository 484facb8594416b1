"""The copies of the ledger in `backups/`: their names, which there are, which go.

`cortex-<time>.db` is one that the schedule made, `manual-<time>.db` one that a user asked for, and
`before-v<N>-<time>.db` the ledger as it was before a migration from version N. A file that is not
finished ends in `.part`.

A copy of the ledger while it is written, and whether a copy is good.

SQLite's own backup copies page by page inside one read transaction: in WAL mode that blocks no
writer, sees one moment, and never begins again however much is written meanwhile (a backup without
that transaction restarts whenever the ledger changes between two steps, possibly for ever). `VACUUM
INTO` was rejected: SQLite does not fsync what it makes, and it needs the whole time of one
statement, which cannot report progress.

Another ledger takes the place of the present one, and a crash at any step is made good.

The new file is made whole first, under a name that is not opened. Its renaming to
`cortex.db.next-<kind>-<time>` decides: from then on the next start finishes the exchange. The
present ledger, its WAL and its shared memory are renamed aside before the new one gets their name,
because SQLite would play a WAL that it finds beside a ledger into it. Nothing is ever overwritten.

What was handled long ago is deleted, in small units of work.

Events that a consumer has still to handle are kept however old they are, and so are dead letters:
only a person deletes one. Of the runs, the last of each kind and path is kept: it says how
things are.

What is done by the clock, as the ledger knows it: when each job was done last, and how it ended.

A row outlives the daemon, so that what was missed while none ran is done once, and soon.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, delete, exists, func, select

from cortex_actors.clock import DAY, SECOND, start_ulid
from cortex_actors.errors import BadInput, LedgerDown, NotFound, StorageFull
from cortex_actors.home import HOME_MODE, write_private
from cortex_actors.rules.decay import BACKUP_HOUR, choose_backups
from cortex_actors.storage.ledger.files import (
    BESIDE,
    Halt,
    explain_failure,
    format_stamp,
    list_beside,
    measure_size,
    open_reader,
    parse_stamp,
    read_finding,
    settle,
)
from cortex_actors.storage.tables.columns import put_rows
from cortex_actors.storage.tables.schema import dead_letters, deliveries, events, jobs, runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home


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

    `still` promises that no process writes the source; `quick` is the one of `find_problem`. Raises
    `StorageFull` before anything is written when there is no room for it, and `LedgerDown`.
    """
    refuse_without_room(source, target.parent)
    part = target.with_name(target.name + PART)
    try:
        make_private(part)
        _copy_pages(source, part, halt or Halt(), still=still)
        if found := find_problem(part, quick=quick):
            raise LedgerDown(
                f"cannot keep the copy {target}: {found}; the ledger or the disk is damaged: "
                "copy to another disk with: cortex daemon backup --to PATH"
            )
        part.replace(target)
        settle(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise explain_failure(f"copy the ledger {source} to {target}", error) from error
    finally:
        part.unlink(missing_ok=True)


def find_problem(path: Path, *, quick: bool = False) -> str:
    """Return what is wrong with a copy, "" when it is good; nothing is left beside it.

    Every page is read and, unless it is to be `quick`, every index compared with its table, which
    takes three quarters of the time. A row whose parent is missing (written by hand) is part of
    the ledger as it is, and no reason to have no copy.
    """
    try:
        with closing(open_reader(path, still=True)) as opened:
            if not opened.execute("PRAGMA user_version").fetchone()[0]:
                return "it is no ledger"
            how = "quick_check" if quick else "integrity_check"
            (found,) = opened.execute(f"PRAGMA {how}(1)").fetchone()
            return read_finding(found).removeprefix(_WHERE)
    except (sqlite3.Error, OSError) as error:
        return str(error)


def read_version(path: Path) -> int:
    """Return the schema version of a copy that is good."""
    with closing(open_reader(path, still=True)) as opened:
        return int(opened.execute("PRAGMA user_version").fetchone()[0])


def refuse_without_room(source: Path, folder: Path) -> None:
    """Raise `StorageFull` when a copy of a ledger does not fit into a folder with room to spare."""
    need = measure_size(source) + sum(measure_size(each) for each in list_beside(source)) + MARGIN
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise explain_failure(f"copy the ledger {source} into {folder}", error) from error
    if free < need:
        raise StorageFull(
            f"cannot copy the ledger {source} into {folder}: that needs {need:,} bytes and "
            f"{free:,} are free; make room, or copy elsewhere with: cortex daemon backup --to PATH"
        )


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
        with (
            closing(open_reader(source, still=still)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            # A copy that is cut short is thrown away, so nothing has to be undone in it.
            new.execute("PRAGMA journal_mode = OFF")
            new.execute("PRAGMA synchronous = OFF")
            old.execute("BEGIN")
            old.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            old.backup(new, pages=STEP, progress=keep_up)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def list_backups(folder: Path) -> list[Backup]:
    """Return the copies in a folder, newest first; nothing for a folder that is not there."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise explain_failure(f"list the backups in {folder}", error) from error
    found = [each for path in paths if (each := _backup(path)) is not None]
    return sorted(found, key=lambda each: (each.at, each.path.name), reverse=True)


def take(ledger: Path, folder: Path, *, at: int, halt: Halt | None = None) -> Backup | None:
    """Copy a ledger into the folder of backups, unless nothing was written since the newest one.

    The first of each hour is checked as a whole, the others quickly. None, too, where there is no
    ledger. Raises as `take_now` does.
    """
    written, newest = _written(ledger), _newest(folder)
    if written is None or (newest and newest.path.stat().st_mtime_ns == written):
        return None
    target = folder / f"cortex-{format_stamp(at)}.db"
    quick = any(
        each.at // BACKUP_HOUR == at // BACKUP_HOUR
        for each in list_backups(folder)
        if not each.migrated
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
    target = folder / f"manual-{format_stamp(at)}.db"
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
        target /= f"cortex-{format_stamp(at)}.db"
    if os.path.lexists(target):
        raise BadInput(f"cannot copy the ledger to {target}: that exists; give a new name")
    if not target.parent.is_dir():
        message = f"cannot copy the ledger to {target}: there is no folder {target.parent}"
        raise NotFound(f"{message}; make it first")
    if not ledger.exists():
        raise NotFound(f"there is no ledger at {ledger} yet; start the daemon: cortex start")
    copy(ledger, target, halt=halt)
    return Backup(target, at, target.stat().st_size)


def copy_for_user(
    home: Home, to: str | None, *, clock: Clock, halt: Halt | None = None
) -> dict[str, Any]:
    """Copy a home's ledger at a user's request, into `backups/` or to a path; say what was made.

    Raises as `take_now` and `take_to` do.
    """
    begun, at = clock.monotonic(), clock.now()
    if to is None:
        made = take_now(home.ledger, home.backups, at=at, halt=halt)
    else:
        made = take_to(home.ledger, Path(to), at=at, halt=halt)
    took = round(clock.monotonic() - begun, 3)
    return {"path": str(made.path), "size": made.size, "at": made.at, "took_s": took}


def copy_before_migration(ledger: Path, *, version: int, at: int) -> Path:
    """Copy a ledger that is about to be migrated; of such copies the last three are kept."""
    folder = ledger.with_name("backups")
    prepare(folder)
    target = folder / f"before-v{version}-{format_stamp(at)}.db"
    copy(ledger, target)
    for each in [one for one in list_backups(folder) if one.migrated][MIGRATIONS:]:
        each.path.unlink(missing_ok=True)
    return target


def tidy(folder: Path, *, now: int, hourly: int, daily: int) -> list[Path]:
    """Delete the copies that are no longer kept and return which; see `rules.retention`.

    Those that users asked for count by themselves, or what the schedule makes every few minutes
    would push them out; but they, too, end with the last day, so that what is forgotten is gone.
    """
    copies = [each for each in list_backups(folder) if not each.migrated]
    last = now - max(hourly * BACKUP_HOUR, daily * DAY)
    gone = []
    for manual in (False, True):
        some = [each for each in copies if each.manual is manual]
        keep = choose_backups([each.at for each in some], now, hourly=hourly, daily=daily)
        gone += [
            each.path
            for each in some
            if each.at not in keep or (manual and each.at < last and each is not copies[0])
        ]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def compute_age(folder: Path, now: int) -> float | None:
    """Return the seconds since the newest copy; None without any, 0 for one that lies ahead."""
    newest = _newest(folder)
    return None if newest is None else max(0.0, (now - newest.at) / SECOND)


def _newest(folder: Path) -> Backup | None:
    """Return the newest copy but for those from before a migration; None without any."""
    return next((each for each in list_backups(folder) if not each.migrated), None)


def find_written(ledger: Path) -> int:
    """Return when a ledger was last written, UTC microseconds; 0 where there is none."""
    return (_written(ledger) or 0) // 1_000


def note_check(folder: Path, at: int) -> None:
    """Remember that the whole ledger was found sound then."""
    prepare(folder)
    write_private(folder / _CHECKED, f"{format_stamp(at)}\n")


def read_checked(folder: Path) -> int | None:
    """Return when the whole ledger was last found sound, UTC microseconds; None if not known."""
    try:
        return parse_stamp((folder / _CHECKED).read_text(encoding="ascii").strip())
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
        raise explain_failure(f"write the backups in {folder}", error) from error


def _backup(path: Path) -> Backup | None:
    """Return what a path in the folder is; None for anything but a copy."""
    found = _NAME.fullmatch(path.name)
    at = parse_stamp(found[2]) if found else None
    if found is None or at is None or not path.is_file():
        return None
    kind, size = found[1], path.stat().st_size
    return Backup(path, at, size, migrated=kind.startswith("before"), manual=kind == "manual")


def _written(ledger: Path) -> int | None:
    """Return when a ledger was last written, in nanoseconds; None when there is none."""
    times = []
    for path in (ledger, list_beside(ledger)[0]):
        try:
            found = path.stat()
            if path == ledger or found.st_size:  # a reader leaves an empty WAL
                times.append(found.st_mtime_ns)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LedgerDown(f"cannot look at {path}: {error}; check the disk") from error
    return max(times) if ledger.exists() else None


#: What an old owner's epoch may be above the last one that can be read.
_LEAP = 1_000

#: The word in the name of a ledger that a user has replaced with another one.
REPLACED = "replaced"

#: The moment in such a name; whatever lay beside the ledger, or found its name taken, has more.
_RESTORED = re.compile(rf"\.{REPLACED}-(\d{{8}}T\d{{6}}Z)")


def name_part(path: Path) -> Path:
    """Return where the new ledger is made; what a crash has left half made is removed."""
    for each in path.parent.glob(f"{path.name}.*{PART}*"):
        each.unlink(missing_ok=True)
    return path.with_name(f"{path.name}.next{PART}")


def renew(made: Path, old: Path) -> None:
    """Make a copied ledger one of its own.

    Old owners are fenced off, the index is rebuilt, and so are the words: SQLite's check of a
    copy does not read what they say.
    """
    epoch = None  # of the ledger's last owner, as far as it can be read
    with suppress(sqlite3.Error, TypeError, ValueError), closing(open_reader(old)) as opened:
        epoch = int(opened.execute("SELECT max(epoch) FROM owner").fetchone()[0] or 0)
    with closing(sqlite3.connect(made, isolation_level=None)) as opened:
        (own,) = opened.execute("SELECT coalesce(max(epoch), 0) FROM owner").fetchone()
        above = own + _LEAP if epoch is None else max(own, epoch) + 1
        opened.execute("BEGIN IMMEDIATE")
        opened.execute("DELETE FROM index_state")
        opened.execute("DELETE FROM owner")
        opened.execute(
            "INSERT INTO owner (one, epoch, pid, started_at) VALUES (1, ?, 0, 0)", (above,)
        )
        # Rebuild the words of the passages, where the ledger's version has any.
        names = "SELECT name FROM sqlite_schema WHERE name IN ('words_alone', 'words_paired')"
        for (words,) in opened.execute(names).fetchall():
            opened.execute(f"INSERT INTO {words} ({words}) VALUES ('rebuild')")  # noqa: S608 - ours
        opened.execute("COMMIT")


def commit(path: Path, made: Path, *, kind: str, at: int) -> Path:
    """Exchange the ledger for the one that was made; return where the old one is from now on.

    `kind` says why, in the name: corrupt or replaced. After a crash in here `finish` ends it.
    """
    if any(measure_size(each) for each in list_beside(made)):
        message = f"cannot exchange the ledger {path}: {made} was not closed; look at the disk"
        raise LedgerDown(message)
    try:
        settle(made)
        made.rename(path.with_name(f"{path.name}.next-{kind}-{format_stamp(at)}"))
        settle(path.parent)
    except OSError as error:
        raise explain_failure(f"exchange the ledger {path}", error) from error
    finish(path)
    return name_aside(path, kind=kind, at=at)


def name_aside(path: Path, *, kind: str, at: int) -> Path:
    """Return where a ledger that is exchanged then lies afterwards."""
    return path.with_name(f"{path.name}.{kind}-{format_stamp(at)}")


def find_aside(path: Path, *, kind: str, at: int) -> Path | None:
    """Return where the first file of a ledger will lie once it is exchanged then.

    That is the ledger itself or, where it is gone, what SQLite kept beside it; None for nothing.
    """
    old = name_aside(path, kind=kind, at=at)
    for end in ("", *BESIDE):
        if os.path.lexists(path.with_name(path.name + end)):
            return _free(old.with_name(old.name + end))
    return None


def find_restored(path: Path) -> int | None:
    """Return when a user put a backup in the ledger's place last, UTC microseconds, to the second.

    None where no replaced ledger is kept, or the folder cannot be read.
    """
    names = (each.name for each in path.parent.glob(f"{path.name}.{REPLACED}-*"))
    times = [parse_stamp(found[1]) for name in names if (found := _RESTORED.search(name))]
    return max((each for each in times if each is not None), default=None)


def finish(path: Path) -> None:
    """End an exchange that a crash has cut short; does nothing without one.

    Call it before the ledger is opened. Raises `LedgerDown`.
    """
    try:
        for waiting in sorted(path.parent.glob(f"{path.name}.next-*-*Z")):
            old = path.with_name(waiting.name.replace(".next-", ".", 1))
            if old.name.startswith(f"{path.name}.{REPLACED}-"):
                # Remove an empty WAL and the shared memory beside a ledger: they say nothing.
                # Opening a ledger to count what it holds leaves them behind. A journal is never
                # removed.
                wal = path.with_name(f"{path.name}-wal")
                if wal.exists() and not measure_size(wal):
                    wal.unlink()
                    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
            for end in ("", *BESIDE):
                each = path.with_name(path.name + end)
                if os.path.lexists(each):  # a name that is taken is never taken away
                    each.rename(_free(old.with_name(old.name + end)))
            settle(path.parent)
            waiting.rename(path)
            settle(path.parent)
    except OSError as error:
        raise explain_failure(f"exchange the ledger {path}", error) from error


def _free(target: Path) -> Path:
    """Return a name that is not taken."""
    while os.path.lexists(target):
        target = target.with_name(f"{target.name}.again")
    return target


#: Events that must have been said under a clock before it is believed.
BELIEVED = 100


def compute_horizon(connection: Connection, now: int, keep_days: float) -> int:
    """Return the time before which things are old: so many days before `now`.

    And so many before the time of the last `BELIEVED` events: a clock that is years ahead for a
    while (a machine that starts without the network) must not make everything old at once, which no
    later correction of the clock would bring back. Times are UTC microseconds.
    """
    last = select(events.c.at).order_by(events.c.seq.desc()).limit(BELIEVED).subquery()
    said = connection.execute(select(func.min(last.c.at))).scalar()
    return min(now, now if said is None else said) - round(keep_days * DAY)


def prune(connection: Connection, before: int, limit: int) -> int:
    """Delete at most so many rows that are older than a time; return how many went.

    0 when nothing is old any more. Reads little more than it deletes: beside that only old rows
    that are kept, in the order of their ids, which begin with their time.
    """
    # What keeps an event: a consumer has still to handle it, or a person to decide about it.
    kept = [
        select(table.c.seq).where(table.c.seq == events.c.seq)
        for table in (deliveries, dead_letters)
    ]
    old = (
        select(events.c.seq)
        .where(events.c.id < f"evt_{start_ulid(before)}", events.c.at < before)
        .where(*(~exists(each) for each in kept))
        .order_by(events.c.id)
        .limit(limit)
    )
    gone = connection.execute(delete(events).where(events.c.seq.in_(old))).rowcount
    # Of the runs, those that have a later one of their kind and path that ended as they did: what
    # was read of a file stays known while it is found unchanged.
    later = runs.alias("later")
    same = and_(
        later.c.kind == runs.c.kind,
        later.c.path.is_not_distinct_from(runs.c.path),
        later.c.state == runs.c.state,
    )
    ended = (
        select(runs.c.id)
        .where(runs.c.id < f"run_{start_ulid(before)}", runs.c.finished_at < before)
        .where(exists(select(later.c.id).where(same, later.c.finished_at > runs.c.finished_at)))
        .order_by(runs.c.id)
        .limit(limit - gone)
    )
    return gone + connection.execute(delete(runs).where(runs.c.id.in_(ended))).rowcount


#: How a run ended.
DONE, FAILED = "done", "failed"


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job; times are UTC microseconds."""

    name: str
    #: Seconds between two runs, and by how many of them one may come later.
    every_s: float
    jitter_s: float = 0.0
    #: The last run; None before the first.
    started_at: int | None = None
    finished_at: int | None = None
    #: When the next one is to be; the wall clock may have jumped since.
    due_at: int | None = None
    #: `done`, `failed`, or None before the first run.
    state: str | None = None
    #: What the last run said, or why it failed.
    said: str | None = None


def load_jobs(connection: Connection) -> dict[str, JobRow]:
    """Return the jobs that were noted, by name."""
    return {row.name: JobRow(*row) for row in connection.execute(select(jobs))}


def note_jobs(connection: Connection, rows: Iterable[JobRow]) -> None:
    """Write the state of jobs, over what was written of them before."""
    put_rows(connection, jobs, map(asdict, rows))
