"""Resolutions: the bullets in our section of each file now, or why they could not be written.

Fact keys: statements and principles as facts that have an address.

The key of a statement is its heading with those above it, and of what has none the words it begins
with: something a person can ask for by its name, in any case, and without the headings above. Only
what every agent may read is found here, and every function takes a connection and only reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Connection, Row, delete, func, select

from cortex_actors.domain.principle import Ending, GivenBullet
from cortex_actors.storage.insight_records import match_live, match_shared, select_of_project
from cortex_actors.storage.pipeline import principles
from cortex_actors.storage.tables.columns import (
    as_row,
    count_rows,
    make_entity,
    put_rows,
    select_in,
)
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import insights, projects, resolutions, resolved_bullets
from cortex_actors.storage.tables.schema import principles as principle_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: Endings in which the file says what its row says.
STANDS = (Ending.WRITTEN, Ending.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Resolution:
    """How the last resolution of a file for an agent ended.

    Attributes:
        revision: the human's part of the file that it was made for.
        inputs: all that went into it, so that nothing is done while nothing changes.
        section: what we wrote between the marks the last time that we wrote.

    """

    path: str
    agent: str
    project_id: str
    run_id: str
    revision: str
    inputs: str
    section: str
    ending: Ending
    reason: str | None
    resolved_at: int


def keep(connection: Connection, found: Resolution, given: Sequence[GivenBullet] = ()) -> None:
    """Write how a resolution ended, in place of what was known of that file and agent.

    Where nothing could be written, the section and the bullets stay as they were: the file still
    holds them.
    """
    row = as_row(resolutions, found, state=str(found.ending))
    is_written = found.ending in STANDS
    put_rows(
        connection, resolutions, [row], change=[e for e in row if is_written or e != "section"]
    )
    if not is_written:
        return
    bullets = resolved_bullets
    here = {"path": found.path, "agent": found.agent}
    connection.execute(delete(bullets).where(*(bullets.c[name] == here[name] for name in here)))
    rows = (
        as_row(bullets, each, **here, ordinal=ordinal, conflict=int(bool(each.conflict)))
        for ordinal, each in enumerate(given)
    )
    put_rows(connection, bullets, rows)


def find(connection: Connection, path: str, agent: str) -> Resolution | None:
    """Return how the last resolution of a file for an agent ended."""
    query = select(resolutions).where(resolutions.c.path == path, resolutions.c.agent == agent)
    row = connection.execute(query).one_or_none()
    return None if row is None else _resolution(row)


def load_of_project(connection: Connection, project_id: str) -> dict[tuple[str, str], Resolution]:
    """Return the last resolutions of a project's files, by path and agent."""
    query = select(resolutions).where(resolutions.c.project_id == project_id)
    return {(row.path, row.agent): _resolution(row) for row in connection.execute(query)}


def list_standing(
    connection: Connection, principle_ids: Iterable[str] | None = None
) -> list[tuple[str, str, GivenBullet]]:
    """Return (path, agent, bullet) of what files hold: of those principles, or of all."""
    order = (resolved_bullets.c.path, resolved_bullets.c.agent, resolved_bullets.c.ordinal)
    query = select(resolved_bullets).order_by(*order)
    if principle_ids is None:
        return [_standing(row) for row in connection.execute(query)]
    wanted = resolved_bullets.c.principle_id
    return [_standing(row) for row in select_in(connection, query, wanted, principle_ids)]


def load_bullets(connection: Connection, path: str, agent: str) -> list[GivenBullet]:
    """Return the bullets in the section of one file, in its order."""
    here = (resolved_bullets.c.path == path, resolved_bullets.c.agent == agent)
    query = select(resolved_bullets).where(*here).order_by(resolved_bullets.c.ordinal)
    return [_standing(row)[2] for row in connection.execute(query)]


def list_troubled(connection: Connection) -> list[Resolution]:
    """Return the files of followed projects that a human edited or that were refused, by path."""
    query = (
        select(resolutions)
        .join(projects, projects.c.id == resolutions.c.project_id)
        .where(projects.c.active == 1, resolutions.c.state.not_in(STANDS))
        .order_by(resolutions.c.path, resolutions.c.agent)
    )
    return [_resolution(row) for row in connection.execute(query)]


