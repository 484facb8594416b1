"""Crumbs: their rows, who reads them, and the passages by which they are found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import make_ulid
from cortex_actors.domain.hit import Repair
from cortex_actors.domain.memory import CrumbRecord, CrumbType, Layer, Priority
from cortex_actors.storage import agent_records
from cortex_actors.storage.agent_records import CrumbFilter
from cortex_actors.storage.health import passages as health
from cortex_actors.storage.health.rows import MENDS
from cortex_actors.storage.ledger import salvage
from cortex_actors.storage.search.query import Where
from cortex_actors.storage.search.scope import count, make_scope
from cortex_actors.testing import EPOCH
from tests.storage.things import found_by

if TYPE_CHECKING:
    from tests.storage.things import Tables

HOUR = 3_600_000_000


def crumb(summary: str = "done", at: int = 0, **given: Any) -> CrumbRecord:
    """Return a crumb of the agent A, left so many microseconds after the epoch."""
    fields: dict[str, Any] = {"agent_id": "A", "session_id": "A_1"}
    return CrumbRecord(
        f"crm_{make_ulid(EPOCH + at)}", summary=summary, left_at=EPOCH + at, **(fields | given)
    )


def leave(tables: Tables, *some: CrumbRecord) -> None:
    """Leave crumbs."""
    for each in some:
        tables.write(partial(agent_records.leave, crumb=each))


def listed(tables: Tables, limit: int = 10, **wanted: Any) -> list[str]:
    """Return what the crumbs say that are meant."""
    found = tables.read(lambda c: agent_records.list_crumbs(c, CrumbFilter(**wanted), limit=limit))
    return [each.summary for each in found]


class TestRows:
    def test_comes_back(self, tables: Tables) -> None:
        """A crumb comes back from the ledger as it was left, part by part."""
        whole = crumb(
            type=CrumbType.EMOTIONAL,
            priority=Priority.LOW,
            discoveries=("a", "b\nc"),
            emotional_state={"joy": "high"},
            unfinished=("d",),
            references={"thread_ids": ("t",), "message_ids": ("m", "n")},
            if_disoriented=("e",),
            saved_by="A",
        )
        leave(tables, whole)

        assert {whole.id: whole} == tables.read(
            lambda c: agent_records.load_crumbs(c, [whole.id, "crm_x"])
        )

    def test_same_microsecond(self, tables: Tables) -> None:
        """Two of one agent and session in one microsecond are both kept, the last one first."""
        leave(tables, crumb("one"), crumb("two"))

        assert ["two", "one"] == listed(tables)

    def test_like(self, tables: Tables) -> None:
        """The same crumb is known again by agent, session, moment and summary."""
        first = crumb("one")
        leave(tables, first)

        assert first == tables.read(lambda c: agent_records.find_same(c, crumb("one")))
        assert tables.read(lambda c: agent_records.find_same(c, crumb("two"))) is None
        assert tables.read(lambda c: agent_records.find_same(c, crumb("one", 1))) is None


class TestListed:
    @pytest.fixture(autouse=True)
    def _left(self, tables: Tables) -> None:
        """Leave four crumbs."""
        leave(
            tables,
            crumb("old", 0, priority=Priority.HIGH),
            crumb("task", HOUR, type=CrumbType.TASK, unfinished=("x",)),
            crumb("other", 2 * HOUR, agent_id="B", priority=Priority.HIGH),
            crumb("new", 3 * HOUR, type=CrumbType.TECHNICAL),
        )

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ({}, ["new", "other", "task", "old"]),
            ({"agent": "A"}, ["new", "task", "old"]),
            ({"reader": "B"}, ["other"]),
            ({"reader": "B", "agent": "A"}, []),
            ({"since": EPOCH + HOUR}, ["new", "other", "task"]),
            ({"priority": Priority.HIGH}, ["other", "old"]),
            ({"type": CrumbType.TECHNICAL}, ["new"]),
            ({"unfinished": True}, ["task"]),
        ],
    )
    def test_wanted(self, tables: Tables, wanted: dict[str, Any], expected: list[str]) -> None:
        """Those that are meant are listed, newest first [N-21]."""
        assert expected == listed(tables, **wanted)

    def test_limit(self, tables: Tables) -> None:
        """No more are listed than were asked for, and all are counted."""
        tally = tables.read(lambda c: agent_records.count_crumbs(c, CrumbFilter(agent="A")))

        assert ["new", "other"] == listed(tables, 2)
        assert {"HIGH": 1, "MEDIUM": 2} == tally["by_priority"]
        assert {"orientation": 1, "task": 1, "technical": 1} == tally["by_type"]


class TestFound:
    def test_by_everything(self, tables: Tables) -> None:
        """A crumb is found by all that it says, alone."""
        whole = crumb("sum", discoveries=("disc",), references={"files": ("ref",)})
        leave(tables, crumb("before"), whole)

        assert {"both": "sum\ndisc\nref"} == found_by(tables, whole.id)

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (Where(), 2),
            (Where(reader="A"), 1),
            (Where(reader="C"), 0),
            (Where(agent_id="B"), 1),
            (Where(since=EPOCH + 1), 1),
            (Where(until=EPOCH + 1), 1),
            (Where(layers=(Layer.WORKING,)), 0),
            (Where(tags=("x",)), 0),
            (Where(project_id="prj"), 0),
        ],
    )
    def test_scope(self, tables: Tables, where: Where, expected: int) -> None:
        """A search finds the crumbs that whoever asks may read, if it asks for what they have."""
        leave(tables, crumb(), crumb("b", 1, agent_id="B"))
        seen = make_scope(where, (agent_records.COLLECTION,))

        assert expected == tables.read(lambda c: count(c, seen))

    def test_made_again(self, tables: Tables) -> None:
        """Passages that are lost, or of a crumb that is not there, are noticed and mended."""
        first = crumb()
        leave(tables, first)
        before = tables.rows("SELECT item_id, text FROM passages")
        tables.write(lambda c: c.exec_driver_sql("UPDATE passages SET item_id = 'crm_gone'"))

        assert [(agent_records.COLLECTION, first.id)] == tables.read(health.list_lacking)
        assert [(agent_records.COLLECTION, "crm_gone")] == tables.read(health.list_stray)
        mend = MENDS[Repair.PASSAGES]
        tables.write(lambda c: mend.work(c, "model", mend.find(c, "model")))
        assert before == tables.rows("SELECT item_id, text FROM passages")
        assert [] == tables.read(health.list_lacking)

    def test_refilled(self, tables: Tables) -> None:
        """A ledger that was brought back finds its crumbs again."""
        leave(tables, crumb())
        tables.write(lambda c: c.exec_driver_sql("DELETE FROM passages"))

        assert 1 == tables.write(salvage.refill)
        assert [("done",)] == tables.rows("SELECT text FROM passages")
