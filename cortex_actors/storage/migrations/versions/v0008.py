"""Keep on which days a project was scanned, and since when it says a text (decision 37).

Before, only a new revision of a file was an observation.
"""

from __future__ import annotations

from cortex_actors.storage.ledger.connection import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    run(__file__)
