"""Agents may be who decided what two texts are to each other, and what they were given is noted."""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
