"""What a recovery has to say: written once into `backups/`, shown by `status` for a week."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import DAY, iso
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
    #: Where the damaged file is now.
    ledger: str
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
    path.touch(mode=0o600)
    path.write_text(json.dumps({**found, "lost": report.lost}, indent=2) + "\n", encoding="ascii")
    settle(path)
    settle(folder)
    return path


def latest(folder: Path, now: int) -> dict[str, Any] | None:
    """Return what `status` says of the newest recovery; None without one in the last week.

    Never raises: a report that cannot be read is named as such.
    """
    path = _newest(folder, now)
    if path is None:
        return None
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
    source = f"from the backup of {found['backup_at']}" if found["backup"] else "with no backup"
    more = " at least" if found["unreadable"] else ""
    return (
        f"recovered {found['at']} {source}: {found['salvaged']} rows salvaged,{more} "
        f"{found['missing']} missing; see {found['report']}"
    )


def _newest(folder: Path, now: int) -> Path | None:
    """Return the newest report that is to be shown."""
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
    return None if at is None or now - at > SHOWN else times[at]
