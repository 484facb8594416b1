"""What the bus needs of the store of durable events: a port, implemented by the storage branch.

The contract is that of docs/semantics.md: a handler's effects, the events it says and the
acknowledgement of what it heard commit in one transaction, or none of them does.

Commits: what is published in one turn of the loop is stored together.

A way to the ledger and back costs more than the rows: with 64 publishers at a time, one unit of
work for all of them gave three times the events a second of one for each (benchmarks/ledger.py).

Saying once what may be said again: what a key may be, and whether two events are the same.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from cortex_actors import topics
from cortex_actors.domain.event import Event, Payload, dump_payload, is_text
from cortex_actors.errors import ActorAway, BadInput, DeadlineExceeded, LedgerDown
from cortex_actors.runtime.tasks import Background

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


#: The asked part was away or slow: no fault of the event's.
AWAY = (LedgerDown, ActorAway, DeadlineExceeded)

#: A unit of work: gets the ledger's connection inside the transaction; its value is dropped.
#: (`Any`, because the bus must not know which database library is behind the port.)
Work: TypeAlias = "Callable[[Any], object]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a handler wants done: its effects and the events it says, committed together."""

    work: Work | None = None
    say: Sequence[Event[Payload]] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one consumer; several waiting ones of a key are handed over as one."""

    consumer: str
    event: Event[Any]
    #: Every waiting event that this one represents, in order.
    seqs: tuple[int, ...]
    #: What its waiting repeats have in common; None when each is handled alone.
    key: str | None = None
    #: How often a handler has already crashed on it.
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Rest:
    """The consumer crashed not long ago: nothing is handed out for that many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """How a handler crashed."""

    traceback: str
    #: Seconds to rest before the next attempt.
    pause: float
    #: True when this was the last attempt: the event becomes a dead letter.
    final: bool = field(default=False)


class Journal(Protocol):
    """Durable events and who has still to handle them."""

    async def append(self, events: Sequence[Event[Payload]]) -> list[Event[Payload]]:
        """Store events with a delivery for each consumer; return them with their `seq`.

        Returns after the commit. An event whose id is already stored is not stored again.
        """

    async def append_once(self, event: Event[Payload], key: str) -> Event[Payload]:
        """Store an event as `append` does, unless one was said under that idempotency key.

        Then nothing is stored and the first one is returned, as a `duplicate`; of several at the
        same time, one is the first. A key is known as long as its event is kept. Raises `BadInput`
        when the first one has another topic or payload.
        """

    async def find_next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now; None when nothing waits.

        Neither what is `in_hand` is handed out nor a repeat of it: a repeat waits, and is then
        handled once more. Nor is a later event of a waiting repeat's project handed out, because
        a project's events are handled in their order. (Of repeats that are handled as one, the
        first counts: the others come with it.)
        """

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]] | None:
        """Commit effects, said events and acknowledgement; return the said events.

        Nothing is changed or said when any of it was settled before. None when that was a part of
        it: the rest comes again, and later events of its project have to wait for it.
        """

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash: try again after the pause, or set it aside as a dead letter."""


T = TypeVar("T")

#: Events of one commit: others write, too, and wait for it.
AT_ONCE = 500

#: Events as they were stored.
Stored: TypeAlias = "list[Event[Payload]]"


@dataclass(slots=True)
class _Publish:
    """Events of one publisher, who waits for them."""

    events: Sequence[Event[Payload]]
    done: asyncio.Future[Stored]

    def answer(self, told: Stored) -> None:
        """Answer the publisher, unless it has ended."""
        if not self.done.done():
            self.done.set_result(told)


