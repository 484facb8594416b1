"""Every check there is, in the order in which they are told, and how they are run.

A check of the ledger takes a connection that reads, one of the home takes the patient; a new one is
one line below. One that fails is a diagnosis itself and keeps nobody else from looking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.checkup import files, keeping, models
from cortex_actors.domain.hit import Diagnosis, Severity
from cortex_actors.errors import CortexError, DeadlineExceeded, DiskFault
from cortex_actors.storage.health import file, passages, rows
from cortex_actors.storage.health.file import LIMIT, NO_LIMIT, Reader
from cortex_actors.storage.health.rows import learned
from cortex_actors.storage.index.pending import state
from cortex_actors.storage.ledger import faults
from cortex_actors.storage.models import active

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_actors.checkup.files import Seen
    from cortex_actors.checkup.patient import Patient
    from cortex_actors.storage.health.file import Check
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.ledger.files import Halt

#: Checks of what the ledger holds; each sees one moment of it.
LEDGER: tuple[tuple[str, Check], ...] = (
    ("pages", file.pages),
    ("relations", file.relations),
    ("texts", passages.texts),
    ("owner", rows.owned),
    ("leases", rows.leased),
    ("beliefs", rows.beliefs),
    ("lineage", rows.lineages),
    ("passages", passages.passages),
    ("words", passages.words),
    ("model", models.answering),
    ("embedding", passages.waiting),
    ("vectors", passages.sound),
    ("orphans", passages.orphaned),
    ("index", rows.ordered),
)

#: Checks of the home around it.
HOME: tuple[tuple[str, Callable[[Patient], Iterable[Diagnosis]]], ...] = (
    ("lock", keeping.locked),
    ("rights", keeping.private),
    ("disk", keeping.room),
    ("backups", keeping.backed_up),
    ("model files", models.files),
    ("settings", models.configured),
)

_RECOVER = "the next start recovers it (docs/recovery.md): cortex restart"


@dataclass(frozen=True, slots=True)
class Look:
    """What one round found, and which files should be read again."""

    diagnoses: tuple[Diagnosis, ...]
    #: The vector space that answers; empty where the ledger does not say.
    model: str = ""
    seen: Seen | None = None

    def with_more(self, diagnoses: Iterable[Diagnosis]) -> Look:
        """Return the same with other diagnoses."""
        return replace(self, diagnoses=tuple(diagnoses))


def look(patient: Patient, halt: Halt) -> Look:
    """Run every check but the index's own (on a thread: it takes seconds).

    Raises `LedgerDown` when `halt` is asked; nothing else. Damage that is found leaves a mark, so
    that the next start looks at everything and recovers.
    """
    if not patient.home.ledger.exists():
        return Look((*guarded("ledger", partial(_missing, patient)), *_of_home(patient)))
    found: list[Diagnosis] = []
    with Reader(patient.home.ledger, patient.clock, halt) as reader:
        found += guarded("ledger", lambda: reader.ask(partial(_all, file.version, patient)), halt)
        if any(each.severity is not Severity.OK for each in found):
            return Look(tuple(_marked([*found, *_of_home(patient)], patient)))
        model = _answer(reader, halt)
        patient = replace(patient, model=model or patient.model)
        for name, one in LEDGER:
            found += guarded(name, partial(_asked, reader, one, patient), halt)
        seen: list[Seen] = []
        found += guarded("files", partial(_files, reader, patient, seen), halt)
    found += _of_home(patient)
    return Look(tuple(_marked(found, patient)), patient.model, seen[0] if seen else None)


def guarded(
    name: str, run: Callable[[], Iterable[Diagnosis]], halt: Halt | None = None
) -> list[Diagnosis]:
    """Return what a check finds; that it failed, if it did. Raises only when it is called off."""
    try:
        return list(run())
    except DiskFault as error:
        return [Diagnosis(name, str(error), Severity.ERROR, _RECOVER, damaged=True)]
    except DeadlineExceeded as error:
        text = f"not looked at to the end: {error}"
        return [Diagnosis(name, text, Severity.NOTE, "cortex doctor --thorough takes its time")]
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        if halt is not None:
            halt.check()
        why = str(error) if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
        return [Diagnosis(name, f"the check itself failed: {why}", Severity.ERROR, "try it again")]


def _missing(patient: Patient) -> Iterable[Diagnosis]:
    """Say that there is no ledger: because there never was one, or because it is gone."""
    if gone := faults.damage(patient.home.ledger):
        yield Diagnosis("ledger", gone, Severity.ERROR, _RECOVER, damaged=True)
    else:
        yield Diagnosis("ledger", "there is none yet", Severity.NOTE, "cortex start makes one")


def _asked(reader: Reader, one: Check, patient: Patient) -> list[Diagnosis]:
    """Run one check of the ledger."""
    within = NO_LIMIT if patient.thorough else LIMIT
    return reader.ask(partial(_all, one, patient), within=within)


def _all(one: Check, patient: Patient, opened: Connection) -> list[Diagnosis]:
    """Return all that a check yields, while its transaction is open."""
    return list(one(opened, patient.scope()))


def _answer(reader: Reader, halt: Halt) -> str:
    """Return which model answers, by the ledger; the index's, in a ledger of an earlier version."""

    def query(opened: Connection) -> str:
        found, index = active(opened), state(opened)
        return found.model_id if found else index.model if index else ""

    try:
        return reader.ask(query)
    except CortexError:
        halt.check()
        return ""


def _files(reader: Reader, patient: Patient, seen: list[Seen]) -> Iterable[Diagnosis]:
    """Look at the files, and keep what was seen of them for whoever mends."""
    seen.append(files.look(reader.ask(learned), patient))
    return files.files(seen[0], patient)


def _of_home(patient: Patient) -> list[Diagnosis]:
    """Run the checks of the home."""
    return [each for name, one in HOME for each in guarded(name, partial(one, patient))]


def _marked(found: list[Diagnosis], patient: Patient) -> list[Diagnosis]:
    """Return what was found; of damage the next start is told."""
    damage = next((each for each in found if each.damaged), None)
    if damage is not None:
        faults.suspect(patient.home.ledger, damage.found)
    return found
