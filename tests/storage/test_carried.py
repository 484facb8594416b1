"""Memories that leave one ledger and arrive in another: each once, overwriting nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import start_ulid
from cortex_actors.domain.memory import CrumbRecord, Memory, MemoryType, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.render import memorycore
from cortex_actors.storage import agent_records, memory_records
from cortex_actors.storage.memory import memory_states, memory_transfer, village
from cortex_actors.storage.memory.memory_transfer import ExportFilter
from cortex_actors.testing import EPOCH
from tests.storage.things import found_by, in_memory, memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def left(tables: Tables, wanted: ExportFilter | None = None, *, limit: int = 2) -> list[Any]:
    """Return all memories and crumbs, read page by page."""
    found: list[Any] = []
    for page in (memory_transfer.list_memories, memory_transfer.list_crumbs):
        after: str | None = ""
        while after is not None:
            some = page(tables.connection, wanted or ExportFilter(), after=after, limit=limit)
            found += some
            after = some[-1].id if len(some) == limit else None
    return found


def records(some: Sequence[Memory | CrumbRecord]) -> list[dict[str, Any]]:
    """Return memories and crumbs as a file has them."""
    return [memorycore.format_record(each, None) for each in some]


def arrived(tables: Tables, some: Sequence[dict[str, Any]]) -> memory_transfer.Arrived:
    """Let records arrive, checked as those of a file are."""
    made = [memorycore.read_record("cortex_private", each) for each in some]
    done = tables.write(lambda c: memory_transfer.import_records(c, made))
    links = {e.item.id: e.item.replies_to for e in made if isinstance(e.item, Memory)}
    tables.write(lambda c: memory_transfer.link_replies(c, links))
    return done


class TestThereAndBack:
    def test_everything(self, tables: Tables, other: Tables) -> None:
        """Texts, links, tags and pins come as they were, whatever the pages are."""
        first, late = said("first"), said("late", 2, tags=("a",), pinned_at=EPOCH)
        some = [first, late, said("new", 4, replies_to=(first.id,), thread="t")]
        tables.write(lambda c: memory_records.save(c, some))

        assert 3 == arrived(other, records(left(tables))).added[Realm.VILLAGE]
        mine = [replace(each, trust=Trust.IMPORT) for each in left(tables)]
        assert mine == left(other, limit=50)
        assert found_by(tables, first.id) == found_by(other, first.id)

    def test_twice(self, tables: Tables, other: Tables) -> None:
        """The same records a second time add nothing, under whichever ids."""
        tables.write(lambda c: memory_records.save(c, [said("one"), said("two", 1)]))
        some = records(left(tables))
        arrived(other, some)

        assert (0, 2) == _counts(arrived(other, some))
        renamed = [{**each, "id": f"foreign-{n}"} for n, each in enumerate(some)]
        assert (0, 2) == _counts(arrived(other, renamed))

    def test_foreign(self, other: Tables) -> None:
        """What another program calls its own way has one id of ours, and answers lead to it."""
        first = {"id": "village_AZOTH_17", "agent_id": "azoth", "content": "one"}
        reply = {**first, "id": "x", "content": "two", "responding_to": ["village_AZOTH_17"]}
        some = [{**each, "created_at": 1, "visibility": "village"} for each in (reply, first)]

        assert (2, 0) == _counts(arrived(other, some))
        one, two = sorted(left(other), key=lambda each: str(each.text))
        assert ((one.id,), "AZOTH") == (two.replies_to, one.agent_id)
        assert (0, 2) == _counts(arrived(other, some))

    def test_not_overwritten(self, tables: Tables, other: Tables) -> None:
        """A memory that says something else here under the same id stays as it is."""
        made = said("one")
        tables.write(lambda c: memory_records.save(c, [made]))
        other.write(lambda c: memory_records.save(c, [replace(made, text="mine")]))

        assert [made.id] == arrived(other, records(left(tables))).differing
        assert ["mine"] == [each.text for each in left(other)]

    def test_crumbs(self, tables: Tables, other: Tables) -> None:
        """Crumbs go along, and come once."""
        crumb = CrumbRecord(
            f"crm_{start_ulid(EPOCH)}{'0' * 16}", "AZOTH", "s", "x", EPOCH, unfinished=("y",)
        )
        tables.write(lambda c: agent_records.leave(c, crumb))
        some = records(left(tables))

        assert (1, 0) == _counts(arrived(other, some))
        assert (0, 1) == _counts(arrived(other, some))
        (found,) = left(other)
        assert ("import", "AZOTH", ("y",)) == (found.saved_by, found.agent_id, found.unfinished)


class TestWhoseEyes:
    def test_agent(self, tables: Tables) -> None:
        """An agent's records are what it may read, and lead nowhere else."""
        mine = said("mine", realm=Realm.PRIVATE)
        theirs = said("theirs", 1, realm=Realm.PRIVATE, agent_id="VAJRA")
        post = said("village", 2, agent_id="VAJRA", replies_to=(theirs.id,))
        tables.write(lambda c: memory_records.save(c, [mine, theirs, post]))
        found = left(tables, ExportFilter(reader=mine.agent_id))

        assert ["mine", "village"] == sorted(each.text for each in found)
        assert {()} == {each.replies_to for each in found}

    def test_narrowed(self, tables: Tables) -> None:
        """An export has what may be found, and can be narrowed to a realm and to an agent."""
        some = [
            said("one", realm=Realm.PRIVATE),
            said("two", 1),
            said("three", 2, agent_id="VAJRA"),
        ]
        tables.write(lambda c: memory_records.save(c, some))
        tables.write(lambda c: memory_states.archive(c, [some[1].id], EPOCH))

        assert ["one"] == [e.text for e in left(tables, ExportFilter(realm=Realm.PRIVATE))]
        assert ["three"] == [e.text for e in left(tables, ExportFilter(agent="VAJRA"))]
        assert ["one", "three"] == sorted(each.text for each in left(tables))


