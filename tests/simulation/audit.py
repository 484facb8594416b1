"""What a ledger's rows must say after any run, written down by triggers in its transactions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cortex_actors import topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: `unit_now()` is the number of the unit of work that runs.
TRIGGERS = """
CREATE TABLE audit (
    n INTEGER PRIMARY KEY AUTOINCREMENT, unit INTEGER, what TEXT, who TEXT, seq INTEGER
);
CREATE TRIGGER audit_given AFTER INSERT ON deliveries BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (unit_now(), 'given', NEW.consumer, NEW.seq);
END;
CREATE TRIGGER audit_gone AFTER DELETE ON deliveries BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (unit_now(), 'gone', OLD.consumer, OLD.seq);
END;
CREATE TRIGGER audit_dead AFTER INSERT ON dead_letters BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (unit_now(), 'dead', NEW.consumer, NEW.seq);
END;
CREATE TRIGGER audit_run AFTER INSERT ON runs BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (unit_now(), 'run', NEW.kind, 0);
END;
CREATE TRIGGER audit_said AFTER INSERT ON events BEGIN
    INSERT INTO audit (unit, what, who, seq) VALUES (unit_now(), 'said', NEW.topic, NEW.seq);
END;
"""

#: Consumers whose every delivery is a run, a row of the audit, and an event, and which event.
SAYS = {
    "accumulator": topics.ACCUMULATION_COMPLETE,
    "reconciler": topics.RECONCILIATION_COMPLETE,
    "organiser": topics.ORGANISATION_COMPLETE,
}

#: One delivery to it may be several runs, each with an event: of a project, each file is one. It is
#: also asked, and runs without a delivery.
RESOLVER = "resolver"


class Rows(Protocol):
    """A ledger that can be asked: a simulated one, or a file."""

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds."""


class Line(NamedTuple):
    """One thing that happened to a row."""

    unit: int
    what: str
    who: str
    seq: int


def problems(disk: Rows, acknowledged: Iterable[str]) -> Iterator[str]:
    """Yield every promise of the bus that a ledger does not keep."""
    lines = [Line(*row) for row in disk.query("SELECT unit, what, who, seq FROM audit ORDER BY n")]
    known = {each for (each,) in disk.query("SELECT id FROM events")}
    yield from (
        f"the event {each} was acknowledged and is lost"
        for each in acknowledged
        if each not in known
    )
    yield from _handled_once(disk, lines)
    yield from _addressed(disk, lines)
    yield from _one_effect(disk, lines)
    yield from _in_order(disk, lines)
    yield from _projects_in_order(disk, lines)


def _handled_once(disk: Rows, lines: list[Line]) -> Iterator[str]:
    """Yield deliveries that were handled twice, or never and do not wait for it either."""
    waiting = Counter(disk.query("SELECT consumer, seq FROM deliveries"))
    given = Counter((each.who, each.seq) for each in lines if each.what == "given")
    gone = Counter((each.who, each.seq) for each in lines if each.what == "gone")
    yield from (f"{each} was given {times} times" for each, times in given.items() if times > 1)
    yield from (
        f"{each} was handled {gone[each]} times"
        for each in given
        if gone[each] + waiting[each] != 1
    )


def _addressed(disk: Rows, lines: list[Line]) -> Iterator[str]:
    """Yield events that were not given to somebody who hears their topic."""
    given = {(each.who, each.seq) for each in lines if each.what == "given"}
    for seq, topic in disk.query("SELECT seq, topic FROM events"):
        for who in topics.find(topic).heard_by:
            if (who, seq) not in given:
                yield f"the event {seq} ({topic}) was never given to {who}"


