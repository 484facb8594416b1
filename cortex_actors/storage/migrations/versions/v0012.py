"""Keep the vectors by which files are compared: they are of wholes, which are no insights."""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
