"""Alerts: what somebody should look at in an instruction file."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    UniqueConstraint,
)

from cortex_actors.storage.tables.columns import Text, at_least, filled, metadata, one_of

#: What was met: characters that nobody sees, something secret, words meant to take an agent over.
ALERT_KINDS = ("hidden_unicode", "secret", "injection")

#: One row for each thing found in a fragment; it ends when the fragment no longer says it.
alerts = Table(
    "alerts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("path", Text, nullable=False),
    Column("fragment_id", Text, nullable=False),
    Column("line_start", Integer, nullable=False),
    Column("line_end", Integer, nullable=False),
    Column("detail", Text, nullable=False),
    # Of a secret, never the secret: tells whether two places hold the same one.
    Column("fingerprint", Text),
    Column("found_at", Integer, nullable=False),
    Column("ended_at", Integer),
    UniqueConstraint("path", "fragment_id", "kind", "detail"),
    one_of("kind", ALERT_KINDS),
    at_least("line_start", 1),
    CheckConstraint("line_start <= line_end", name="start_is_not_behind_end"),
    filled("detail"),
    sqlite_autoincrement=True,
)
Index("alerts_by_project", alerts.c.project_id)
Index("alerts_open", alerts.c.path, sqlite_where=alerts.c.ended_at.is_(None))
