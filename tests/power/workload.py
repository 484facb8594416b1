"""Units of work that can be told from their remains: what each writes, and what a ledger kept.

Unit n stores a few events, some of them larger than a page, and a run. A settlement acknowledges
one event, records a run as its effect and says another event. Either is wholly there or not at all,
and a unit is there only if every one before it is.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors import topics
from cortex_actors.domain.event import AccumulationComplete, Event, FileChanged, dump_payload
from cortex_actors.storage import events as append
from cortex_actors.storage import projects
from cortex_actors.storage.tables.schema import deliveries, events
from cortex_actors.storage.tables.schema import runs as run_rows

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Characters of the longer texts: from a fraction of a page to several.
_LENGTHS = (10, 100, 100, 600, 600, 6_000)

#: Who acknowledges, and who hears what is said then.
ACCUMULATOR = "accumulator"
RECONCILER = "reconciler"

#: How ids begin: of a unit's events, and of what a settlement says. 22 digits follow.
_UNIT = "evt_unit"
_SAID = "evt_said"


@dataclass(slots=True)
class Kept:
    """What of the workload a ledger holds."""

    #: What is whole, in the words in which it was told (`unit 7`, `settled 3`).
    whole: set[str] = field(default_factory=set)
    #: What is there in part, or twice, or without what came before it.
    torn: list[str] = field(default_factory=list)


@cache
def of_unit(number: int) -> tuple[Event[FileChanged], ...]:
    """Return the events of a unit."""
    random = Random(number)
    return tuple(
        Event(
            f"{_UNIT}{number:018}{part:04}",
            topics.FILE_CHANGED,
            FileChanged("prj_1", f"/{number}/{part}/{_text(random)}"),
            number,
            "test",
        )
        for part in range(random.choice((1, 2, 5)))
    )


def store(connection: Connection, number: int) -> None:
    """Do a unit of work."""
    append.store(connection, of_unit(number))
    projects.record(connection, _run(f"unit {number}"))


def said(seq: int) -> Event[AccumulationComplete]:
    """Return what the settlement of an event says."""
    return Event(_said(seq), topics.ACCUMULATION_COMPLETE, _complete(seq), seq, ACCUMULATOR)


def settle(connection: Connection, seq: int) -> None:
    """Do the effect of a settlement."""
    projects.record(connection, _run(f"settled {seq}"))


def kept(connection: Connection) -> Kept:
    """Look at everything a ledger holds of it."""
    look = _Look(connection)
    found = Kept()
    units = {int(each[len(_UNIT) : -4]) for each in look.events if each.startswith(_UNIT)}
    units |= {int(run.split()[1]) for run in look.runs if run.startswith("unit")}
    for number in sorted(units):
        missing = look.missing_of_unit(number)
        if number > 0 and number - 1 not in units:
            missing.append(f"unit {number - 1}, which came before")
        _put(found, f"unit {number}", missing)
    settled = {int(run.split()[1]) for run in look.runs if run.startswith("settled")}
    settled |= {int(each[len(_SAID) :]) for each in look.events if each.startswith(_SAID)}
    for seq in sorted(settled):
        _put(found, f"settled {seq}", look.missing_of_settlement(seq))
    found.torn += look.unexplained(settled)
    return found


class _Look:
    """Everything the tables hold, as it is compared."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute(select(events)).all()
        #: Id -> topic, payload and number.
        self.events = {row.id: (row.topic, row.payload, row.seq) for row in rows}
        self.runs = {row.id: row.error for row in connection.execute(select(run_rows))}
        found = connection.execute(select(deliveries.c.consumer, deliveries.c.seq))
        self.waiting = Counter((row.consumer, row.seq) for row in found)

    def missing_of_unit(self, number: int) -> list[str]:
        """Return what a unit lacks."""
        name = f"unit {number}"
        missing = [] if self.runs.get(name) == _run(name).error else ["the run"]
        for event in of_unit(number):
            topic, payload, _ = self.events.get(event.id, ("", None, 0))
            if (topic, payload) != (event.topic, dump_payload(event.payload)):
                missing.append(event.id)
        return missing

    def missing_of_settlement(self, seq: int) -> list[str]:
        """Return what of the effect, the acknowledgement and the said event is not there."""
        name = f"settled {seq}"
        topic, payload, new = self.events.get(_said(seq), ("", None, 0))
        there = {
            "said event": (topic, payload)
            == (topics.ACCUMULATION_COMPLETE, dump_payload(_complete(seq))),
            "delivery": self.waiting[RECONCILER, new] == 1,
            "acknowledgement": self.waiting[ACCUMULATOR, seq] == 0,
            "effect": self.runs.get(name) == _run(name).error,
        }
        return [part for part, is_there in there.items() if not is_there]

    def unexplained(self, settled: set[int]) -> list[str]:
        """Return events that wait for nobody and were not settled, and deliveries of no event."""
        heard = {
            (ACCUMULATOR if event.startswith(_UNIT) else RECONCILER, row[2])
            for event, row in self.events.items()
        }
        due = heard - {(ACCUMULATOR, seq) for seq in settled}
        return [f"deliveries: {each}" for each in sorted(due ^ self.waiting.keys())]


def _put(found: Kept, name: str, missing: list[str]) -> None:
    """Note whether something is whole."""
    if missing:
        found.torn.append(f"{name} lacks {', '.join(missing)}")
    else:
        found.whole.add(name)


def _said(seq: int) -> str:
    """Return the id of what the settlement of an event says."""
    return f"{_SAID}{seq:022}"


def _complete(seq: int) -> AccumulationComplete:
    return AccumulationComplete(f"run_{seq}", "prj_1", (f"ins_{seq}",))


@cache
def _run(name: str) -> projects.PipelineRun:
    """Return a run whose text follows from its name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return projects.PipelineRun(name, "accumulator", 0, 0, error=_text(Random(seed)))


def _text(random: Random) -> str:
    return random.randbytes(random.choice(_LENGTHS) // 2).hex()
