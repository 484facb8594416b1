"""Alembic's way in: it migrates the connection it is given and asks nothing of any ini file."""

from __future__ import annotations

from alembic import context

from cortex_actors.storage.tables.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # The caller's transaction holds the schema change and the version number together.
    transactional_ddl=True,
)
context.run_migrations()
