"""Agents: who remembers and posts, as the ledger knows them.

Every function takes the connection of a transaction it is part of. Who is known from the start is
seen before it has a row, and has its profile in the row it gets.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from sqlalchemy import ColumnElement, Row, func, or_, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.agent import BUILT_IN, KNOWN, Agent, unknown
from cortex_actors.domain.memory import PROBE
from cortex_actors.errors import BadInput
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import agents, memories, memory_agents
from cortex_actors.storage.tables.columns import chunks, given_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

#: Whoever remembers or asks runs it: building it each time would cost more than it does.
_NAMES = "SELECT id, display_name FROM agents WHERE id IN (SELECT value FROM json_each(?))"

#: Columns that a profile says anew; since when somebody is known stays.
_PROFILE = (
    "display_name",
    "symbol",
    "color",
    "generation",
    "lineage",
    "specialization",
    "origin_story",
)


def know(connection: Connection, ids: Iterable[str], *, at: int) -> None:
    """Let agents be known; one that has a profile keeps it, a new one is called by its id."""
    wanted = list(dict.fromkeys(ids))
    known = _names(connection, wanted)
    rows = [_row(unknown(each, at=at)) for each in wanted if each not in known]
    if rows:
        connection.execute(insert(agents).on_conflict_do_nothing(), rows)


def describe(connection: Connection, agent: Agent) -> None:
    """Give an agent its profile, in place of an earlier one; it is known from then on."""
    statement = insert(agents)
    changed = {name: statement.excluded[name] for name in _PROFILE}
    connection.execute(
        statement.on_conflict_do_update(index_elements=["id"], set_=changed), _row(agent)
    )


def require_own_name(connection: Connection, agent: Agent) -> None:
    """Raise `BadInput` for a profile that would be shown under another agent's name.

    Names are compared as they are read: without regard to case, width and composition.
    """
    query = select(agents).where(agents.c.specialization.is_not(None))
    profiles = (*BUILT_IN, *(_agent(row) for row in connection.execute(query)))
    wanted = _read(agent.display_name)
    for each in profiles:
        if each.id != agent.id and wanted in {_read(each.id), _read(each.display_name)}:
            message = (
                f"{agent.id} cannot be called {each.display_name}: {each.id} is; choose another"
            )
            raise BadInput(message)


def listed(
    connection: Connection, reader: str | None, *, limit: int, skip: int = 0
) -> tuple[list[Agent], int]:
    """Return the agents that somebody may know of, by id, and how many there are.

    An agent knows of those that are known from the start, have a profile or were met in what it may
    read: that somebody is named in another's private memory alone, it does not learn.
    """
    query = select(agents).where(agents.c.id != PROBE)
    if reader is not None:
        query = query.where(_met(reader))
    rows = {row.id: _agent(row) for row in connection.execute(query)}
    found = {**{each.id: each for each in BUILT_IN}, **rows}
    if reader is not None and reader != PROBE:
        found.setdefault(reader, unknown(reader))
    ordered = [found[name] for name in sorted(found)]
    return ordered[skip : skip + limit], len(ordered)


def by_id(connection: Connection, name: str, reader: str | None = None) -> Agent | None:
    """Return an agent that somebody may know of; None for one that is not known."""
    query = select(agents).where(agents.c.id == name, agents.c.id != PROBE)
    if reader is not None:
        query = query.where(_met(reader))
    row = connection.execute(query).first()
    if row is not None:
        return _agent(row)
    return unknown(name) if name in KNOWN or name == reader else None


def count(connection: Connection) -> int:
    """Return how many agents have done anything or have a profile."""
    query = select(func.count()).where(agents.c.id != PROBE)
    return int(connection.execute(query.select_from(agents)).scalar_one())


def displays(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what agents are called where people read: `agent_display` in answers."""
    wanted = list(dict.fromkeys(ids))
    found = {each: unknown(each).display_name for each in wanted}
    return found | _names(connection, wanted)


def _names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what those agents are called that have a row."""
    driver, found = driver_of(connection), dict[str, str]()
    for some in chunks(ids):
        rows = driver.execute(_NAMES, (json.dumps(some),))
        found.update((name, given_text(display) or "") for name, display in rows)
    return found


def _read(name: str) -> str:
    """Return a name as it is compared with others."""
    return normalize("NFKC", name).casefold()


def _met(reader: str) -> ColumnElement[bool]:
    """Return the condition that an agent may know of a row of `agents`."""
    # Imported here: memories make their agents known.
    from cortex_actors.storage.memories import readable  # noqa: PLC0415 - see above

    # Of another name, so that `readable` asks of whom else each of them is about.
    met = memory_agents.alias()
    wrote = select(memories.c.agent_id).where(readable(reader))
    named = select(met.c.agent_id).join_from(met, memories, met.c.memory_id == memories.c.id)
    return or_(
        agents.c.id == reader,
        agents.c.id.in_(KNOWN),
        agents.c.specialization.is_not(None),
        agents.c.id.in_(wrote),
        agents.c.id.in_(named.where(readable(reader))),
    )


def _row(agent: Agent) -> dict[str, Any]:
    """Return an agent as a row."""
    return {
        "id": agent.id,
        "display_name": agent.display_name,
        "symbol": agent.symbol,
        "color": agent.color,
        "generation": agent.generation,
        "lineage": agent.lineage or None,
        "specialization": agent.specialization or None,
        "origin_story": agent.origin_story or None,
        "registered_at": agent.registered_at,
    }


def _agent(row: Row[Any]) -> Agent:
    """Return a row as an agent."""
    start = KNOWN.get(row.id)
    return Agent(
        id=row.id,
        display_name=row.display_name,
        symbol=row.symbol,
        color=row.color,
        generation=row.generation,
        lineage=row.lineage or "",
        specialization=row.specialization or "",
        origin_story=row.origin_story or "",
        ascii=start.ascii if start and start.symbol == row.symbol else "",
        registered_at=row.registered_at,
    )
