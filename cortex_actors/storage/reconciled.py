"""Reconciled: by which rules the insights were compared last, and up to which vector.

Two small facts of the ledger. Other rules, other thresholds or another model's vectors mean that
everything is compared anew; vectors behind the last one came late, and their texts are compared
when somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.storage.ledger.connection import driver_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Names of the two facts.
_BY, _UP_TO = "reconciled_by", "reconciled_vectors"

_READ = "SELECT value FROM meta WHERE name = ?"
_WRITE = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far comparing has come.

    Attributes:
        by: what names rules, thresholds and model; empty before the first time.
        up_to: the number of the newest vector there was.

    """

    by: bytes = b""
    up_to: int = 0


def mark(connection: Connection) -> Mark:
    """Return how far comparing has come."""
    driver = driver_of(connection)
    by, up_to = (driver.execute(_READ, (name,)).fetchone() for name in (_BY, _UP_TO))
    return Mark(by[0] if by else b"", int(up_to[0]) if up_to else 0)


def note(connection: Connection, found: Mark) -> None:
    """Write down how far comparing has come."""
    rows = [(_BY, found.by), (_UP_TO, str(found.up_to).encode())]
    driver_of(connection).executemany(_WRITE, rows)


def forget(connection: Connection) -> None:
    """Have everything compared anew at the next opportunity."""
    driver_of(connection).execute("DELETE FROM meta WHERE name = ?", (_BY,))
