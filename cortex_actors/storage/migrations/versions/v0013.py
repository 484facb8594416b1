"""What agrees is ordered by how much speaks for it; everything is compared again for that."""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
