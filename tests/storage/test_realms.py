"""What somebody may read and change: every agent, every realm, every memory."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from cortex_actors.domain.agent import OWNER, Caller, format_given
from cortex_actors.domain.memory import PROBE, Memory, Realm
from cortex_actors.errors import NotFound, NotYours
from cortex_actors.storage import memory_records, realms
from cortex_actors.storage.ledger.connection import open_reading, open_writing
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH
from tests.storage.things import mem, memory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.storage.things import Tables

AGENTS = ("A", "B", "C", "D", "E")


def hoard() -> list[Memory]:
    """Return a memory of each agent in each realm; its bridge leads to the next agent."""
    following = dict(itertools.pairwise((*AGENTS, AGENTS[0])))
    return [
        memory(
            f"{agent} {realm}",
            number,
            agent_id=agent,
            realm=realm,
            related=(following[agent],) if realm is not Realm.VILLAGE else (),
        )
        for number, (agent, realm) in enumerate(itertools.product(AGENTS, Realm))
    ]


def read(tables: Tables, *ids: str, reader: str | None) -> None:
    """Ask for memories as somebody who reads."""
    tables.read(lambda c: realms.require_readable(c, ids, reader))


def change(tables: Tables, *ids: str, caller: Caller) -> None:
    """Ask for memories as somebody who changes them."""
    tables.read(lambda c: realms.require_own(c, ids, caller))


@pytest.fixture
def some(tables: Tables) -> list[Memory]:
    """Save a memory of each agent in each realm, and a probe."""
    found = hoard()
    tables.write(lambda c: memory_records.save(c, [*found, memory("probe", 99, agent_id=PROBE)]))
    return found


class TestReadable:
    @pytest.mark.parametrize("reader", [*AGENTS, "STRANGER"])
    def test_every_pair(self, tables: Tables, some: list[Memory], reader: str) -> None:
        """What the ledger lets somebody read is exactly what the memory says of its readers."""
        ids = [each.id for each in some]
        expected = {each.id for each in some if each.readers is None or reader in each.readers}

        assert expected == tables.read(lambda c: realms.filter_readable(c, ids, reader))
        for each in ids:
            if each in expected:
                read(tables, each, reader=reader)
            else:
                with pytest.raises(NotFound):
                    read(tables, each, reader=reader)

    def test_owner(self, tables: Tables, some: list[Memory]) -> None:
        """The owner reads everything but what the daemon tries itself with."""
        ids = [each.id for each in some]

        change(tables, *ids, caller=OWNER)
        with pytest.raises(NotFound):
            change(tables, mem("probe"), caller=OWNER)
        change(tables, mem("probe"), caller=Caller(PROBE))

    def test_every_status(self, tables: Tables, some: list[Memory]) -> None:
        """Whether one may read a memory does not depend on where it stands."""
        ids = [each.id for each in some]
        tables.write(lambda c: memory_states.archive(c, ids, EPOCH + 100))
        assert {} == tables.read(lambda c: memory_records.load_active(c, ids))

        assert set(ids) == tables.read(lambda c: realms.filter_readable(c, ids, None))


class TestUnknown:
    @pytest.mark.parametrize("name", ["mem_", "", "x' OR 1=1 --", "\u202emem", "m\n" * 99])
    def test_one_text(self, tables: Tables, some: list[Memory], name: str) -> None:
        """An id that was never given is told of as one that one may not read, on one line."""
        secret = next(each.id for each in some if each.realm is Realm.PRIVATE)
        texts = []
        for each in (secret, name):
            with pytest.raises(NotFound) as refused:
                change(tables, each, caller=Caller("STRANGER"))
            texts.append(str(refused.value))
        assert texts[1].isprintable()
        called = f"#{name}" if name.isascii() and name.isprintable() else format_given(name)
        assert texts[0].replace(f"#{secret}", "ID") == texts[1].replace(called, "ID", 1)


class TestErrors:
    def test_hidden(self, tmp_path: Path) -> None:
        """An error of the ledger's does not hold what a statement was given: it may be logged."""
        for engine in (open_writing(tmp_path / "cortex.db"), open_reading(tmp_path / "cortex.db")):
            with engine.connect() as connection, pytest.raises(DatabaseError) as failed:
                connection.execute(
                    text("SELECT * FROM nothing WHERE x = :said"), {"said": "secret"}
                )
            engine.dispose()
            assert "secret" not in str(failed.value)


class TestOwn:
    def test_every_pair(self, tables: Tables, some: list[Memory]) -> None:
        """An agent changes what it said; what others said it reads at most."""
        for each, agent in itertools.product(some, AGENTS):
            if each.agent_id == agent:
                change(tables, each.id, caller=Caller(agent))
                continue
            is_read = each.readers is None or agent in each.readers
            with pytest.raises(NotYours if is_read else NotFound):
                change(tables, each.id, caller=Caller(agent))

    def test_every_id(self, tables: Tables, some: list[Memory]) -> None:
        """Every id is looked at, not the first alone; what is not there is told first."""
        mine = next(each.id for each in some if each.agent_id == "A")
        village = next(each.id for each in some if each.agent_id == "C" and each.readers is None)
        secret = next(each.id for each in some if each.text == "C private")

        with pytest.raises(NotYours, match="C said it"):
            change(tables, mine, village, caller=Caller("A"))
        with pytest.raises(NotFound, match=secret):
            change(tables, mine, village, secret, caller=Caller("A"))
