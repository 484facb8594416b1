"""Keep on which days a project was scanned, and since when it says a text (decision 37).

Before, only a new revision of a file was an observation.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0008"
down_revision = "0007"
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
