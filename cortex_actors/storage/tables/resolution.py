"""Resolutions: what stands in our section of each instruction file, or why it does not."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    text,
)

from cortex_actors.storage.tables.columns import Text, at_least, filled, metadata, one_of, yes_or_no

#: How the last resolution of a file ended: `edited` when a human wrote inside our section.
RESOLUTION_STATES = ("written", "unchanged", "edited", "refused")

#: One row for each file and the agent it is written for; the runs are the history.
resolutions = Table(
    "resolutions",
    metadata,
    Column("path", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    # The run's audit row comes with its end; it is pruned before this one.
    Column("run_id", Text, nullable=False),
    # The human's part of the file, and all that went into the section, as hashes.
    Column("revision", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    # What we wrote between the marks, to show what a human changed there.
    Column("section", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("resolved_at", Integer, nullable=False),
    one_of("state", RESOLUTION_STATES),
    filled("reason"),
)
Index("resolutions_by_project", resolutions.c.project_id)

#: The bullets of that section, in their order: what `blame` is asked about. They are written
#: together with the row above, and go with it.
resolved_bullets = Table(
    "resolved_bullets",
    metadata,
    Column("path", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    # No foreign key: a principle may be revoked before the file is written anew.
    Column("principle_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("conflict", Integer, nullable=False, server_default=text("0")),
    at_least("ordinal", 0),
    filled("text"),
    yes_or_no("conflict"),
    sqlite_with_rowid=False,
)
Index("resolved_bullets_by_principle", resolved_bullets.c.principle_id)
