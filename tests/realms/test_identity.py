"""An agent's id has one form wherever it is named, and what is none is refused everywhere."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.errors import BadInput
from tests.realms import operations
from tests.realms.world import SHARED, Kept, World, lasting, say

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

#: Parameters that name an agent, or several.
ONE, SEVERAL = ("agent", "agent_id", "as_agent"), ("related_agents",)

#: What is no id; the last of them have an ASCII capital.
HOSTILE = ("", " ", "../AZOTH", "A" * 65, "A B", "owner", "\u0410ZOTH", "cla\u0131de", "azo\u017fh")

#: Where no memory and no crumb has to be meant.
NOBODY = Kept("AZOTH", "private", "mem_0000000000", "x", "x", frozenset())


def named() -> Iterator[tuple[str, str]]:
    """Yield every verb and each of its parameters that names an agent (of `resolve`: a dialect)."""
    for verb, function in inspect.getmembers(FrontDesk, inspect.iscoroutinefunction):
        for name in inspect.signature(function).parameters if not verb.startswith("_") else ():
            if name in (*ONE, *SEVERAL) and verb != "resolve":
                yield verb, name


def asked(verb: str) -> dict[str, Any]:
    """Return parameters with which a verb can be called."""
    if verb in operations.ACTS:
        return operations.ACTS[verb]("CLAUDE")
    if verb in operations.LOOKS:
        return operations.LOOKS[verb][0](NOBODY)
    return operations.READS[verb](NOBODY) if verb in operations.READS else {}


class TestEverywhere:
    @pytest.mark.parametrize(("verb", "parameter"), sorted(named()))
    def test_hostile(self, world: World, verb: str, parameter: str) -> None:
        """What is no agent's id is told to be none, by every verb, and nothing is done."""
        for wrong in HOSTILE:
            given = [wrong] if parameter in SEVERAL else wrong
            said = say(world.owner, verb, {**asked(verb), parameter: given})
            assert isinstance(said.error, BadInput), (wrong, said)
            assert str(said.error).isprintable()

    @pytest.mark.parametrize(
        ("verb", "parameter"), sorted(each for each in named() if each[0] in operations.LOOKS)
    )
    def test_one_form(self, world: World, verb: str, parameter: str) -> None:
        """Small letters are as good as capitals: who is looked for is the same."""
        world.settle()  # another test may have said something a moment ago
        small, large = (
            say(world.owner, verb, {**asked(verb), parameter: name})
            for name in ("kether", "KETHER")
        )
        assert lasting(large.answer) == lasting(small.answer)
        assert str(large.error) == str(small.error)


class TestFilters:
    @pytest.mark.parametrize("verb", ["recall", "search"])
    def test_found(self, world: World, verb: str) -> None:
        """What an agent said is found by its id in small letters, and nothing else is."""
        for name in ("kether", "KETHER"):
            found = world.owner.call(verb, query=SHARED, agent=name, limit=200, track=False)
            assert {"KETHER"} == {each["extra"]["agent"] for each in found["hits"]}
            assert world.of("KETHER", "private").id in {each["id"] for each in found["hits"]}

    def test_lists(self, world: World) -> None:
        """Lists are narrowed in the same way."""
        for verb, key in (("memories", "memories"), ("crumbs", "crumbs")):
            found = world.owner.call(verb, agent="kether", limit=200)[key]
            assert {"KETHER"} == {each["agent"] for each in found}

    def test_never_wider(self, world: World) -> None:
        """For an agent a filter that names another one narrows what it reads, and opens nothing."""
        client = world.client("VAJRA")
        found = client.call("memories", agent="kether", limit=200)["memories"]

        assert {"KETHER"} == {each["agent"] for each in found}
        assert {"village"} <= {each["realm"] for each in found} <= {"village", "bridge"}
        for each in found:
            assert each["realm"] == "village" or "VAJRA" in each["related_agents"]

    def test_post_by_its_own_name(self, world: World) -> None:
        """What is posted in small letters is found in capitals: nothing is lost by a spelling."""
        done = world.owner.call("post", content="the lighthouse is lit", agent="Kether")
        found = world.owner.call("search", query="lighthouse", agent="KETHER", track=False)

        assert done["id"] in {each["id"] for each in found["hits"]}
