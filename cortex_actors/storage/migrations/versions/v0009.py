"""Proposals; how sure a contradiction is; and one table for what people and models decided.

What people decided about contradictions is a verdict about two texts from now on, too. Which texts
a model's older answer is about cannot be told from its key: it is found by that as before.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_DECIDED = (
    "SELECT a.content_hash, b.content_hash, k.content_hash, c.status, c.resolved_at, c.resolution"
    " FROM contradictions AS c JOIN insights AS a ON a.id = c.insight_a"
    " JOIN insights AS b ON b.id = c.insight_b LEFT JOIN insights AS k ON k.id = c.kept_id"
    " WHERE c.status <> 'unresolved'"
)
_KEEP = (
    "INSERT INTO verdicts (key, decider, name, question, one, other, relation, answer, at)"
    " VALUES (?, 'person', 'owner', 'compare', ?, ?, ?, ?, ?)"
)


def upgrade() -> None:
    """Run the statements, and write a verdict for each contradiction that a person decided."""
    connection = op.get_bind()
    text = Path(__file__).with_suffix(".sql").read_text("utf-8")
    for statement in text.split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
    for left, right, kept, status, at, note in connection.exec_driver_sql(_DECIDED).all():
        one, other = sorted((left, right))
        key = hashlib.sha256(f"person|{one}|{other}".encode()).digest()
        relation = "contradiction" if status == "resolved" else "related"
        answer = json.dumps({"said": status, "keep": kept, "note": note})
        connection.exec_driver_sql(_KEEP, (key, one, other, relation, answer, at))


def downgrade() -> None:
    """Refuse: a ledger goes back by restoring the backup that was made before the migration."""
    message = "a ledger is not migrated down; restore the backup made before the migration"
    raise NotImplementedError(message)