class TestWithinGroup:
    def test_same_id(self, tables: Tables) -> None:
        """Of two records with one id the first counts; the other may say something else."""
        one, again = records([said("one"), replace(said("one"), text="other")])
        done = arrived(tables, [one, again])

        assert (["one"], [said("one").id]) == ([e.text for e in left(tables)], done.differing)

    def test_same_text(self, tables: Tables) -> None:
        """What is said twice in one place comes once; elsewhere, or as dialogue, it comes, too."""
        names = ("one", "two", "three", "four")
        some = [replace(said(name, n), text="one") for n, name in enumerate(names)]
        some[2] = replace(some[2], thread="t")
        some[3] = replace(some[3], type=MemoryType.DIALOGUE)

        assert (3, 1) == _counts(arrived(tables, records(some)))
        assert [some[n].id for n in (0, 2, 3)] == sorted(
            (each.id for each in left(tables)), key=[each.id for each in some].index
        )

    def test_thread(self, tables: Tables) -> None:
        """Each is found with what comes before it, in whichever order they come."""
        first, second = said("a1", thread="t"), said("b2", 1, thread="t")
        arrived(tables, records([second, first]))

        assert {"alone": "b2", "paired": "a1\nb2"} == found_by(tables, second.id)


def test_agents(tables: Tables) -> None:
    """An agent is known since the first record that names it; another stays as it was."""
    arrived(tables, records([said("a1", realm=Realm.BRIDGE, agent_id="A", related=("B",))]))
    arrived(tables, records([said("b2", 9, agent_id="B"), said("c3", 9, agent_id="C")]))
    found = {each: agent_records.load_agent(tables.connection, each) for each in "ABC"}

    assert [EPOCH, EPOCH, EPOCH + 9] == [each.registered_at for each in found.values() if each]


def test_posts(tables: Tables) -> None:
    """Posts that hold wait to be compared with what other agents say, and nothing else does."""
    arrived(tables, records([said("a1", realm=Realm.PRIVATE), said("b2", 1)]))

    assert 1 == tables.read(village.count_waiting)


def _counts(done: memory_transfer.Arrived) -> tuple[int, int]:
    """Return how many were added, and how many were there."""
    return done.added.total(), done.existing
