"""What agents remember while the disk is full, the model or the ledger away, the index killed."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from cortex_actors.assembly.context import Outside
from cortex_actors.client.connection import Client
from cortex_actors.clock import SystemClock
from cortex_actors.domain.agent import Caller
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.errors import CortexError, StorageFull
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.testing import eventually, settled
from tests.embedding.support import StagedProvider
from tests.faults.ground import fill, started
from tests.flow.support import grown
from tests.kills.standing import Calm
from tests.process.commands import until
from tests.simulation.index import Shelf

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree
    from tests.process.commands import Commands
    from tests.simulation.weather import Weather

#: Who remembers.
ME = Caller("CLAUDE")

#: One thing in two orders.
SAID, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"


@pytest.fixture
def provider() -> StagedProvider:
    """Give a model that a test can take away."""
    return StagedProvider()


@pytest.fixture
def shelf() -> Shelf:
    """Give a vector index in memory whose process can be killed."""
    return Shelf(cast("Weather", Calm()), SystemClock())


@asynccontextmanager
async def remembering(home: Path, provider: StagedProvider, shelf: Shelf) -> AsyncIterator[Tree]:
    """Run a tree with that model and that index."""
    outside = Outside(provider=lambda *_, **__: provider, spawn=shelf.spawn)
    async with grown(home, outside=outside) as tree:
        yield tree


@pytest.fixture
async def tree(tmp_home: Path, provider: StagedProvider, shelf: Shelf) -> AsyncIterator[Tree]:
    """Give such a tree."""
    async with remembering(tmp_home, provider, shelf) as found:
        yield found


async def texts(tree: Tree) -> list[str]:
    """Return what is remembered now."""
    query = "SELECT text FROM memories WHERE status = 'active' ORDER BY text"

    def active(connection: Connection) -> list[str]:
        return [text for (text,) in connection.exec_driver_sql(query)]

    return await tree.parts.records.read(active)


class TestModelAway:
    async def test_words_answer(self, tree: Tree, provider: StagedProvider) -> None:
        """Without a model it is kept, found by its words, and a round trip says what works."""
        await settled(tree)
        provider.become(ProviderState.DOWN)
        saved = await tree.cortex.remember(SAID, type="fact", caller=ME)
        found = await tree.cortex.recall("redis port", caller=ME)
        trip = await tree.cortex.round_trip()
        status = await tree.cortex.status()

        assert saved["pending"]
        assert [saved["id"]] == [each["id"] for each in found["hits"]]
        assert "degraded" == trip["state"]
        assert ["ok", "degraded", "degraded", "ok", "ok"] == [s["state"] for s in trip["steps"]]
        assert any(each.startswith("round trip: remember: ") for each in status["reasons"])

    async def test_compared_when_it_is_back(self, tree: Tree, provider: StagedProvider) -> None:
        """What was said twice meanwhile becomes one when the model is there again."""
        await settled(tree)
        provider.become(ProviderState.DOWN)
        for text in (SAID, AGAIN):
            await tree.cortex.remember(text, type="fact", caller=ME)
        before = await texts(tree)
        provider.become(ProviderState.READY)

        async def is_one() -> bool:
            return 1 == len(await texts(tree))

        await eventually(is_one, 20)
        assert sorted((SAID, AGAIN)) == before


class TestLedgerAway:
    @pytest.mark.slow
    async def test_crash(self, tree: Tree) -> None:
        """A ledger that crashes while many remember loses nothing that was acknowledged."""

        async def say(number: int) -> str | None:
            text = f"The {number} of them is called {chr(97 + number) * 4}"
            try:
                saved = await tree.cortex.remember(text, type="fact", merge=False, caller=ME)
            except CortexError:
                return None
            return str(saved["id"])

        asks = [asyncio.create_task(say(number)) for number in range(20)]
        await asyncio.wait(asks, return_when=asyncio.FIRST_COMPLETED)
        NamedActor[Any]("ledger", tree.parts.names).tell(AsyncioActor.crash)
        told = {name for name in await asyncio.gather(*asks) if name is not None}

        async def there() -> set[str]:
            found = await tree.cortex.memories(limit=100, caller=ME)
            return {str(each["id"]) for each in found["memories"]}

        async def is_back() -> bool:
            try:
                return told <= await there()
            except CortexError:
                return False

        await eventually(is_back, 20)
        assert told


class TestIndexKilled:
    async def test_answers(self, tree: Tree, shelf: Shelf) -> None:
        """While the index is killed again and again everything is remembered and found."""
        missed = []
        for number in range(8):
            said = f"Server {chr(97 + number) * 5} stands in room {chr(65 + number)}"
            for child in shelf.children:
                child.kill()
            saved = await tree.cortex.remember(said, type="fact", merge=False, caller=ME)
            found = await tree.cortex.recall(said, 3, caller=ME)
            missed += [] if saved["id"] in {each["id"] for each in found["hits"]} else [said]

        assert [] == missed
        assert "ok" == (await tree.cortex.round_trip())["state"]


class TestDiskFull:
    @pytest.mark.slow
    def test_refused_and_healed(self, small: Path, cortex: Commands) -> None:
        """On a full disk nothing is remembered, what is known is found, and room heals it."""
        started(cortex)
        client = Client(small)
        kept = client.call("remember", content=SAID, type="fact")
        room = fill(small)
        refused = _refused(client)
        found = client.call("search", query="redis port", track=False)["hits"]
        trip = client.call("round_trip")
        reasons = client.call("status")["reasons"]
        room.unlink()
        until(lambda: client.call("round_trip")["state"] == "ok", "the round trip to go well")

        assert isinstance(refused, StorageFull)
        assert [kept["id"]] == [each["id"] for each in found]
        assert "failed" == trip["state"]
        assert any(each.startswith("round trip: ") for each in reasons)
        assert "saved" == client.call("remember", content="Deploys wait for CI")["state"]


def _refused(client: Client) -> CortexError | None:
    """Remember until that is refused; return how."""
    for number in range(200):
        try:
            client.call("remember", content=f"{number} is {'long ' * 2_000}", merge=False)
        except CortexError as error:
            return error
    return None
