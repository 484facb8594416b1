"""Memories that come to a deeper layer, or back from it, and memories that are kept as they are.

Each is a change that can be undone: what a memory was before is written down beside what it is
now, in the transaction of the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, update

from cortex_actors.domain.memory import ChangeKind, MemoryStatus
from cortex_actors.rules.decay import is_deeper
from cortex_actors.storage.memorychanges import Change, note
from cortex_actors.storage.schema import memories, memory_attention

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.domain.memory import Layer

#: What a memory that came to a layer has of the attention there is.
FRESH = 1.0

#: Columns that a promotion changes, by their table.
_PLACED = ("layer", "layer_since", "promoted_at")
_WEIGHED = ("attention", "weighed_at", "due_at")


def deepen(
    connection: Connection,
    wanted: Mapping[str, Layer],
    *,
    at: int,
    by: str,
    kind: ChangeKind = ChangeKind.PROMOTE,
    reason: str | None = None,
) -> list[str]:
    """Bring active memories to deeper layers, with fresh attention; return those that moved.

    One that is there already, or deeper, stays where it is.
    """
    moved = []
    for name, layer in wanted.items():
        before = _before(connection, name)
        if before is None or not is_deeper(layer, before["layer"]):
            continue
        _place(
            connection,
            name,
            {"layer": layer, "layer_since": at, "promoted_at": at},
            {"attention": FRESH, "weighed_at": at, "due_at": None},
        )
        told = {**before, "to": str(layer)}
        note(connection, Change(kind, name, by=by, at=at, before=told, reason=reason))
        moved.append(name)
    return moved


def lift(connection: Connection, memory_id: str, before: Mapping[str, Any]) -> None:
    """Bring a memory back to the layer it was in; `before` is as `deepen` noted it."""
    _place(
        connection,
        memory_id,
        {name: before[name] for name in _PLACED},
        {name: before[name] for name in _WEIGHED},
    )


def pin(connection: Connection, ids: Iterable[str], *, at: int, by: str) -> list[str]:
    """Keep active memories as they are: never merged, faded or archived by themselves."""
    return _fasten(connection, ids, at, kind=ChangeKind.PIN, by=by)


def unpin(connection: Connection, ids: Iterable[str], *, at: int, by: str) -> list[str]:
    """Let memories be treated as all others again."""
    return _fasten(connection, ids, at, kind=ChangeKind.UNPIN, by=by)


def fasten(connection: Connection, memory_id: str, since: int | None) -> None:
    """Write since when a memory is pinned; None for not at all."""
    statement = update(memories).where(memories.c.id == memory_id)
    connection.execute(statement.values(pinned_at=since))


def _fasten(
    connection: Connection, ids: Iterable[str], at: int, *, kind: ChangeKind, by: str
) -> list[str]:
    """Pin or unpin those that are not so yet, and note it."""
    changed = []
    pins = kind is ChangeKind.PIN
    for name in dict.fromkeys(ids):
        query = select(memories.c.pinned_at, memories.c.status).where(memories.c.id == name)
        row = connection.execute(query).one_or_none()
        if row is None or (row.pinned_at is None) != pins:
            continue
        if pins and row.status != MemoryStatus.ACTIVE:
            continue
        fasten(connection, name, at if pins else None)
        before = {"pinned_at": row.pinned_at}
        note(connection, Change(kind, name, by=by, at=at, before=before))
        changed.append(name)
    return changed


def _before(connection: Connection, memory_id: str) -> dict[str, Any] | None:
    """Return the layer and attention of an active memory as they are; None for no such one."""
    query = (
        select(*(memories.c[each] for each in _PLACED))
        .add_columns(*(memory_attention.c[each] for each in _WEIGHED))
        .join(memory_attention, memory_attention.c.memory_id == memories.c.id)
        .where(memories.c.id == memory_id, memories.c.status == MemoryStatus.ACTIVE)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name


def _place(
    connection: Connection, memory_id: str, placed: Mapping[str, Any], weighed: Mapping[str, Any]
) -> None:
    """Write the layer and the attention of a memory."""
    connection.execute(update(memories).where(memories.c.id == memory_id).values(**placed))
    mine = update(memory_attention).where(memory_attention.c.memory_id == memory_id)
    connection.execute(mine.values(**weighed))
