"""Stored events, as people look at them: the newest first, with who has still to handle them.

Durable events on the ledger: the bus's `Journal`, kept in three tables.

An event is a row of `events`; each consumer of its topic has a row of `deliveries` until it has
handled the event. The rows of both are written in one transaction, and so are a handler's effects,
the deletion of what it has handled and the events it says in turn.

Durable events become rows: the hot path of everything that is said.

Written through the driver's own connection: a small insert costs SQLite some 4 us, and SQLAlchemy
30 to 60 us on top of it, which was three quarters of a publish that shares its commit.

Dead letters: events that a consumer failed on too often, until a person decides about them.

Rows and the events that tell of them: written in one transaction, and then announced.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import sqlalchemy as sa

from cortex_actors import topics
from cortex_actors.bus.commits import Delivery, Failure, Outcome, Rest, refuse_other
from cortex_actors.clock import SECOND, Clock
from cortex_actors.domain.event import Event, Payload, dump_payload
from cortex_actors.errors import CortexError, NotFound
from cortex_actors.storage.deliveries import UnreadableError, find_next
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import execute, execute_many, is_like
from cortex_actors.storage.tables.schema import dead_letters, deliveries, events

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.storage.ledger.actor import Records


_EVENT = (
    "INSERT INTO events (id, topic, payload, at, source) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO NOTHING"
)
_DELIVERY = "INSERT INTO deliveries (consumer, seq, key) VALUES (?, ?, ?)"
_LAST = "SELECT max(seq) FROM events"
_NUMBER = "SELECT seq FROM events WHERE id = ?"


def store(connection: sa.Connection, said: Iterable[Event[Payload]]) -> list[Event[Payload]]:
    """Write events and their deliveries; an id that is already stored is not stored again."""
    events = list(said)
    if not events:
        return []
    before = _number(connection, _LAST)
    written = execute_many(connection, _EVENT, map(_row, events))
    if written == len(events):
        # No other writer runs meanwhile, so their numbers follow each other.
        last = _number(connection, _LAST)
        seqs = list(range(last - written + 1, last + 1))
    else:
        seqs = [_number(connection, _NUMBER, each.id) for each in events]
    new = {seq: each for seq, each in zip(seqs, events, strict=True) if seq > before}
    waiting = []
    for seq, each in new.items():  # a delivery for each consumer that its topic names
        if consumers := topics.find(each.topic).heard_by:
            key = columns.encode_text(topics.compute_key(each.topic, each.payload))
            waiting += [(consumer, seq, key) for consumer in consumers]
    if waiting:
        execute_many(connection, _DELIVERY, waiting)
    return [replace(each, seq=seq) for each, seq in zip(events, seqs, strict=True)]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Publisher:
    """The ledger and the bus as one: what was written is published, and what was not is not."""

    bus: Bus
    records: Records
    source: str

    def make_event(self, topic: str, payload: Payload) -> Event[Payload]:
        """Return an event that has not been published yet."""
        return self.bus.make_event(topic, payload, source=self.source)

    async def write(self, unit: Callable[[sa.Connection], tuple[T, Iterable[Event[Payload]]]]) -> T:
        """Run a unit of work that returns a value and the events to publish; return the value.

        Raises what writing the ledger raises; then nothing was written and nothing published.
        """

        def whole(connection: sa.Connection) -> tuple[T, list[Event[Payload]]]:
            given, said = unit(connection)
            return given, store(connection, said)

        given, stored = await self.records.write(whole)
        for each in stored:
            self.bus.announce(each)
        return given


def is_stored(connection: sa.Connection, event_id: str) -> bool:
    """Tell whether an event of that id was written already."""
    return bool(_number(connection, _NUMBER, event_id))


def _number(connection: sa.Connection, query: str, *values: object) -> int:
    """Return the one number a query finds; 0 for none."""
    found = execute(connection, query, *values).fetchone()
    return int(found[0] or 0) if found else 0


def _row(event: Event[Payload]) -> tuple[Any, ...]:
    """Return an event's columns."""
    payload = json.dumps(dump_payload(event.payload))
    return event.id, event.topic, payload, event.at, columns.encode_text(event.source)


#: A payload as it is stored: SQLAlchemy's JSON raises for the row of one that is damaged.
RAW = sa.cast(events.c.payload, columns.Text).label("payload")

#: Characters of a traceback that a list reads to find its last line.
END = 2_000

