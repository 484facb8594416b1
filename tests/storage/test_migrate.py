from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from cortex_actors.errors import StoreTooNew, StoreTooOld
from cortex_actors.storage.ledger import connection as module
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.ledger.files import OLDEST_SCHEMA, SCHEMA_VERSION
from cortex_actors.storage.migrations.versions import v0007
from cortex_actors.storage.pipeline.verdicts import load_of_people
from cortex_actors.storage.tables.schema import metadata, verdicts
from tests.storage.later import OLD, become_later
from tests.storage.ledgers import statements
from tests.storage.schema_rows import INSIGHTS, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine

#: Asks whether a name is a table's or an index's.
_KIND = "SELECT type FROM sqlite_master WHERE name = '{}'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a path where no ledger is yet."""
    return tmp_path / "cortex.db"


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """Give the writing engine of that path."""
    engine = opening.open_writing(path)
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

    def test_is_the_code(self, engine: Engine) -> None:
        """What the migrations make is what the code expects."""
        run_all(engine)
        with engine.begin() as connection:
            opts = {"compare_type": True, "include_name": is_ours}
            context = MigrationContext.configure(connection, opts=opts)
            differences = compare_metadata(context, metadata)

        assert [] == differences

    def test_made_at_once(self, engine: Engine, path: Path) -> None:
        """A new ledger is to the letter, and row by row, what the migrations make of nothing."""
        run_all(engine)
        made = opening.open_writing(path.with_name("made.db"))
        migrate(made, path)
        migrated, new = (statements(each) for each in (engine, made))
        rows = [rows_of(each, set(new)) for each in (engine, made)]
        made.dispose()

        assert migrated == new
        assert rows[0] == rows[1]
        assert {f"{SCHEMA_VERSION:04}"} == rows[1]["alembic_version"]

    def test_goes_on_from_there(self, engine: Engine, path: Path) -> None:
        """Alembic finds nothing to do in a ledger that was made at once."""
        migrate(engine, path)
        before = statements(engine)
        run_all(engine)

        assert before == statements(engine)

    @pytest.mark.parametrize("version", [0, OLD])
    def test_all_or_nothing(
        self, engine: Engine, path: Path, monkeypatch: pytest.MonkeyPatch, version: int
    ) -> None:
        """A migration that fails leaves the ledger as it was, and can be run again."""
        become_later(path.parent / "later", monkeypatch.setattr)
        step = "_upgrade" if version else "_create"
        whole = getattr(module, step)

        def fails(connection: Connection) -> None:
            whole(connection)
            raise OSError("the power is gone")

        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        with monkeypatch.context() as cut:
            cut.setattr(module, step, fails)
            with pytest.raises(OSError, match="power"):
                migrate(engine, path)
        left = ask(engine, "SELECT name FROM sqlite_master"), ask(engine, "PRAGMA user_version")

        assert ([], [version]) == left
        assert version == migrate(engine, path)

    def test_newer(self, engine: Engine, path: Path) -> None:
        """A newer program's ledger is refused with what to do."""
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA user_version = 99")
        with pytest.raises(StoreTooNew, match="install the newer cortex-actors"):
            migrate(engine, path)

    @pytest.mark.parametrize("version", [1, OLDEST_SCHEMA - 1])
    def test_older_than_the_baseline(self, engine: Engine, path: Path, version: int) -> None:
        """A ledger from before the baseline is refused, with the way to upgrade, and not copied."""
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        text = f"schema version {version}, this program reads {OLDEST_SCHEMA} and newer; start it"
        with pytest.raises(StoreTooOld, match=text) as caught:
            migrate(engine, path)

        assert 78 == caught.value.exit_code
        assert [version] == ask(engine, "PRAGMA user_version")
        assert [] == list(path.parent.rglob("before-*"))


class TestCopy:
    def test_new_ledger(self, engine: Engine, path: Path) -> None:
        """There is nothing to copy of a ledger that is new."""
        migrate(engine, path)

        assert [] == list(path.parent.rglob("before-*"))


