"""Projects, and the audit of what was done in them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, Table, text

from cortex_actors.storage.tables.columns import Text, metadata, one_of, yes_or_no

#: How a run ends; it is written when it has ended, with what it did.
RUN_STATES = ("completed", "unchanged", "failed")

#: Watched projects.
projects = Table(
    "projects",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("root", Text, nullable=False, unique=True),
    Column("added_at", Integer, nullable=False),
    Column("active", Integer, nullable=False, server_default=text("1")),
    # Whether the resolver writes into its files by itself; somebody has said so.
    Column("resolves", Integer, nullable=False, server_default=text("0")),
    # Which repository it is a checkout of, where that is known: two checkouts of one are one voice.
    Column("origin", Text),
    yes_or_no("active"),
    yes_or_no("resolves"),
)

#: The audit: one row for each run of an actor of the pipeline, its name as `kind`.
runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    # No foreign key: a run fails because its project is not known, and says so.
    Column("project_id", Text),
    Column("path", Text),
    # Of a resolution: for whom it was written, and whether only to be looked at.
    Column("agent", Text),
    Column("dry_run", Integer, nullable=False, server_default=text("0")),
    Column("state", Text, nullable=False),
    Column("started_at", Integer, nullable=False),
    Column("finished_at", Integer, nullable=False),
    Column("counts", JSON, nullable=False),
    Column("error", Text),
    one_of("state", RUN_STATES),
    yes_or_no("dry_run"),
)
Index("runs_by_time", runs.c.kind, runs.c.finished_at)
# For pruning, which keeps the last run of each path.
Index("runs_by_path", runs.c.kind, runs.c.path, runs.c.finished_at)
