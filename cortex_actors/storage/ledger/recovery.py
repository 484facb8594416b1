"""A damaged ledger at the start: put aside, replaced by the newest good backup, and reported.

The damaged file is never changed: it is renamed with its WAL to `cortex.db.corrupt-<time>`. The
newest backup that passes every check takes its place; without one, a new ledger does. What can be
read of the damaged file is brought back (`salvage`), files are read again because the restored
ledger knows them as they were, and `backups/recovery-<time>.json` says what is missing.

Everything is done in a file beside the ledger before the exchange (`replacement`), so a crash here
leaves the damaged ledger where it was, to be recovered by the next start.

What a recovery has to say: written once into `backups/`, shown by `status` for a week.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.clock import DAY, SECOND, Clock, iso
from cortex_actors.errors import CortexError, LedgerDown, StorageFull, StorageReadOnly
from cortex_actors.home import Home, write_private
from cortex_actors.process.logfile import read_objects
from cortex_actors.storage.ledger import backups, connection, faults, files
from cortex_actors.storage.ledger.backups import (
    PART,
    Backup,
    copy,
    find_problem,
    make_private,
    read_version,
)
from cortex_actors.storage.ledger.connection import migrate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cortex_actors.storage.ledger.salvage import Salvaged


#: Microseconds for which `status` shows a recovery.
SHOWN = 7 * DAY


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What was wrong, what was restored, and exactly what is missing."""

    #: When, UTC microseconds.
    at: int
    #: What was wrong with the ledger.
    reason: str
    #: Where the damaged file is now, or the first one that lay beside it; None where none is left.
    ledger: str | None
    #: The backup that was restored; None where none was good, and a new ledger was made.
    backup: str | None
    #: When that was made, UTC microseconds.
    backup_at: int | None
    #: Backups that could not be used, and why.
    refused: Mapping[str, str] = field(default_factory=dict)
    #: Rows that were read from the damaged file, are not in the backup, and are back, by table.
    salvaged: Mapping[str, int] = field(default_factory=dict)
    #: Rows that the damaged file names and that are not back, by table.
    missing: Mapping[str, int] = field(default_factory=dict)
    #: The ids of those that nothing else can say again.
    missing_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Tables of which a part could not be read: there may be more missing than is known.
    unreadable: Sequence[str] = ()
    #: Events that the log names, and that are neither back nor under `missing_ids`.
    logged: Sequence[Mapping[str, str]] = ()

    @property
    def lost(self) -> int:
        """How many things are known to be missing."""
        return sum(self.missing.values()) + len(self.logged)


def write(folder: Path, report: RecoveryReport) -> Path:
    """Write a report for good; return where."""
    path = folder / f"recovery-{files.format_stamp(report.at)}.json"
    found = asdict(report)
    found["at"] = iso(report.at)
    found["backup_at"] = None if report.backup_at is None else iso(report.backup_at)
    write_private(path, json.dumps({**found, "lost": report.lost}, indent=2) + "\n")
    files.settle(path)
    files.settle(folder)
    return path


def find_latest(folder: Path, now: int, *, since: int = 0) -> dict[str, Any] | None:
    """Return what `status` says of the newest recovery; None without one in the last week.

    None, too, for one from before `since`: what it says is of a ledger that is used no more.
    """
    at, newest = max(
        (
            (files.parse_stamp(each.stem.removeprefix("recovery-")) or -1, each)
            for each in folder.glob("recovery-*Z.json")
        ),
        default=(-1, folder),
    )
    return None if at < max(since, now - SHOWN) else read(newest)


