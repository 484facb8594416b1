"""Whether the ledger knows what the instruction files say now.

Every file is read and hashed: by name, size and times alone nobody sees a file that was put back
from an archive, or that a disk has changed. Nothing is ever written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND
from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.domain.project import file_hash, innermost
from cortex_actors.watching.sweep import inner_roots, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.checkup.patient import Patient
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.health.rows import Learned
    from cortex_actors.storage.projects import FileState

#: Seconds beyond two sweeps after which a change should have been read.
GRACE = 30.0

#: Paths that are named; of more only the number is told.
NAMED = 3

#: Nanoseconds of a microsecond.
_NANO = 1_000

_READ_AGAIN = "cortex scan, or cortex doctor --repair"
_NEXT_START = "the next start reads them: cortex start"


@dataclass(slots=True)
class Seen:
    """What a look at every file found; paths."""

    projects: tuple[Project, ...] = ()
    total: int = 0
    absent: list[str] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    #: Of the above, what is about to be read anyway.
    soon: set[str] = field(default_factory=set)

    @property
    def missed(self) -> list[str]:
        """The files that should be read again."""
        return sorted({*self.changed, *self.unread, *self.gone})


def look(learned: Learned, patient: Patient) -> Seen:
    """Return how the files of every followed project compare with what was read (on a thread)."""
    seen = Seen(learned.projects)
    depth = patient.settings.watching.max_depth
    absent = set()
    for project in learned.projects:
        apart = inner_roots(project.root, learned.projects)
        swept = sweep(project.root, project.id, max_depth=depth, apart=apart)
        if not swept.present:
            seen.absent.append(project.root)
            absent.add(project.id)
            continue
        for path, state in swept.files.items():
            if learned.is_revoked(project.id, path):
                continue
            if _missed(seen, state, learned.files.get(path), patient=patient):
                _note_soon(seen, state, project.added_at, patient=patient)
    for path in sorted({*learned.files, *learned.spoken}):
        owner = innermost(list(learned.projects), path)
        if owner is not None and owner.id not in absent and not os.path.lexists(path):
            seen.gone.append(path)
    if learned.scan:
        seen.soon.update(seen.missed)
    seen.soon.update(learned.waiting.intersection(seen.missed))
    return seen


def files(seen: Seen, patient: Patient) -> Iterator[Diagnosis]:
    """Say what a look at the files found."""
    for root in seen.absent:
        yield Diagnosis(
            "files",
            f"the project {root} is not there; what it says stands",
            Severity.WARNING,
            f"mount or restore it, or: cortex remove {root}",
        )
    for path, why in seen.unreadable[:NAMED]:
        yield Diagnosis("files", why, Severity.WARNING, f"see to {path}; cortex projects lists all")
    if more := seen.unreadable[NAMED:]:
        yield Diagnosis(
            "files", f"{len(more)} more cannot be read", Severity.WARNING, "cortex projects"
        )
    yield from _told("have changed since they were read", seen.changed, seen, patient)
    yield from _told("were never read", seen.unread, seen, patient)
    yield from _told("are gone, and what they said is still known", seen.gone, seen, patient)
    if not (seen.absent or seen.unreadable or seen.missed):
        yield Diagnosis("files", f"{seen.total:,} files, each as it was read")


def _told(what: str, paths: Sequence[str], seen: Seen, patient: Patient) -> Iterator[Diagnosis]:
    """Say which files were missed: a note where they will be read without anybody's help."""
    soon = [path for path in paths if path in seen.soon]
    late = [path for path in paths if path not in seen.soon]
    if soon:
        yield Diagnosis(
            "files",
            f"{len(soon)} {what}; they wait to be read: {_named(soon)}",
            Severity.NOTE,
            "" if patient.online else _NEXT_START,
        )
    if late:
        yield Diagnosis(
            "files",
            f"{len(late)} {what}: {_named(late)}",
            Severity.WARNING,
            _READ_AGAIN if patient.online else f"{_NEXT_START}, or cortex doctor --repair",
            Repair.FILES,
        )


def _missed(seen: Seen, now: FileState, known: FileState | None, *, patient: Patient) -> bool:
    """Note how one file compares with what was read of it; tell whether it should be read again."""
    seen.total += 1
    if known is None:
        seen.unread.append(now.path)
    elif known.error and known.same_stat(now):
        seen.unreadable.append((now.path, known.error))
        return False
    elif _hash(now.path, patient.settings.accumulation.max_file_bytes) != known.sha256:
        seen.changed.append(now.path)
    else:
        return False
    return True


def _note_soon(seen: Seen, now: FileState, added_at: int, *, patient: Patient) -> None:
    """Note that a daemon is about to read a file by itself, if that is so."""
    grace = round((2 * patient.settings.watching.sweep_s + GRACE) * SECOND)
    newest = max(now.mtime_ns // _NANO, now.ctime_ns // _NANO, added_at)
    if patient.online and patient.clock.now() - newest < grace:
        seen.soon.add(now.path)


def _hash(path: str, limit: int) -> str:
    """Return the hash of a file as it is now; "" for one that cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            return file_hash(opened.read(limit + 1))
    except OSError:
        return ""


def _named(paths: Sequence[str]) -> str:
    """Return the first paths, and how many more there are."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
