"""Alembic's scripts: how a ledger of any earlier version becomes one of this version."""

from __future__ import annotations

from pathlib import Path

from alembic import op


def statements(script: str) -> list[str]:
    """Return what a migration does, one statement each: the `.sql` file beside its script."""
    text = Path(script).with_suffix(".sql").read_text("utf-8")
    return [each for each in text.split(";\n") if each.strip()]


def run(script: str) -> None:
    """Run a migration's statements, in the caller's transaction; `script` is its `__file__`."""
    connection = op.get_bind()
    for statement in statements(script):
        connection.exec_driver_sql(statement)


def downgrade() -> None:
    """Refuse: a ledger goes back by restoring the backup that was made before the migration."""
    message = "a ledger is not migrated down; restore the backup made before the migration"
    raise NotImplementedError(message)
