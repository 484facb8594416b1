"""The verbs about stores in a whole tree: settings, a reload, a crash, `status`, and agents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import OPERATIONS
from cortex_actors.domain.agent import Caller
from cortex_actors.errors import NotYours
from cortex_actors.gateways.rpc import Request, bind_verb
from cortex_actors.home import Home
from cortex_actors.testing import eventually
from tests.fakes import partial_call
from tests.flow.support import grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

#: Where nothing listens.
NOWHERE = "http://127.0.0.1:9"

#: What `grown` starts with, and a store.
SETTINGS = """
[embedding]
provider = "hashing"
batch_ms = 20
[storage]
index_ms = 20
[watching]
sweep_s = 0.1
[federation]
{knobs}
[[federation.stores]]
name = "facts"
type = "seren_loci"
url = "{url}"
"""

FACTS = {"name": "facts", "type": "seren_loci", "url": NOWHERE}


async def said(tree: Tree) -> list[str]:
    """Return what was said of stores, oldest first."""
    found = await tree.cortex.events(topic="store:*", limit=100)
    return [each["topic"] for each in reversed(found["events"])]


async def health(tree: Tree) -> dict[str, Any]:
    """Return how the store of the settings has been doing."""
    rows = (await tree.cortex.store_health())["stores"]
    return next(each for each in rows if each["name"] == "facts")


@pytest.mark.slow
class TestTree:
    async def test_story(self, tmp_home: Path) -> None:
        """A store is asked, fails, is news, and is known as well after a reload and a crash."""
        async with grown(tmp_home, federation={"stores": [FACTS]}) as tree:
            desk = tree.cortex
            found = await desk.recall("tabs")
            assert ["facts"] == [each["store"] for each in found["failed"]]
            await eventually(lambda: _said(tree, "store:down"))
            told = await desk.status()
            assert ("running", ["facts"]) == (told["state"], told["stores"]["down"])

            await desk.add_store("mem", "seren_memory", NOWHERE)
            Home.find(tmp_home, {}).settings.write_text(
                SETTINGS.format(url=NOWHERE, knobs="k = 30")
            )
            changed = await desk.reload()
            assert ["roster", "federation"] == changed["restarted"]
            assert (30, 1) == ((await desk.stores())["knobs"]["k"], (await health(tree))["failed"])

            await desk.tune_store("facts", weight=2.0)
            tree.crash("roster")
            await eventually(lambda: _weighs(tree, 2.0))
            assert 1 == (await health(tree))["failed"]
            assert ["local", "facts", "mem"] == (await desk.stores())["active"]

            await desk.remove_store("mem")
            wanted = ["store:down", "store:added", "store:removed"]
            assert wanted == await said(tree)

    async def test_trouble(self, tmp_home: Path) -> None:
        """A file of stores that cannot be read degrades the daemon, and is mended by hand."""
        home = Home.find(tmp_home, {})
        home.create()
        home.overlay.write_text("garbage")
        home.overlay.chmod(0o600)
        async with grown(tmp_home) as tree:
            await tree.cortex.recall("tabs")
            told = await tree.cortex.status()
            assert "degraded" == told["state"]
            assert any("runtime-stores.json is not used" in each for each in told["reasons"])

            home.overlay.write_text(json.dumps([FACTS]))
            assert ["local", "facts"] == (await tree.cortex.stores())["active"]
            told = await tree.cortex.status()
            assert not any("runtime-stores.json" in each for each in told["reasons"])


class TestAgents:
    def test_refused(self) -> None:
        """No agent may ask for any of it: which stores there are is the owner's."""
        mine = [each for name, each in OPERATIONS.items() if name.startswith("stores.")]
        names = [each.method for each in mine]
        desk = FrontDesk(partial_call())
        verbs: Any = {name: getattr(desk, name) for name in names}

        assert 10 == len(names)
        for name in names:
            with pytest.raises(NotYours, match=f"{name} is not for agents"):
                bind_verb(verbs, Request(1, name, {}), Caller("AZOTH"))


async def _said(tree: Tree, topic: str) -> bool:
    """Return whether a topic was said."""
    return topic in await said(tree)


async def _weighs(tree: Tree, weight: float) -> bool:
    """Return whether the store of the settings counts so much, once the roster is back."""
    rows = (await tree.cortex.stores())["stores"]
    return any((each["name"], each["weight"]) == ("facts", weight) for each in rows)
