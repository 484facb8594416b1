"""Slots: what live insights take a stand on, so that who may disagree is found by it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text, stored_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

_SHARING = (
    "SELECT slot, insight_id FROM insight_slots WHERE slot IN (SELECT value FROM json_each(?))"
)
_FORGET = "DELETE FROM insight_slots WHERE insight_id IN (SELECT value FROM json_each(?))"
_NOTE = "INSERT INTO insight_slots (slot, insight_id) VALUES (?, ?)"


def sharing(connection: Connection, slots: Collection[str]) -> dict[str, set[str]]:
    """Return slot -> the insights that take a stand on it."""
    found: dict[str, set[str]] = {}
    rows = driver_of(connection).execute(_SHARING, (json.dumps(sorted(slots)),))
    for slot, insight_id in rows:
        found.setdefault(given_text(slot) or "", set()).add(insight_id)
    return found


def replace(
    connection: Connection, ids: Collection[str], slots: Mapping[str, Collection[str]]
) -> None:
    """Let those insights have these slots and no other."""
    driver = driver_of(connection)
    driver.execute(_FORGET, (json.dumps(sorted(ids)),))
    rows = [(stored_text(slot), each) for each, some in slots.items() for slot in sorted(some)]
    driver.executemany(_NOTE, rows)


def everybody(connection: Connection) -> set[str]:
    """Return the ids of all insights that have slots."""
    rows = driver_of(connection).execute("SELECT DISTINCT insight_id FROM insight_slots")
    return {each for (each,) in rows}
