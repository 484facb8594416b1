"""Whether what is noted of the past agrees with the present: beliefs with states, and wholes.

Passages are compared with states in `passages.py`; what belongs to rows that are gone, in
`pages.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Repair, Severity
from cortex_actors.storage.ledger.connection import driver_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from cortex_actors.storage.health.scope import Scope

#: Active memories that are believed since nobody knows when.
_LACKING = (
    "SELECT id FROM memories AS m WHERE m.status = 'active' AND NOT EXISTS"
    " (SELECT 1 FROM beliefs AS b WHERE b.memory_id = m.id AND b.ended_at IS NULL)"
)

#: Memories that are still believed and are not active any more.
_LASTING = (
    "SELECT m.id FROM beliefs AS b JOIN memories AS m ON m.id = b.memory_id"
    " WHERE b.ended_at IS NULL AND m.status <> 'active'"
)

_OPEN = (
    "INSERT INTO beliefs (memory_id, began_at)"  # noqa: S608 - ours
    " SELECT m.id, coalesce((SELECT max(b.ended_at) FROM beliefs AS b WHERE b.memory_id = m.id),"
    " m.created_at) FROM memories AS m WHERE m.id IN (SELECT value FROM json_each(?))"
    f" AND m.id IN ({_LACKING})"
    " ON CONFLICT (memory_id, began_at) DO UPDATE SET ended_at = NULL"
)
_CLOSE = (
    "UPDATE beliefs SET ended_at = max(began_at, (SELECT coalesce(m.merged_at, m.replaced_at,"  # noqa: S608 - ours
    " m.archived_at, m.layer_since) FROM memories AS m WHERE m.id = beliefs.memory_id))"
    f" WHERE ended_at IS NULL AND memory_id IN ({_LASTING})"
    " AND memory_id IN (SELECT value FROM json_each(?))"
)


def beliefs(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Compare since when until when memories were believed with the states they are in."""
    wrong = disagreeing(opened)
    if wrong:
        yield Diagnosis(
            "beliefs",
            f"{len(wrong):,} memories are believed and not active, or the other way round",
            Severity.ERROR,
            "cortex doctor --repair",
            Repair.BELIEFS,
        )
        return
    total = opened.exec_driver_sql("SELECT count(*) FROM beliefs").scalar_one()
    yield Diagnosis("beliefs", f"{total:,} stretches of time, as the memories are")


def lineages(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Look for memories that are part of one another."""
    merged = "SELECT count(*) FROM memories WHERE merged_into IS NOT NULL"
    total = opened.exec_driver_sql(merged).scalar_one()
    rings = _rings(opened)
    if rings:
        yield Diagnosis(
            "lineage",
            f"{rings:,} memories are part of themselves: nobody finds them",
            Severity.ERROR,
            "take one of them apart: cortex memory split",
        )
        return
    yield Diagnosis("lineage", f"{total:,} memories are part of others")


def disagreeing(opened: Connection) -> list[str]:
    """Return the memories whose beliefs do not agree with the state that each is in."""
    queries = (_LACKING, _LASTING)
    found = {row[0] for query in queries for row in opened.exec_driver_sql(query)}
    return sorted(found)


def mend(connection: Connection, ids: Sequence[str]) -> None:
    """Make the beliefs of memories agree with their states, as well as rows tell of it."""
    driver, some = driver_of(connection), json.dumps(list(ids))
    driver.execute(_CLOSE, (some,))
    driver.execute(_OPEN, (some,))


def _rings(opened: Connection) -> int:
    """Return how many memories are part of themselves, by whatever way: each pointer once."""
    rows = opened.exec_driver_sql(
        "SELECT id, merged_into FROM memories WHERE merged_into IS NOT NULL"
    )
    whole: dict[str, str] = {row[0]: row[1] for row in rows}
    done: set[str] = set()
    found = 0
    for start in whole:
        way: dict[str, int] = {}
        each: str | None = start
        while each is not None and each not in done and each not in way:
            way[each] = len(way)
            each = whole.get(each)
        if each in way:
            found += len(way) - way[each]
        done.update(way)
    return found
