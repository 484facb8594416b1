from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import MetaData, Table, UniqueConstraint

from cortex_actors.domain.insight import (
    Category,
    Conflict,
    Decider,
    Granularity,
    InsightStatus,
    Relation,
)
from cortex_actors.domain.memory import (
    MERGEABLE,
    ChangeKind,
    ConvergenceLevel,
    CrumbType,
    Layer,
    MemoryStatus,
    MemoryType,
    Priority,
    Realm,
    SearchPlace,
)
from cortex_actors.domain.principle import (
    Ending,
    LinkType,
    Origin,
    PrincipleCategory,
    PrincipleStatus,
)
from cortex_actors.domain.project import (
    AlertKind,
    Decision,
    DecisionWay,
    SourceKind,
    StatementKind,
    Trust,
)
from cortex_actors.files.swap import WriteState
from cortex_actors.rules.proposals import ProposalKind
from cortex_actors.storage import tables
from cortex_actors.storage.ledger import files
from cortex_actors.storage.pipeline.verdicts import PairKind
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The page that says what lies in each table.
PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"

#: Migrations lie here, one file for each version.
VERSIONS = Path(tables.__file__).parents[1] / "migrations" / "versions"


#: Who may decide about memories: what agents judge are pairs of instruction files.
OF_MEMORIES = [each for each in Decider if each is not Decider.AGENT]

#: The columns that take words of a closed set: the enumeration the code has for them, or the words.
WORDS: dict[str, Iterable[str]] = {
    "alerts.kind": AlertKind,
    "approvals.decision": Decision,
    "approvals.way": DecisionWay,
    "contradictions.decided_by": Decider,
    "contradictions.status": ("unresolved", "resolved", "dismissed"),
    "contradictions.type": Conflict,
    "convergences.kind": ConvergenceLevel,
    "crumbs.priority": Priority,
    "crumbs.type": CrumbType,
    "documents.trust": Trust,
    "embedding_models.state": ("coming", "active", "retired"),
    "file_writes.state": WriteState,
    "index_ops.op": ("put", "drop"),
    "handouts.kind": PairKind,
    "insight_sources.kind": StatementKind,
    "insight_sources.trust": Trust,
    "insights.category": Category,
    "insights.granularity": Granularity,
    "insights.kind": StatementKind,
    "insights.status": InsightStatus,
    "jobs.state": ("done", "failed"),
    "knowledge_chunks.status": ("active", "withdrawn"),
    "memories.layer": Layer,
    "memories.merged_by": OF_MEMORIES,
    "memories.realm": Realm,
    "memories.status": MemoryStatus,
    "memories.trust": Trust,
    "memories.type": MemoryType,
    "memory_changes.kind": ChangeKind,
    "memory_conflicts.decided_by": OF_MEMORIES,
    "passages.place": SearchPlace,
    "proposals.kind": ProposalKind,
    "principle_links.decided_by": Decider,
    "principle_links.type": LinkType,
    "principles.category": PrincipleCategory,
    "principles.origin": Origin,
    "principles.status": PrincipleStatus,
    # A resolution that was only shown leaves no row.
    "resolutions.state": set(Ending) - {Ending.SHOWN},
    "reviews.decision": Decision,
    "revocations.kind": SourceKind,
    "runs.state": ("completed", "unchanged", "failed"),
    "verdicts.decider": Decider,
    "verdicts.relation": Relation,
}


def closed() -> Iterator[tuple[str, list[str]]]:
    """Yield the columns that take words of a closed set, with the words as the schema has them."""
    for table in metadata.tables.values():
        of_columns = [each for column in table.columns for each in column.constraints]
        for each in [*table.constraints, *of_columns]:
            said = re.fullmatch(r"(\w+) IN \(('.+')\)", str(getattr(each, "sqltext", "")))
            if said:
                yield f"{table.name}.{said[1]}", sorted(said[2].strip("'").split("', '"))


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
        named = {name: getattr(schema, name) for name in metadata.tables}

        assert dict(metadata.tables) == named
        assert not [each for each in vars(schema).values() if isinstance(each, Table)]
        with pytest.raises(AttributeError, match="no table nonsense"):
            _ = schema.nonsense

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
        assert {column: sorted(words) for column, words in WORDS.items()} == dict(closed())

    def test_said_once(self) -> None:
        """What is one memory however often it is said is what the code merges."""
        (index,) = (each for each in schema.memories.indexes if each.name == "memories_said_once")
        words = ", ".join(f"'{each}'" for each in MERGEABLE)

        assert f"type IN ({words})" in str(index.dialect_options["sqlite"]["where"])

    def test_full_text(self) -> None:
        """The full-text tables are found in the schema, and how they cut a text into words."""
        found = {"words_alone": "passages_alone", "words_paired": "passages_paired"}

        assert found == schema.WORDS
        assert "porter unicode61 remove_diacritics 2" == schema.TOKENIZE

    @pytest.mark.parametrize("name", metadata.tables)
    def test_says_what_for(self, name: str) -> None:
        """Every table has its line on the page about the ledger."""
        assert f"| `{name}` |" in PAGE.read_text("utf-8")


class TestReader:
    @pytest.mark.parametrize(
        "sql",
        [
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1",
            "CREATE TABLE t (id TEXT)",
            "CREATE TABLE t (\n    id VARCHAR(3)\n)",
            "CREATE TABLE t (\n    id TEXT,\n    CHECK (id <> '')\n)",
            "CREATE TABLE t (\n    id TEXT UNIQUE\n)",
        ],
    )
    def test_refuses(self, sql: str) -> None:
        """A statement in another form is refused, and no part of one is passed over."""
        with pytest.raises(ValueError, match="not understood"):
            schema.read(f"{sql};\n", MetaData())


class TestVersion:
    def test_newest_migration(self) -> None:
        """The version is that of the newest migration."""
        newest = max(VERSIONS.glob("v*.py")).stem

        assert f"v{files.SCHEMA_VERSION:04}" == newest

    @pytest.mark.slow
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
