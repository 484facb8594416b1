"""Facing: what an insight is shown under, and what it is taken for, by the first of its places.

The same words stand under several headings, in one file as a rule and in another as an example.
Which of them an insight has must not depend on which file was read first: it is the first by path
and line of those that say it now.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, update

from cortex_actors.rules.classification import classify
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import insights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

#: The first place of each statement, where it is another than the one that is shown. SQLite gives
#: the other columns of the row that has the least.
_FIRST = (
    "SELECT p.said_id, i.content, p.heading, p.kind FROM ("
    " SELECT said_id, heading, kind, min(path || printf('/%09d/%09d', line_start, ordinal))"
    " FROM insight_sources WHERE withdrawn_at IS NULL"
    " AND said_id IN (SELECT value FROM json_each(?)) GROUP BY said_id) AS p"
    " JOIN insights AS i ON i.id = p.said_id"
    " WHERE i.granularity = 'statement' AND (i.heading IS NOT p.heading OR i.kind IS NOT p.kind)"
)


def face(connection: Connection, ids: Iterable[str]) -> None:
    """Show statements under the heading of the first place that says them, classified anew."""
    asked = json.dumps(list(dict.fromkeys(ids)))
    found = driver_of(connection).execute(_FIRST, (asked,)).fetchall()
    if not found:
        return
    statement = update(insights).where(insights.c.id == bindparam("one"))
    rows = []
    for insight_id, content, heading, kind in found:
        taken = classify(content, heading)
        rows.append(
            {
                "one": insight_id,
                "heading": heading,
                "kind": kind,
                "category": str(taken.category),
                "tags": list(taken.tags),
                "domain": taken.domain,
                "verdict": taken.confidence,
            }
        )
    names = [each for each in rows[0] if each != "one"]
    connection.execute(statement.values({each: bindparam(each) for each in names}), rows)
