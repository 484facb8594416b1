"""What travels on a topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Event(Generic[P_co]):
    """One thing that happened, said once.

    `at` (UTC microseconds) is for people. `seq` is the ledger's number and the only order; it is
    None until the event is committed, and for ever on topics that are not durable.
    """

    #: `evt_` + ULID; saying the same id twice is saying it once.
    id: str
    topic: str
    payload: P_co
    at: int
    #: Who said it: an actor's name, or what another process calls itself.
    source: str
    seq: int | None = None
    #: True when the same was said before under one idempotency key: this is the first event, and
    #: nobody was told of it again.
    duplicate: bool = field(default=False, compare=False)
