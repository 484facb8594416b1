"""Memories that leave one ledger and arrive in another: all of them, once, overwriting nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import Memory, MemoryType, Realm
from cortex_actors.rules import interchange
from cortex_actors.storage import agent_records, memory_history, memory_records
from cortex_actors.storage.memory import memory_states, memory_transfer
from cortex_actors.storage.memory.memory_transfer import ExportFilter
from cortex_actors.testing import EPOCH
from tests.storage.things import found_by, in_memory, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from tests.storage.things import Tables


@pytest.fixture
def other() -> Iterator[Tables]:
    """Give another ledger."""
    with in_memory() as found:
        yield found


def said(text: str, at: int = 0, **known: Any) -> Memory:
    """Return a memory, as short as a test can say it."""
    fields: dict[str, Any] = {"type": MemoryType.FACT, "realm": Realm.VILLAGE, **known}
    return memory(text, at, id=text.encode().hex(), **fields)


def left(
    tables: Tables, wanted: ExportFilter | None = None, *, limit: int = 2
) -> list[dict[str, Any]]:
    """Return all records, read page by page."""
    wanted, found = wanted or ExportFilter(), []
    pages = (memory_transfer.memory_page, memory_transfer.change_page, memory_transfer.pair_page)
    for page in (*pages, memory_transfer.crumb_page):
        after: str | None = ""
        while after is not None:
            some, after = page(tables.connection, wanted, after=after, limit=limit)
            found += some
    return found


def arrived(tables: Tables, records: list[dict[str, Any]]) -> memory_transfer.Arrived:
    """Let records arrive, checked as those of a file are."""
    made = [interchange.record(each) for each in records]
    done = tables.write(lambda c: memory_transfer.arrive(c, made, at=EPOCH))
    tables.write(lambda c: memory_transfer.answer(c, made))
    return done


def told(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records by id, without what an import says of itself."""
    some = [{k: v for k, v in each.items() if k not in {"trust", "saved_by"}} for each in records]
    return sorted(some, key=lambda each: str(each.get("id")))


class TestThereAndBack:
    def test_everything(self, tables: Tables, other: Tables) -> None:
        """States, lineage, beliefs and links come as they were, whatever the pages are."""
        whole, part, late = said("whole"), said("part", 1), said("late", 2, tags=("a",))
        old, new = said("old", 3), said("new", 4, replies_to=(part.id,))
        some = [whole, part, late, old, new]
        tables.write(lambda c: memory_records.save(c, some))
        tables.write(partial(_merge, whole=whole, part=part))
        tables.write(lambda c: memory_states.supersede(c, old.id, new.id, EPOCH + 9))
        tables.write(lambda c: memory_states.archive(c, [late.id], EPOCH + 9))

        assert 5 == arrived(other, left(tables)).added[Realm.VILLAGE]
        assert told(left(tables)) == told(left(other, limit=50))
        assert {"import"} == {each["trust"] for each in left(other)}
        assert found_by(tables, whole.id) == found_by(other, whole.id)

    def test_twice(self, tables: Tables, other: Tables) -> None:
        """The same records a second time add nothing, under whichever ids."""
        tables.write(lambda c: memory_records.save(c, [said("one"), said("two", 1)]))
        records = left(tables)
        arrived(other, records)

        assert (0, 2) == _counts(arrived(other, records))
        renamed = [{**each, "id": f"foreign-{n}"} for n, each in enumerate(records)]
        assert (0, 2) == _counts(arrived(other, renamed))

    def test_foreign(self, other: Tables) -> None:
        """What another program calls its own way has one id of ours, and answers lead to it."""
        first = {"kind": "memory", "id": "village_AZOTH_17", "agent": "azoth", "text": "one"}
        reply = {**first, "id": "x", "text": "two", "responding_to": ["village_AZOTH_17"]}
        records = [{**each, "created_at": EPOCH, "realm": "village"} for each in (reply, first)]

        assert (2, 0) == _counts(arrived(other, records))
        one, two = sorted(left(other), key=lambda each: each["text"])
        assert ([one["id"]], "AZOTH") == (two["responding_to"], one["agent"])
        assert (0, 2) == _counts(arrived(other, records))

    def test_not_overwritten(self, tables: Tables, other: Tables) -> None:
        """A memory that says something else here under the same id stays as it is."""
        made = said("one")
        tables.write(lambda c: memory_records.save(c, [made]))
        other.write(lambda c: memory_records.save(c, [replace(made, text="mine")]))

        assert [made.id] == arrived(other, left(tables)).differing
        assert ["mine"] == [each["text"] for each in left(other)]

    def test_without_its_whole(self, tables: Tables, other: Tables) -> None:
        """A part that comes without its whole is archived, and no part of anything."""
        whole, part = said("whole"), said("part", 1)
        tables.write(lambda c: memory_records.save(c, [whole, part]))
        tables.write(partial(_merge, whole=whole, part=part))
        arrived(other, [each for each in left(tables) if each["text"] == "part"])

        assert [("part", "archived", EPOCH + 9)] == [
            (each["text"], each["status"], each["archived_at"]) for each in left(other)
        ]


