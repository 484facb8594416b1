"""Files of thousands of sections: a few statements each, none longer than SQLite takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import event

from cortex_actors.storage.pipeline import insights, principles
from cortex_actors.storage.tables.dialect import execute
from tests.storage.support import ATLAS, findings, id_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"


class TestMany:
    async def test_statements(self, store: Store) -> None:
        """A file costs a few short statements, however many sections it has."""
        seen: list[int] = []
        many = findings(HERE, [f"say {n}" for n in range(5_000)], ATLAS)
        await store.says(HERE, "another thing")

        def note(*told: object) -> None:
            values = told[3]
            assert isinstance(values, (tuple, list))
            seen.append(0 if told[5] else len(values))  # told[5]: executed once for each row

        def work(connection: Connection) -> None:
            event.listen(connection, "before_cursor_execute", note)
            for said in (many, many[2_500:], many):
                insights.learn(connection, said, project_id=ATLAS.id, path=HERE, at=1)
            insights.silence(connection, HERE, 2)
            insights.weigh(connection, [(each.insight_id, 0.6) for each in many])
            event.remove(connection, "before_cursor_execute", note)

        await store.write(work)
        assert len(seen) < 100
        assert max(seen) < 1_010

    async def test_past_sqlalchemy(self, store: Store) -> None:
        """A small file is learned by the driver alone: SQLAlchemy took most of its time."""
        seen: list[object] = []
        said = findings(HERE, ["one thing"], ATLAS)
        await store.says("/projects/atlas/AGENTS.md", "another thing")

        def work(connection: Connection) -> None:
            event.listen(connection, "before_cursor_execute", lambda *told: seen.append(told[2]))
            insights.learn(connection, said, project_id=ATLAS.id, path=HERE, at=1)

        await store.write(work)
        assert [] == seen

    async def test_of_a_project(self, store: Store) -> None:
        """How long a file takes does not depend on which index of places was made first."""
        query = "EXPLAIN QUERY PLAN " + insights._BEGIN
        plan = await store.read(lambda c: execute(c, query, '["a"]', ATLAS.id, 1).fetchall())

        assert any("said_id=?" in step[3] for step in plan), plan

    async def test_very_many_ids(self, store: Store) -> None:
        """More ids than one statement takes are looked up all the same."""
        await store.says(HERE, "a", "b")
        ids = [*(f"ins_{n}" for n in range(40_000)), id_of("a"), id_of("b")]
        known = await store.read(lambda c: insights.load_live(c, ids))
        found = await store.read(lambda c: insights.load_sources(c, ids))
        derived = await store.read(lambda c: principles.load_derived(c, ids))

        assert {id_of("a"), id_of("b")} == known.keys() == found.keys()
        assert set() == derived