def _one_effect(disk: Rows, lines: list[Line]) -> Iterator[str]:
    """Yield units of work whose acknowledgement and effects do not belong together."""
    topic = dict(disk.query("SELECT seq, topic FROM events"))
    units: dict[int, list[Line]] = defaultdict(list)
    for each in lines:
        units[each.unit].append(each)
    for unit, ours in units.items():
        runs = [each.who for each in ours if each.what == "run" and each.who != RESOLVER]
        dead = {(each.who, each.seq) for each in ours if each.what == "dead"}
        acked = {
            each.who
            for each in ours
            if each.what == "gone"
            and (each.who, each.seq) not in dead
            and topic[each.seq] != topics.SCAN_REQUESTED
        }
        due = sorted(who for who in acked if who in SAYS)
        said = [each.who for each in ours if each.what == "said"]
        if sorted(runs) != due:
            yield f"the unit {unit} acknowledged for {due} and holds runs of {runs}: {ours}"
        yield from (
            f"the unit {unit} of {who} did not say {SAYS[who]} once: {ours}"
            for who in due
            if said.count(SAYS[who]) != 1
        )
        due_to_resolve = topics.RESOLUTION_REQUESTED in {
            topic[each.seq]
            for each in ours
            if each.what == "gone" and (each.who, each.seq) not in dead
        }
        yield from _resolved(unit, ours, is_due=due_to_resolve)


def _resolved(unit: int, ours: list[Line], *, is_due: bool) -> Iterator[str]:
    """Yield how the resolver's runs and what it said in a unit do not belong together."""
    runs = sum(each.what == "run" and each.who == RESOLVER for each in ours)
    said = sum(each.what == "said" and each.who == topics.RESOLUTION_COMPLETE for each in ours)
    if runs != said or runs < is_due:
        yield f"the unit {unit} holds {runs} runs of the resolver and says {said}: {ours}"


def _in_order(disk: Rows, lines: list[Line]) -> Iterator[str]:
    """Yield deliveries that overtook an earlier one of their consumer, topic and key."""
    rows = disk.query("SELECT seq, topic, payload FROM events")
    keys = {
        seq: (topic, topics.compute_key(topic, topics.parse(topic, json.loads(payload))))
        for seq, topic, payload in rows
    }
    last: dict[tuple[str, str, str | None], int] = {}
    for each in lines:
        if each.what != "gone" or keys[each.seq][1] is None:
            continue
        place = (each.who, *keys[each.seq])
        if each.seq < last.get(place, 0):
            yield f"{place} handled {each.seq} after {last[place]}"
        last[place] = max(each.seq, last.get(place, 0))


def _projects_in_order(disk: Rows, lines: list[Line]) -> Iterator[str]:
    """Yield deliveries that overtook an earlier one of their consumer and project.

    Of several events that were handled as one, the first counts. One that came while another of its
    key was in hand could not be handed out: the next ones go past it. One that was set aside has
    done nothing, whenever that was.
    """
    rows = disk.query("SELECT seq, topic, payload FROM events")
    told = {seq: (topic, json.loads(payload)) for seq, topic, payload in rows}
    projects = {seq: payload.get("project_id") for seq, (_, payload) in told.items()}
    keys = {seq: (topic, payload.get("path")) for seq, (topic, payload) in told.items()}
    came = {(each.who, each.seq): each.unit for each in lines if each.what == "given"}
    dead = {(each.who, each.seq) for each in lines if each.what == "dead"}
    units: dict[tuple[int, str], list[int]] = defaultdict(list)
    for each in lines:
        if each.what == "gone" and (each.who, each.seq) not in dead:
            units[each.unit, each.who].append(each.seq)
    last: dict[tuple[str, str], int] = {}
    freed: dict[tuple[str, tuple[str, str | None]], int] = {}
    for (unit, who), seqs in units.items():
        first, project = min(seqs), projects[max(seqs)]
        blocked = came.get((who, first), unit) < freed.get((who, keys[first]), 0)
        freed[who, keys[first]] = unit
        if project is None:
            continue
        if first < last.get((who, project), 0) and not blocked:
            yield f"{who} handled {seqs} of {project} after {last[who, project]}"
        last[who, project] = max(first, last.get((who, project), 0))
