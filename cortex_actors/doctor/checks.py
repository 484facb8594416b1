"""Every check there is, in the order of their report, and how they are run.

A check of the ledger takes a connection that reads, one of the home takes the patient; a new one is
one line below. One that fails is a diagnosis itself and stops no other check.

Whether the ledger holds what the instruction files say now.

Every file is read and hashed: name, size and times alone do not show a file that was put back
from an archive, or that a disk has changed. Nothing is ever written.

Whether the AI clients that are set up run this program for this home.

What the home holds beside ledger and index: its lock, its rights, its room, its backups.

The home that is looked at, and under which circumstances.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND, format_span, iso
from cortex_actors.doctor import models
from cortex_actors.domain.hit import Diagnosis, Repair, Severity, error, note, warning
from cortex_actors.domain.project import Project, find_innermost
from cortex_actors.errors import CortexError, DeadlineExceeded, DiskFault, LedgerDown
from cortex_actors.files import clients
from cortex_actors.process import lock
from cortex_actors.storage.health import file, passages, rows
from cortex_actors.storage.health.rows import LedgerFiles, load_files
from cortex_actors.storage.index.pending import load_state
from cortex_actors.storage.ledger import backups, faults, files
from cortex_actors.storage.models import find_active
from cortex_actors.watching.sweep import find_inner_roots, hash_path, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cortex_actors.doctor.models import Patient
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.projects import FileState


#: Seconds beyond two sweeps after which a change should have been read.
GRACE = 30.0

#: Paths that are named; of more only the number is given.
NAMED = 3

#: Nanoseconds of a microsecond.
_NANO = 1_000

_READ_AGAIN = "cortex projects scan, or cortex doctor --repair"
_NEXT_START = "the next start reads them: cortex start"


@dataclass(slots=True)
class FilesSeen:
    """What a look at every file found; paths."""

    projects: tuple[Project, ...] = ()
    total: int = 0
    absent: list[str] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    #: By path, the lines of a file that another tool keeps up to date.
    left_out: Mapping[str, int] = field(default_factory=dict)
    #: Of the above, what is about to be read anyway.
    soon: set[str] = field(default_factory=set)

    @property
    def missed(self) -> list[str]:
        """The files that should be read again."""
        return sorted({*self.changed, *self.unread, *self.gone})


def compare_files(learned: LedgerFiles, patient: Patient) -> FilesSeen:
    """Return how the files of every followed project compare with what was read (on a thread)."""
    seen = FilesSeen(learned.projects, left_out=learned.left_out)
    depth = patient.settings.watching.max_depth
    absent = set()
    for project in learned.projects:
        apart = find_inner_roots(project.root, learned.projects)
        own = project.is_own
        swept = sweep(project.root, project.id, max_depth=depth, apart=apart, own=own)
        if not swept.present:
            seen.absent.append(project.root)
            absent.add(project.id)
            continue
        for path, found in swept.files.items():
            if learned.is_revoked(project.id, path):
                continue
            if _missed(seen, found, learned.files.get(path), patient=patient):
                # Note that a daemon is about to read a file by itself, if that is so.
                grace = round((2 * patient.settings.watching.sweep_s + GRACE) * SECOND)
                newest = max(found.mtime_ns // _NANO, found.ctime_ns // _NANO, project.added_at)
                if patient.online and patient.clock.now() - newest < grace:
                    seen.soon.add(found.path)
    for path in sorted({*learned.files, *learned.spoken}):
        owner = find_innermost(list(learned.projects), path)
        if owner is not None and owner.id not in absent and not os.path.lexists(path):
            seen.gone.append(path)
    if learned.scan:
        seen.soon.update(seen.missed)
    seen.soon.update(learned.waiting.intersection(seen.missed))
    return seen


def report_files(seen: FilesSeen, patient: Patient) -> Iterator[Diagnosis]:
    """Say what a look at the files found."""
    for root in seen.absent:
        remedy = f"mount or restore it, or: cortex projects remove {root}"
        text = f"the project {root} is not there; what it said still counts"
        yield warning("files", text, mend=remedy)
    for path, why in seen.unreadable[:NAMED]:
        yield warning("files", why, mend=f"see to {path}; cortex projects lists all")
    if more := seen.unreadable[NAMED:]:
        yield warning("files", f"{len(more)} more cannot be read", mend="cortex projects")
    yield from _told("have changed since they were read", seen.changed, seen, patient)
    yield from _told("were never read", seen.unread, seen, patient)
    yield from _told("are gone, and what they said is still known", seen.gone, seen, patient)
    if seen.left_out:
        text = f"{sum(seen.left_out.values()):,} lines are written by programs, and not learned"
        yield note("files", f"{text}: {_named(list(seen.left_out))}")
    if not (seen.absent or seen.unreadable or seen.missed):
        yield Diagnosis("files", f"{seen.total:,} files, each as it was read")


def _told(
    what: str, paths: Sequence[str], seen: FilesSeen, patient: Patient
) -> Iterator[Diagnosis]:
    """Say which files were missed: a note where they will be read without help."""
    soon = [path for path in paths if path in seen.soon]
    late = [path for path in paths if path not in seen.soon]
    if soon:
        text = f"{len(soon)} {what}; they wait to be read: {_named(soon)}"
        yield note("files", text, mend="" if patient.online else _NEXT_START)
    if late:
        text = f"{len(late)} {what}: {_named(late)}"
        remedy = _READ_AGAIN if patient.online else f"{_NEXT_START}, or cortex doctor --repair"
        yield warning("files", text, mend=remedy, repair=Repair.FILES)


def _missed(seen: FilesSeen, now: FileState, known: FileState | None, *, patient: Patient) -> bool:
    """Note how one file compares with what was read of it; tell whether it should be read again."""
    seen.total += 1
    if known is None:
        seen.unread.append(now.path)
    elif known.error and known.has_same_stat(now):
        seen.unreadable.append((now.path, known.error))
        return False
    elif hash_path(now.path, patient.settings.accumulation.max_file_bytes) != known.sha256:
        seen.changed.append(now.path)
    else:
        return False
    return True


def _named(paths: Sequence[str]) -> str:
    """Return the first paths, and how many more there are."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more


