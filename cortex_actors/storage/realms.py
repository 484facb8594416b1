"""Realms: what somebody may read and change, asked before anything is done with a memory.

Every function takes the connection of a transaction it is part of. What one may not read does not
exist for one: the error is the one of an id that was never given. What one may read and is somebody
else's is read, and left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors.domain.agent import Caller, shown
from cortex_actors.errors import NotFound, NotYours, Refused
from cortex_actors.storage.memories import readable
from cortex_actors.storage.schema import memories
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection


def readers_part(connection: Connection, ids: Iterable[str], reader: str | None) -> set[str]:
    """Return those of the memories, of whatever status, that somebody may read; None: the owner."""
    query = select(memories.c.id).where(readable(reader))
    return {
        found
        for some in chunks(list(dict.fromkeys(ids)))
        for found in connection.execute(query.where(memories.c.id.in_(some))).scalars()
    }


def require_readable(connection: Connection, ids: Sequence[str], reader: str | None) -> None:
    """Raise `NotFound` unless all of the memories are there for whoever reads; None: the owner."""
    known = readers_part(connection, ids, reader) if ids else set()
    for each in ids:
        if each not in known:
            raise unknown(each)


def require_own(connection: Connection, ids: Sequence[str], caller: Caller) -> None:
    """Raise `NotFound` as above, and `NotYours` for a memory that an agent reads and has not said.

    The owner may change every memory.
    """
    require_readable(connection, ids, caller.reader())
    if caller.agent is None:
        return
    query = select(memories.c.id, memories.c.agent_id).where(memories.c.agent_id != caller.agent)
    for some in chunks(list(dict.fromkeys(ids))):
        for row in connection.execute(query.where(memories.c.id.in_(some))):
            message = (
                f"{caller.agent} cannot change #{row.id}: {row.agent_id} said it; "
                "ask the owner, or say something of your own"
            )
            raise NotYours(message)


def require_said_by(connection: Connection, ids: Sequence[str], agent: str) -> None:
    """Raise `Refused` for a memory that is to be replaced by one of another agent."""
    query = select(memories.c.id, memories.c.agent_id).where(memories.c.agent_id != agent)
    for some in chunks(list(dict.fromkeys(ids))):
        for row in connection.execute(query.where(memories.c.id.in_(some))):
            message = (
                f"cannot supersede #{row.id} by what {agent} says: {row.agent_id} said it; "
                f"say it as that agent (--agent {row.agent_id}), or archive it: "
                f"cortex memory archive {row.id}"
            )
            raise Refused(message)


def unknown(name: str) -> NotFound:
    """Return the error of an id that is no memory's, or none's that one may read."""
    called = f"#{name}" if name.isascii() and name.isprintable() else shown(name)
    return NotFound(f"no memory is called {called}; list them with: cortex memory list")
