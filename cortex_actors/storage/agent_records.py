"""Agents: who remembers and posts, as the ledger knows them.

Every function takes the connection of a transaction it is part of. The default agent is listed
before it has a row. The original's six are shown with their profiles whether they have a row or
not; a row that was made because an agent did something holds no specialization, so that others do
not learn of it. A profile that was seeded, summoned or imported does.

Crumbs: what sessions left for the next ones, and the passages by which they are found.

Every function takes the connection of a transaction it is part of. A crumb is never changed, so
row says all there is; it is found by its own text alone. `reader` is an agent's name: an agent sees
its own crumbs. None is the owner, who sees all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import sqlalchemy as sa

from cortex_actors.domain.agent import BUILT_IN, DEFAULT, KNOWN, Agent, describe_unknown
from cortex_actors.domain.memory import PROBE, CrumbRecord, CrumbType, Priority
from cortex_actors.errors import BadInput
from cortex_actors.storage import passages, realms
from cortex_actors.storage.tables import columns, dialect
from cortex_actors.storage.tables.schema import agents, crumbs, memories, memory_agents

if TYPE_CHECKING:
    from collections.abc import Iterable


#: Runs at each remember and recall: building it each time would cost more than running it.
_NAMES = "SELECT id, display_name FROM agents WHERE id IN :ids"

#: What of an agent may be empty, and is NULL then.
_EMPTY = ("lineage", "specialization", "origin_story")


def add_agents(connection: sa.Connection, ids: Iterable[str], *, at: int) -> None:
    """Let agents be known; one that has a profile keeps it, a new one is called by its id."""
    wanted = list(dict.fromkeys(ids))
    known = _names(connection, wanted)
    new = [describe_unknown(each, at=at) for each in wanted if each not in known]
    add(connection, [replace(each, specialization="") for each in new])


def seed(connection: sa.Connection, *, at: int) -> list[str]:
    """Give the original's six their profiles; return those that had none of their own before."""
    own = sa.select(agents.c.id).where(agents.c.specialization.is_not(None))
    described = set(connection.execute(own).scalars())
    new = [replace(each, registered_at=at) for each in BUILT_IN if each.id not in described]
    for each in new:
        describe(connection, each)
    return [each.id for each in new]


def add(connection: sa.Connection, some: Iterable[Agent]) -> bool:
    """Write the rows of agents that have none; return whether there were any."""
    return columns.put_rows(connection, agents, map(_row, some), change=()) > 0


def describe(connection: sa.Connection, agent: Agent) -> None:
    """Give an agent its profile, in place of an earlier one; it is known from then on."""
    row = _row(agent)
    # Since when it is known stays.
    columns.put_rows(connection, agents, [row], change=row.keys() - {"id", "registered_at"})


def require_own_name(connection: sa.Connection, agent: Agent) -> None:
    """Raise `BadInput` for a profile that would be shown under another agent's name.

    Names are compared as they are read: without regard to case, width and composition.
    """
    query = sa.select(agents).where(agents.c.specialization.is_not(None))
    profiles = (*BUILT_IN, *(_agent(row) for row in connection.execute(query)))
    wanted = _read(agent.display_name)
    for each in profiles:
        if each.id != agent.id and wanted in {_read(each.id), _read(each.display_name)}:
            raise BadInput(
                f"{agent.id} cannot be called {each.display_name}: {each.id} is; choose another"
            )


def list_agents(
    connection: sa.Connection, reader: str | None, *, limit: int, skip: int = 0
) -> tuple[list[Agent], int]:
    """Return the agents that the reader may see, ordered by id, and how many there are.

    An agent sees the default one, and those that have a profile or appear in what it may read. It
    does not learn of an agent that only another agent's private memory names.
    """
    query = sa.select(agents).where(agents.c.id != PROBE)
    if reader is not None:
        query = query.where(_met(reader))
    rows = {row.id: _agent(row) for row in connection.execute(query)}
    found = {DEFAULT.id: DEFAULT, **rows}
    if reader is not None and reader != PROBE:
        found.setdefault(reader, describe_unknown(reader))
    ordered = [found[name] for name in sorted(found)]
    return ordered[skip : skip + limit], len(ordered)


def load_agent(connection: sa.Connection, name: str, reader: str | None = None) -> Agent | None:
    """Return an agent that the reader may see; None for one that is not known."""
    query = sa.select(agents).where(agents.c.id == name, agents.c.id != PROBE)
    if reader is not None:
        query = query.where(_met(reader))
    row = connection.execute(query).first()
    if row is not None:
        return _agent(row)
    return describe_unknown(name) if name in KNOWN or name == reader else None


