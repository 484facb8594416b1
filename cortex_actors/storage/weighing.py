"""Weighing: the attention that is stored is brought up to date, and what has faded is found.

A memory has faded when it has as little attention as it will ever have. Pinned ones never do, nor
does what lies in the cortex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from cortex_actors.domain.memory import PROBE, ChangeKind, MemoryStatus, MemoryType
from cortex_actors.rules.decay import CLOSE, kept
from cortex_actors.storage import attending, memorychanges, memorystates
from cortex_actors.storage.memorychanges import Change
from cortex_actors.storage.schema import memories
from cortex_actors.storage.search.presence import faded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement

    from cortex_actors.domain.memory import Layer
    from cortex_actors.rules.decay import Decay
    from cortex_actors.storage.attending import Held

#: How far a memory's attention must have moved to be written again (the document's).
MOVED = 0.01

#: Memories that one query reads.
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Page:
    """What some memories weigh.

    Attributes:
        last: the id behind which the next ones begin; empty when there are none.
        total: memories that were looked at.
        moved: those whose attention is another one than is stored.
        below: how many have faded.
        faded: those of the moved that had not, by what is stored.

    """

    last: str
    total: int
    moved: tuple[str, ...]
    below: int
    faded: tuple[str, ...]


def look(
    connection: Connection,
    after: str,
    *where: ColumnElement[bool],
    now: int,
    decays: Mapping[Layer, Decay],
) -> Page:
    """Return what the next memories behind an id weigh now, of those that meet conditions."""
    some = attending.page(connection, after, PAGE, *where)
    return _weighed(some, now, decays)


def write(
    connection: Connection, ids: Sequence[str], *, now: int, decays: Mapping[Layer, Decay]
) -> Page:
    """Write the attention of memories as it is now; return what that came to."""
    some = list(attending.held(connection, ids).values())
    page = _weighed(some, now, decays)
    moved = set(page.moved)
    found = {each.id: each.now(now, decays) for each in some if each.id in moved}
    attending.weigh(connection, found, now)
    return page


def idle(
    connection: Connection,
    *where: ColumnElement[bool],
    before: int,
    decays: Mapping[Layer, Decay],
    limit: int,
    after: str = "",
) -> list[str]:
    """Return the next memories behind an id that had faded at a time already; by their ids.

    Agents' profiles are none: whom somebody is does not fade.
    """
    row = memories.c
    query = select(row.id).where(
        row.id > after,
        row.status == MemoryStatus.ACTIVE,
        row.type != MemoryType.AGENT_PROFILE,
        row.agent_id != PROBE,
        faded(before, decays),
        *where,
    )
    return list(connection.execute(query.order_by(row.id).limit(limit)).scalars())


def put_away(
    connection: Connection, ids: Sequence[str], *, at: int, by: str, reason: str
) -> list[str]:
    """Archive memories, each as a change that can be undone; return those that were active."""
    gone = memorystates.archive(connection, ids, at)
    changes = (Change(ChangeKind.ARCHIVE, each, by=by, at=at, reason=reason) for each in gone)
    memorychanges.note(connection, *changes)
    return gone


def has_faded(memory: Held, attention: float, decays: Mapping[Layer, Decay]) -> bool:
    """Tell whether a memory has, with that attention, faded as far as it can."""
    if memory.layer not in decays or memory.pinned_at is not None:
        return False
    return attention <= kept(memory.layer, memory.access_count, decays) + CLOSE


def _weighed(some: Sequence[Held], now: int, decays: Mapping[Layer, Decay]) -> Page:
    """Return what memories weigh now, beside what is stored."""
    found = [(each, each.now(now, decays)) for each in some]
    moved = [(each, new) for each, new in found if abs(new - each.attention) > MOVED]
    return Page(
        last=some[-1].id if some else "",
        total=len(some),
        moved=tuple(each.id for each, _ in moved),
        below=sum(has_faded(each, new, decays) for each, new in found),
        faded=tuple(
            each.id
            for each, new in moved
            if has_faded(each, new, decays) and not has_faded(each, each.attention, decays)
        ),
    )
