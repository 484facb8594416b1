"""How much of what was asked for is still to be done: what a progress bar shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from cortex_actors.storage.embedded import count_unembedded
from cortex_actors.storage.schema import deliveries, events
from cortex_actors.topics import FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, or is in hand.

    Attributes:
        scans: scans of which the files are not known yet.
        files: files to be read.
        texts: texts without a vector.
        others: events that follow of them: insights to be compared, principles to be distilled.

    """

    scans: int
    files: int
    texts: int
    others: int


def waiting(connection: Connection, model: str) -> Waiting:
    """Return what waits now."""
    query = (
        select(events.c.topic, func.count())
        .select_from(deliveries)
        .join(events, events.c.seq == deliveries.c.seq)
        .group_by(events.c.topic)
    )
    counts = {topic: int(count) for topic, count in connection.execute(query)}
    return Waiting(
        scans=counts.pop(SCAN_REQUESTED, 0),
        files=counts.pop(FILE_CHANGED, 0),
        texts=count_unembedded(connection, model),
        others=sum(counts.values()),
    )
