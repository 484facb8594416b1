"""Resolutions: what stands in our section of each file now, bullet by bullet, or why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.principle import Ending, Given
from cortex_actors.storage.schema import projects, resolutions, resolved_bullets
from cortex_actors.storage.tables.columns import chunks

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


def keep(connection: Connection, found: Resolution, given: Sequence[Given] = ()) -> None:
    """Write how a resolution ended, in place of what was known of that file and agent.

    Where nothing could be written, the section and the bullets stay as they were: they are what
    stands there.
    """
    row = {
        "path": found.path,
        "agent": found.agent,
        "project_id": found.project_id,
        "run_id": found.run_id,
        "revision": found.revision,
        "inputs": found.inputs,
        "section": found.section,
        "state": str(found.ending),
        "reason": found.reason,
        "resolved_at": found.resolved_at,
    }
    stands = found.ending in STANDS
    changed = {key: row[key] for key in row if stands or key != "section"}
    statement = insert(resolutions).values(row)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["path", "agent"], set_=changed)
    )
    if stands:
        _fill(connection, found, given)


def find(connection: Connection, path: str, agent: str) -> Resolution | None:
    """Return how the last resolution of a file for an agent ended."""
    query = select(resolutions).where(resolutions.c.path == path, resolutions.c.agent == agent)
    row = connection.execute(query).one_or_none()
    return None if row is None else _resolution(row)


def of_project(connection: Connection, project_id: str) -> dict[tuple[str, str], Resolution]:
    """Return the last resolutions of a project's files, by path and agent."""
    query = select(resolutions).where(resolutions.c.project_id == project_id)
    return {(row.path, row.agent): _resolution(row) for row in connection.execute(query)}


def standing(
    connection: Connection, principle_ids: Iterable[str] | None = None
) -> list[tuple[str, str, Given]]:
    """Return (path, agent, bullet) of what stands in files: of those principles, or all of it."""
    order = (resolved_bullets.c.path, resolved_bullets.c.agent, resolved_bullets.c.ordinal)
    query = select(resolved_bullets).order_by(*order)
    if principle_ids is None:
        return [_standing(row) for row in connection.execute(query)]
    wanted = resolved_bullets.c.principle_id
    return [
        _standing(row)
        for some in chunks(principle_ids)
        for row in connection.execute(query.where(wanted.in_(some)))
    ]


def bullets(connection: Connection, path: str, agent: str) -> list[Given]:
    """Return what stands in the section of one file, in its order."""
    here = (resolved_bullets.c.path == path, resolved_bullets.c.agent == agent)
    query = select(resolved_bullets).where(*here).order_by(resolved_bullets.c.ordinal)
    return [_standing(row)[2] for row in connection.execute(query)]


def forget(connection: Connection, path: str) -> None:
    """Forget a file of which nobody knows any more what stands there."""
    for table in (resolved_bullets, resolutions):
        connection.execute(delete(table).where(table.c.path == path))


def troubled(connection: Connection) -> list[Resolution]:
    """Return the files of followed projects that a human edited or that were refused, by path."""
    query = (
        select(resolutions)
        .join(projects, projects.c.id == resolutions.c.project_id)
        .where(projects.c.active == 1, resolutions.c.state.not_in(STANDS))
        .order_by(resolutions.c.path, resolutions.c.agent)
    )
    return [_resolution(row) for row in connection.execute(query)]


def paths(connection: Connection) -> set[str]:
    """Return the files that a section of ours was written into; it may be gone from them since."""
    edited = select(resolutions.c.path).where(resolutions.c.state == str(Ending.EDITED))
    return set(connection.execute(select(resolved_bullets.c.path).union(edited)).scalars())


def _fill(connection: Connection, found: Resolution, given: Sequence[Given]) -> None:
    """Write what stands in a section, in place of what stood there."""
    table = resolved_bullets
    here = (table.c.path == found.path, table.c.agent == found.agent)
    connection.execute(delete(table).where(*here))
    rows = [
        {
            "path": found.path,
            "agent": found.agent,
            "ordinal": ordinal,
            "principle_id": each.principle_id,
            "text": each.text,
            "conflict": int(bool(each.conflict)),
        }
        for ordinal, each in enumerate(given)
    ]
    if rows:
        connection.execute(insert(table), rows)


def _resolution(row: Row[Any]) -> Resolution:
    """Return a row as a resolution."""
    return Resolution(
        path=row.path,
        agent=row.agent,
        project_id=row.project_id,
        run_id=row.run_id,
        revision=row.revision,
        inputs=row.inputs,
        section=row.section,
        ending=Ending(row.state),
        reason=row.reason,
        resolved_at=row.resolved_at,
    )


def _standing(row: Row[Any]) -> tuple[str, str, Given]:
    """Return a row as a bullet and where it stands."""
    conflict = "said otherwise there" if row.conflict else ""
    return row.path, row.agent, Given(row.principle_id, row.text, conflict)
