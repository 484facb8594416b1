"""Agents in a whole tree: profiles that last, introductions, and tokens."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import iso
from cortex_actors.domain.agent import KNOWN, Caller
from cortex_actors.errors import BadInput, BadToken, NotFound, NotYours
from cortex_actors.process.tokens import Tokens
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.tree import Tree

pytestmark = pytest.mark.slow

#: What is said of a new agent.
LUMEN: dict[str, Any] = {
    "display_name": "Lumen",
    "generation": 2,
    "lineage": "Azoth",
    "specialization": "Release notes",
    "origin_story": "Made on a Monday.",
    "color": "#228B22",
    "symbol": "☼",
}


@asynccontextmanager
async def desk(home: Path) -> AsyncIterator[FrontDesk]:
    """Give the verbs of a tree in a home that stays."""
    async with grown(home) as tree:
        yield tree.cortex


@pytest.fixture
async def tree(tmp_home: Path) -> AsyncIterator[Tree]:
    """Run a tree."""
    async with grown(tmp_home) as tree:
        yield tree


class TestSummon:
    async def test_lasts(self, tmp_home: Path) -> None:
        """A profile outlasts the daemon, and a new one says anew only what is said."""
        async with desk(tmp_home) as cortex:
            made = await cortex.summon("lumen", **LUMEN)
            assert made["new"]
        async with desk(tmp_home) as cortex:
            found = await cortex.agent("Lumen")
            assert {"id": "LUMEN", **LUMEN} == {name: found[name] for name in ("id", *LUMEN)}
            again = await cortex.summon("lumen", color="#000000")
            assert not again["new"]
            assert ("Lumen", "#000000") == (again["display_name"], again["color"])
            record = await cortex.memory(made["record"])
        expected = ("agent_profile", "village", "LUMEN", "Lumen", ["profile", "summoning"])
        assert expected == (
            record["type"],
            record["realm"],
            record["agent"],
            record["agent_display"],
            sorted(record["tags"]),
        )
        assert "Made on a Monday." in record["content"]

    async def test_refused(self, tree: Tree) -> None:
        """A profile that may not be is refused, and nothing of it is kept or posted."""
        cortex, mallory = tree.cortex, Caller("MALLORY")
        for wrong in (
            {"specialization": None},
            {"color": "gold"},
            {"display_name": "Azoth"},
            {"origin_story": "my key is ghp_" + "A1b2C3d4E5f6" * 3},
            {"lineage": "no\u200bone"},
        ):
            with pytest.raises(BadInput):
                await cortex.summon("MALLORY", **(LUMEN | wrong), caller=mallory)
        with pytest.raises(NotYours):
            await cortex.summon("AZOTH", **LUMEN, caller=mallory)
        with pytest.raises(NotFound):
            await cortex.agent("MALLORY")
        assert KNOWN["AZOTH"].color == (await cortex.agent("AZOTH"))["color"]
        assert 0 == (await cortex.memories())["total"]


class TestIntroduce:
    async def test_known(self, tree: Tree) -> None:
        """An agent that is known greets the village in its thread of the day."""
        day = iso(tree.cortex._call.clock.now())[:10].replace("-", "")
        found = await tree.cortex.introduce("elysian")
        thread = await tree.cortex.thread(found["thread"])

        assert f"introduction_ELYSIAN_{day}" == found["thread"]
        (message,) = thread["messages"]
        assert (found["id"], "ELYSIAN") == (message["id"], message["agent"])
        posted = await tree.cortex.memory(found["id"])
        assert ("cultural", "village") == (posted["type"], posted["realm"])
        assert ["greeting", "introduction", "ritual"] == sorted(posted["tags"])
        assert "generation -1, lineage Ancestor" in found["content"]

    async def test_unknown(self, tree: Tree) -> None:
        """Nobody greets who is not known, and nobody greets for another."""
        with pytest.raises(NotFound, match="cortex agents"):
            await tree.cortex.introduce("NOBODY")
        with pytest.raises(NotYours):
            await tree.cortex.introduce("ELYSIAN", caller=Caller("AZOTH"))
        assert 0 == (await tree.cortex.memories())["total"]


class TestTokens:
    async def test_made_and_revoked(self, tree: Tree, tmp_home: Path) -> None:
        """A token makes its agent known, counts until it is revoked, and is told of once."""
        tokens = Tokens(tmp_home / "tokens")
        made = await tree.cortex.agent_token("lumen")
        assert ("LUMEN", False) == (made["agent"], made["replaced"])
        assert Caller("LUMEN") == tokens.find_caller(made["token"])
        assert (await tree.cortex.agent("LUMEN"))["has_token"]
        anew = await tree.cortex.agent_token("LUMEN")
        assert anew["replaced"]

        seen = await tree.cortex.agents(caller=Caller("LUMEN"))
        assert not [each for each in seen["agents"] if "has_token" in each]
        assert {"agent": "LUMEN", "revoked": True} == await tree.cortex.revoke_token("Lumen")
        for token in (made["token"], anew["token"]):
            with pytest.raises(BadToken):
                tokens.find_caller(token)
        with pytest.raises(NotFound, match="no token"):
            await tree.cortex.revoke_token("LUMEN")
        with pytest.raises(BadInput):
            await tree.cortex.agent_token("../LUMEN")
