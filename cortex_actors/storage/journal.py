"""Durable events on the ledger: the bus's `Journal`, kept in three tables.

An event is a row of `events`; each consumer of its topic has a row of `deliveries` until it has
handled the event. The rows of both are written in one transaction, and so are a handler's effects,
the deletion of what it has handled and the events it says in turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, and_, delete, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors import topics
from cortex_actors.bus.journal import Delivery, Failure, Outcome, Rest
from cortex_actors.clock import SECOND, Clock
from cortex_actors.domain.event import Event
from cortex_actors.domain.payload import Payload, merged, plain
from cortex_actors.settings import LONGEST_REST
from cortex_actors.storage.schema import dead_letters, deliveries, events

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.storage.records import Records

#: Waiting events that one run may answer at once; the rest come with the next.
CONFLATED = 1_000


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

    async def next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now, a rest, or None when nothing waits."""
        now = self._clock.now()
        return await self._records.read(
            lambda connection: _next(connection, consumer, now=now, in_hand=tuple(in_hand))
        )

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
        """Commit effects, said events and acknowledgement; return the said events.

        A delivery of which anything is settled already changes nothing and says nothing: after a
        crash an earlier life's commit may land late, and what is left is then handed out again.
        """
        try:
            return await self._records.write(lambda c: _settle(c, delivery, outcome))
        except PartlySettledError:
            return []

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash: try again after the pause, or set the event aside."""
        now = self._clock.now()
        await self._records.write(lambda connection: _fail(connection, delivery, failure, now))


def store(connection: Connection, said: Iterable[Event[Payload]]) -> list[Event[Payload]]:
    """Write events and their deliveries; an id that is already stored is not stored again."""
    return [_store_one(connection, event) for event in said]


def waiting(connection: Connection) -> int:
    """Return how many deliveries have not been handled."""
    return int(connection.execute(select(func.count()).select_from(deliveries)).scalar_one())


def dead(connection: Connection) -> int:
    """Return how many dead letters there are."""
    return int(connection.execute(select(func.count()).select_from(dead_letters)).scalar_one())


def _store_one(connection: Connection, event: Event[Payload]) -> Event[Payload]:
    """Write one event, and a delivery for each consumer its topic names."""
    topic = topics.find(event.topic)
    row = {
        "id": event.id,
        "topic": event.topic,
        "payload": plain(event.payload),
        "at": event.at,
        "source": event.source,
    }
    statement = insert(events).values(row).on_conflict_do_nothing(index_elements=["id"])
    seq = connection.execute(statement.returning(events.c.seq)).scalar()
    if seq is None:
        query = select(events.c.seq).where(events.c.id == event.id)
        return replace(event, seq=connection.execute(query).scalar_one())
    key = topics.key_of(event.topic, event.payload)
    rows = [{"consumer": consumer, "seq": seq, "key": key} for consumer in topic.heard_by]
    if rows:
        connection.execute(insert(deliveries), rows)
    return replace(event, seq=seq)


def _next(
    connection: Connection, consumer: str, *, now: int, in_hand: Sequence[Delivery]
) -> Delivery | Rest | None:
    """Return the oldest waiting event, with every other of its topic and key."""
    mine = deliveries.c.consumer == consumer
    free = and_(mine, *(_is_not(delivery) for delivery in in_hand))
    first = connection.execute(_waiting(free).limit(1)).one_or_none()
    if first is None:
        return None
    latest = select(func.max(deliveries.c.due_at)).where(mine, deliveries.c.due_at > 0)
    due = connection.execute(latest).scalar() or 0
    # Further ahead than anybody ever rests: the wall clock has jumped back.
    if now < due <= now + LONGEST_REST * SECOND:
        return Rest((due - now) / SECOND)
    rows: Sequence[Row[Any]] = [first]
    if first.key is not None:
        alike = and_(mine, events.c.topic == first.topic, deliveries.c.key == first.key)
        rows = connection.execute(_waiting(alike).limit(CONFLATED)).all()
    return _delivery(consumer, rows)


def _waiting(condition: Any) -> Any:
    """Return the query for waiting events, oldest first."""
    return (
        select(
            events.c.seq,
            events.c.id,
            events.c.topic,
            events.c.payload,
            events.c.at,
            events.c.source,
            deliveries.c.key,
            deliveries.c.attempts,
        )
        .join(deliveries, deliveries.c.seq == events.c.seq)
        .where(condition)
        .order_by(deliveries.c.seq)
    )


def _delivery(consumer: str, rows: Sequence[Row[Any]]) -> Delivery:
    """Make one delivery of rows that have one key."""
    last = rows[-1]
    payload = merged([topics.parse(row.topic, row.payload) for row in rows])
    event = Event(last.id, last.topic, payload, last.at, last.source, last.seq)
    attempts = max(row.attempts for row in rows)
    return Delivery(consumer, event, tuple(row.seq for row in rows), last.key, attempts)


def _settle(connection: Connection, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
    """Acknowledge, apply and say, in the caller's transaction."""
    gone = connection.execute(delete(deliveries).where(_of(delivery))).rowcount
    if gone == 0:
        return []
    if gone != len(delivery.seqs):
        raise PartlySettledError
    if outcome.work is not None:
        outcome.work(connection)
    return store(connection, outcome.say)


def _fail(connection: Connection, delivery: Delivery, failure: Failure, now: int) -> None:
    """Count an attempt; after the last one move the event to the dead letters."""
    attempts = delivery.attempts + 1
    if not failure.final:
        again = {
            "attempts": attempts,
            "due_at": now + int(failure.pause * SECOND),
            "error": failure.traceback,
        }
        connection.execute(update(deliveries).where(_of(delivery)).values(again))
        return
    # Only what still waited: what was settled in the meantime did not fail.
    left = connection.execute(delete(deliveries).where(_of(delivery)).returning(deliveries.c.seq))
    rows = [
        {
            "consumer": delivery.consumer,
            "seq": seq,
            "attempts": attempts,
            "error": failure.traceback,
            "at": now,
        }
        for seq in left.scalars()
    ]
    if rows:
        connection.execute(insert(dead_letters).on_conflict_do_nothing(), rows)


def _is_not(delivery: Delivery) -> Any:
    """Return the condition for rows that are neither a delivery's own nor a repeat of it."""
    if delivery.key is None:
        return deliveries.c.seq.not_in(delivery.seqs)
    return or_(
        events.c.topic != delivery.event.topic,
        deliveries.c.key.is_(None),
        deliveries.c.key != delivery.key,
    )


def _of(delivery: Delivery) -> Any:
    """Return the condition for a delivery's rows."""
    mine = deliveries.c.consumer == delivery.consumer
    return and_(mine, deliveries.c.seq.in_(delivery.seqs))
