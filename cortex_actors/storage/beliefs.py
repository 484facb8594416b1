"""Beliefs: since when until when a memory was active, so that a date can be asked about.

A row is a stretch of time, the end of which belongs to what came after; an active memory has one
that is open, any other none. Stretches of no length are not kept: nobody could have asked within
them. Every function takes the connection of a transaction it is part of. Only this module writes
`beliefs`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, exists, or_

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import beliefs, memories

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Whoever remembers runs these: building them each time would cost more than they do.
_REOPEN = (
    "UPDATE beliefs SET ended_at = NULL WHERE memory_id IN (SELECT value FROM json_each(?2))"
    " AND ended_at >= ?1 AND began_at ="
    " (SELECT max(o.began_at) FROM beliefs AS o WHERE o.memory_id = beliefs.memory_id)"
)
_OPEN = (
    "INSERT INTO beliefs (memory_id, began_at) SELECT value, ?1 FROM json_each(?2)"
    " WHERE NOT EXISTS (SELECT 1 FROM beliefs WHERE memory_id = value AND ended_at IS NULL)"
)
_CLOSE = (
    "UPDATE beliefs SET ended_at = max(began_at, ?1)"
    " WHERE ended_at IS NULL AND memory_id IN (SELECT value FROM json_each(?2))"
)
_SWEEP = (
    "DELETE FROM beliefs WHERE ended_at = began_at AND ended_at <= ?1"
    " AND memory_id IN (SELECT value FROM json_each(?2))"
)


def begin(connection: Connection, ids: Sequence[str], at: int) -> None:
    """Note that memories are active since a moment; one that is so already stays as it is.

    Where the last stretch of a memory ends at that moment (or later, because the clock was set
    back), it goes on instead.
    """
    _run(connection, (_REOPEN, _OPEN), ids, at)


def end(connection: Connection, ids: Sequence[str], at: int) -> None:
    """Note that memories are active until a moment, and not from it on."""
    _run(connection, (_CLOSE, _SWEEP), ids, at)


def held_at(moment: int) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that it was active at a moment."""
    return exists().where(
        beliefs.c.memory_id == memories.c.id,
        beliefs.c.began_at <= moment,
        or_(beliefs.c.ended_at.is_(None), beliefs.c.ended_at > moment),
    )


def of(connection: Connection, memory_id: str) -> list[tuple[int, int | None]]:
    """Return when a memory was active, first things first; None is the end of what goes on."""
    query = "SELECT began_at, ended_at FROM beliefs WHERE memory_id = ? ORDER BY began_at"
    return list(driver_of(connection).execute(query, (memory_id,)).fetchall())


def _run(connection: Connection, statements: Sequence[str], ids: Sequence[str], at: int) -> None:
    """Run statements about some memories and a moment."""
    if not ids:
        return
    driver, some = driver_of(connection), json.dumps(list(ids))
    for each in statements:
        driver.execute(each, (at, some))
