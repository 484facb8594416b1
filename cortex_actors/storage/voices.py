"""Voices: who says an insight independently of one another.

Two checkouts of one repository are one voice. What came from elsewhere (an import, another store)
is none: whoever wrote it did not work here. Neither is a file that is one person's own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.tables.columns import given_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_VOICES = (
    "SELECT DISTINCT s.insight_id, coalesce(p.origin, p.id) FROM insight_sources AS s"
    " JOIN projects AS p ON p.id = s.project_id"
    " WHERE s.insight_id IN (SELECT value FROM json_each(?)) AND s.withdrawn_at IS NULL"
    " AND s.trust IN ('file', 'agent') AND s.path NOT LIKE '%.local.md'"
)


def voices(connection: Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the voices that say each insight now, or a text that counts for it.

    A voice is a repository, or a project of none. Insights that nobody says so are left out.
    """
    found: dict[str, set[str]] = {}
    asked = json.dumps(sorted(set(ids)))
    for insight_id, voice in driver_of(connection).execute(_VOICES, (asked,)):
        found.setdefault(insight_id, set()).add(given_text(voice) or "")
    return {insight_id: frozenset(some) for insight_id, some in found.items()}
