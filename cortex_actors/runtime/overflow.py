"""What can be said of any mailbox: what it does when it is full, and what it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Overflow(StrEnum):
    """What a full mailbox does with one more message; control messages always find room."""

    #: Asks, tell_async and threads wait for room; a plain tell on a loop raises MailboxFull.
    BACK_PRESSURE = "back-pressure"
    #: Nobody waits: whoever sends gets MailboxFull at once.
    REFUSE = "refuse"
    #: The newcomer is dropped; its asker gets MailboxFull.
    DROP_NEW = "drop-new"
    #: The one that waits longest is dropped; its asker gets MailboxFull.
    DROP_OLD = "drop-old"


@dataclass(frozen=True, slots=True)
class MailboxStats:
    """The state of a mailbox, and its counters since the actor started."""

    #: Messages that wait now, and the most that ever did.
    depth: int
    high: int
    #: Messages that may wait, 0 for no limit, and what happens to one more.
    limit: int
    overflow: Overflow
    #: Messages that found no room: dropped, or refused to whoever sent them.
    dropped: int
    #: Milliseconds that the last timed message waited, and the longest one. One is timed at a
    #: time, because two looks at a clock cost a quarter of what a tell does.
    waited_ms: float
    longest_ms: float