class TestWhoseEyes:
    def test_agent(self, tables: Tables) -> None:
        """An agent's records are what it may read, and lead nowhere else."""
        mine = said("mine", realm=Realm.PRIVATE)
        theirs = said("theirs", 1, realm=Realm.PRIVATE, agent_id="VAJRA")
        village = said("village", 2, agent_id="VAJRA", replies_to=(theirs.id,))
        tables.write(lambda c: memory_records.save(c, [mine, theirs, village]))
        tables.write(lambda c: memory_states.supersede(c, mine.id, theirs.id, EPOCH + 9))
        found = left(tables, ExportFilter(reader=mine.agent_id))

        assert [("mine", "archived"), ("village", "active")] == sorted(
            (each["text"], each["status"]) for each in found
        )
        assert [] == [link for each in found for link in each["responding_to"]]

    def test_narrowed(self, tables: Tables) -> None:
        """An export can be narrowed to a realm, to an agent and to what may be found."""
        some = [
            said("one", realm=Realm.PRIVATE),
            said("two", 1),
            said("three", 2, agent_id="VAJRA"),
        ]
        tables.write(lambda c: memory_records.save(c, some))
        tables.write(lambda c: memory_states.archive(c, [some[1].id], EPOCH))

        assert ["one"] == _texts(left(tables, ExportFilter(realm=Realm.PRIVATE)))
        assert ["three"] == _texts(left(tables, ExportFilter(agent="VAJRA")))
        assert ["one", "three"] == _texts(left(tables, ExportFilter(active=True)))


class TestHostile:
    def test_no_parts(self, tables: Tables) -> None:
        """What was said here gets no part from a file: what claims to be one is archived."""
        mine = said("mine")
        tables.write(lambda c: memory_records.save(c, [mine]))
        claim = {**_record("claim"), "status": "merged", "merged_into": mine.id, "merged_as": 0}
        arrived(tables, [{**claim, "merged_at": EPOCH, "merged_by": "rules"}])

        assert [("claim", "archived"), ("mine", "active")] == sorted(
            (each["text"], each["status"]) for each in left(tables)
        )
        assert [mine.id] == [
            node.id for node in tables.read(lambda c: memory_history.tree(c, mine.id))
        ]

    def test_no_foreign_parts(self, tables: Tables) -> None:
        """Nor does what came from a file become a whole of another agent's memories."""
        whole = {**_record("whole"), "id": said("whole").id}
        claim = {**_record("claim"), "status": "merged", "merged_into": whole["id"]}
        claim |= {"agent": "VAJRA", "merged_as": 0, "merged_at": EPOCH, "merged_by": "rules"}
        arrived(tables, [whole, claim])

        assert ["claim"] == [e["text"] for e in left(tables) if e["status"] == "archived"]

    def test_no_history(self, tables: Tables) -> None:
        """Nothing was done with what was said here that only a file tells of."""
        one, two = said("one"), said("two", 1)
        tables.write(lambda c: memory_records.save(c, [one, two]))
        change = {"kind": "change", "change": "consolidate", "memory": one.id, "at": EPOCH}
        apart = {"kind": "apart", "left": one.id, "right": two.id, "at": EPOCH}
        conflict = {"kind": "conflict", "left": one.id, "right": two.id, "found_at": EPOCH}

        assert (0, 3) == _counts(arrived(tables, [change, apart, conflict]))

    def test_no_names(self, tables: Tables) -> None:
        """Nobody comes under another agent's name: it is called by its id."""
        arrived(tables, [{"kind": "agent", "id": "EVIL", "display_name": "\uff21zoth"}])

        assert {"EVIL": "EVIL"} == tables.read(lambda c: agent_records.displays(c, ["EVIL"]))


def _record(text: str) -> dict[str, Any]:
    """Return a memory as a file tells of it."""
    return {"kind": "memory", "agent": "AZOTH", "text": text, "created_at": 1, "realm": "village"}


def _merge(connection: Connection, *, whole: Memory, part: Memory) -> None:
    """Let a memory become part of another one."""
    memory_states.merge(connection, whole.id, [part.id], at=EPOCH + 9, by=Decider.RULES)


def _counts(done: memory_transfer.Arrived) -> tuple[int, int]:
    """Return how many were added, and how many were there."""
    return done.added.total(), done.existing


def _texts(records: list[dict[str, Any]]) -> list[str]:
    """Return what memories say, in order."""
    return sorted(each["text"] for each in records)


def test_crumbs(tables: Tables, other: Tables) -> None:
    """Crumbs go along, and come once."""
    made = interchange.record(
        {"kind": "crumb", "agent": "azoth", "left_at": EPOCH, "summary": "x", "unfinished": ["y"]}
    )
    tables.write(lambda c: memory_transfer.arrive(c, [made], at=EPOCH))

    assert (1, 0) == _counts(arrived(other, left(tables)))
    assert (0, 1) == _counts(arrived(other, left(tables)))
    (found,) = other.read(lambda c: agent_records.load_crumbs(c, [made["id"]])).values()
    assert ("import", "AZOTH") == (found.saved_by, found.agent_id)