def list_paths(connection: Connection) -> set[str]:
    """Return the files that a section of ours was written into; it may be gone from them since."""
    edited = select(resolutions.c.path).where(resolutions.c.state == str(Ending.EDITED))
    return set(connection.execute(select(resolved_bullets.c.path).union(edited)).scalars())


def _resolution(row: Row[Any]) -> Resolution:
    """Return a row as a resolution."""
    return make_entity(Resolution, row, ending=Ending(row.state))


def _standing(row: Row[Any]) -> tuple[str, str, GivenBullet]:
    """Return a row as a bullet with its path and agent."""
    conflict = "said otherwise there" if row.conflict else ""
    return row.path, row.agent, GivenBullet(row.principle_id, row.text, conflict)


#: What separates a heading from the one above it.
_ABOVE: Final = " > "

#: Words that make a key of a text without a heading.
WORDS: Final = 8

#: The principles that come of insights, or of texts that represent these by now.
_COMING = (
    "SELECT coalesce(said.superseded_by, said.id), d.principle_id FROM derivations AS d"
    " JOIN insights AS said ON said.id = d.insight_id"
    " WHERE coalesce(said.superseded_by, said.id) IN :ids"
    " ORDER BY d.weight, d.principle_id DESC"
)


def make_key(text: str, heading: str | None = None) -> str:
    """Return the key of a text."""
    return heading or " ".join(text.split()[:WORDS])


def find_principles(connection: Connection, wanted: str, *, limit: int) -> list[str]:
    """Return the principles given to projects whose key that is, the highest ranked first."""
    if not wanted:
        return []
    rows = principle_rows.c
    query = select(rows.id, rows.content).where(_begins(rows.content, wanted))
    found = [
        row.id
        for row in connection.execute(query.order_by(rows.rank.desc(), rows.id))
        if _same(make_key(row.content), wanted)
    ]
    given = principles.filter_given(connection, found) if found else set()
    return [each for each in found if each in given][:limit]


def find_statements(
    connection: Connection, wanted: str, *, project_id: str | None, limit: int
) -> list[str]:
    """Return the insights whose key that is, of a project or of all, most believed first."""
    if not wanted:
        return []
    rows = insights.c
    # SQLite has no case but ASCII's: what it lets through is looked at again.
    headed = func.substr(rows.heading, -len(wanted)).istartswith(wanted, autoescape=True)
    plain = func.coalesce(rows.heading, "") == ""
    query = select(rows.id, rows.heading, rows.content).where(match_live(), match_shared())
    query = query.where(headed | (plain & _begins(rows.content, wanted)))
    if project_id is not None:
        query = query.where(rows.id.in_(select_of_project(project_id)))
    found = connection.execute(query.order_by(rows.confidence.desc(), rows.id))
    return [row.id for row in found if _is_key(row.content, row.heading, wanted)][:limit]


def load_principles(connection: Connection, insight_ids: Iterable[str]) -> dict[str, str]:
    """Return the principle that an insight has become, by insight, where it is given to projects.

    Of several it is the one to which it gives most.
    """
    pairs = execute_for(connection, _COMING, insight_ids).fetchall()
    given = principles.filter_given(connection, {each for _, each in pairs}) if pairs else set()
    return {insight: each for insight, each in pairs if each in given}


def count_facts(connection: Connection) -> dict[str, int]:
    """Return how many facts every agent may read: principles, and statements of projects."""
    return {
        "principles": count_rows(connection, principle_rows, principle_rows.c.status == "active"),
        "statements": count_rows(connection, insights, match_live(), match_shared()),
    }


def _is_key(text: str, heading: str | None, wanted: str) -> bool:
    """Tell whether a text is asked for by its key, or by the last of its headings."""
    whole = make_key(text, heading)
    return _same(whole, wanted) or _same(whole.rpartition(_ABOVE)[2], wanted)


def _same(one: str, other: str) -> bool:
    """Tell whether two keys are one."""
    return one.casefold() == other.casefold()


def _begins(column: ColumnElement[str], words: str) -> ColumnElement[bool]:
    """Return the condition that a text begins with the first of those words."""
    return func.ltrim(column).istartswith(words.partition(" ")[0], autoescape=True)