#: Characters of that line that a list shows.
LINE_LIMIT = 300

#: What a `StoredEvent` is made of.
_COLUMNS = (events.c.seq, events.c.id, events.c.topic, events.c.source, events.c.at)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of the ledger.

    Attributes:
        standings: of each consumer that has not handled it whether it is `waiting` or `dead`, after
            how many attempts, when it was set aside or is tried again (0: as soon as it is its
            turn; UTC microseconds), and how the last attempt failed.

    """

    seq: int
    id: str
    topic: str
    source: str
    at: int
    standings: Sequence[dict[str, Any]]

    @property
    def state(self) -> str:
        """`waiting` if any consumer waits, else `dead` if one gave up, else `handled`."""
        states = {each["state"] for each in self.standings}
        return "waiting" if "waiting" in states else "dead" if states else "handled"


def list_events(
    connection: sa.Connection,
    *,
    topic: str | None = None,
    waiting: bool = False,
    dead: bool = False,
    since: int = 0,
    limit: int = 20,
) -> list[StoredEvent]:
    """Return the newest events after a number, newest first; of each error its last line.

    `topic` is a shell pattern; with both `waiting` and `dead`, those that are either.
    """
    query: sa.Select[Any] = (
        sa.select(*_COLUMNS).where(events.c.seq > since).order_by(events.c.seq.desc())
    )
    if topic is not None:
        query = query.where(is_like(events.c.topic, topic))
    tables = [deliveries] * waiting + [dead_letters] * dead
    if tables:
        left = sa.union_all(*(sa.select(table.c.seq) for table in tables))
        query = query.where(events.c.seq.in_(left))
    rows = connection.execute(query.limit(limit)).all()
    standings = _standings(connection, [row.seq for row in rows], whole=False)
    return [
        columns.make_entity(StoredEvent, row, standings=standings.get(row.seq, ())) for row in rows
    ]


def load_event(connection: sa.Connection, name: str) -> tuple[StoredEvent, Any, str | None]:
    """Return an event with whole tracebacks, its payload and its idempotency key.

    A payload that is no JSON is its text. Raises `NotFound` for an id or number that no event has.
    """
    (seq,) = find_numbers(connection, [name])
    chosen = (*_COLUMNS, RAW, events.c.idempotency_key)
    row = connection.execute(sa.select(*chosen).where(events.c.seq == seq)).one()
    event = columns.make_entity(
        StoredEvent, row, standings=_standings(connection, [seq], whole=True).get(seq, ())
    )
    return event, decode_payload(row.payload), row.idempotency_key


def decode_payload(raw: str) -> Any:
    """Return what a stored payload says; of one that is no JSON, its text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def find_numbers(connection: sa.Connection, names: Sequence[str]) -> list[int]:
    """Return the numbers of events that are named by their id or number.

    Raises `NotFound` for the first that no event has.
    """
    found = []
    for name in names:
        by_number = name.isascii() and name.isdecimal() and len(name) < len(str(2**63))
        column, value = (events.c.seq, int(name)) if by_number else (events.c.id, name)
        seq = connection.execute(sa.select(events.c.seq).where(column == value)).scalar()
        if seq is None:
            message = (
                f"no event is called {name[:100]!r}; handled ones are kept for events.keep_days: "
                "see cortex daemon events"
            )
            raise NotFound(message)
        found.append(int(seq))
    return list(dict.fromkeys(found))


def _standings(
    connection: sa.Connection, seqs: Sequence[int], *, whole: bool
) -> dict[int, list[dict[str, Any]]]:
    """Return who has not handled events, by their numbers, and how far they came."""
    lists = (deliveries, "waiting", deliveries.c.due_at), (dead_letters, "dead", dead_letters.c.at)
    queries = (
        sa.select(*table.c["seq", "consumer", "attempts", "error"])
        .add_columns(sa.literal(state, sa.Text).label("state"), at.label("at"))
        .where(table.c.seq.in_(seqs))
        for table, state, at in lists
    )
    both = sa.union_all(*queries).subquery()
    error = both.c.error if whole else sa.func.substr(both.c.error, -END)
    chosen = (*both.c["seq", "consumer", "state", "attempts", "at"], error.label("error"))
    rows = connection.execute(sa.select(*chosen).order_by(both.c.consumer))
    shown = ("consumer", "state", "attempts", "at")
    return columns.group_pairs(
        (
            row.seq,
            columns.as_dict(row, *shown) | {"error": row.error if whole else _last_line(row.error)},
        )
        for row in rows
    )


