"""Answers: one hit with its provenance, and one recall with everything it found and missed.

What a check of the home found, how bad that is, and what mends it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


#: What is known here, and what another program said.
LOCAL, REMOTE = "local", "remote"


@dataclass(frozen=True, slots=True)
class RankedHit:
    """One answer to a query, with its score and place.

    Attributes:
        id: the id of the thing found, in its store.
        score: 0 to 1, comparable within one recall. A value outside is moved to the nearest end,
            because rounding puts the cosine of equal vectors a little above 1.
        store: the collection or remote store that answered.
        extra: what else a store has to say; plain JSON values.
        store_rank: its place in its store's own list, from 1; 0 where it has none.
        base_relevance: 0 to 1, what its store's floor is held against: 1 / (1 + distance).
        raw_distance: what its store measured, in that store's own space; compared with nothing.
        native_score: the score its store gave it; compared with nothing.
        trust: `local`, or `remote` for what another program said.
        fused_score: what the fusion over stores made of its place, as the formula gives it; its own
            score where there was nothing to fuse. None in a store's own answer.
        weak: hardly an answer: its chance is below a floor. Not known of another program's hits.

    Raises `ValueError` for a score that is not a number.

    """

    id: str
    text: str
    score: float
    store: str
    project: str | None = None
    path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    heading: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    store_rank: int = 0
    base_relevance: float = 1.0
    raw_distance: float | None = None
    native_score: float | None = None
    trust: str = LOCAL
    fused_score: float | None = None
    weak: bool = False

    def __post_init__(self) -> None:
        """Bring the score into [0, 1]."""
        if math.isnan(self.score):
            raise ValueError(
                f"the score of hit {self.id!r} of store {self.store!r} is not a number"
            )
        object.__setattr__(self, "score", min(max(float(self.score), 0.0), 1.0))


#: Other places of an answer that a person sees, the others being counted.
PLACES: Final = 3


def format_lines(first: int | None, last: int | None) -> str:
    """Return the numbers of lines in a file: one, or the first and the last of several."""
    return f"{first}" if first == last else f"{first}-{last}"


def mark_lines(section: Mapping[str, Any]) -> list[tuple[bool, str]]:
    """Return the lines of a section that is shown, each with whether a found statement is on it."""
    found, at = [], 0
    for line in section["text"].split("\n"):
        end = at + len(line)
        found.append((any(at <= each["start"] <= end for each in section["marks"]), line))
        at = end + 1
    return found


def list_other_places(extra: Mapping[str, Any]) -> list[str]:
    """Return the line that names the other places of an answer; none where there is only one."""
    places = extra.get("also") or []
    more = [f"and {len(places) - PLACES} more"] if len(places) > PLACES else []
    return ["also in " + ", ".join([*places[:PLACES], *more])] if places else []


@dataclass(frozen=True, slots=True)
class Recall:
    """Everything one query found, best first, and honestly what did not answer.

    Attributes:
        failed: (store, reason) of stores that were asked and gave no answer; silence is not
            the same as knowing nothing.
        skipped: (store, reason) of stores that were not asked.
        took_ms: milliseconds from question to answer.
        beside: what was found beside the answer, by topic or by way of a hit: no part of the
            ranking, and over and above what was asked for.
        asked: the stores that answered.
        text: all of it as an agent reads it.
        tokens: what the text costs a reader.
        budget_tokens: what they were allowed to cost.

    """

    query: str
    hits: tuple[RankedHit, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    took_ms: float = 0.0
    beside: tuple[RankedHit, ...] = ()
    asked: tuple[str, ...] = ()
    text: str = ""
    tokens: int = 0
    budget_tokens: int | None = None


class Severity(StrEnum):
    """How bad a diagnosis is; the worse, the later."""

    OK = "ok"
    #: Worth knowing; goes away by itself, or is as the user wants it.
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

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "check": self.check,
            "found": self.found,
            "severity": str(self.severity),
            "mend": self.mend,
            "repairable": self.repair is not None,
        }


#: A diagnosis of that severity.
note = partial(Diagnosis, severity=Severity.NOTE)
warning = partial(Diagnosis, severity=Severity.WARNING)
error = partial(Diagnosis, severity=Severity.ERROR)

#: Exit codes of `cortex doctor`: well, something is wrong, the ledger is damaged.
WELL, WRONG, DAMAGED = 0, 1, 70

_ORDER = tuple(Severity)


def find_worst(found: Iterable[Diagnosis]) -> Severity:
    """Return the greatest severity among some diagnoses; ok for none."""
    return max((each.severity for each in found), key=_ORDER.index, default=Severity.OK)


def choose_exit_code(found: Iterable[Diagnosis]) -> int:
    """Return what the command ends with: notes are no reason to fail."""
    diagnoses = list(found)
    if any(each.damaged for each in diagnoses):
        return DAMAGED
    return WELL if _ORDER.index(find_worst(diagnoses)) <= _ORDER.index(Severity.NOTE) else WRONG
