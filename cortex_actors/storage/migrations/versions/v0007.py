"""The baseline: the seventh schema as a whole, of nothing; every later migration begins here.

What it makes is beside it, in `v0007.sql`. Ledgers of older schemas are refused before Alembic
is asked (docs/ledger.md).
"""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0007"
down_revision = None


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
