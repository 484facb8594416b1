"""Threads: what is part of a conversation, for whom, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.memory import PROBE, MemoryType, Realm
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import memory_states, village
from cortex_actors.testing import EPOCH
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from cortex_actors.domain.memory import Memory
    from tests.storage.things import Tables

VILLAGE: dict[str, Any] = {"realm": Realm.VILLAGE}
BRIDGE: dict[str, Any] = {"realm": Realm.BRIDGE, "agent_id": "B", "related": ("C",)}


@pytest.fixture(autouse=True)
def _said(tables: Tables) -> None:
    """Let A, B and C talk in two threads, and A with itself."""
    some = [
        memory("one", 1, **VILLAGE),
        memory("two", 2, **BRIDGE, replies_to=(mem("one"),)),
        memory("three", 3, agent_id="C", **VILLAGE, replies_to=(mem("one"), mem("two"))),
        memory("secret", 4, replies_to=(mem("three"),)),
        memory("else", 5, thread="other", **VILLAGE),
        memory("alone", 6, thread="", **VILLAGE),
        memory("gone", 7, **VILLAGE),
        memory("probe", 8, agent_id=PROBE, **VILLAGE),
    ]
    tables.write(lambda c: memory_records.save(c, some))
    tables.write(lambda c: memory_states.archive(c, [mem("gone")], EPOCH))


def texts(found: list[Memory]) -> list[str]:
    """Return what was said."""
    return [each.text for each in found]


class TestPosts:
    @pytest.mark.parametrize(
        ("reader", "expected"),
        [
            (None, ["one", "two", "three"]),
            ("A", ["one", "three", "probe"]),
            ("B", ["one", "two", "three", "probe"]),
            ("C", ["one", "two", "three", "probe"]),
            ("D", ["one", "three", "probe"]),
        ],
    )
    def test_readers(self, tables: Tables, reader: str | None, expected: list[str]) -> None:
        """A thread has what was said in the village and on bridges one may read [N-14]."""
        found, total = tables.read(lambda c: village.list_posts(c, "talk", reader=reader, limit=10))

        assert (expected, len(expected)) == (texts(found), total)

    def test_newest(self, tables: Tables) -> None:
        """Of a long thread the newest are shown, the oldest of them first."""
        found, total = tables.read(lambda c: village.list_posts(c, "talk", reader=None, limit=2))

        assert (["two", "three"], 3) == (texts(found), total)

    def test_unknown(self, tables: Tables) -> None:
        """A thread that nobody spoke in has nothing."""
        assert ([], 0) == tables.read(lambda c: village.list_posts(c, "x", reader=None, limit=2))


class TestListed:
    def test_order(self, tables: Tables) -> None:
        """Threads are listed with who took part, the one that was spoken in last first."""
        found, total = tables.read(lambda c: village.list_threads(c, None, limit=10))

        assert 2 == total
        assert [("other", 1, ["A"]), ("talk", 3, ["A", "B", "C"])] == [
            (each["thread"], each["posts"], each["agents"]) for each in found
        ]

    def test_reader(self, tables: Tables) -> None:
        """A thread tells nobody of what was said on a bridge that is not theirs."""
        found, _ = tables.read(lambda c: village.list_threads(c, "D", limit=1, skip=1))

        assert [("other", ["A"])] == [(each["thread"], each["agents"]) for each in found]

    def test_counts(self, tables: Tables) -> None:
        """How much was said is counted by realm, agent and type, as far as one may read it."""
        owner = tables.read(lambda c: village.count_spoken(c, None))
        other = tables.read(lambda c: village.count_spoken(c, "A"))

        assert {"bridge": 1, "village": 4} == owner["by_realm"]
        assert {"A": 3, "B": 1, "C": 1} == owner["by_agent"]
        assert {"dialogue": 5} == owner["by_type"]
        assert {"village": 5} == other["by_realm"]


class TestAnswers:
    def test_readable(self, tables: Tables) -> None:
        """The answers to a post are those that one may read; private ones are none."""
        wanted = [mem("one"), mem("two"), mem("three")]
        owner = tables.read(lambda c: village.list_answers(c, wanted, reader=None))
        other = tables.read(lambda c: village.list_answers(c, wanted, reader="A"))

        assert {mem("one"): (mem("two"), mem("three")), mem("two"): (mem("three"),)} == owner
        assert {mem("one"): (mem("three"),), mem("two"): (mem("three"),)} == other

    @pytest.mark.parametrize(
        ("replied", "realm", "expected"),
        [
            (["one"], Realm.VILLAGE, "talk"),
            (["secret", "else"], Realm.VILLAGE, "other"),
            (["alone"], Realm.VILLAGE, ""),
            (["secret"], Realm.VILLAGE, ""),
            (["secret"], Realm.PRIVATE, "talk"),
            ([], Realm.VILLAGE, ""),
        ],
    )
    def test_joined(self, tables: Tables, replied: list[str], realm: Realm, expected: str) -> None:
        """An answer joins the thread of what it answers, and never gives a private name away."""
        ids = [mem(each) for each in replied]
        beside = memory("new", 9, realm=realm)

        assert expected == tables.read(lambda c: village.find_thread(c, ids, beside=beside))


class TestStated:
    def test_twice(self, tables: Tables) -> None:
        """A fact that its agent has stated in that place is known; dialogue may be said again."""
        fact = memory("fact", 1, type=MemoryType.FACT, **VILLAGE)
        tables.write(lambda c: memory_records.save(c, [fact]))

        assert fact.id == tables.read(
            lambda c: village.find_stated(c, fact, hashed(tables, "fact"))
        )
        one = memory("one", 1, **VILLAGE)
        assert tables.read(lambda c: village.find_stated(c, one, hashed(tables, "one"))) is None


def hashed(tables: Tables, name: str) -> bytes:
    """Return the hash of a memory's text."""
    ((found,),) = tables.rows(f"SELECT text_hash FROM memories WHERE id = '{mem(name)}'")  # noqa: S608
    assert isinstance(found, bytes)
    return found