def load_display_names(connection: sa.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what agents are called where people read: `agent_display` in answers."""
    wanted = list(dict.fromkeys(ids))
    found = {each: describe_unknown(each).display_name for each in wanted}
    return found | _names(connection, wanted)


def _names(connection: sa.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what those agents are called that have a row."""
    rows = dialect.execute_for(connection, _NAMES, ids)
    return {name: columns.decode_text(display) or "" for name, display in rows}


def _read(name: str) -> str:
    """Return a name as it is compared with others."""
    return normalize("NFKC", name).casefold()


def _met(reader: str) -> sa.ColumnElement[bool]:
    """Return the condition that an agent may see a row of `agents`."""
    # Of another name, so that `readable` asks of whom else each of them is about.
    met = memory_agents.alias()
    wrote = sa.select(memories.c.agent_id).where(realms.match_readable(reader))
    named = sa.select(met.c.agent_id).join_from(met, memories, met.c.memory_id == memories.c.id)
    return sa.or_(
        agents.c.id == reader,
        agents.c.id == DEFAULT.id,
        agents.c.specialization.is_not(None),
        agents.c.id.in_(wrote),
        agents.c.id.in_(named.where(realms.match_readable(reader))),
    )


def _row(agent: Agent) -> dict[str, Any]:
    """Return an agent as a row."""
    return columns.as_row(agents, agent, **{name: getattr(agent, name) or None for name in _EMPTY})


def _agent(row: sa.Row[Any]) -> Agent:
    """Return a row as an agent."""
    start = KNOWN.get(row.id)
    mark = start.ascii if start and start.symbol == row.symbol else ""
    said = {name: getattr(row, name) or "" for name in _EMPTY}
    said["specialization"] = said["specialization"] or (start.specialization if start else "")
    return columns.make_entity(Agent, row, ascii=mark, **said)


#: The collection of the vector index that crumbs lie in.
COLLECTION = "cortex_crumbs"

_ROWS = crumbs.c

#: Newest first; of several of one microsecond, the one that was written last.
_NEWEST: tuple[sa.ColumnElement[Any], ...] = (
    _ROWS.left_at.desc(),
    dialect.select_number(crumbs).desc(),
)


@dataclass(frozen=True, slots=True)
class CrumbFilter:
    """Which crumbs are meant; what is left out narrows nothing.

    Attributes:
        reader: through whose eyes; None for the owner's.
        since: UTC microseconds, the first that counts.
        unfinished: only those with something left to do.
        project_id: only those of that project.
        here: that project's, and those of none.

    """

    reader: str | None = None
    agent: str | None = None
    since: int | None = None
    priority: Priority | None = None
    type: CrumbType | None = None
    unfinished: bool = False
    project_id: str | None = None
    here: str | None = None


def leave(connection: sa.Connection, crumb: CrumbRecord) -> None:
    """Write a crumb, to be found from now on; an agent that is not known yet becomes so."""
    add_agents(connection, (crumb.agent_id,), at=crumb.left_at)
    links = {kind: list(some) for kind, some in crumb.references.items()}
    row = columns.as_row(crumbs, crumb, emotional_state=dict(crumb.emotional_state), links=links)
    connection.execute(sa.insert(crumbs), row)
    remake(connection, (crumb.id,))


def list_crumbs(connection: sa.Connection, wanted: CrumbFilter, *, limit: int) -> list[CrumbRecord]:
    """Return the crumbs that are meant, newest first."""
    query = sa.select(crumbs).where(*_conditions(wanted)).order_by(*_NEWEST).limit(limit)
    return [_crumb(row) for row in connection.execute(query)]


def count_crumbs(connection: sa.Connection, wanted: CrumbFilter) -> dict[str, dict[str, int]]:
    """Return how many crumbs are meant, by priority and by type."""
    words, where = {"by_priority": _ROWS.priority, "by_type": _ROWS.type}, _conditions(wanted)
    return {by: columns.count_by(connection, word, *where) for by, word in words.items()}


def load_crumbs(
    connection: sa.Connection, ids: Iterable[str], *, reader: str | None = None
) -> dict[str, CrumbRecord]:
    """Return the crumbs among those ids that may be read."""
    query = sa.select(crumbs).where(match_readable(reader))
    return {row.id: _crumb(row) for row in columns.select_in(connection, query, _ROWS.id, ids)}


def find_same(connection: sa.Connection, crumb: CrumbRecord) -> CrumbRecord | None:
    """Return the crumb of the same agent, session and moment that says the same; None without."""
    row = connection.execute(
        sa.select(crumbs)
        .where(_ROWS.agent_id == crumb.agent_id, _ROWS.session_id == crumb.session_id)
        .where(_ROWS.left_at == crumb.left_at, _ROWS.summary == crumb.summary)
        .limit(1)
    ).first()
    return None if row is None else _crumb(row)


def match_readable(reader: str | None) -> sa.ColumnElement[bool]:
    """Return the condition that the reader may read a row of `crumbs`; None is the owner."""
    return sa.true() if reader is None else _ROWS.agent_id == reader


def remake(connection: sa.Connection, ids: Iterable[str]) -> int:
    """Make the passages of crumbs from their rows; return how many of them there are."""
    wanted = list(dict.fromkeys(ids))
    texts = {name: each.searched for name, each in load_crumbs(connection, wanted).items()}
    # What came before a crumb says nothing of it.
    return passages.put(connection, COLLECTION, items=wanted, texts=texts, before={})


def _conditions(wanted: CrumbFilter) -> list[sa.ColumnElement[bool]]:
    """Return what a row must meet to be meant."""
    said = {"agent_id": wanted.agent, "project_id": wanted.project_id}
    asked = columns.match_columns(crumbs, priority=wanted.priority, type=wanted.type, **said)
    found = [match_readable(wanted.reader), *asked]
    if wanted.here is not None:
        found.append(_ROWS.project_id.in_(("", wanted.here)))
    if wanted.since is not None:
        found.append(_ROWS.left_at >= wanted.since)
    if wanted.unfinished:
        found.append(_ROWS.unfinished != [])
    return found


def _crumb(row: sa.Row[Any]) -> CrumbRecord:
    """Return a row as a crumb."""
    references = {kind: tuple(some) for kind, some in row.links.items()}
    return columns.make_entity(CrumbRecord, row, references=references)
