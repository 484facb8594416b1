"""What a check of the home found, how bad that is, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Severity(StrEnum):
    """How bad a diagnosis is; the worse, the later."""

    OK = "ok"
    #: Worth knowing; goes away by itself, or is as somebody wants it.
    NOTE = "note"
    #: Something is not as it should be, and answers are still right.
    WARNING = "warning"
    #: Something is missing or wrong in what is answered.
    ERROR = "error"


class Repair(StrEnum):
    """What `--repair` can do about a diagnosis; in this order, because each needs those before."""

    WORDS = "words"  # first: a passage cannot be changed while its words are damaged
    BELIEFS = "beliefs"
    PASSAGES = "passages"
    DAMAGED = "damaged"
    FORGOTTEN = "forgotten"
    ORPHANS = "orphans"
    INDEX = "index"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        check: what was looked at, in a word or two.
        found: what there is, in a sentence without its full stop.
        mend: what mends it, as a person would do it; empty where nothing has to be done.
        repair: what `--repair` does about it; None where only a person can.
        damaged: whether the ledger itself is damaged: only a recovery mends that.

    """

    check: str
    found: str
    severity: Severity = Severity.OK
    mend: str = ""
    repair: Repair | None = None
    damaged: bool = False


#: Exit codes of `cortex doctor`: well, something is wrong, the ledger is damaged.
WELL, WRONG, DAMAGED = 0, 1, 70

_ORDER = tuple(Severity)


def worst(found: Iterable[Diagnosis]) -> Severity:
    """Return the greatest severity among some diagnoses; ok for none."""
    return max((each.severity for each in found), key=_ORDER.index, default=Severity.OK)


def exit_code(found: Iterable[Diagnosis]) -> int:
    """Return what the command ends with: notes are no reason to fail."""
    diagnoses = list(found)
    if any(each.damaged for each in diagnoses):
        return DAMAGED
    return WELL if _ORDER.index(worst(diagnoses)) <= _ORDER.index(Severity.NOTE) else WRONG
