"""Who may read a memory: conditions on rows, and checks of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select

from cortex_actors.domain.agent import Caller, format_given
from cortex_actors.domain.memory import PROBE, Realm
from cortex_actors.errors import NotFound, NotYours
from cortex_actors.storage.tables.columns import select_in
from cortex_actors.storage.tables.schema import memories, memory_agents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def match_readable(reader: str | None) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that an agent may read it; None is the owner.

    The owner reads everything but what the daemon tries itself with.
    """
    if reader is None:
        return memories.c.agent_id != PROBE
    named = exists().where(
        memory_agents.c.memory_id == memories.c.id, memory_agents.c.agent_id == reader
    )
    return or_(
        memories.c.realm == Realm.VILLAGE,
        memories.c.agent_id == reader,
        and_(memories.c.realm == Realm.BRIDGE, named),
    )


def match_shared() -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that every agent may read it."""
    return and_(memories.c.realm == Realm.VILLAGE, memories.c.agent_id != PROBE)


def match_visible(reader: str | None, *, outward: bool) -> ColumnElement[bool]:
    """Return the condition as `readable`; outward, only what every agent may read, too."""
    return match_shared() if outward else match_readable(reader)


def match_beside(reader: str) -> list[ColumnElement[bool]]:
    """Return conditions of which each row that is `readable` and not the village's meets just one.

    Apart they are met in `memories_by_agent` alone, half of the time of the table.
    """
    rows = memories.c
    named = select(memory_agents.c.memory_id).where(memory_agents.c.agent_id == reader)
    others = and_(rows.realm == Realm.BRIDGE, rows.agent_id != reader, rows.id.in_(named))
    return [and_(rows.realm != Realm.VILLAGE, rows.agent_id == reader), others]


def filter_readable(
    connection: Connection, ids: Iterable[str], reader: str | None, *, outward: bool = False
) -> set[str]:
    """Return those of the memories, of any status, that the reader may read; None is the owner.

    For what goes `outward`, those that every agent may read.
    """
    query = select(memories.c.id).where(match_visible(reader, outward=outward))
    return {row.id for row in select_in(connection, query, memories.c.id, ids)}


def require_readable(connection: Connection, ids: Sequence[str], reader: str | None) -> None:
    """Raise `NotFound` unless the reader may read all of the memories; None is the owner."""
    known = filter_readable(connection, ids, reader) if ids else set()
    for each in ids:
        if each not in known:
            raise make_unknown(each)


def require_own(connection: Connection, ids: Sequence[str], caller: Caller) -> None:
    """Raise `NotFound` as above, and `NotYours` for a memory that an agent reads and has not said.

    The owner may change every memory.
    """
    require_readable(connection, ids, caller.choose_reader())
    if caller.agent is None:
        return
    query = select(memories.c.id, memories.c.agent_id).where(memories.c.agent_id != caller.agent)
    for row in select_in(connection, query, memories.c.id, ids):
        raise NotYours(
            f"{caller.agent} cannot change #{row.id}: {row.agent_id} said it; "
            "ask the owner, or say something of your own"
        )


def make_unknown(name: str) -> NotFound:
    """Return the error of an id that is no memory's, or none's that one may read."""
    called = f"#{name}" if name.isascii() and name.isprintable() else format_given(name)
    return NotFound(f"no memory is called {called}; list them with: cortex memory list")
