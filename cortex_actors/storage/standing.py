"""Where insights stand: the one place that decides their status, from rows alone.

Whoever changes what the status depends on (sources, merges, contradictions, reviews) has it settled
in the same transaction, so that it never depends on what came first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from cortex_actors.domain.insight import Granularity
from cortex_actors.domain.memory import Passage, Place
from cortex_actors.storage import alerts, passages
from cortex_actors.storage.embedded import embedded_text
from cortex_actors.storage.insightrows import live_of
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import insights
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The collection of the vector index that insights lie in.
COLLECTION = "cortex_insights"

#: The condition that files say an insight and nothing keeps it back; `i` is its row. Statuses of
#: others are never asked: they may have to be settled themselves.
STANDS = (
    "{i}.superseded_by IS NULL AND {i}.review IS NULL AND EXISTS (SELECT 1 FROM insight_sources"
    " AS s WHERE s.insight_id = {i}.id AND s.withdrawn_at IS NULL)"
)

#: Whether somebody stands against an insight: the other side of an open contradiction, or the one
#: that a person decided for. What says the same stands as one (`m` is it, or counts for it), and
#: where two hold in different places, both may until a person decides. Asked for each column that
#: may name it.
_AGAINST = (
    "EXISTS (SELECT 1 FROM insights AS m JOIN contradictions AS c ON c.{mine} = m.id"  # noqa: S608 - ours
    " JOIN insights AS t ON t.id = c.{theirs}"
    " JOIN insights AS o ON o.id = coalesce(t.superseded_by, t.id)"
    " WHERE (m.id = i.id OR m.superseded_by = i.id) AND o.id <> i.id"
    " AND (c.status = 'unresolved' AND c.type <> 'contextual' OR c.kept_id = c.{theirs})"
    f" AND {STANDS.format(i='o')})"
)
_FIRST = _AGAINST.format(mine="insight_a", theirs="insight_b")
_SECOND = _AGAINST.format(mine="insight_b", theirs="insight_a")

_SETTLE = (
    "UPDATE insights AS i SET status = CASE"  # noqa: S608 - texts of this module
    " WHEN i.superseded_by IS NOT NULL THEN 'superseded'"
    " WHEN NOT EXISTS (SELECT 1 FROM insight_sources AS s WHERE s.insight_id = i.id"
    " AND s.withdrawn_at IS NULL) THEN 'withdrawn'"
    " WHEN i.review IS NOT NULL THEN 'pending_review'"
    f" WHEN {_FIRST} OR {_SECOND} THEN 'contradicted'"
    " ELSE 'active' END WHERE i.id IN (SELECT value FROM json_each(?))"
)

#: Those insights, and whoever contradicts one of them, or what says the same as one of them.
_CONCERNED = (
    "WITH asked(id) AS (SELECT value FROM json_each(?)),"
    " same(id) AS (SELECT id FROM asked UNION SELECT i.superseded_by FROM insights AS i"
    " JOIN asked USING (id) WHERE i.superseded_by IS NOT NULL"
    " UNION SELECT m.id FROM insights AS m JOIN asked ON m.superseded_by = asked.id),"
    " met(id) AS (SELECT c.insight_b FROM contradictions AS c JOIN same ON c.insight_a = same.id"
    " UNION SELECT c.insight_a FROM contradictions AS c JOIN same ON c.insight_b = same.id)"
    " SELECT id FROM asked UNION SELECT id FROM same UNION SELECT id FROM met"
    " UNION SELECT i.superseded_by FROM insights AS i JOIN met USING (id)"
    " WHERE i.superseded_by IS NOT NULL"
)


def settle(connection: Connection, ids: Iterable[str]) -> None:
    """Give insights the status that their rows say, and let be found those that are live.

    Those that contradict one of them are settled with it.
    """
    driver = driver_of(connection)
    asked = json.dumps(list(dict.fromkeys(ids)))
    concerned = sorted(each for (each,) in driver.execute(_CONCERNED, (asked,)))
    driver.execute(_SETTLE, (json.dumps(concerned),))
    remake(connection, concerned)


def approve(connection: Connection, insight_id: str, *, at: int) -> bool:
    """Let an insight be used that waited for a person; False when it did not wait.

    It never waits again, whoever says it, and its alerts end.
    """
    driver = driver_of(connection)
    changed = driver.execute(
        "UPDATE insights SET review = NULL WHERE id = ? AND review IS NOT NULL", (insight_id,)
    )
    if not changed.rowcount:
        return False
    alerts.looked_at(connection, insight_id, at)
    settle(connection, [insight_id])
    return True


def remake(connection: Connection, ids: Iterable[str]) -> int:
    """Let those insights be found that are live, and no other of them; return how many are."""
    count = 0
    seen = select(insights).order_by(insights.c.id)
    for some in chunks(dict.fromkeys(ids)):
        rows = connection.execute(seen.where(live_of(some)))
        made = [each for row in rows for each in _passages(row)]
        passages.replace(connection, COLLECTION, some, made)
        count += len({each.item_id for each in made})
    return count


def _passages(row: Row[Any]) -> Sequence[Passage]:
    """Return the texts by which an insight is found.

    A statement is compared by its own words alone; under its headings it is only looked for.
    """
    if row.granularity == Granularity.STATEMENT:
        before = row.heading or None
        return passages.of_item(row.content, collection=COLLECTION, item_id=row.id, before=before)
    said = embedded_text(row.heading, row.content)
    return [Passage(COLLECTION, row.id, Place.BOTH, said, row.text_hash)]
