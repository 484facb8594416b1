"""Proposals; how sure a contradiction is; and one table for what people and models decided.

What people decided about contradictions is a verdict about two texts from now on, too. Which texts
a model's older answer is about its key does not say: it is found by that as before.
"""

from __future__ import annotations

import hashlib
import json

from alembic import op

from cortex_actors.storage.ledger.connection import run

revision = "0009"
down_revision = "0008"

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
    run(__file__)
    connection = op.get_bind()
    for left, right, kept, status, at, note in connection.exec_driver_sql(_DECIDED).all():
        one, other = sorted((left, right))
        key = hashlib.sha256(f"person|{one}|{other}".encode()).digest()
        relation = "contradiction" if status == "resolved" else "related"
        answer = json.dumps({"said": status, "keep": kept, "note": note})
        connection.exec_driver_sql(_KEEP, (key, one, other, relation, answer, at))
