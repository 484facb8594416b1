"""Where insights stand, and the revisions of files in which they were seen there.

Every function takes the connection of a transaction it is part of. A source lives until its file
no longer says it; it is never deleted, so that text which comes back is the source it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.schema import insight_sources, observations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.insight import InsightSource

#: What is said anew of a fragment that has moved. `excluded` is named by hand: SQLAlchemy's own
#: copies the whole table each time, which took a quarter of what learning a file takes.
_PLACED: dict[str, Any] = {
    name: literal_column(f"excluded.{name}")
    for name in ("project_id", "heading", "line_start", "line_end", "withdrawn_at")
}


def live(connection: Connection, path: str) -> dict[str, str]:
    """Return fragment id -> insight id of what a file says now."""
    query = select(insight_sources.c.fragment_id, insight_sources.c.insight_id).where(
        insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None)
    )
    return dict(connection.execute(query).all())


def strangers(connection: Connection, path: str, project_id: str) -> set[str]:
    """Return the ids of insights that a file says now in the name of another project."""
    query = select(insight_sources.c.insight_id).where(
        insight_sources.c.path == path,
        insight_sources.c.withdrawn_at.is_(None),
        insight_sources.c.project_id != project_id,
    )
    return set(connection.execute(query).scalars())


def hand_over(connection: Connection, path: str, project_id: str) -> None:
    """Make what a file says now a project's: a folder inside one may have become its own."""
    connection.execute(
        update(insight_sources)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(insight_sources.c.project_id != project_id)
        .values({"project_id": project_id})
    )


def attach(
    connection: Connection, found: Sequence[InsightSource], *, project_id: str, at: int
) -> None:
    """Write where insights stand; the same fragment may have moved to other lines."""
    rows = [
        {
            "insight_id": each.insight_id,
            "said_id": each.insight_id,
            "fragment_id": each.fragment_id,
            "ordinal": each.ordinal,
            "project_id": project_id,
            "path": each.path,
            "heading": each.heading,
            "line_start": each.line_start,
            "line_end": each.line_end,
            "seen_at": at,
            "withdrawn_at": None,
        }
        for each in found
    ]
    statement = insert(insight_sources).on_conflict_do_update(
        index_elements=["fragment_id", "ordinal"], set_=_PLACED
    )
    if rows:
        connection.execute(statement, rows)


def observe(connection: Connection, path: str, found: Iterable[InsightSource], at: int) -> None:
    """Note in which revision a file says what; a revision that is read again is one observation."""
    query = select(
        insight_sources.c.fragment_id, insight_sources.c.ordinal, insight_sources.c.id
    ).where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
    ids = {(row.fragment_id, row.ordinal): row.id for row in connection.execute(query)}
    rows = [
        {"source_id": ids[each.fragment_id, each.ordinal], "file_hash": each.file_hash, "at": at}
        for each in found
    ]
    if rows:
        connection.execute(insert(observations).on_conflict_do_nothing(), rows)


def withdraw(connection: Connection, fragments: Sequence[str], at: int) -> None:
    """Note that a file no longer says those fragments."""
    statement = (
        update(insight_sources)
        .where(insight_sources.c.fragment_id == bindparam("gone"))
        .values({"withdrawn_at": at})
    )
    if fragments:
        connection.execute(statement, [{"gone": each} for each in fragments])
