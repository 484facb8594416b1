"""Episodes: what memories that everybody may read were made of, and what they replaced.

Only what is everybody's itself is told. Every function takes a connection and only reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

#: The originals of each whole, down all merges, the newest first. A pair comes once, so a ring of
#: parts (somebody wrote by hand) ends.
_ORIGINALS = (
    "WITH RECURSIVE below(whole, id) AS (SELECT merged_into, id FROM memories"
    " WHERE merged_into IN (SELECT value FROM json_each(?))"
    " UNION SELECT below.whole, m.id FROM below"
    " CROSS JOIN memories AS m ON m.merged_into = below.id)"
    " SELECT below.whole, m.id, m.text, m.created_at FROM below"
    " JOIN memories AS m ON m.id = below.id WHERE m.realm = 'village'"
    " AND NOT EXISTS (SELECT 1 FROM memories AS p WHERE p.merged_into = below.id)"
    " ORDER BY m.created_at DESC, m.id DESC"
)

#: What each replaced, the newest last.
_REPLACED = (
    "SELECT replaced_by, id, text, created_at FROM memories"
    " WHERE replaced_by IN (SELECT value FROM json_each(?)) AND realm = 'village'"
    " ORDER BY created_at, id"
)


@dataclass(frozen=True, slots=True)
class Episode:
    """One memory that was said; `created_at` is UTC microseconds."""

    id: str
    text: str
    created_at: int


def originals(connection: Connection, ids: Iterable[str]) -> dict[str, list[Episode]]:
    """Return what each memory was made of, the newest first; those that were said are left out."""
    found: dict[str, list[Episode]] = {}
    for whole, *rest in driver_of(connection).execute(_ORIGINALS, (json.dumps(list(ids)),)):
        found.setdefault(whole, []).append(_episode(*rest))
    return found


def replaced(connection: Connection, ids: Iterable[str]) -> dict[str, Episode]:
    """Return what each memory replaced, where it replaced one; of several, the newest."""
    rows = driver_of(connection).execute(_REPLACED, (json.dumps(list(ids)),))
    return {by: _episode(*rest) for by, *rest in rows}


def _episode(memory_id: str, text: str | bytes, created_at: int) -> Episode:
    """Return a row as an episode."""
    return Episode(memory_id, given_text(text) or "", created_at)
