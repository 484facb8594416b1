from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from cortex_actors.errors import StoreTooNew
from cortex_actors.storage import connection as opening
from cortex_actors.storage import migrate as module
from cortex_actors.storage.migrate import migrate
from cortex_actors.storage.schema import SCHEMA_VERSION, metadata

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a path where no ledger is yet."""
    return tmp_path / "cortex.db"


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """Give the writing engine of that path."""
    engine = opening.writing(path)
    yield engine
    engine.dispose()


def ask(engine: Engine, sql: str) -> list[object]:
    """Return the first column of a query."""
    with engine.begin() as connection:
        return list(connection.exec_driver_sql(sql).scalars())


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Tell what Alembic is to compare: it knows no full-text tables, which are compared below."""
    return kind != "table" or not (name or "").startswith("words_")


class TestMigrate:
    def test_new(self, engine: Engine, path: Path) -> None:
        """A new ledger becomes this version's; a second time there is nothing to do."""
        found = [migrate(engine, path), migrate(engine, path)]

        assert [0, SCHEMA_VERSION] == found
        assert [SCHEMA_VERSION] == ask(engine, "PRAGMA user_version")

    def test_is_the_code(self, engine: Engine, path: Path) -> None:
        """What the migrations make is what the code expects."""
        migrate(engine, path)
        with engine.begin() as connection:
            opts = {"compare_type": True, "include_name": is_ours}
            context = MigrationContext.configure(connection, opts=opts)
            differences = compare_metadata(context, metadata)

        assert [] == differences

    def test_is_the_code_to_the_letter(self, engine: Engine, path: Path) -> None:
        """Every table and index is made by the statement the code would make it with."""
        migrate(engine, path)
        made = opening.writing(path.with_name("made.db"))
        metadata.create_all(made)
        migrated, expected = statements(engine), statements(made)
        made.dispose()

        assert expected == migrated

    def test_all_or_nothing(
        self, engine: Engine, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A migration that fails leaves the ledger as it was, and can be run again."""
        upgrade = module._upgrade

        def fails(connection: Connection) -> None:
            upgrade(connection)
            raise OSError("the power is gone")

        monkeypatch.setattr(module, "_upgrade", fails)
        with pytest.raises(OSError, match="power"):
            migrate(engine, path)
        left = ask(engine, "SELECT name FROM sqlite_master"), ask(engine, "PRAGMA user_version")
        monkeypatch.undo()

        assert ([], [0]) == left
        assert 0 == migrate(engine, path)

    def test_newer(self, engine: Engine, path: Path) -> None:
        """A newer program's ledger is refused with what to do."""
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA user_version = 99")
        with pytest.raises(StoreTooNew, match="install the newer cortex-actors"):
            migrate(engine, path)


class TestCopy:
    def test_new_ledger(self, engine: Engine, path: Path) -> None:
        """There is nothing to copy of a ledger that is new."""
        migrate(engine, path)

        assert [] == list(path.parent.rglob("before-*"))


def statements(engine: Engine) -> dict[str, str]:
    """Return what made each table and index, without what only looks different."""
    query = (
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'alembic_version'"
    )
    with engine.begin() as connection:
        rows = connection.exec_driver_sql(query).all()
    # A table that was renamed has its name, and those it refers to, in quotation marks.
    plain = str.maketrans({'"': " ", "(": " ( ", ")": " ) ", ",": " , "})
    return {name: " ".join(sql.translate(plain).split()) for name, sql in rows}
