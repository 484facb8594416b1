"""Stored events, as people look at them: the newest first, with who has still to handle them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, Text, cast, func, literal, select, union_all

from cortex_actors.errors import NotFound
from cortex_actors.storage.schema import Text as MaybeBytes
from cortex_actors.storage.schema import dead_letters, deliveries, events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

#: A payload as it is stored: SQLAlchemy's JSON raises for the row of one that is damaged.
RAW = cast(events.c.payload, MaybeBytes).label("payload")

#: Characters of a traceback that a list reads to find its last line.
END = 2_000

#: Characters of that line that a list shows.
LINE_LIMIT = 300

#: What a `StoredEvent` is made of.
_COLUMNS = (events.c.seq, events.c.id, events.c.topic, events.c.source, events.c.at)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one consumer stands to an event that it has not handled."""

    seq: int
    consumer: str
    #: `waiting` or `dead`.
    state: str
    attempts: int
    #: When it was set aside, or is tried again (0: as soon as it is its turn); UTC microseconds.
    at: int
    #: How the last attempt failed; None when there was none.
    error: str | None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of the ledger."""

    seq: int
    id: str
    topic: str
    source: str
    at: int
    standings: Sequence[Standing]

    @property
    def state(self) -> str:
        """`waiting` for somebody, else `dead` for somebody, else `handled`."""
        states = {each.state for each in self.standings}
        return "waiting" if "waiting" in states else "dead" if states else "handled"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to list; with both `waiting` and `dead`, those that are either."""

    #: A shell pattern.
    topic: str | None = None
    waiting: bool = False
    dead: bool = False
    #: Only events after this number.
    since: int = 0
    limit: int = 20


def listed(connection: Connection, wanted: Wanted) -> list[StoredEvent]:
    """Return the newest events that are wanted, newest first; of each error its last line."""
    query = select(*_COLUMNS).where(events.c.seq > wanted.since).order_by(events.c.seq.desc())
    if wanted.topic is not None:
        query = query.where(events.c.topic.op("GLOB")(wanted.topic))
    tables = [deliveries] * wanted.waiting + [dead_letters] * wanted.dead
    if tables:
        left = union_all(*(select(table.c.seq) for table in tables))
        query = query.where(events.c.seq.in_(left))
    rows = connection.execute(query.limit(wanted.limit)).all()
    standings = _standings(connection, [row.seq for row in rows], whole=False)
    return [_event(row, [each for each in standings if each.seq == row.seq]) for row in rows]


def shown(connection: Connection, name: str) -> tuple[StoredEvent, Any, str | None]:
    """Return an event with whole tracebacks, its payload and its idempotency key.

    A payload that is no JSON is its text. Raises `NotFound` for an id or number that no event has.
    """
    (seq,) = numbers(connection, [name])
    columns = (*_COLUMNS, RAW, events.c.idempotency_key)
    row = connection.execute(select(*columns).where(events.c.seq == seq)).one()
    event = _event(row, _standings(connection, [seq], whole=True))
    return event, decoded(row.payload), row.idempotency_key


def decoded(raw: str) -> Any:
    """Return what a stored payload says; of one that is no JSON, its text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def numbers(connection: Connection, names: Sequence[str]) -> list[int]:
    """Return the numbers of events that are named by their id or number.

    Raises `NotFound` for the first that no event has.
    """
    found = []
    for name in names:
        by_number = name.isascii() and name.isdecimal() and len(name) < len(str(2**63))
        column, value = (events.c.seq, int(name)) if by_number else (events.c.id, name)
        seq = connection.execute(select(events.c.seq).where(column == value)).scalar()
        if seq is None:
            message = (
                f"no event is called {name[:100]!r}; handled ones are kept for events.keep_days: "
                "see cortex events"
            )
            raise NotFound(message)
        found.append(int(seq))
    return list(dict.fromkeys(found))


def _event(row: Any, standings: Sequence[Standing]) -> StoredEvent:
    """Return a row with who has still to handle it."""
    return StoredEvent(row.seq, row.id, row.topic, row.source, row.at, standings)


def _standings(connection: Connection, seqs: Sequence[int], *, whole: bool) -> list[Standing]:
    """Return who has not handled events, and how far they came."""
    waiting = _of(deliveries, "waiting", deliveries.c.due_at).where(deliveries.c.seq.in_(seqs))
    dead = _of(dead_letters, "dead", dead_letters.c.at).where(dead_letters.c.seq.in_(seqs))
    both = union_all(waiting, dead).subquery()
    error = both.c.error if whole else func.substr(both.c.error, -END)
    columns = (both.c.seq, both.c.consumer, both.c.state, both.c.attempts, both.c.at)
    rows = connection.execute(select(*columns, error.label("error")).order_by(both.c.consumer))
    return [Standing(*row[:5], row.error if whole else _last_line(row.error)) for row in rows]


def _of(table: Any, state: str, at: Any) -> Select[Any]:
    """Return the query for a table's standings."""
    said = literal(state, Text).label("state")
    return select(
        table.c.seq, table.c.consumer, said, table.c.attempts, at.label("at"), table.c.error
    )


def _last_line(trace: str | None) -> str | None:
    """Return what a traceback ends in."""
    lines = (trace or "").strip().splitlines()
    return lines[-1][:LINE_LIMIT] if lines else None
