from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Table, UniqueConstraint

from cortex_actors.domain.insight import Category, InsightStatus
from cortex_actors.domain.memory import Place
from cortex_actors.domain.principle import PrincipleCategory
from cortex_actors.storage import tables
from cortex_actors.storage.ledger import files
from cortex_actors.storage.tables import knowledge, memory, system
from cortex_actors.storage.tables.columns import one_of
from cortex_actors.storage.tables.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The page that says what lies in each table.
PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"

#: Migrations lie here, one file for each version.
VERSIONS = Path(tables.__file__).parents[1] / "migrations" / "versions"


def looked_up(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield the columns by which rows of a table are found without reading all of them."""
    yield tuple(table.primary_key.columns.keys())
    yield from (tuple(each.columns.keys()) for each in table.indexes)
    for each in table.constraints:
        if isinstance(each, UniqueConstraint):
            yield tuple(each.columns.keys())


class TestSchema:
    def test_one_name(self) -> None:
        """Every table is found in one place, under its own name."""
        named = [
            (name, table)
            for module in (knowledge, memory, system)
            for name, table in vars(module).items()
            if isinstance(table, Table)
        ]

        assert dict(metadata.tables) == dict(named)
        assert len(metadata.tables) == len(named)

    @pytest.mark.parametrize("name", metadata.tables)
    def test_references_are_found(self, name: str) -> None:
        """A foreign key is looked up from both ends, and no end reads a whole table."""
        table = metadata.tables[name]
        found = list(looked_up(table))
        for column in table.columns:
            for key in column.foreign_keys:
                assert any(each[0] == column.name for each in found), column
                assert [key.column] == list(key.column.table.primary_key), column

    def test_sets_are_the_domains(self) -> None:
        """Where the domain has a closed set, the schema has the same one."""
        sets = {
            ("insights", "category"): Category,
            ("insights", "status"): InsightStatus,
            ("principles", "category"): PrincipleCategory,
            ("passages", "place"): Place,
        }
        for (table, column), words in sets.items():
            checks = {str(getattr(c, "sqltext", "")) for c in metadata.tables[table].constraints}
            assert str(one_of(column, words)[1].sqltext) in checks

    @pytest.mark.parametrize("name", metadata.tables)
    def test_says_what_for(self, name: str) -> None:
        """Every table has its line on the page about the ledger."""
        assert f"| `{name}` |" in PAGE.read_text("utf-8")


class TestVersion:
    def test_newest_migration(self) -> None:
        """The version is that of the newest migration."""
        newest = max(VERSIONS.glob("v*.py")).stem

        assert f"v{files.SCHEMA_VERSION:04}" == newest

    def test_costs_nothing(self) -> None:
        """Who only asks for the version imports no SQLAlchemy."""
        code = "import cortex_actors.storage.ledger.files, sys; print('sqlalchemy' in sys.modules)"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )

        assert "False\n" == ran.stdout

    def test_statements(self) -> None:
        """The statements of a migration that lie in a file of their own are cut where they end."""
        for each in VERSIONS.glob("*.sql"):
            text = each.read_text("utf-8")
            assert text.count(";") == text.count(";\n")
