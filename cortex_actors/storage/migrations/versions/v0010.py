"""Memories and crumbs belong to a project; those that are there belong to none."""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