def _last_line(trace: str | None) -> str | None:
    """Return what a traceback ends in."""
    lines = (trace or "").strip().splitlines()
    return lines[-1][:LINE_LIMIT] if lines else None


log = logging.getLogger("cortex.ledger")

_SETTLED = "DELETE FROM deliveries WHERE consumer = ? AND seq = ?"


class PartlySettledError(Exception):
    """Another life of the consumer has settled a part: nothing is changed, the rest comes again."""


class LedgerJournal:
    """Keeps durable events in the ledger."""

    def __init__(self, records: Records, clock: Clock) -> None:
        """Keep events where the records are."""
        self._records = records
        self._clock = clock

    async def append(self, said: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Store events with a delivery for each consumer; return them with their `seq`."""
        return await self._records.write(lambda connection: store(connection, said))

    async def append_once(self, event: Event[Payload], key: str) -> Event[Payload]:
        """Store an event, or return the first one that was said under that idempotency key."""
        return await self._records.write(lambda connection: store_once(connection, event, key))

    async def find_next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now, a rest, or None when nothing waits.

        An event that this version cannot read becomes a dead letter: it would crash every caller.
        """
        now = self._clock.now()
        while True:
            try:
                return await self._records.read(
                    lambda c: find_next(c, consumer, now=now, in_hand=tuple(in_hand))
                )
            except UnreadableError as error:
                await self._set_aside(consumer, error)

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]] | None:
        """Commit effects, said events and acknowledgement; return the said events.

        A delivery of which anything is settled already changes nothing and says nothing: after a
        crash an earlier life's commit may land late. None when a part is left, which is then
        handed out again.
        """
        try:
            return await self._records.write(lambda c: _settle(c, delivery, outcome), vital=True)
        except PartlySettledError:
            return None

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash: try again after the pause, or set the event aside."""
        now = self._clock.now()
        await self._records.write(lambda c: _fail(c, delivery, failure, now), vital=True)

    async def _set_aside(self, consumer: str, error: UnreadableError) -> None:
        """Make a dead letter of what cannot be read; no further attempt could go better."""
        log.error("an event for %s is set aside: %s", consumer, error)
        mine, now, tried = _of(consumer, [error.seq]), self._clock.now(), error.attempts + 1
        await self._records.write(
            lambda c: _bury(c, mine, attempts=tried, error=str(error), now=now), vital=True
        )


def store_once(connection: sa.Connection, event: Event[Payload], key: str) -> Event[Payload]:
    """Write an event under its idempotency key, or return the first one that has it.

    There is no other writer between the look and the write, so of several at once one is first.
    Raises `BadInput` when the first one has another topic or payload.
    """
    chosen = (events.c.seq, events.c.id, events.c.topic, RAW, events.c.at, events.c.source)
    query = sa.select(*chosen).where(events.c.idempotency_key == key)
    first = connection.execute(query).one_or_none()
    if first is not None:
        refuse_other(event, key, topic=first.topic, payload=decode_payload(first.payload))
        return Event(
            first.id, first.topic, event.payload, first.at, first.source, first.seq, duplicate=True
        )
    (stored,) = store(connection, [event])
    columns.change_in(connection, events.c.seq, [stored.seq], {"idempotency_key": key})
    return stored


def count_waiting(connection: sa.Connection) -> int:
    """Return how many deliveries have not been handled."""
    return columns.count_rows(connection, deliveries)


def list_waiting_keys(
    connection: sa.Connection, consumer: str, keys: Iterable[str]
) -> frozenset[str]:
    """Return those of some keys of which an event waits for a consumer, or is in its hand."""
    mine = sa.select(deliveries.c.key).where(deliveries.c.consumer == consumer)
    rows = columns.select_in(connection, mine, deliveries.c.key, sorted(keys))
    return frozenset(row.key for row in rows)


def count_dead(connection: sa.Connection) -> int:
    """Return how many dead letters there are."""
    return columns.count_rows(connection, dead_letters)


def _settle(
    connection: sa.Connection, delivery: Delivery, outcome: Outcome
) -> list[Event[Payload]]:
    """Acknowledge, apply and say, in the caller's transaction."""
    mine = [(delivery.consumer, seq) for seq in delivery.seqs]
    gone = execute_many(connection, _SETTLED, mine)
    if gone == 0:
        return []
    if gone != len(delivery.seqs):
        raise PartlySettledError
    if outcome.work is not None:
        outcome.work(connection)
    return store(connection, outcome.say)


