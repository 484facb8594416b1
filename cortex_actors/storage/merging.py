"""Merging: texts that say the same count as one, and every text stays.

A merge is a pointer from a text to the one that represents it, and the sources that count for that
one; taking the pointer away is all it needs to undo it. No pointer leads to a text that has one
itself, and `insight_sources.insight_id` is always where the pointer of `said_id` leads. Only what
files say now is merged.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.standing import STANDS, settle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

_POINT = (
    "UPDATE insights SET superseded_by = ?2, status = iif(?2 IS NULL, 'active', 'superseded')"
    " WHERE id = ?1"
)
_COUNT = "UPDATE insight_sources SET insight_id = ?2 WHERE said_id = ?1 AND insight_id <> ?2"

_POINTS = (
    "SELECT id, superseded_by FROM insights WHERE superseded_by IS NOT NULL"
    " AND id IN (SELECT value FROM json_each(?))"
)
_FOLLOW = (
    "SELECT id, superseded_by FROM insights WHERE superseded_by IN (SELECT value FROM json_each(?))"
)
_SILENT = (
    "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM insight_sources"
    " WHERE said_id = value AND withdrawn_at IS NULL)"
)
_STAND = (
    "SELECT i.id FROM json_each(?) AS j CROSS JOIN insights AS i ON i.id = j.value"  # noqa: S608 - ours
    f" WHERE {STANDS.format(i='i')}"
)


def representatives(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return which insight represents each of those that is represented by another one."""
    asked = json.dumps(list(ids))
    return dict(driver_of(connection).execute(_POINTS, (asked,)).fetchall())


def followers(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts that one of those insights represents, with which."""
    asked = json.dumps(list(ids))
    return dict(driver_of(connection).execute(_FOLLOW, (asked,)).fetchall())


def assign(connection: Connection, wanted: Mapping[str, str | None]) -> set[str]:
    """Let each text count for the insight that is to represent it (None: itself).

    Returns the ids whose pointer, or whose sources, changed; they are settled. A representative
    must be nobody's follower in the end: name all texts of the groups that change.
    """
    changed = _point(connection, wanted)
    settle(connection, changed)
    return changed


def join(connection: Connection, same: Mapping[str, str]) -> set[str]:
    """Let new texts count for an insight that was found to say the same, as long as it does.

    Returns the ids that changed, not yet settled. Between the finding and now its file may have
    changed, or it may count for another one itself: then that one counts.
    """
    whole = representatives(connection, same.values())
    wanted = {said: whole.get(other, other) for said, other in same.items()}
    driver = driver_of(connection)
    asked = json.dumps([*wanted, *wanted.values()])
    stands = {each for (each,) in driver.execute(_STAND, (asked,))}
    leads = set(followers(connection, wanted).values())
    taken = {
        said: other
        for said, other in wanted.items()
        if {said, other} <= stands and said not in leads and other not in wanted
    }
    return _point(connection, {said: other for said, other in taken.items() if said != other})


def release(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Dissolve the groups of texts that no file says any more.

    Returns the ids that changed, not yet settled. Whom such a text represented stands for itself
    again, until somebody compares it anew.
    """
    driver = driver_of(connection)
    silent = [each for (each,) in driver.execute(_SILENT, (json.dumps(list(ids)),))]
    alone: dict[str, str | None] = dict.fromkeys(silent)
    return _point(connection, alone | dict.fromkeys(followers(connection, silent)))


def _point(connection: Connection, wanted: Mapping[str, str | None]) -> set[str]:
    """Write pointers, and let the sources count for where they lead; return who changed."""
    before = representatives(connection, wanted)
    whole = {said: None if other == said else other for said, other in wanted.items()}
    moved = {said: other for said, other in whole.items() if before.get(said) != other}
    rows = sorted(moved.items())
    driver = driver_of(connection)
    driver.executemany(_POINT, rows)
    driver.executemany(_COUNT, [(said, other or said) for said, other in rows])
    found = set(moved) | {other for other in moved.values() if other}
    return found | {before[said] for said in moved if said in before}
