"""Durable events on the ledger: the bus's `Journal`, kept in three tables.

An event is a row of `events`; each consumer of its topic has a row of `deliveries` until it has
handled the event. The rows of both are written in one transaction, and so are a handler's effects,
the deletion of what it has handled and the events it says in turn.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.bus.commits import refuse_other
from cortex_actors.clock import SECOND, Clock
from cortex_actors.domain.event import Event
from cortex_actors.storage.append import store
from cortex_actors.storage.events import RAW, decoded
from cortex_actors.storage.handout import UnreadableError, handed_next
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import dead_letters, deliveries, events
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.bus.journal import Delivery, Failure, Outcome, Rest
    from cortex_actors.domain.event import Payload
    from cortex_actors.storage.ledger.actor import Records

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

    async def next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now, a rest, or None when nothing waits.

        What this version cannot read becomes a dead letter: it would crash whoever asks, for ever.
        """
        now = self._clock.now()
        while True:
            try:
                return await self._records.read(
                    lambda c: handed_next(c, consumer, now=now, in_hand=tuple(in_hand))
                )
            except UnreadableError as error:
                await self._set_aside(consumer, error)

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
        """Commit effects, said events and acknowledgement; return the said events.

        A delivery of which anything is settled already changes nothing and says nothing: after a
        crash an earlier life's commit may land late, and what is left is then handed out again.
        """
        try:
            return await self._records.write(lambda c: _settle(c, delivery, outcome), vital=True)
        except PartlySettledError:
            return []

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


def store_once(connection: Connection, event: Event[Payload], key: str) -> Event[Payload]:
    """Write an event under its idempotency key, or return the first one that has it.

    Nobody else writes between the look and the writing, so of several at once one is the first.
    Raises `BadInput` when the first one has another topic or payload.
    """
    columns = (events.c.seq, events.c.id, events.c.topic, RAW, events.c.at, events.c.source)
    query = select(*columns).where(events.c.idempotency_key == key)
    first = connection.execute(query).one_or_none()
    if first is not None:
        refuse_other(event, key, topic=first.topic, payload=decoded(first.payload))
        return Event(
            first.id, first.topic, event.payload, first.at, first.source, first.seq, duplicate=True
        )
    (stored,) = store(connection, [event])
    named = update(events).where(events.c.seq == stored.seq).values(idempotency_key=key)
    connection.execute(named)
    return stored


def waiting(connection: Connection) -> int:
    """Return how many deliveries have not been handled."""
    return int(connection.execute(select(func.count()).select_from(deliveries)).scalar_one())


def waiting_keys(connection: Connection, consumer: str, keys: Iterable[str]) -> frozenset[str]:
    """Return those of some keys of which an event waits for a consumer, or is in its hand."""
    mine = select(deliveries.c.key).where(deliveries.c.consumer == consumer)
    return frozenset(
        key
        for some in chunks(sorted(keys))
        for key in connection.execute(mine.where(deliveries.c.key.in_(some))).scalars()
    )


def dead(connection: Connection) -> int:
    """Return how many dead letters there are."""
    return int(connection.execute(select(func.count()).select_from(dead_letters)).scalar_one())


def _settle(connection: Connection, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
    """Acknowledge, apply and say, in the caller's transaction."""
    mine = [(delivery.consumer, seq) for seq in delivery.seqs]
    gone = driver_of(connection).executemany(_SETTLED, mine).rowcount
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
    mine = _of(delivery.consumer, delivery.seqs)
    if failure.final:
        _bury(connection, mine, attempts=attempts, error=failure.traceback, now=now)
        return
    again = {
        "attempts": attempts,
        "due_at": now + int(failure.pause * SECOND),
        "error": failure.traceback,
    }
    connection.execute(update(deliveries).where(mine).values(again))


def _bury(connection: Connection, which: Any, *, attempts: int, error: str, now: int) -> None:
    """Move deliveries to the dead letters."""
    # Only what still waited: what was settled in the meantime did not fail.
    gone = delete(deliveries).where(which).returning(deliveries.c.consumer, deliveries.c.seq)
    rows = [
        {"consumer": consumer, "seq": seq, "attempts": attempts, "error": error, "at": now}
        for consumer, seq in connection.execute(gone)
    ]
    if rows:
        connection.execute(insert(dead_letters).on_conflict_do_nothing(), rows)


def _of(consumer: str, seqs: Sequence[int]) -> Any:
    """Return the condition for a consumer's deliveries of events."""
    return and_(deliveries.c.consumer == consumer, deliveries.c.seq.in_(seqs))
