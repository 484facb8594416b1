"""Crumbs: what sessions left for the next ones, and the passages by which they are found.

Every function takes the connection of a transaction it is part of. A crumb is never changed, so
its row says all there is; it is found by everything it says, alone. Whoever reads is `reader`: an
agent sees its own crumbs, None is the owner and sees them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    func,
    insert,
    literal_column,
    select,
    true,
)

from cortex_actors.domain.memory import Crumb, CrumbType, Priority
from cortex_actors.storage import agents, passages
from cortex_actors.storage.schema import crumbs
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.memory import Passage

#: The collection of the vector index that crumbs lie in.
COLLECTION = "cortex_crumbs"

_ROWS = crumbs.c

#: Newest first; of several of one microsecond, the one that was written last.
_NEWEST: tuple[ColumnElement[Any], ...] = (
    _ROWS.left_at.desc(),
    literal_column("crumbs.rowid").desc(),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which crumbs are meant; what is left out narrows nothing.

    Attributes:
        reader: through whose eyes; None for the owner's.
        since: UTC microseconds, the first that counts.
        unfinished: only those with something left to do.

    """

    reader: str | None = None
    agent: str | None = None
    since: int | None = None
    priority: Priority | None = None
    type: CrumbType | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """How many crumbs there are; a word that none has is not counted."""

    by_priority: dict[str, int]
    by_type: dict[str, int]

    @property
    def total(self) -> int:
        """How many in all."""
        return sum(self.by_type.values())


def leave(connection: Connection, crumb: Crumb) -> None:
    """Write a crumb, to be found from now on; an agent that is not known yet becomes so."""
    agents.know(connection, (crumb.agent_id,), at=crumb.left_at)
    connection.execute(insert(crumbs), _row(crumb))
    remake(connection, (crumb.id,))


def listed(connection: Connection, wanted: Wanted, *, limit: int) -> list[Crumb]:
    """Return the crumbs that are meant, newest first."""
    query = select(crumbs).where(*_conditions(wanted)).order_by(*_NEWEST).limit(limit)
    return [_crumb(row) for row in connection.execute(query)]


def tally(connection: Connection, wanted: Wanted) -> Tally:
    """Return how many crumbs are meant, by priority and by type."""
    query = select(_ROWS.priority, _ROWS.type, func.count()).where(*_conditions(wanted))
    found = Tally({}, {})
    for priority, kind, count in connection.execute(query.group_by(_ROWS.priority, _ROWS.type)):
        found.by_priority[priority] = found.by_priority.get(priority, 0) + count
        found.by_type[kind] = found.by_type.get(kind, 0) + count
    return found


def by_id(
    connection: Connection, ids: Iterable[str], *, reader: str | None = None
) -> dict[str, Crumb]:
    """Return the crumbs among those ids that may be read."""
    query = select(crumbs).where(readable(reader))
    return {
        row.id: _crumb(row)
        for some in chunks(dict.fromkeys(ids))
        for row in connection.execute(query.where(_ROWS.id.in_(some)))
    }


def like(connection: Connection, crumb: Crumb) -> Crumb | None:
    """Return the crumb of the same agent, session and moment that says the same; None without."""
    row = connection.execute(
        select(crumbs)
        .where(_ROWS.agent_id == crumb.agent_id, _ROWS.session_id == crumb.session_id)
        .where(_ROWS.left_at == crumb.left_at, _ROWS.summary == crumb.summary)
        .limit(1)
    ).first()
    return None if row is None else _crumb(row)


def readable(reader: str | None) -> ColumnElement[bool]:
    """Return the condition on a row of `crumbs` that somebody may read it; None is the owner."""
    return true() if reader is None else _ROWS.agent_id == reader


def all_ids(connection: Connection) -> list[str]:
    """Return the ids of all crumbs, oldest first."""
    return list(connection.execute(select(_ROWS.id).order_by(_ROWS.left_at, _ROWS.id)).scalars())


def count(connection: Connection) -> int:
    """Return how many crumbs there are."""
    return int(connection.execute(select(func.count()).select_from(crumbs)).scalar_one())


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Make the passages of crumbs from their rows; return how many of them there are."""
    wanted = list(dict.fromkeys(ids))
    live = by_id(connection, wanted)
    for some in chunks(wanted):
        mine = [live[each] for each in some if each in live]
        made = [passage for each in mine for passage in _passages(each)]
        passages.replace(connection, COLLECTION, some, made)
    return len(live)


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    """Return what a row must meet to be meant."""
    asked = (
        (_ROWS.agent_id, wanted.agent),
        (_ROWS.priority, wanted.priority),
        (_ROWS.type, wanted.type),
    )
    found = [readable(wanted.reader)]
    found += [column == value for column, value in asked if value is not None]
    if wanted.since is not None:
        found.append(_ROWS.left_at >= wanted.since)
    if wanted.unfinished:
        found.append(func.json_array_length(_ROWS.unfinished) > 0)
    return found


def _passages(crumb: Crumb) -> list[Passage]:
    """Return the text by which a crumb is found: what came before it says nothing of it."""
    return passages.of_item(crumb.searched, collection=COLLECTION, item_id=crumb.id)


def _row(crumb: Crumb) -> dict[str, Any]:
    """Return a crumb as a row."""
    return {
        "id": crumb.id,
        "agent_id": crumb.agent_id,
        "session_id": crumb.session_id,
        "type": crumb.type,
        "priority": crumb.priority,
        "summary": crumb.summary,
        "discoveries": list(crumb.discoveries),
        "emotional_state": dict(crumb.emotional_state),
        "unfinished": list(crumb.unfinished),
        "links": {kind: list(some) for kind, some in crumb.references.items()},
        "if_disoriented": list(crumb.if_disoriented),
        "left_at": crumb.left_at,
        "saved_by": crumb.saved_by,
    }


def _crumb(row: Row[Any]) -> Crumb:
    """Return a row as a crumb."""
    return Crumb(
        id=row.id,
        agent_id=row.agent_id,
        session_id=row.session_id,
        summary=row.summary,
        left_at=row.left_at,
        type=CrumbType(row.type),
        priority=Priority(row.priority),
        discoveries=tuple(row.discoveries),
        emotional_state=dict(row.emotional_state),
        unfinished=tuple(row.unfinished),
        references={kind: tuple(some) for kind, some in row.links.items()},
        if_disoriented=tuple(row.if_disoriented),
        saved_by=row.saved_by,
    )