def read(path: Path) -> dict[str, Any]:
    """Return what a report says in short.

    Never raises: a report that cannot be read is named as such.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            "at": str(found["at"]),
            "reason": str(found["reason"]),
            "backup": found["backup"],
            "backup_at": found["backup_at"],
            "salvaged": sum(found["salvaged"].values()),
            "missing": int(found["lost"]),
            "unreadable": [str(each) for each in found["unreadable"]],
            "report": str(path),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return {"reason": f"its report cannot be read: {error}", "report": str(path)}


def format_sentence(found: Mapping[str, Any]) -> str:
    """Return a recovery as `status`, and the start that did it, show it to a person."""
    if "at" not in found:
        return f"{found['reason']}: {found['report']}"
    source = f"from the backup of {found['backup_at']}" if found["backup"] else "with no backup"
    lost = format_losses(found["missing"], found["unreadable"])
    outcome = f"{found['salvaged']} rows salvaged, {lost}; see {found['report']}"
    return f"recovered {found['at']} {source}: {outcome}"


def format_losses(missing: int, unreadable: Sequence[str]) -> str:
    """Return how much is missing, as far as it is known; unread tables may hide more."""
    if not unreadable:
        return f"{missing} missing"
    known = f"at least {missing} missing" if missing else "none known to be missing"
    if "every table" in unreadable:
        return f"{known}, no table could be read"
    tables = "1 table" if len(unreadable) == 1 else f"{len(unreadable)} tables"
    return f"{known}, {tables} could not be read whole"


log = logging.getLogger("cortex.ledger")

#: What the name of a damaged ledger says of it.
KIND = "corrupt"

#: Events that a report names from the log; more are only a number too large to read.
LOGGED = 10_000


def make_ready(home: Home, clock: Clock) -> RecoveryReport | None:
    """Leave a ledger that can be opened, or none where there was none; return what that took.

    Call it before opening the ledger, with the home's lock. Raises `LedgerDown` when
    the file cannot be read, or there is no room to put another in its place.
    """
    backups.finish(home.ledger)
    reason = faults.find_damage(home.ledger)
    return recover(home, reason, at=clock.now()) if reason else None


def recover(home: Home, reason: str, *, at: int) -> RecoveryReport:
    """Put the ledger aside, restore what there is, and say what is missing."""
    path = home.ledger
    log.critical("the ledger %s is damaged: %s; recovering", path, reason)
    backups.prepare(home.backups)
    chosen, refused = _newest_good(home.backups)
    if chosen is None and not any(
        os.path.lexists(each) for each in (path, *files.list_beside(path))
    ):
        # An empty one must not replace a ledger that is gone.
        why = "".join(f"; {name}: {wrong}" for name, wrong in refused.items())
        raise LedgerDown(
            f"cannot restore the ledger {path}: it is gone, and no backup in {home.backups} can "
            f"be used{why}; put the ledger or a good backup there, or move them away to begin with "
            "an empty one"
        )
    made = _made(path, chosen)
    salvaged = _salvaged(path, made, chosen)
    if salvaged is None:  # what was brought back does no good: do without
        made = _made(path, chosen)
    backups.renew(made, path)
    left = backups.find_aside(path, kind=KIND, at=at)
    report = RecoveryReport(
        at=at,
        reason=reason,
        ledger=None if left is None else str(left),
        backup=None if chosen is None else chosen.path.name,
        backup_at=None if chosen is None else chosen.at,
        refused=refused,
        salvaged=salvaged.rows if salvaged else {},
        missing=salvaged.missing if salvaged else {},
        missing_ids=salvaged.missing_ids if salvaged else {},
        unreadable=salvaged.unreadable if salvaged else ["every table"],
        logged=_logged(home, made, chosen, known=salvaged),
    )
    return _exchange(home, made, report)


def _exchange(home: Home, made: Path, report: RecoveryReport) -> RecoveryReport:
    """Write the report, exchange the files, and report it in the log."""
    written = write(home.backups, report)
    backups.commit(home.ledger, made, kind=KIND, at=report.at)
    faults.name_marker(home.ledger).unlink(missing_ok=True)
    source = report.backup or "an empty ledger: no backup is good"
    log.critical(
        "the ledger was restored from %s; the damaged one is %s; %s rows are back from it, %s; %s",
        source,
        report.ledger or "gone",
        sum(report.salvaged.values()),
        format_losses(report.lost, report.unreadable),
        written,
    )
    return report


def _newest_good(folder: Path) -> tuple[Backup | None, dict[str, str]]:
    """Return the newest backup that passes every check, and why newer ones did not.

    Each has two tries: a read that failed once says nothing. Raises `StorageReadOnly` for one that
    we have no right to read, because an older one would come back in its place; `StoreTooOld` where
    the newest good one is from before the baseline, because an empty ledger would.
    """
    refused: dict[str, str] = {}
    for each in backups.list_backups(folder):
        if not os.access(each.path, os.R_OK):
            message = f"cannot recover the ledger: the backup {each.path} may not be read"
            raise StorageReadOnly(f"{message}; make it readable, or move it away, and start again")
        wrong = find_problem(each.path) and find_problem(each.path)
        if not wrong and read_version(each.path) > files.SCHEMA_VERSION:
            wrong = "a newer version of the program made it"
        if not wrong:
            doing = "recover the ledger from"
            files.refuse_schema(
                read_version(each.path), each.path, doing=doing, instead="move it away"
            )
            return each, refused
        refused[each.path.name] = wrong
    return None, refused


def _made(path: Path, chosen: Backup | None) -> Path:
    """Return a ledger of this version beside the present one: the backup, or an empty one."""
    made = backups.name_part(path)
    if chosen is None:
        make_private(made)
    else:
        copy(chosen.path, made, still=True)
    engine = connection.open_writing(made)
    try:
        migrate(engine, made, keep=False)
    finally:
        engine.dispose()
    return made


def _salvaged(path: Path, made: Path, chosen: Backup | None) -> Salvaged | None:
    """Bring back what can be read; None when the result does not pass the checks."""
    from cortex_actors.storage.ledger import salvage  # noqa: PLC0415 - seldom needed

    if not path.is_file() or not files.measure_size(path):
        return salvage.Salvaged(unreadable=["every table"])
    found = salvage.salvage(path, made)
    if (
        found.is_nothing
        and chosen is not None
        and read_version(chosen.path) == files.SCHEMA_VERSION
    ):
        found = _relisted(path, made, chosen) or found
    # Let everything be found that came back: passages and words are made, never brought.
    engine = connection.open_writing(made)
    try:
        with engine.begin() as opened:
            salvage.refill(opened)
    finally:
        engine.dispose()
    if wrong := find_problem(made):
        log.error("what was read of the damaged ledger cannot be used: %s", wrong)
        return None
    return found


def _relisted(path: Path, made: Path, chosen: Backup) -> Salvaged | None:
    """Bring back what can be read with the backup's list of tables; None if that fails, too."""
    from cortex_actors.storage.ledger import salvage  # noqa: PLC0415 - seldom needed

    scratch = path.with_name(f"{path.name}.scratch{PART}")
    try:
        salvage.relist(path, chosen.path, scratch)
        return salvage.salvage(scratch, made)
    except StorageFull:
        raise
    except (LedgerDown, OSError, sqlite3.Error) as error:
        log.warning("the damaged ledger's list of tables cannot be mended: %s", error)
        return None
    finally:
        for each in (scratch, *files.list_beside(scratch)):
            each.unlink(missing_ok=True)


def _logged(
    home: Home, made: Path, chosen: Backup | None, *, known: Salvaged | None
) -> list[dict[str, str]]:
    """Return the durable events that the log names and nothing else; custom ones may be transient.

    Those from before the last `cortex daemon restore` its user has given up. The second before the
    backup counts, too: what its last moment holds may be in the log a little earlier.
    """
    backed_up = 0 if chosen is None else chosen.at - SECOND
    since = max(backed_up, backups.find_restored(home.ledger) or 0)
    with closing(files.open_reader(made, still=True)) as opened:
        there = {row[0] for row in opened.execute("SELECT id FROM events")}
    if known is not None:
        there |= set(known.missing_ids.get("events", ()))
    found: list[dict[str, str]] = []
    for record in read_objects(home.logs / "cortex.ndjson"):
        at, topic, name = record.get("at"), record.get("topic"), record.get("event")
        if not (isinstance(at, int) and isinstance(topic, str) and isinstance(name, str)):
            continue
        with suppress(CortexError):  # no topic of ours
            if at >= since and name not in there and topics.find(topic).durable:
                there.add(name)
                found.append({"id": name, "topic": topic, "at": iso(at)})
    return found[:LOGGED]
