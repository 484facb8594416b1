"""Agents: their profiles in the ledger, and of whom an agent may know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import DEFAULT, KNOWN, Agent, describe_unknown
from cortex_actors.domain.memory import PROBE, Realm
from cortex_actors.errors import BadInput
from cortex_actors.storage import agent_records, memory_records
from cortex_actors.storage.tables.columns import count_rows
from cortex_actors.storage.tables.schema import agents
from tests.storage.things import memory

if TYPE_CHECKING:
    from tests.storage.things import Tables

LUMEN = Agent(
    "LUMEN",
    "Lumen",
    "☼",
    "#228B22",
    generation=2,
    lineage="Azoth",
    specialization="Release notes",
    origin_story="Made on a Monday.",
    registered_at=5,
)


def one(tables: Tables, name: str, reader: str | None = None) -> Agent | None:
    """Return an agent that somebody may know of."""
    return tables.read(lambda c: agent_records.load_agent(c, name, reader))


def seen(tables: Tables, reader: str | None) -> set[str]:
    """Return the agents that somebody may know of, without those known from the start."""
    found, total = tables.read(lambda c: agent_records.list_agents(c, reader, limit=100))
    assert total == len(found)
    names = {each.id for each in found}
    for each in names:
        assert one(tables, each, reader)
    return names - KNOWN.keys()


def everyone(tables: Tables, reader: str | None) -> list[str]:
    """Return the ids of all agents that somebody may know of."""
    found, _ = tables.read(lambda c: agent_records.list_agents(c, reader, limit=100))
    return [each.id for each in found]


class TestProfile:
    def test_comes_back(self, tables: Tables) -> None:
        """A profile comes back from the ledger as it was given."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))

        assert LUMEN == one(tables, "LUMEN")

    def test_anew(self, tables: Tables) -> None:
        """Another profile takes the place of the first; since when it is known stays."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))
        other = replace(LUMEN, display_name="Lumen II", lineage="", registered_at=9)
        tables.write(lambda c: agent_records.describe(c, other))

        assert replace(other, registered_at=5) == one(tables, "LUMEN")

    def test_kept(self, tables: Tables) -> None:
        """Whoever has a profile keeps it when it remembers something."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))
        tables.write(lambda c: agent_records.add_agents(c, ["LUMEN", "VAJRA", "NEW"], at=7))

        found = {each: one(tables, each) for each in ("VAJRA", "NEW")}
        assert {
            "VAJRA": replace(KNOWN["VAJRA"], registered_at=7),
            "NEW": describe_unknown("NEW", at=7),
        } == found
        assert LUMEN == one(tables, "LUMEN")
        assert 3 == tables.read(lambda c: count_rows(c, agents))

    def test_from_the_start(self, tables: Tables) -> None:
        """A fresh home lists the default agent alone; one of the original is shown when asked."""
        assert KNOWN["AZOTH"] == one(tables, "AZOTH")
        assert one(tables, "LUMEN") is None
        assert [DEFAULT.id] == [
            each.id
            for each in tables.read(lambda c: agent_records.list_agents(c, None, limit=100))[0]
        ]

    def test_seeded(self, tables: Tables) -> None:
        """Seeding describes the original's six once, and leaves a profile that one has alone."""
        own = replace(KNOWN["KETHER"], specialization="Poems", registered_at=3)
        tables.write(lambda c: agent_records.describe(c, own))
        tables.write(lambda c: agent_records.add_agents(c, ["VAJRA"], at=4))
        new = tables.write(lambda c: agent_records.seed(c, at=9))
        again = tables.write(lambda c: agent_records.seed(c, at=10))

        assert (KNOWN.keys() - {"KETHER"}, []) == ({*new}, again)
        vajra = replace(KNOWN["VAJRA"], registered_at=4)
        assert (own, vajra) == (one(tables, "KETHER"), one(tables, "VAJRA"))
        listed = tables.read(lambda c: agent_records.list_agents(c, "STRANGER", limit=100))[0]
        assert KNOWN.keys() | {"STRANGER"} == {each.id for each in listed}

    def test_page(self, tables: Tables) -> None:
        """A list is read in pages, by id."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))
        tables.write(lambda c: agent_records.seed(c, at=1))
        found, total = tables.read(lambda c: agent_records.list_agents(c, None, limit=2, skip=4))

        assert (7, ["LUMEN", "NOURI"]) == (total, [each.id for each in found])


class TestNames:
    def test_displays(self, tables: Tables) -> None:
        """What people read for an agent is its profile's name, else its id."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))

        assert {"LUMEN": "Lumen", "AZOTH": "Azoth", "X": "X"} == tables.read(
            lambda c: agent_records.load_display_names(c, ["LUMEN", "AZOTH", "X", "X"])
        )

    @pytest.mark.parametrize("name", ["Azoth", "AZOTH", "azoth", "\uff21zoth", "lumen"])
    def test_of_another(self, tables: Tables, name: str) -> None:
        """Nobody is shown under a name that is read as another agent's."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))

        with pytest.raises(BadInput, match="choose another"):
            tables.read(
                lambda c: agent_records.require_own_name(
                    c, replace(LUMEN, id="X", display_name=name)
                )
            )

    def test_own(self, tables: Tables) -> None:
        """An agent is shown under its own name, however it writes it."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))

        tables.read(
            lambda c: agent_records.require_own_name(c, replace(LUMEN, display_name="LUMEN"))
        )


class TestKnownTo:
    def test_met(self, tables: Tables) -> None:
        """An agent knows of those it met in what it may read, and of those with a profile."""
        tables.write(lambda c: agent_records.describe(c, LUMEN))
        some = [
            memory("secret", 1, agent_id="A", related=("HIDDEN",)),
            memory("said", 2, agent_id="B", realm=Realm.VILLAGE, related=("NAMED",)),
            memory("bridge", 3, agent_id="C", realm=Realm.BRIDGE, related=("A", "D")),
        ]
        tables.write(lambda c: memory_records.save(c, some))

        village = {"LUMEN", "B", "NAMED"}
        assert village | {"A", "HIDDEN", "C", "D"} == seen(tables, "A")
        assert village == seen(tables, "B")
        assert village | {"C", "A", "D"} == seen(tables, "D")
        assert village | {"HIDDEN"} == seen(tables, "HIDDEN")
        assert village | {"STRANGER"} == seen(tables, "STRANGER")
        assert {*village, "A", "HIDDEN", "C", "D"} == seen(tables, None)

    def test_unseeded(self, tables: Tables) -> None:
        """That one of the original's six remembers in private, no other agent learns."""
        tables.write(lambda c: memory_records.save(c, [memory("secret", 1, agent_id="VAJRA")]))

        for reader, knows in (("A", False), ("VAJRA", True), (None, True)):
            assert knows == ("VAJRA" in everyone(tables, reader))

    def test_probe(self, tables: Tables) -> None:
        """The agent of the daemon's trials is in nobody's list, not even the owner's."""
        tables.write(lambda c: agent_records.add_agents(c, [PROBE], at=1))

        assert set() == seen(tables, None) | seen(tables, "A") - {"A"}
        assert one(tables, PROBE) is None
