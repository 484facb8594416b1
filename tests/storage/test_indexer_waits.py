"""What the indexer waits for, and what never waits for long."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import Ids
from cortex_actors.errors import EmbedderDown, IndexDown, ModelChanged, Unembeddable
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index import indexer, pending
from cortex_actors.storage.index.indexer import IDLE, REFUSED, RETRY, Indexer
from cortex_actors.testing import eventually
from tests.fakes import FakeActor
from tests.storage.support import MODEL, id_of, text_hash, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.storage.embeddings import Matrix
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"


class World:
    """An embedder that refuses some texts, an index that can be away, and the indexer."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bus = Bus(LedgerJournal(store.records, store.clock), store.clock)
        self.poison: set[str] = set()
        self.down: list[Exception] = []
        self.away = False
        self.asked: list[str] = []
        self.goes: list[list[str]] = []
        self.handle: ActorHandle

    async def start(self, **settings: int) -> None:
        """Start the indexer."""
        self.handle = await start_actor(
            self.store.names,
            "indexer",
            partial(
                Indexer,
                self.store.records,
                self.bus,
                clock=self.store.clock,
                settings=self.store.settings.model_copy(update=settings),
                model=MODEL,
                embed=self.embed,
                index=FakeActor(self),
            ),
        )

    async def embed(self, texts: Sequence[str], *, model: str) -> Matrix:
        """Return vectors, or refuse as the cache does."""
        assert MODEL == model
        if self.down:
            raise self.down.pop(0)
        self.asked += texts
        if bad := tuple(n for n, text in enumerate(texts) if text in self.poison):
            raise Unembeddable("on purpose", bad)
        return np.stack([unit(1, len(text), 0) for text in texts])

    async def put(self, _collection: str, ids: Sequence[str], _rows: Matrix) -> None:
        """Note what is told."""
        if self.away:
            raise IndexDown("on purpose")
        self.goes.append(sorted(ids))

    async def drop(self, _collection: str, ids: Sequence[str]) -> None:
        """Note what is to go."""
        self.goes.append([f"-{each}" for each in sorted(ids)])

    async def resting(self, seconds: float) -> None:
        """Wait until the indexer sleeps and wakes in so many seconds."""
        clock = self.store.clock
        await eventually(lambda: clock.sleepers == 1 and clock.due == pytest.approx(seconds))

    async def told(self, *texts: str, while_passing: float = 0.0) -> None:
        """Wait until those texts, and no others, were told, letting time pass with each look."""
        wanted = sorted(map(id_of, texts))

        def are_told() -> bool:
            self.store.clock.advance(while_passing)
            return wanted == sorted(each for go in self.goes for each in go)

        await eventually(are_told)

    async def waits(self, count: int) -> None:
        """Wait until so many changes wait."""

        async def counted() -> bool:
            return count == await self.pending()

        await eventually(counted)

    async def pending(self) -> int:
        """Return how many changes wait."""
        return await self.store.read(pending.count_pending)


@pytest.fixture
async def world(store: Store) -> AsyncIterator[World]:
    """Give a world whose indexer has not started."""
    world = World(store)
    yield world
    await world.handle.stop(5)


class TestGathering:
    async def test_few_wait(self, store: Store, world: World) -> None:
        """Fewer than `index_items` changes wait until the first of them has waited `index_ms`."""
        await store.says(HERE, "a", "b")
        await world.start()
        await world.resting(0.5)
        early = list(world.goes)
        store.clock.advance(0.5)
        await world.told("a", "b")

        assert [] == early
        assert 1 == len(world.goes)

    async def test_many_do_not(self, store: Store, world: World) -> None:
        """As soon as `index_items` changes wait they are told, and all that wait with them."""
        await store.says(HERE, *map(str, range(25)))
        await world.start(index_items=20)
        await world.told(*map(str, range(25)))

        assert 0 == store.clock.monotonic()

    async def test_more_join(self, store: Store, world: World) -> None:
        """What comes while others wait goes with them, and makes nobody wait longer."""
        await store.says(HERE, "a")
        await world.start()
        await world.resting(0.5)
        store.clock.advance(0.3)
        await store.says(HERE, "a", "b")
        await world.bus.publish(topics.MEMORY_REMEMBERED, Ids(("x",)), source="test")
        await world.resting(0.2)
        store.clock.advance(0.2)
        await world.told("a", "b")

        assert 1 == len(world.goes)