def run_all(engine: Engine) -> None:
    """Run every migration there is that has not run yet."""
    with engine.begin() as connection:
        module._upgrade(connection)


def rows_of(engine: Engine, names: set[str]) -> dict[str, set[object]]:
    """Return the first column of each table that holds a row; SQLite's own books are its affair."""
    plain = [each for each in names if not each.startswith(("ix_", "words_"))]
    tables = [each for each in plain if "table" in ask(engine, _KIND.format(each))]
    found = {each: set(ask(engine, f"SELECT * FROM {each}")) for each in tables}  # noqa: S608
    return {name: rows for name, rows in found.items() if rows and name != "sqlite_sequence"}


def make_version_7(connection: Connection) -> None:
    """Make an empty ledger of schema 7."""
    for each in module.read_statements(v0007.__file__):
        connection.exec_driver_sql(each)
    connection.exec_driver_sql(module._VERSIONS)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0007')")
    connection.exec_driver_sql("PRAGMA user_version = 7")


class TestScans:
    def test_since(self, engine: Engine, path: Path) -> None:
        """A ledger of schema 7 knows since when its texts are said: since their first revision."""
        with engine.begin() as connection:
            make_version_7(connection)
            for name in ("projects", "insights", "insight_sources"):
                for row in ROWS[name]:
                    connection.execute(insert(metadata.tables[name]).values(row))
            for revision, at in (("r1", 30), ("r2", 20)):
                row = {"source_id": 1, "file_hash": revision, "at": at}
                connection.execute(insert(metadata.tables["observations"]).values(row))
        migrate(engine, path, keep=False)

        with engine.begin() as connection:
            found = connection.exec_driver_sql("SELECT * FROM said_since").all()
        assert [(INSIGHTS[1], "prj_a", 20)] == [tuple(each) for each in found]


class TestBelonging:
    def test_none(self, engine: Engine, path: Path) -> None:
        """What an older home remembers and left belongs to no project, and is said once as ever."""
        tables = ("agents", "memories", "crumbs")
        with engine.begin() as connection:
            make_version_7(connection)
            for name in tables:
                for row in ROWS[name]:
                    connection.execute(insert(metadata.tables[name]).values(row))
            before = [list(connection.exec_driver_sql(f"SELECT id FROM {e}")) for e in tables]  # noqa: S608
        migrate(engine, path, keep=False)

        with engine.begin() as connection:
            after = [list(connection.exec_driver_sql(f"SELECT id FROM {e}")) for e in tables]  # noqa: S608
        assert before == after
        for name in tables[1:]:
            assert {""} == set(ask(engine, f"SELECT project_id FROM {name}"))  # noqa: S608
        columns = list(map(str, ask(engine, "SELECT name FROM pragma_table_info('memories')")))

        def copied(**values: str) -> str:
            some = {"id": "'mem_' || hex(randomblob(13))", **values}
            chosen = ", ".join(some.get(each, f'"{each}"') for each in columns)
            return f"INSERT INTO memories SELECT {chosen} FROM memories WHERE status = 'active'"  # noqa: S608

        with engine.begin() as connection:
            connection.exec_driver_sql(copied(project_id="'prj_a'"))
        with engine.begin() as connection, pytest.raises(IntegrityError, match="project_id"):
            connection.exec_driver_sql(copied())


#: What schema 8 has of models: layer, question and answer -> the relation it is kept with.
ANSWERED = (
    ("llm", "compare", {"relation": "same", "reason": "alike"}, "same"),
    ("llm", "compare", {"relation": "contradiction"}, "contradiction"),
    ("llm", "compare", {"relation": "unsure"}, None),
    ("nli", "compare", {"relation": "same"}, None),
    ("llm", "summarise", {"relation": "same"}, None),
)

