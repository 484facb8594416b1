"""Changes: everything that was done with memories, apart from remembering and reading them.

A row says what was done, to which memory, with which others, by whom and why, and what has to be
known to undo it: columns as they were, ids, never a text. Undoing marks the row; nothing removes
it, and of a memory that was forgotten only that is left. Every function takes the connection of a
transaction it is part of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    String,
    cast,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from cortex_actors.domain.memory import ChangeKind
from cortex_actors.errors import NotFound
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.memories import readable
from cortex_actors.storage.schema import memories, memory_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Changes that make one memory of several: each is undone by taking the memory apart.
MERGES = (ChangeKind.MERGE, ChangeKind.CONSOLIDATE)

#: The least number by which an agent is told of a change, so 13 digits; those of rows are less.
_TOLD = 2**40

#: Whoever is no owner: all agents are told the same number.
_AGENT = "-"

#: One look at every change, however many memories are forgotten at once.
_EMPTY = (
    "UPDATE memory_changes SET reason = NULL, before = '{}'"
    " WHERE (reason IS NOT NULL OR before <> '{}')"
    " AND (memory_id IN (SELECT value FROM json_each(?1)) OR EXISTS (SELECT 1 FROM"
    " json_each(others) AS o WHERE o.value IN (SELECT value FROM json_each(?1))))"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was done.

    Attributes:
        memory_id: whom it was done to; of a merge, the whole.
        by: `owner`, an agent, or the actor that did it.
        at: UTC microseconds.
        others: the other memories it was about: parts, what replaced it.
        before: what undoing needs.
        id: its row; 0 until it is noted.
        number: how whoever asks names it (`number`).
        undone_at: UTC microseconds when it was undone; None while it stands.

    """

    kind: ChangeKind
    memory_id: str
    by: str
    at: int
    others: tuple[str, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    id: int = 0
    undone_at: int | None = None
    undone_by: str | None = None
    number: int = 0


def note(connection: Connection, *changes: Change) -> list[int]:
    """Write down what was done; return the numbers of the changes."""
    return [_note(connection, each) for each in changes]


def listed(
    connection: Connection,
    *,
    memory: str | None = None,
    kind: ChangeKind | None = None,
    reader: str | None = None,
    limit: int = 50,
    skip: int = 0,
) -> list[Change]:
    """Return changes, newest first: of one memory (as the others of a change, too), of a kind.

    With a reader, only those of memories that this agent may read; that one was forgotten is told
    to who forgot it.
    """
    query = _narrowed(select(memory_changes), memory, kind, reader)
    query = query.order_by(memory_changes.c.id.desc()).limit(limit).offset(skip)
    return [_change(row, reader) for row in connection.execute(query)]


def count(
    connection: Connection,
    *,
    memory: str | None = None,
    kind: ChangeKind | None = None,
    reader: str | None = None,
) -> int:
    """Return how many changes `listed` has in all."""
    query = _narrowed(select(func.count()).select_from(memory_changes), memory, kind, reader)
    return int(connection.execute(query).scalar_one())


def one(connection: Connection, number: int, *, reader: str | None = None) -> Change:
    """Return a change by the number that somebody was told; the owner may know an agent's, too.

    Raises `NotFound`. An agent's number is looked for in all changes it may know of.
    """
    query = _narrowed(select(memory_changes), None, None, reader)
    if abs(number) < _TOLD:
        rows = memory_changes.c.id == number if reader is None else false()
        found = [_change(row, None) for row in connection.execute(query.where(rows))]
    else:
        newest = connection.execute(query.order_by(memory_changes.c.id.desc()))
        told = (_change(row, reader or _AGENT) for row in newest)
        found = [each for each in told if each.number == number][:1]
    if not found:
        raise unknown(number)
    return found[0]


def unknown(number: int) -> NotFound:
    """Return the error for a change that there is not, or not for whoever asks."""
    return NotFound(f"there is no change {number}; list them with: cortex memory changes")


def is_known(connection: Connection, memory_id: str, *, reader: str | None) -> bool:
    """Tell whether somebody may know of changes of what has just that id, forgotten or not."""
    query = _narrowed(select(memory_changes.c.id), None, None, reader)
    of_it = query.where(memory_changes.c.memory_id == memory_id)
    return connection.execute(of_it.limit(1)).first() is not None


def last(
    connection: Connection, memory_id: str, *kinds: ChangeKind, reader: str | None = None
) -> Change | None:
    """Return the newest change of a memory that stands and is of one of those kinds."""
    row = memory_changes.c
    query = select(memory_changes).where(
        row.memory_id == memory_id, row.kind.in_(kinds), row.undone_at.is_(None)
    )
    found = connection.execute(query.order_by(row.id.desc()).limit(1)).one_or_none()
    return None if found is None else _change(found, reader)


def number_of(change: Change, reader: str | None) -> int:
    """Return the number by which somebody is told of a change.

    The owner is told its row's. Rows count everybody's changes, so an agent would learn by the
    gaps how much others do: it is told one that is made of the change itself.
    """
    if reader is None or not change.id:
        return change.id
    said = json.dumps([change.memory_id, change.kind, change.at, *change.others])
    return _TOLD + int.from_bytes(sha256(said.encode()).digest()[:5], "big")


def mark(connection: Connection, number: int, *, by: str, at: int) -> None:
    """Note that a change was undone."""
    statement = update(memory_changes).where(memory_changes.c.id == number)
    connection.execute(statement.values(undone_at=at, undone_by=by))


def empty(connection: Connection, ids: set[str]) -> None:
    """Take out of the changes of forgotten memories whatever could say what they said."""
    driver_of(connection).execute(_EMPTY, (json.dumps(sorted(ids)),))


def _note(connection: Connection, change: Change) -> int:
    """Write one change; return its number."""
    row = {
        "kind": change.kind,
        "memory_id": change.memory_id,
        "others": list(change.others),
        "before": dict(change.before),
        "by": change.by,
        "reason": change.reason or None,
        "at": change.at,
    }
    done = connection.execute(insert(memory_changes).values(row).returning(memory_changes.c.id))
    return int(done.scalar_one())


def _narrowed(
    query: Select[Any], memory: str | None, kind: ChangeKind | None, reader: str | None
) -> Select[Any]:
    """Return a query for changes of one memory, of a kind, that somebody may know of."""
    row = memory_changes.c
    if memory is not None:
        query = query.where(_is_about(memory))
    if kind is not None:
        query = query.where(row.kind == kind)
    if reader is not None:
        mine = select(memories.c.id).where(memories.c.id == row.memory_id, readable(reader))
        query = query.where(
            or_(mine.exists(), (row.kind == ChangeKind.FORGET) & (row.by == reader))
        )
    return query


def _is_about(memory_id: str) -> Any:
    """Return the condition that a change names a memory."""
    quoted = f'%"{memory_id}"%'
    others = cast(memory_changes.c.others, String)
    return or_(memory_changes.c.memory_id == memory_id, others.like(quoted))


def _change(row: Row[Any], reader: str | None) -> Change:
    """Return a row as a change, as somebody is told of it."""
    change = Change(
        kind=ChangeKind(row.kind),
        memory_id=row.memory_id,
        by=row.by,
        at=row.at,
        others=tuple(row.others),
        before=row.before,
        reason=row.reason,
        id=row.id,
        undone_at=row.undone_at,
        undone_by=row.undone_by,
    )
    return replace(change, number=number_of(change, reader))
