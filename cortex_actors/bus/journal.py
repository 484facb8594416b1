"""What the bus needs of whoever keeps durable events: a port, implemented by the storage branch.

The contract is that of docs/semantics.md: a handler's effects, the events it says and the
acknowledgement of what it heard commit in one transaction, or none of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.errors import ActorAway, DeadlineExceeded, LedgerDown

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload

#: Whom somebody asked was away or slow: no fault of the event's.
AWAY = (LedgerDown, ActorAway, DeadlineExceeded)

#: A unit of work: gets the ledger's connection inside the transaction; its value is dropped.
#: (`Any`, because the bus must not know which database library is behind the port.)
Work = Callable[[Any], object]


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
    #: Every waiting event this one stands for, in order.
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

    async def next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Return what the consumer should handle now; None when nothing waits.

        Neither what is `in_hand` is handed out nor a repeat of it: a repeat waits, and is then
        handled once more. Nor is a later event of a waiting repeat's project handed out, because
        a project's events are handled in their order. (Of repeats that are handled as one, the
        first counts: the others come with it.)
        """

    async def settle(self, delivery: Delivery, outcome: Outcome) -> list[Event[Payload]]:
        """Commit effects, said events and acknowledgement; return the said events.

        Nothing is changed or said when any of it was settled before: what is left comes again.
        """

    async def fail(self, delivery: Delivery, failure: Failure) -> None:
        """Record a crash: try again after the pause, or set it aside as a dead letter."""
