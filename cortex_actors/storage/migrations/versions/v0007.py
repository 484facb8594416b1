"""The seventh schema: what a person approved to be written into files of other projects.

What it does lies beside it, in `v0007.sql`. What a person approved in a review, and what stands in
files that are written only when a person asks for it, counts as approved.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the statements, in the caller's transaction."""
    connection = op.get_bind()
    for statement in statements():
        connection.exec_driver_sql(statement)


def statements() -> list[str]:
    """Return what the migration does, one statement each."""
    text = Path(__file__).with_suffix(".sql").read_text("utf-8")
    return [each for each in text.split(";\n") if each.strip()]


def downgrade() -> None:
    """Refuse: a ledger goes back by restoring the backup that was made before the migration."""
    message = "a ledger is not migrated down; restore the backup made before the migration"
    raise NotImplementedError(message)