#: What people decided in schema 8: status, which of the two was kept, the note -> the relation.
DECIDED = (
    ("resolved", 0, "the newer one", "contradiction"),
    ("resolved", 1, None, "contradiction"),
    ("resolved", None, "both are old", "contradiction"),
    ("dismissed", None, None, "related"),
    ("unresolved", None, None, None),
)

_OLD_ANSWER = "INSERT INTO verdicts (key, layer, model, question, answer, at) VALUES (?,?,?,?,?,?)"
_OLD_DECISION = (
    "INSERT INTO contradictions (id, insight_a, insight_b, type, detected_by, decided_by, reason,"
    " detected_at, status, resolved_at, kept_id, resolution)"
    " VALUES (?, ?, ?, 'direct', 'reconciler', 'rules', 'npm or pnpm', 1, ?, ?, ?, ?)"
)
_LEFT = "SELECT status, resolved_at, resolution, confidence FROM contradictions ORDER BY id"


class TestVerdicts:
    def test_answers(self, engine: Engine, path: Path) -> None:
        """A model's answer is kept to the letter, of a language model with what two texts are."""
        with engine.begin() as connection:
            make_version_7(connection)
            for number, (layer, question, answer, _) in enumerate(ANSWERED):
                row = (bytes([number]) * 32, layer, "m1", question, json.dumps(answer), number)
                connection.exec_driver_sql(_OLD_ANSWER, row)
        migrate(engine, path, keep=False)

        with engine.begin() as connection:
            found = connection.execute(select(verdicts).order_by(verdicts.c.at)).all()
        assert [
            (bytes([number]) * 32, layer, "m1", question, None, None, relation, answer, number)
            for number, (layer, question, answer, relation) in enumerate(ANSWERED)
        ] == [tuple(each) for each in found]

    def test_decisions(self, engine: Engine, path: Path) -> None:
        """What a person decided of a contradiction becomes a verdict about its two texts."""
        names = [(f"ins_{n:020x}", f"{n:020x}" + "e" * 44) for n in range(2 * len(DECIDED))]
        pairs = [names[n : n + 2] for n in range(0, len(names), 2)]
        with engine.begin() as connection:
            make_version_7(connection)
            for name, digest in names:
                row = {**ROWS["insights"][0], "id": name, "content": name, "content_hash": digest}
                connection.execute(insert(metadata.tables["insights"]).values(row))
            for number, (two, (status, kept, note, _)) in enumerate(
                zip(pairs, DECIDED, strict=True)
            ):
                at = None if status == "unresolved" else 10 + number
                holds = None if kept is None else two[kept][0]
                said = (f"ctr_{number}", two[0][0], two[1][0], status, at, holds, note)
                connection.exec_driver_sql(_OLD_DECISION, said)
        migrate(engine, path, keep=False)

        with engine.begin() as connection:
            found = connection.execute(select(verdicts).order_by(verdicts.c.at)).all()
            words = load_of_people(connection)
            left = connection.exec_driver_sql(_LEFT).all()
        expected = [
            (("person", "owner", "compare", *(digest for _, digest in two)), relation, 10 + number)
            for number, (two, (*_, relation)) in enumerate(zip(pairs, DECIDED, strict=True))
            if relation
        ]
        assert expected == [(tuple(each[1:6]), each.relation, each.at) for each in found]
        assert [(status, note) for status, _, note, relation in DECIDED if relation] == [
            (each.answer["said"], each.answer["note"]) for each in found
        ]
        for two, (_, kept, _, relation) in zip(pairs, DECIDED, strict=True):
            word = words.pop((two[0][0], two[1][0]), None)
            assert relation == (word and word.relation)
            assert word is None or word.keep == (None if kept is None else two[kept][0])
        assert {} == words
        assert [
            (status, None if status == "unresolved" else 10 + number, note, 1.0)
            for number, (status, _, note, _) in enumerate(DECIDED)
        ] == [tuple(each) for each in left]