class Commits:
    """Stores events and then says them, in the order in which they were added.

    A commit that has begun goes on whatever becomes of its publishers.
    """

    def __init__(self, journal: Journal, say: Callable[[Event[Payload]], None]) -> None:
        """Store in that journal; `say` hands a stored event to its receivers."""
        self._journal = journal
        self._say = say
        self._added: deque[_Publish] = deque()
        self.running = Background()

    def add(self, events: Sequence[Event[Payload]]) -> asyncio.Future[Stored]:
        """Store events with whatever else is added in this turn of the loop, and say them.

        At most `AT_ONCE`. The future holds what failed, if the commit did. Who cancels it does not
        stop the commit.
        """
        done: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        if not self._added:  # its first step comes when everybody of this turn has added theirs
            self._begin()
        self._added.append(_Publish(events, done))
        return done

    async def add_once(self, event: Event[Payload], key: str) -> Event[Payload]:
        """Store an event under an idempotency key, and say it unless the key was known."""

        async def store() -> Event[Payload]:
            stored = await self._journal.append_once(event, key)
            if not stored.duplicate:
                self._say(stored)
            return stored

        return await asyncio.shield(self.running.begin(store()))

    def _begin(self) -> None:
        """Begin a commit on behalf of several: it belongs to no actor's turn."""
        Context().run(self.running.begin, self._store_added())

    async def _store_added(self) -> None:
        """Store what was added, as many as may share a commit at a time."""
        group = [self._added.popleft()]
        size = len(group[0].events)
        while self._added and size + len(self._added[0].events) <= AT_ONCE:
            group.append(self._added.popleft())
            size += len(group[-1].events)
        if self._added:
            self._begin()
        await self._store(group)

    async def _store(self, group: Sequence[_Publish]) -> None:
        """Store a group in one commit and say it; what cannot be stored harms no other event."""
        events = [event for each in group for event in each.events]
        durable = [event for event in events if topics.find(event.topic).durable]
        try:
            written = await self._journal.append(durable) if durable else []
        except AWAY as error:
            _fail(group, error)
        except Exception as error:  # noqa: BLE001 - it goes to whom it belongs
            if len(group) == 1:
                _fail(group, error)
            for each in group if len(group) > 1 else ():
                await self._store([each])
        except BaseException:  # the loop ends
            for each in group:
                each.done.cancel()
            raise
        else:
            # Say what was stored, and what need not be, in order; answer the publishers.
            stored = {event.id: event for event in written}
            for each in group:
                told = [stored.get(event.id, event) for event in each.events]
                for event in told:
                    self._say(event)
                each.answer(told)


def _fail(group: Sequence[_Publish], error: Exception) -> None:
    """Tell every publisher of a group that nothing of theirs was stored."""
    for each in group:
        if not each.done.done():
            each.done.set_exception(error)


def refuse_too_large(topic: str, payload: Payload) -> None:
    """Raise `BadInput` for a payload with more than `topics.PAYLOAD_LIMIT` bytes of JSON."""
    size = len(json.dumps(dump_payload(payload)))
    if size > topics.PAYLOAD_LIMIT:
        raise BadInput(
            f"cannot publish {topic}: its payload has {size} bytes of JSON, "
            f"the limit is {topics.PAYLOAD_LIMIT}; send an id or a path instead"
        )


#: Characters of a key: room for a digest, a UUID or a path, and an index holds every one.
KEY_LIMIT = 200


def refuse_key(topic: str, key: object, *, durable: bool) -> None:
    """Raise `BadInput` for a key that cannot be kept: empty, long, or of an event that is not."""
    if not (isinstance(key, str) and 0 < len(key) <= KEY_LIMIT and is_text(key)):
        raise BadInput(
            f"cannot publish {topic}: its idempotency key must be a text of 1 to {KEY_LIMIT} "
            "characters; a digest of something longer will do"
        )
    if not durable:
        raise BadInput(
            f"cannot publish {topic} under an idempotency key: a transient event is not stored, so "
            "nothing would know the key; leave out one of the two"
        )


def refuse_other(event: Event[Payload], key: str, *, topic: str, payload: object) -> None:
    """Raise `BadInput` when the first event of a key had another topic or payload than this one."""
    if event.topic != topic or _canonical(dump_payload(event.payload)) != _canonical(payload):
        what = f"the topic {topic}" if event.topic != topic else "another payload"
        raise BadInput(
            f"cannot publish {event.topic}: the idempotency key {key!r} was used for {what}; "
            "give what differs a key of its own"
        )


def _canonical(payload: object) -> str:
    """Return the one JSON text of a payload: Python takes 1, 1.0 and true for equal."""
    return json.dumps(json.loads(json.dumps(payload)), sort_keys=True)
