"""What the home holds beside ledger and index: its lock, its rights, its room, its backups."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from typing import TYPE_CHECKING

from cortex_actors import lock
from cortex_actors.clock import SECOND, iso
from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.errors import LedgerDown
from cortex_actors.storage.ledger import backups, files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.checkup.patient import Patient

#: Bytes of a megabyte, as people count them.
MB = 1_000_000

#: Seconds beyond two backups' distance after which the newest should not be older.
GRACE = 600.0

#: Seconds in an hour and in a day.
_HOUR, _DAY = 3_600.0, 86_400.0

#: Who may enter besides the owner: nobody.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def locked(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether the lock is there, says something, and is held by the daemon that runs."""
    home = patient.home
    if not home.lock.exists():
        yield Diagnosis(
            "lock",
            f"{home.lock} is not there, so a second daemon could start",
            Severity.ERROR if patient.online else Severity.NOTE,
            "cortex restart" if patient.online else "a start makes it",
        )
        return
    said, state = lock.read(home), lock.state(home)
    if patient.online and state not in lock.HELD:
        yield Diagnosis(
            "lock",
            f"{home.lock} was replaced; this daemon holds another file",
            Severity.ERROR,
            "cortex restart",
        )
    elif not said.pid:
        yield Diagnosis("lock", "it does not say who held it last", Severity.NOTE, "a start does")
    elif not patient.online and said.state in (lock.State.CRASHED, lock.State.RUNNING):
        why = f": {said.reason}" if said.reason else ""
        yield Diagnosis(
            "lock", f"the last daemon, pid {said.pid}, did not end in order{why}", Severity.NOTE
        )
    else:
        yield Diagnosis("lock", f"owner {said.epoch} of this home, pid {said.pid}, {said.state}")


def private(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether only the owner may enter the home and read the ledger."""
    home = patient.home
    open_to = [
        path for path in (home.root, home.ledger) if path.exists() and path.stat().st_mode & _OTHERS
    ]
    for path in open_to:
        yield Diagnosis(
            "rights",
            f"others on this machine may look into {path}",
            Severity.WARNING,
            f"chmod go= {path}",
        )
    if not open_to:
        yield Diagnosis("rights", "only their owner may look into the home and the ledger")


def room(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether the disk has room to go on, and for the next backup."""
    home, low = patient.home, patient.settings.storage.low_water_mb
    free = shutil.disk_usage(home.root).free
    need = files.size(home.ledger) + sum(files.size(each) for each in files.beside(home.ledger))
    shown = f"{free / MB:,.0f} MB free"
    if free < low * MB:
        yield Diagnosis(
            "disk",
            f"{shown}, less than storage.low_water_mb ({low}): new work is refused",
            Severity.ERROR,
            "make room",
        )
    elif free < need + backups.MARGIN:
        yield Diagnosis(
            "disk",
            f"{shown}, and the next backup needs {(need + backups.MARGIN) / MB:,.0f}",
            Severity.WARNING,
            "make room, or copy elsewhere: cortex backup --to PATH",
        )
    else:
        yield Diagnosis("disk", f"{shown}; the ledger has {need / MB:,.1f} MB")


def backed_up(patient: Patient) -> Iterator[Diagnosis]:
    """Look how old the newest backup is, and whether it can be read; thoroughly, whether each is.

    A ledger that nobody has written since the newest copy needs no newer one.
    """
    try:
        copies = backups.listed(patient.home.backups)
    except LedgerDown as error:
        yield Diagnosis("backups", str(error), Severity.WARNING, "cortex backup")
        return
    hourly = [each for each in copies if not each.migrated]
    if not hourly:
        yield Diagnosis(
            "backups",
            "there is none yet",
            Severity.NOTE,
            "the daemon makes one soon; cortex backup makes one now",
        )
    else:
        yield _newest(hourly[0], patient)
    for each in copies if patient.thorough else hourly[:1]:
        wrong = backups.problem(each.path) if patient.thorough else _unreadable(each)
        if wrong:
            yield Diagnosis(
                "backups",
                f"{each.path.name} cannot be restored: {wrong}",
                Severity.WARNING,
                "cortex backup makes another; then delete it",
            )


def _newest(copy: backups.Backup, patient: Patient) -> Diagnosis:
    """Return how old the newest backup is, and whether that is too old."""
    every = patient.settings.schedule.backup_every_s
    age = (patient.clock.now() - copy.at) / SECOND
    written = patient.home.ledger.stat().st_mtime if patient.home.ledger.exists() else 0.0
    behind = written - copy.path.stat().st_mtime
    late = patient.online and min(age, behind) > 2 * every + GRACE
    shown = f"the newest is of {iso(copy.at)}, {_span(age)} old"
    if late:
        text = f"{shown}, and the ledger was written {_span(behind)} later"
        return Diagnosis("backups", text, Severity.WARNING, "cortex backup; cortex status says why")
    return Diagnosis("backups", shown)


def _unreadable(copy: backups.Backup) -> str:
    """Return why a copy cannot be opened as a ledger; "" when it can."""
    try:
        return "" if backups.version(copy.path) else "it is no ledger"
    except (sqlite3.Error, OSError) as error:
        return str(error)


def _span(seconds: float) -> str:
    """Return a time in words."""
    whole = max(0.0, seconds)
    if whole >= 2 * _DAY:
        return f"{whole / _DAY:.0f} days"
    return f"{whole / _HOUR:.1f} hours" if whole >= _HOUR else f"{whole / 60:.0f} minutes"
