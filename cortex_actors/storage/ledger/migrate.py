"""Bring a ledger to this version's schema, keeping a copy of how it was.

`PRAGMA user_version` decides in a microsecond. A new ledger is made at once as this version has it;
Alembic is imported only when there is something to migrate, because it costs a quarter of a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.clock import SystemClock
from cortex_actors.storage.ledger import backups
from cortex_actors.storage.ledger.files import SCHEMA_VERSION, refuse_schema
from cortex_actors.storage.tables.schema import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

#: Alembic's scripts.
_SCRIPTS = Path(__file__).parents[1] / "migrations"

#: What Alembic keeps its version in, by its own words: the next migration reads it.
_VERSIONS = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def migrate(engine: Engine, path: Path, *, keep: bool = True) -> int:
    """Return the version found before; afterwards the ledger has this version.

    A ledger with content is copied first, as `backups/before-v<N>-<time>.db`, unless it is a copy
    itself (`keep`). All migrations are one transaction: whatever goes wrong, or if the process is
    killed, the ledger is as it was. Raises `StoreTooNew` for a ledger that a newer program wrote:
    opening it would damage it; `StoreTooOld` for one from before the baseline; `StorageFull` when
    there is no room for the copy.
    """
    with engine.connect() as connection:
        found = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    refuse_schema(found, path, doing="open the ledger", instead="use another home")
    if found < SCHEMA_VERSION:
        if found and keep:
            backups.before_migration(path, version=found, at=SystemClock().now())
        with engine.begin() as connection:
            if found:
                _upgrade(connection)
            else:
                _create(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return found


def _create(connection: Connection) -> None:
    """Make what all migrations together make of nothing, in a tenth of their time."""
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(_VERSIONS)
    head = f"{SCHEMA_VERSION:04}"
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (head,))


def _upgrade(connection: Connection) -> None:
    """Run every migration that has not run yet, inside the caller's transaction."""
    from alembic import command  # noqa: PLC0415 - imported only to migrate
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def statements(script: str) -> list[str]:
    """Return what a migration does, one statement each: the `.sql` file beside its script."""
    text = Path(script).with_suffix(".sql").read_text("utf-8")
    return [each for each in text.split(";\n") if each.strip()]


def run(script: str) -> None:
    """Run a migration's statements, in the caller's transaction; `script` is its `__file__`."""
    from alembic import op  # noqa: PLC0415 - a quarter of a second, and only here

    connection = op.get_bind()
    for statement in statements(script):
        connection.exec_driver_sql(statement)