def _fail(connection: sa.Connection, delivery: Delivery, failure: Failure, now: int) -> None:
    """Count an attempt; after the last one move the event to the dead letters."""
    attempts = delivery.attempts + 1
    mine = _of(delivery.consumer, delivery.seqs)
    if failure.final:
        _bury(connection, mine, attempts=attempts, error=failure.traceback, now=now)
        return
    again = {
        "attempts": attempts,
        "due_at": now + int(failure.pause * SECOND),
        "error": failure.traceback,
    }
    connection.execute(sa.update(deliveries).where(mine).values(again))


def _bury(connection: sa.Connection, which: Any, *, attempts: int, error: str, now: int) -> None:
    """Move deliveries to the dead letters."""
    # Only what still waited: what was settled in the meantime did not fail.
    gone = sa.delete(deliveries).where(which).returning(deliveries.c.consumer, deliveries.c.seq)
    rows = (
        {"consumer": consumer, "seq": seq, "attempts": attempts, "error": error, "at": now}
        for consumer, seq in connection.execute(gone)
    )
    columns.put_rows(connection, dead_letters, rows, change=())


def _of(consumer: str, seqs: Sequence[int]) -> Any:
    """Return the condition for a consumer's deliveries of events."""
    return sa.and_(deliveries.c.consumer == consumer, deliveries.c.seq.in_(seqs))


#: Dead letters of one unit of work: others write, too, and wait for it.
AT_ONCE = 500


#: Dead letters: the number of the event, and who could not handle it.
Letters: TypeAlias = "Sequence[tuple[int, str]]"


def replay(
    connection: sa.Connection, names: Sequence[str] | None, *, behind: Letters = ()
) -> Letters:
    """Put dead letters back as if they had never been tried; return their numbers and consumers.

    Those of the events named, by id or number, or the oldest `AT_ONCE` of all, `behind` one if
    that is given. Raises `NotFound`, and nothing is changed, for an event that is not known or is
    no dead letter.
    """
    query = sa.select(dead_letters.c.consumer, dead_letters.c.seq, events.c.topic, RAW).join(events)
    rows = _taken(connection, query, names, behind)
    if rows:
        back = [
            {"consumer": row.consumer, "seq": row.seq, "key": _key(row.topic, row.payload)}
            for row in rows
        ]
        connection.execute(sa.insert(deliveries), back)
    return [(row.seq, row.consumer) for row in rows]


def discard(
    connection: sa.Connection, names: Sequence[str] | None, *, behind: Letters = ()
) -> Letters:
    """Drop dead letters for good; arguments, result and errors are those of `replay`.

    Their events stay until they are old; what they say is not read.
    """
    query = sa.select(dead_letters.c.consumer, dead_letters.c.seq)
    return [(row.seq, row.consumer) for row in _taken(connection, query, names, behind)]


def _taken(
    connection: sa.Connection, query: sa.Select[Any], names: Sequence[str] | None, behind: Letters
) -> Sequence[Any]:
    """Remove dead letters and return what the query has of them."""
    query = query.order_by(dead_letters.c.seq, dead_letters.c.consumer)
    for last in behind:
        query = query.where(sa.tuple_(dead_letters.c.seq, dead_letters.c.consumer) > last)
    if names is None:
        rows = connection.execute(query.limit(AT_ONCE)).all()
    else:
        wanted = find_numbers(connection, names)
        rows = connection.execute(query.where(dead_letters.c.seq.in_(wanted))).all()
        dead = {row.seq for row in rows}
        for seq in wanted:
            if seq not in dead:
                raise NotFound(
                    f"the event {seq} is no dead letter; see those that are: "
                    "cortex daemon events --dead"
                )
    for row in rows:
        mine = sa.and_(dead_letters.c.seq == row.seq, dead_letters.c.consumer == row.consumer)
        connection.execute(sa.delete(dead_letters).where(mine))
    return rows


def _key(topic: str, raw: str) -> str | None:
    """Return what an event's repeats have in common; None for one that cannot be read.

    That one dies again by itself, and keeps no other from being put back.
    """
    try:
        return topics.compute_key(topic, topics.parse(topic, decode_payload(raw)))
    except (CortexError, TypeError, ValueError, AttributeError):
        return None
