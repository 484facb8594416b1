"""Which memory comes before which in a thread, for as many memories at once as are asked about.

What comes before a memory is the last active one of the same thread and realm before it that
whoever may read it may read, too. Every function takes the connection of a transaction it is part
of. The statements walk a thread from the memory on, whatever else its agent has said elsewhere:
the planner, left alone, takes the index of agents for some.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import memories
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Sequence

#: Whoever may read `m` may read `b`, which is of the same realm.
_READ_ALIKE: Final = (
    "(m.realm = 'village' OR m.agent_id = b.agent_id OR (m.realm = 'bridge' AND EXISTS"
    " (SELECT 1 FROM memory_agents AS a WHERE a.memory_id = b.id AND a.agent_id = m.agent_id)))"
    " AND (m.realm <> 'bridge' OR NOT EXISTS"
    " (SELECT 1 FROM memory_agents AS r WHERE r.memory_id = m.id AND r.agent_id <> b.agent_id"
    " AND NOT EXISTS (SELECT 1 FROM memory_agents AS a"
    " WHERE a.memory_id = b.id AND a.agent_id = r.agent_id)))"
)
_BEFORE: Final = (
    "SELECT m.id, (SELECT b.id FROM memories AS b INDEXED BY memories_by_thread"  # noqa: S608 - our own words
    " WHERE b.thread = m.thread AND b.realm = m.realm AND b.status = 'active'"
    f" AND (b.created_at, b.id) < (m.created_at, m.id) AND {_READ_ALIKE}"
    " ORDER BY b.created_at DESC, b.id DESC LIMIT 1)"
    " FROM memories AS m WHERE m.id IN (SELECT value FROM json_each(?)) AND m.thread <> ''"
)
_NEXT: Final = (
    "SELECT (SELECT f.id FROM memories AS f INDEXED BY memories_by_thread"
    " WHERE f.thread = m.thread AND f.realm = m.realm AND f.status = 'active'"
    " AND (f.created_at, f.id) > (m.created_at, m.id)"
    " AND (m.realm = 'village' OR f.agent_id = m.agent_id)"
    " ORDER BY f.created_at, f.id LIMIT 1) AS following"
    " FROM memories AS m WHERE m.id IN (SELECT value FROM json_each(?))"
    " AND m.thread <> '' AND m.realm <> 'bridge'"
)
_BRIDGES: Final = (
    "SELECT m.thread, min(m.created_at) FROM memories AS m"
    " WHERE m.id IN (SELECT value FROM json_each(?)) AND m.thread <> '' AND m.realm = 'bridge'"
    " GROUP BY m.thread"
)
_ALONG: Final = (
    "SELECT f.id, f.status = 'active', (SELECT group_concat(one, ' ') FROM (SELECT a.agent_id"
    " AS one FROM memory_agents AS a WHERE a.memory_id = f.id UNION SELECT f.agent_id ORDER BY 1))"
    " FROM memories AS f INDEXED BY memories_by_thread"
    " WHERE f.thread = ? AND f.created_at >= ? AND f.realm = 'bridge'"
    " ORDER BY f.created_at, f.id"
)


def before(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts that memories are found with: those of what comes before them."""
    driver, found = driver_of(connection), dict[str, str]()
    for some in chunks(ids):
        rows = driver.execute(_BEFORE, (json.dumps(some),))
        leads = {each: first for each, first in rows if first is not None}
        texts = _texts(connection, leads.values())
        found |= {each: texts[first] for each, first in leads.items()}
    return found


def following(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Return the active memories that one of those comes, or may have come, before.

    On a bridge these are, behind each, the next one of every circle of readers: what the same
    readers see later has that one before it.
    """
    driver, found = driver_of(connection), list[str]()
    for some in chunks(ids):
        wanted = json.dumps(some)
        found += [each for (each,) in driver.execute(_NEXT, (wanted,)) if each is not None]
        for thread, since in driver.execute(_BRIDGES, (wanted,)).fetchall():
            found += _on_bridge(driver, thread, since, changed=set(some))
    return list(dict.fromkeys(found))


def _on_bridge(
    driver: sqlite3.Connection, thread: Any, since: int, *, changed: Collection[str]
) -> list[str]:
    """Return which memories of a bridge have one that changed before them."""
    # Where the last one that changed stands, and the last one of each circle of readers.
    last, seen, found = -2, dict[str, int](), list[str]()
    for place, (each, active, readers) in enumerate(driver.execute(_ALONG, (thread, since))):
        if active:
            if seen.get(readers, -1) <= last:
                found.append(each)
            seen[readers] = place
        if each in changed:
            last = place
    return found


def _texts(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what memories say."""
    query = select(memories.c.id, memories.c.text)
    return {
        row.id: row.text
        for some in chunks(dict.fromkeys(ids))
        for row in connection.execute(query.where(memories.c.id.in_(some)))
    }