class TestOrder:
    async def test_comes_and_goes(self, store: Store, world: World) -> None:
        """Of an item that came and went while the index was away, only its end is told."""
        world.away = True
        await store.says(HERE, "a", "b")
        await world.start(index_ms=0)
        await world.resting(RETRY)
        for number in range(5):
            await store.says(HERE, "a", *(["b"] if number % 2 else []))
        waiting = await world.pending()
        world.away = False
        store.clock.advance(RETRY)
        await eventually(lambda: 2 == len(world.goes))

        assert 2 == waiting
        assert [[id_of("a")], [f"-{id_of('b')}"]] == world.goes

    async def test_rests_longer(self, store: Store, world: World) -> None:
        """The longer the index is away, the more seldom it is asked, up to a limit."""
        world.away = True
        await store.says(HERE, "a")
        await world.start(index_ms=0)
        for seconds in (RETRY, 2 * RETRY, 4 * RETRY, 8 * RETRY, 16 * RETRY, IDLE, IDLE):
            await world.resting(seconds)
            store.clock.advance(seconds)
        world.away = False
        await world.resting(IDLE)
        store.clock.advance(IDLE)
        await world.told("a")

    @pytest.mark.parametrize("error", [EmbedderDown("x"), ModelChanged("x")])
    async def test_without_embedder(self, store: Store, world: World, error: Exception) -> None:
        """While no text can be embedded, what has its vector is told all the same."""
        world.down = [error] * 3
        await store.says(HERE, "a")
        await store.embed(a=[1, 0, 0])
        await store.says(HERE, "a", "b")
        await world.start(index_ms=0)
        await world.told("a")
        world.down = []
        await world.told("a", "b", while_passing=IDLE)


class TestPoison:
    async def test_holds_up_nobody(self, store: Store, world: World) -> None:
        """A text that no model takes stays behind, counted; everything else is told."""
        world.poison = {"a", "c"}
        await store.says(HERE, "a", "b", "c", "d")
        await world.start(index_ms=0)
        await world.told("b", "d")
        describe = partial(NamedActor[Any]("indexer", store.names).ask, Indexer.describe)
        await store.says(HERE, "a", "b", "c", "d", "e")
        store.clock.advance(IDLE)
        await world.told("b", "d", "e")

        await world.waits(2)
        assert 2 == (await describe()).refused
        assert 2 == sum(each in world.poison for each in world.asked)

    async def test_is_tried_again(self, store: Store, world: World) -> None:
        """After a while a refused text is tried once more, and told when it is taken."""
        world.poison = {"a"}
        await store.says(HERE, "a", "b")
        await world.start(index_ms=0)
        await world.told("b")
        world.poison = set()
        await world.resting(IDLE)
        store.clock.advance(REFUSED + 1)
        await world.told("a", "b")

        await world.waits(0)


class TestGivingWay:
    async def test_order_of_others(self, store: Store) -> None:
        """What gives way comes last; what goes past it keeps its order."""
        await store.says(HERE, "a", "b", "c")
        before = await store.rows("SELECT item_id FROM index_ops ORDER BY seq")
        (first,) = [text for text in "abc" if (id_of(text),) == before[0]]
        passed = await store.write(lambda c: indexer.defer_changes(c, [text_hash(first)]))
        after = await store.rows("SELECT item_id FROM index_ops ORDER BY seq")

        assert 2 == passed
        assert [*before[1:], before[0]] == after

    async def test_nobody_behind(self, store: Store) -> None:
        """Nothing is moved when nobody waits behind it, so that turns come to an end."""
        await store.says(HERE, "a", "b")
        before = await store.rows("SELECT seq FROM index_ops")
        passed = await store.write(
            lambda c: indexer.defer_changes(c, [text_hash("a"), text_hash("b")])
        )

        assert 0 == passed
        assert before == await store.rows("SELECT seq FROM index_ops")
