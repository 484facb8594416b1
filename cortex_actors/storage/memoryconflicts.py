"""Conflicts: pairs of memories that cannot both hold.

A conflict stands while nobody has said that both are to be kept, and while both are active: it ends
by itself when one of them is superseded, archived or merged, and stands again when that one comes
back. So no change of a state has to be told to this table. Every function takes the connection of a
transaction it is part of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Select, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.memories import readable
from cortex_actors.storage.schema import memories, memory_conflicts
from cortex_actors.storage.tables.columns import chunks, given_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEFT, _RIGHT = memory_conflicts.c.left_id, memory_conflicts.c.right_id

#: Every search runs it: building it each time would cost more than it does.
_STANDING = (
    "SELECT left_id, right_id, reason FROM memory_conflicts AS c WHERE ended_at IS NULL"
    " AND (left_id IN (SELECT value FROM json_each(?1))"
    " OR right_id IN (SELECT value FROM json_each(?1)))"
    " AND EXISTS (SELECT 1 FROM memories WHERE status = 'active' AND id = c.left_id)"
    " AND EXISTS (SELECT 1 FROM memories WHERE status = 'active' AND id = c.right_id)"
    " ORDER BY left_id, right_id"
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that cannot both hold, `left` being the lesser id.

    Attributes:
        decided_by: the layer that says so.
        ended_at: UTC microseconds when somebody kept both; None until then.

    """

    left: str
    right: str
    decided_by: Decider
    reason: str
    found_at: int
    ended_at: int | None = None


def note(
    connection: Connection, left: str, right: str, *, by: Decider, reason: str, at: int
) -> bool:
    """Write down that two memories cannot both hold; False where that was known, or decided."""
    one, other = sorted((left, right))
    row = {
        "left_id": one,
        "right_id": other,
        "decided_by": by,
        "reason": reason,
        "found_at": at,
    }
    known = insert(memory_conflicts).values(row).on_conflict_do_nothing()
    return connection.execute(known).rowcount > 0


def keep_both(connection: Connection, left: str, right: str, at: int) -> bool:
    """End a conflict for good: both hold; False where there is none between them."""
    one, other = sorted((left, right))
    row = memory_conflicts.c
    statement = update(memory_conflicts).where(
        row.left_id == one, row.right_id == other, row.ended_at.is_(None)
    )
    return connection.execute(statement.values(ended_at=at)).rowcount > 0


def is_kept(connection: Connection, left: str, right: str) -> bool:
    """Tell whether somebody has said that two memories hold which were found to conflict."""
    one, other = sorted((left, right))
    row = memory_conflicts.c
    query = select(row.left_id).where(
        row.left_id == one, row.right_id == other, row.ended_at.is_not(None)
    )
    return connection.execute(query).first() is not None


def standing(connection: Connection, ids: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (the other memory, why) for each that is in a conflict which stands."""
    found: dict[str, list[tuple[str, str]]] = {}
    wanted = list(dict.fromkeys(ids))
    for some in chunks(wanted):
        for left, right, why in driver_of(connection).execute(_STANDING, (json.dumps(some),)):
            for mine, other in ((left, right), (right, left)):
                if mine in some:
                    found.setdefault(mine, []).append((other, given_text(why) or ""))
    return found


def listed(
    connection: Connection, *, reader: str | None = None, limit: int = 50, skip: int = 0
) -> list[Conflict]:
    """Return the conflicts that stand, newest first; with a reader, those of what it may read."""
    query = _read_by(_open(select(memory_conflicts)), reader)
    query = query.order_by(memory_conflicts.c.found_at.desc(), _LEFT, _RIGHT)
    return [_conflict(row) for row in connection.execute(query.limit(limit).offset(skip))]


def count(connection: Connection, reader: str | None = None) -> int:
    """Return how many conflicts stand."""
    query = _read_by(_open(select(func.count()).select_from(memory_conflicts)), reader)
    return int(connection.execute(query).scalar_one())


def _open(query: Select[Any]) -> Select[Any]:
    """Return a query for conflicts that stand."""
    active = select(memories.c.id).where(memories.c.status == MemoryStatus.ACTIVE)
    return query.where(
        memory_conflicts.c.ended_at.is_(None),
        active.where(memories.c.id == _LEFT).exists(),
        active.where(memories.c.id == _RIGHT).exists(),
    )


def _read_by(query: Select[Any], reader: str | None) -> Select[Any]:
    """Return a query for conflicts whose two memories somebody may read."""
    allowed = select(memories.c.id).where(readable(reader))
    return query.where(
        allowed.where(memories.c.id == _LEFT).exists(),
        allowed.where(memories.c.id == _RIGHT).exists(),
    )


def _conflict(row: Row[Any]) -> Conflict:
    """Return a row as a conflict."""
    return Conflict(
        left=row.left_id,
        right=row.right_id,
        decided_by=Decider(row.decided_by),
        reason=row.reason,
        found_at=row.found_at,
        ended_at=row.ended_at,
    )
