"""Who may write the ledger, and who does what only one may do."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table

from cortex_actors.storage.tables.columns import Text, at_least, filled, metadata

#: The one row that says who may write: a daemon that was paused and superseded has an old epoch.
owner = Table(
    "owner",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Integer, nullable=False),
)

#: Who holds what only one process may do at a time; with one machine nobody asks.
leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    # Grows with each holder; a write under an older one is refused.
    Column("epoch", Integer, nullable=False),
    Column("until", Integer, nullable=False),
    filled("holder"),
    at_least("epoch", 1),
)
