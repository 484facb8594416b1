"""What a recovery has to say: written once into `backups/`, shown by `status` for a week."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import DAY, iso
from cortex_actors.home import write_private
from cortex_actors.storage.files import settle, stamp, stamped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: Microseconds for which `status` shows a recovery.
SHOWN = 7 * DAY

_NAME = re.compile(r"recovery-(\d{8}T\d{6}Z)\.json")


@dataclass(frozen=True, slots=True)
class Report:
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


def write(folder: Path, report: Report) -> Path:
    """Write a report for good; return where."""
    path = folder / f"recovery-{stamp(report.at)}.json"
    found = asdict(report)
    found["at"] = iso(report.at)
    found["backup_at"] = None if report.backup_at is None else iso(report.backup_at)
    write_private(path, json.dumps({**found, "lost": report.lost}, indent=2) + "\n")
    settle(path)
    settle(folder)
    return path


def latest(folder: Path, now: int, *, since: int = 0) -> dict[str, Any] | None:
    """Return what `status` says of the newest recovery; None without one in the last week.

    None, too, for one from before `since`: what it says is of a ledger that is used no more.
    """
    path = _newest(folder, max(since, now - SHOWN))
    return None if path is None else read(path)


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


def sentence(found: Mapping[str, Any]) -> str:
    """Return a recovery as `status` tells it to a person."""
    if "at" not in found:
        return f"{found['reason']}: {found['report']}"
    return f"recovered {found['at']} {_source(found)}: {_outcome(found)}"


def line(found: Mapping[str, Any]) -> str:
    """Return a recovery as the start that did it tells it to a person."""
    if "at" not in found:
        return f"recovered: {found['reason']}; see {found['report']}"
    return f"recovered: {_source(found)}, {_outcome(found)}"


def losses(missing: int, unreadable: Sequence[str]) -> str:
    """Return how much is missing, as far as it is known; unread tables may hide more."""
    if not unreadable:
        return f"{missing} missing"
    known = f"at least {missing} missing" if missing else "none known to be missing"
    if "every table" in unreadable:
        return f"{known}, no table could be read"
    tables = "1 table" if len(unreadable) == 1 else f"{len(unreadable)} tables"
    return f"{known}, {tables} could not be read whole"


def _source(found: Mapping[str, Any]) -> str:
    """Return what took the damaged ledger's place."""
    return f"from the backup of {found['backup_at']}" if found["backup"] else "with no backup"


def _outcome(found: Mapping[str, Any]) -> str:
    """Return what came back and what did not."""
    lost = losses(found["missing"], found["unreadable"])
    return f"{found['salvaged']} rows salvaged, {lost}; see {found['report']}"


def _newest(folder: Path, since: int) -> Path | None:
    """Return the newest report, if it is not older than that."""
    try:
        paths = list(folder.iterdir())
    except OSError:
        return None
    times = {
        at: path
        for path in paths
        if (found := _NAME.fullmatch(path.name)) and (at := stamped(found[1])) is not None
    }
    at = max(times, default=None)
    return None if at is None or at < since else times[at]