#: Bytes of a megabyte, as people count them.
MB = 1_000_000

#: The rights of others than the owner, who have none.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_lock(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether the lock is there, says something, and is held by the daemon that runs."""
    home = patient.home
    if not home.lock.exists():
        text = f"{home.lock} is not there, so a second daemon could start"
        if patient.online:
            yield error("lock", text, mend="cortex daemon restart")
        else:
            yield note("lock", text, mend="a start makes it")
        return
    said, state = lock.read(home), lock.read_state(home)
    if patient.online and state not in lock.HELD:
        text = f"{home.lock} was replaced; this daemon holds another file"
        yield error("lock", text, mend="cortex daemon restart")
    elif not said.pid:
        yield note("lock", "it does not say who held it last", mend="a start does")
    elif not patient.online and said.state in (lock.HomeState.CRASHED, lock.HomeState.RUNNING):
        why = f": {said.reason}" if said.reason else ""
        yield note("lock", f"the last daemon, pid {said.pid}, did not end in order{why}")
    else:
        yield Diagnosis("lock", f"owner {said.epoch} of this home, pid {said.pid}, {said.state}")


def check_rights(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether only the owner may enter the home and read the ledger."""
    home = patient.home
    open_to = [
        path for path in (home.root, home.ledger) if path.exists() and path.stat().st_mode & _OTHERS
    ]
    for path in open_to:
        text = f"others on this machine may look into {path}"
        yield warning("rights", text, mend=f"chmod go= {path}")
    if not open_to:
        yield Diagnosis("rights", "only their owner may look into the home and the ledger")


def check_disk(patient: Patient) -> Iterator[Diagnosis]:
    """Look whether the disk has room to go on, and for the next backup."""
    home, low = patient.home, patient.settings.storage.low_water_mb
    free = shutil.disk_usage(home.root).free
    need = files.measure_size(home.ledger) + sum(
        files.measure_size(each) for each in files.list_beside(home.ledger)
    )
    shown = f"{free / MB:,.0f} MB free"
    if free < low * MB:
        text = f"{shown}, less than storage.low_water_mb ({low}): new work is refused"
        yield error("disk", text, mend="make room")
    elif free < need + backups.MARGIN:
        text = f"{shown}, and the next backup needs {(need + backups.MARGIN) / MB:,.0f}"
        remedy = "make room, or copy elsewhere: cortex daemon backup --to PATH"
        yield warning("disk", text, mend=remedy)
    else:
        yield Diagnosis("disk", f"{shown}; the ledger has {need / MB:,.1f} MB")


def check_backups(patient: Patient) -> Iterator[Diagnosis]:
    """Look how old the newest backup is, and whether it can be read; thoroughly, whether each is.

    A ledger that was not written since the newest copy needs no newer one.
    """
    try:
        copies = backups.list_backups(patient.home.backups)
    except LedgerDown as down:
        yield warning("backups", str(down), mend="cortex daemon backup")
        return
    hourly = [each for each in copies if not each.migrated]
    if not hourly:
        remedy = "the daemon makes one soon; cortex daemon backup makes one now"
        yield note("backups", "there is none yet", mend=remedy)
    else:
        yield _newest(hourly[0], patient)
    for each in copies if patient.thorough else hourly[:1]:
        wrong = backups.find_problem(each.path) if patient.thorough else _unreadable(each)
        if wrong:
            text = f"{each.path.name} cannot be restored: {wrong}"
            remedy = "cortex daemon backup makes another; then delete it"
            yield warning("backups", text, mend=remedy)


def _newest(copy: backups.Backup, patient: Patient) -> Diagnosis:
    """Return how old the newest backup is, and whether that is too old."""
    every = patient.settings.schedule.backup_every_s
    age = (patient.clock.now() - copy.at) / SECOND
    written = patient.home.ledger.stat().st_mtime if patient.home.ledger.exists() else 0.0
    behind = written - copy.path.stat().st_mtime
    # Seconds beyond two backups' distance after which the newest should not be older.
    late = patient.online and min(age, behind) > 2 * every + 600.0
    shown = f"the newest is of {iso(copy.at)}, {format_span(age)} old"
    if late:
        text = f"{shown}, and the ledger was written {format_span(behind)} later"
        return warning("backups", text, mend="cortex daemon backup; cortex status says why")
    return Diagnosis("backups", shown)


def _unreadable(copy: backups.Backup) -> str:
    """Return why a copy cannot be opened as a ledger; "" when it can."""
    try:
        return "" if backups.read_version(copy.path) else "it is no ledger"
    except files.UNREADABLE as error:
        return str(error)


def check_clients(patient: Patient, roots: Iterable[str]) -> Iterator[Diagnosis]:
    """Look whether each client's entries run a program that is there, this one, for this home.

    `roots` are the projects whose own configuration is looked at beside the user's.
    """
    places = [None, *map(Path, roots)]
    wrong, right = set[Diagnosis](), set[str]()
    for client, root in product(clients.CLIENTS.values(), places):
        try:
            for path, entry in clients.list_entries(client, root):
                right.add(client.title)
                wrong |= set(_wiring(entry, path, patient=patient, client=client.name, root=root))
            right |= {client.title} if clients.uses_plugin(client) else set()
        except CortexError as broken:
            wrong.add(warning("clients", str(broken), mend="correct or restore it"))
    yield from sorted(wrong, key=lambda each: each.found)
    if not wrong:
        text = f"{', '.join(sorted(right))}: set up, for this program and this home"
        yield Diagnosis("clients", text if right else "none is set up; cortex setup lists them")


def _wiring(
    entry: clients.ClientEntry, path: Path, *, patient: Patient, client: str, root: Path | None
) -> Iterator[Diagnosis]:
    """Yield what is not right with one entry."""
    mend = f"cortex setup {client}" + (f" --scope project (in {root})" if root else "")
    runs, home = entry.program[0], entry.find_option("--home") or str(clients.find_default_home())
    if shutil.which(runs) is None:
        yield warning("clients", f"{path} runs {runs}, which is not there", mend=mend)
    elif entry.program != clients.find_program():
        yield note("clients", f"{path} runs another cortex, {shlex.join(entry.program)}", mend=mend)
    if home != str(patient.home.root):
        text = f"{path} is for the home {home}, and this one is {patient.home.root}"
        yield note("clients", text, mend=f"{mend} --home {patient.home.root}")


#: Checks of what the ledger holds; each sees one moment of it.
LEDGER: tuple[tuple[str, file.Check], ...] = (
    ("pages", file.check_pages),
    ("relations", file.check_relations),
    ("texts", passages.check_texts),
    ("beliefs", rows.check_beliefs),
    ("passages", passages.check_passages),
    ("words", file.check_words),
    ("model", models.check_active),
    ("embedding", passages.check_waiting),
    ("vectors", passages.check_vectors),
    ("orphans", passages.check_orphans),
    ("index", rows.check_index),
)

#: Checks of the home around it.
HOME: tuple[tuple[str, Callable[[Patient], Iterable[Diagnosis]]], ...] = (
    ("lock", check_lock),
    ("rights", check_rights),
    ("disk", check_disk),
    ("backups", check_backups),
    ("model files", models.check_files),
    ("settings", models.check_settings),
)

_RECOVER = "the next start recovers it (docs/recovery.md): cortex daemon restart"


@dataclass(frozen=True, slots=True)
class CheckRound:
    """What one round found, and which files should be read again."""

    diagnoses: Sequence[Diagnosis]
    #: The vector space that answers; empty where the ledger does not say.
    model: str = ""
    seen: FilesSeen | None = None


def run_checks(patient: Patient, halt: files.Halt) -> CheckRound:
    """Run every check but the index's own (on a thread: it takes seconds).

    Raises `LedgerDown` when `halt` is asked; nothing else. Damage that is found leaves a mark, so
    that the next start looks at everything and recovers.
    """
    if not patient.home.ledger.exists():
        return CheckRound([*run_guarded("ledger", partial(_missing, patient)), *_of_home(patient)])
    found: list[Diagnosis] = []
    with file.LedgerReader(patient.home.ledger, patient.clock, halt) as reader:
        found += run_guarded(
            "ledger", lambda: reader.ask(partial(_all, file.check_version, patient)), halt
        )
        if any(each.severity is not Severity.OK for each in found):
            return CheckRound(_marked([*found, *_of_home(patient)], patient))
        model = _answer(reader, halt)
        patient = replace(patient, model=model or patient.model)
        within = file.NO_LIMIT if patient.thorough else file.LIMIT
        for name, one in LEDGER:
            run = partial(reader.ask, partial(_all, one, patient), within=within)
            found += run_guarded(name, run, halt)
        seen: list[FilesSeen] = []
        found += run_guarded("files", partial(_files, reader, patient, seen), halt)
    roots = [each.root for each in seen[0].projects] if seen else []
    found += run_guarded("clients", partial(check_clients, patient, roots), halt)
    found += _of_home(patient)
    return CheckRound(_marked(found, patient), patient.model, seen[0] if seen else None)


def run_guarded(
    name: str, run: Callable[[], Iterable[Diagnosis]], halt: files.Halt | None = None
) -> list[Diagnosis]:
    """Return what a check finds; that it failed, if it did. Raises only when it is called off."""
    try:
        return list(run())
    except DiskFault as fault:
        return [error(name, str(fault), mend=_RECOVER, damaged=True)]
    except DeadlineExceeded as late:
        text = f"not looked at to the end: {late}"
        return [note(name, text, mend="cortex doctor --thorough takes its time")]
    except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
        if halt is not None:
            halt.check()
        why = str(fault) if isinstance(fault, CortexError) else f"{type(fault).__name__}: {fault}"
        return [error(name, f"the check itself failed: {why}", mend="try it again")]


def _missing(patient: Patient) -> Iterable[Diagnosis]:
    """Say that there is no ledger: because there never was one, or because it is gone."""
    if gone := faults.find_damage(patient.home.ledger):
        yield error("ledger", gone, mend=_RECOVER, damaged=True)
    else:
        yield note("ledger", "there is none yet", mend="cortex start makes one")


def _all(one: file.Check, patient: Patient, opened: Connection) -> list[Diagnosis]:
    """Return all that a check yields, while its transaction is open."""
    return list(one(opened, patient.as_scope()))


def _answer(reader: file.LedgerReader, halt: files.Halt) -> str:
    """Return which model answers, by the ledger; the index's, in a ledger of an earlier version."""

    def query(opened: Connection) -> str:
        found, index = find_active(opened), load_state(opened)
        return found.model_id if found else index.model if index else ""

    try:
        return reader.ask(query)
    except CortexError:
        halt.check()
        return ""


def _files(
    reader: file.LedgerReader, patient: Patient, seen: list[FilesSeen]
) -> Iterable[Diagnosis]:
    """Look at the files, and keep what was seen of them for the repairs."""
    seen.append(compare_files(reader.ask(load_files), patient))
    return report_files(seen[0], patient)


def _of_home(patient: Patient) -> list[Diagnosis]:
    """Run the checks of the home."""
    return [each for name, one in HOME for each in run_guarded(name, partial(one, patient))]


def _marked(found: list[Diagnosis], patient: Patient) -> list[Diagnosis]:
    """Return what was found; mark damage for the next start."""
    damage = next((each for each in found if each.damaged), None)
    if damage is not None:
        faults.suspect(patient.home.ledger, damage.found)
    return found
