"""Derivations: which insights a principle comes of, and how much it owes to each.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import select

from cortex_actors.domain.principle import Derivation
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import derivations
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

_LEAVE = "DELETE FROM derivations WHERE principle_id IN (SELECT value FROM json_each(?))"
_OWE = "INSERT INTO derivations (principle_id, insight_id, weight) VALUES (?, ?, ?)"

#: The principles that come of those insights, whichever text stands for them by now.
_COMING = (
    "WITH asked(id) AS (SELECT value FROM json_each(?))"
    " SELECT d.principle_id FROM derivations AS d JOIN asked ON d.insight_id = asked.id"
    " UNION SELECT d.principle_id FROM asked CROSS JOIN insights AS i ON i.superseded_by = asked.id"
    " CROSS JOIN derivations AS d ON d.insight_id = i.id"
)


def replace(
    connection: Connection, principle_ids: Iterable[str], made: Sequence[Derivation]
) -> None:
    """Let those principles come of these insights and of no other."""
    driver = driver_of(connection)
    driver.execute(_LEAVE, (json.dumps(sorted(principle_ids)),))
    rows = [(each.principle_id, each.insight_id, each.weight) for each in made]
    driver.executemany(_OWE, rows)


def of(connection: Connection, principle_ids: Iterable[str]) -> dict[str, list[Derivation]]:
    """Return what principles come of, by principle; the insight it owes most to first."""
    query = select(derivations).order_by(derivations.c.weight.desc(), derivations.c.insight_id)
    found: dict[str, list[Derivation]] = {}
    for some in chunks(dict.fromkeys(principle_ids)):
        for row in connection.execute(query.where(derivations.c.principle_id.in_(some))):
            found.setdefault(row.principle_id, []).append(Derivation(*row))
    return found


def coming_of(connection: Connection, insight_ids: Iterable[str]) -> set[str]:
    """Return the principles that come of those insights, or of texts that count for one of them."""
    asked = json.dumps(sorted(set(insight_ids)))
    return {each for (each,) in driver_of(connection).execute(_COMING, (asked,))}


def derived(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of insights (of those, or of all) that are principles already."""
    query = select(derivations.c.insight_id)
    if ids is None:
        return set(connection.execute(query).scalars())
    return {
        each
        for some in chunks(ids)
        for each in connection.execute(query.where(derivations.c.insight_id.in_(some))).scalars()
    }
