"""Pairs that a person parted: they are not made one by themselves again.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import memory_apart
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Each candidate of a merge is asked about: building it each time would cost more than it does.
_OF = (
    "SELECT left_id, right_id FROM memory_apart"
    " WHERE left_id IN (SELECT value FROM json_each(?1))"
    " OR right_id IN (SELECT value FROM json_each(?1))"
)


def keep(connection: Connection, ids: Sequence[str], *, at: int, reason: str | None = None) -> None:
    """Keep some memories apart, each from every other one; what is known of a pair stays."""
    rows = [
        {"left_id": left, "right_id": right, "at": at, "reason": reason or None}
        for left, right in combinations(sorted(set(ids)), 2)
    ]
    if rows:
        connection.execute(insert(memory_apart).on_conflict_do_nothing(), rows)


def of(connection: Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the memories that each of those is kept apart from; those without any are left out."""
    wanted = set(ids)
    found: dict[str, set[str]] = {}
    for some in chunks(wanted):
        for left, right in driver_of(connection).execute(_OF, (json.dumps(some),)):
            for mine, other in ((left, right), (right, left)):
                if mine in wanted:
                    found.setdefault(mine, set()).add(other)
    return {each: frozenset(others) for each, others in found.items()}


def join(connection: Connection, ids: Sequence[str]) -> None:
    """Let some memories be made one again: a person has done so."""
    for left, right in combinations(sorted(set(ids)), 2):
        pair = delete(memory_apart).where(memory_apart.c.left_id == left)
        connection.execute(pair.where(memory_apart.c.right_id == right))
