"""Where insights stand, and the revisions of files in which they were seen there.

Every function takes the connection of a transaction it is part of. A source lives until its file
no longer says it; it is never deleted, so that text which comes back is the source it was.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, bindparam, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import insight_sources, observations
from cortex_actors.storage.tables.columns import stored_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.domain.insight import InsightSource

#: What no two sources share: the fragment, and which of its statements.
Spot: TypeAlias = tuple[str, int]

#: What is said anew of a spot that is known. `excluded` is named by hand: SQLAlchemy's own copies
#: the whole table each time, which took a quarter of what learning a file takes.
_PLACED: dict[str, Any] = {
    name: literal_column(f"excluded.{name}")
    for name in (
        *("insight_id", "said_id", "project_id", "heading", "kind", "scope"),
        *("line_start", "line_end", "withdrawn_at"),
    )
}

#: Observations of a spot at which another text is read now: of the same bytes, by another reader.
_OTHERWISE = (
    "DELETE FROM observations WHERE source_id IN (SELECT s.id FROM insight_sources AS s"
    " JOIN json_each(?) AS j ON s.fragment_id = j.value ->> 0 AND s.ordinal = j.value ->> 1"
    " WHERE s.said_id <> j.value ->> 2)"
)

_SAID = (
    "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM insight_sources"
    " WHERE said_id = value AND withdrawn_at IS NULL)"
)

#: Insights that are said by files of one person alone, whatever project these are of.
_PRIVATE = (
    "SELECT said_id FROM insight_sources WHERE withdrawn_at IS NULL"
    " AND said_id IN (SELECT value FROM json_each(?))"
    " GROUP BY said_id HAVING min(path LIKE '%.local.md')"
)

#: A place of a file that was not seen in a revision.
_UNSEEN = (
    "SELECT 1 FROM insight_sources AS s WHERE s.path = ? AND s.withdrawn_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.source_id = s.id"
    " AND o.file_hash = ?) LIMIT 1"
)


def live(connection: Connection, path: str) -> dict[Spot, str]:
    """Return what a file says now: the insight whose text stands at each spot."""
    query = select(
        insight_sources.c.fragment_id, insight_sources.c.ordinal, insight_sources.c.said_id
    ).where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
    return {(row.fragment_id, row.ordinal): row.said_id for row in connection.execute(query)}


def strangers(connection: Connection, path: str, project_id: str) -> set[str]:
    """Return the ids of insights that a file says now in the name of another project."""
    query = select(insight_sources.c.said_id, insight_sources.c.insight_id).where(
        insight_sources.c.path == path,
        insight_sources.c.withdrawn_at.is_(None),
        insight_sources.c.project_id != project_id,
    )
    return {each for row in connection.execute(query) for each in row}


def has_seen(connection: Connection, path: str, revision: str) -> bool:
    """Tell whether everything that a file says now was seen in that revision of it already."""
    asked = (stored_text(path), revision)
    return driver_of(connection).execute(_UNSEEN, asked).fetchone() is None


def said_ids(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the texts that some file says now."""
    asked = json.dumps(list(ids))
    return {each for (each,) in driver_of(connection).execute(_SAID, (asked,))}


def private_ids(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the texts that only files of one person say (`CLAUDE.local.md`).

    They stay in their project: nobody else's text is merged with them.
    """
    asked = json.dumps(list(ids))
    return {each for (each,) in driver_of(connection).execute(_PRIVATE, (asked,))}


def hand_over(connection: Connection, path: str, project_id: str) -> None:
    """Make what a file says now a project's: a folder inside one may have become its own."""
    connection.execute(
        update(insight_sources)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(insight_sources.c.project_id != project_id)
        .values({"project_id": project_id})
    )


def attach(
    connection: Connection,
    found: Sequence[InsightSource],
    *,
    project_id: str,
    at: int,
    counted: Mapping[str, str],
) -> None:
    """Write where insights stand; the same fragment may have moved to other lines.

    `counted` names the insight for which a text counts, where that is another one.
    """
    rows = [
        {
            "insight_id": counted.get(each.said, each.said),
            "said_id": each.said,
            "fragment_id": each.fragment_id,
            "ordinal": each.ordinal,
            "project_id": project_id,
            "path": each.path,
            "heading": each.heading,
            "kind": each.kind,
            "scope": each.scope,
            "line_start": each.line_start,
            "line_end": each.line_end,
            "seen_at": at,
            "withdrawn_at": None,
        }
        for each in found
    ]
    if not rows:
        return
    spots = json.dumps([(*each.spot, each.said) for each in found])
    driver_of(connection).execute(_OTHERWISE, (spots,))
    statement = insert(insight_sources).on_conflict_do_update(
        index_elements=["fragment_id", "ordinal"], set_=_PLACED
    )
    connection.execute(statement, rows)


def observe(connection: Connection, path: str, found: Iterable[InsightSource], at: int) -> None:
    """Note in which revision a file says what; a revision that is read again is one observation."""
    query = select(
        insight_sources.c.fragment_id, insight_sources.c.ordinal, insight_sources.c.id
    ).where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
    ids = {(row.fragment_id, row.ordinal): row.id for row in connection.execute(query)}
    rows = [{"source_id": ids[each.spot], "file_hash": each.file_hash, "at": at} for each in found]
    if rows:
        connection.execute(insert(observations).on_conflict_do_nothing(), rows)


def withdraw(connection: Connection, spots: Iterable[Spot], at: int) -> None:
    """Note that a file no longer says what stood at those spots."""
    statement = (
        update(insight_sources)
        .where(insight_sources.c.fragment_id == bindparam("fragment"))
        .where(insight_sources.c.ordinal == bindparam("which"))
        .values({"withdrawn_at": at})
    )
    rows = [{"fragment": fragment, "which": ordinal} for fragment, ordinal in spots]
    if rows:
        connection.execute(statement, rows)
