from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.domain.event import AccumulationComplete
from cortex_actors.errors import EmbedderDown, IndexDown, LedgerDown
from cortex_actors.runtime.actor import start_actor
from cortex_actors.storage import embeddings
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.indexer import FAULT_PAUSE, IDLE, RETRY, Indexer
from cortex_actors.testing import eventually
from tests.fakes import FakeActor
from tests.storage.support import MODEL, id_of, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.runtime.actor import ActorHandle
    from cortex_actors.storage.embeddings import Embed, Matrix
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"


class World:
    """An embedder and an index that can be away, and the indexer between them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bus = Bus(LedgerJournal(store.records, store.clock), store.clock)
        self.errors: list[Exception] = []
        self.embedded: list[str] = []
        self.calls: list[tuple[str, str, list[str]]] = []
        self.rows: dict[str, Matrix] = {}
        self.handle: ActorHandle

    async def start(self, *, embed: Embed | None = None) -> None:
        """Start the indexer."""
        make = partial(
            Indexer,
            self.store.records,
            self.bus,
            clock=self.store.clock,
            settings=self.store.settings,
            model=MODEL,
            embed=embed or self.embed,
            index=FakeActor(self),
        )
        self.handle = await start_actor(self.store.names, "indexer", make)

    async def embed(self, texts: Sequence[str], *, model: str) -> Matrix:
        """Return vectors, or fail."""
        assert MODEL == model
        if self.errors and isinstance(self.errors[0], EmbedderDown):
            raise self.errors.pop(0)
        self.embedded += texts
        return np.stack([unit(1, len(text), 0) for text in texts])

    async def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> None:
        """Hold vectors, or fail."""
        if self.errors:
            raise self.errors.pop(0)
        self.calls.append(("put", collection, sorted(ids)))
        self.rows |= dict(zip(ids, rows, strict=True))

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Hold no longer, or fail."""
        if self.errors:
            raise self.errors.pop(0)
        self.calls.append(("drop", collection, sorted(ids)))
        for each in ids:
            self.rows.pop(each, None)

    async def quiet(self) -> None:
        """Wait until everything is told."""

        async def done() -> bool:
            return await self.store.read(
                lambda c: not pending.count_pending(c) and not embeddings.count_unembedded(c, MODEL)
            )

        await eventually(done)

    async def ended(self) -> None:
        """Say that a run is complete."""
        payload = AccumulationComplete("run_1", None)
        await self.bus.publish(topics.ACCUMULATION_COMPLETE, payload, source="accumulator")


@pytest.fixture
async def world(store: Store) -> AsyncIterator[World]:
    """Give a world whose indexer has not started; it gathers nothing."""
    store.settings = store.settings.model_copy(update={"index_ms": 0})
    world = World(store)
    yield world
    await world.handle.stop(5)


class TestCatchUp:
    async def test_start(self, store: Store, world: World) -> None:
        """At its start it embeds what has no vector and tells the index."""
        await store.says(HERE, "a", "b")
        await world.start()
        await world.quiet()

        assert ["a", "b"] == sorted(world.embedded)
        assert [("put", "cortex_insights", sorted([id_of("a"), id_of("b")]))] == world.calls

    async def test_stored_vectors(self, store: Store, world: World) -> None:
        """A text that has a vector is not embedded again."""
        await store.says(HERE, "a")
        await store.embed(a=[1, 0, 0])
        await world.start()
        await world.quiet()

        assert [] == world.embedded
        assert np.array_equal(unit(1, 0, 0), world.rows[id_of("a")])

    async def test_after_a_run(self, store: Store, world: World) -> None:
        """It looks again after every completed run."""
        await world.start()
        await eventually(lambda: 1 == store.clock.sleepers)
        await store.says(HERE, "a")
        await world.ended()
        await world.quiet()

        assert {id_of("a")} == world.rows.keys()

    async def test_now_and_then(self, store: Store, world: World) -> None:
        """It looks again after a while, although nobody wakes it."""
        await world.start()
        await eventually(lambda: 1 == store.clock.sleepers)
        await store.says(HERE, "a")
        store.clock.advance(IDLE)
        await world.quiet()

        assert {id_of("a")} == world.rows.keys()

    async def test_gone(self, store: Store, world: World) -> None:
        """What was withdrawn leaves the index."""
        await store.says(HERE, "a", "b")
        await world.start()
        await world.quiet()
        await store.says(HERE, "a")
        await world.ended()
        await world.quiet()

        assert {id_of("a")} == world.rows.keys()
        assert ("drop", "cortex_insights", [id_of("b")]) == world.calls[-1]

    async def test_batches(self, tmp_path: object, store: Store, world: World) -> None:
        """However much waits, it is told in batches and all of it."""
        store.settings = store.settings.model_copy(update={"index_batch": 40})
        await store.says(HERE, *(f"text {n}" for n in range(250)))
        await world.start()
        await world.quiet()

        assert 250 == len(world.rows)
        assert 40 >= max(len(ids) for _, _, ids in world.calls)


class TestAway:
    @pytest.mark.parametrize(
        ("error", "pause"),
        [
            (EmbedderDown("x"), RETRY),
            (IndexDown("x"), RETRY),
            (LedgerDown("x"), IDLE),
            (RuntimeError("a fault of ours"), FAULT_PAUSE),
        ],
    )
    async def test_tries_again(
        self, store: Store, world: World, error: Exception, pause: float
    ) -> None:
        """Whatever fails, it rests, lives and skips nothing: a row must not end the daemon."""
        world.errors.append(error)
        await store.says(HERE, "a")
        await world.start()
        await eventually(lambda: not world.errors and 1 == store.clock.sleepers)
        waiting = await store.read(pending.count_pending)
        store.clock.advance(pause)
        await world.quiet()

        assert 1 == waiting
        assert {id_of("a")} == world.rows.keys()

    async def test_stop_while_embedding(self, store: Store, world: World) -> None:
        """A stop does not wait for an embedder that does not answer."""
        asked = asyncio.Event()

        async def never(texts: Sequence[str], *, model: str) -> Matrix:
            asked.set()
            await asyncio.Event().wait()
            return unit(1, 0, 0)

        await store.says(HERE, "a")
        await world.start(embed=never)
        await asked.wait()
        await world.handle.stop(2)

        assert "shutdown" == await world.handle.exited()

    async def test_killed_before_it_noted(self, store: Store, world: World) -> None:
        """After a kill between telling and noting, the index is told again and nothing is lost."""
        await store.says(HERE, "a")
        world.errors.append(RuntimeError("the index is not told"))
        await world.start()
        await eventually(lambda: not world.errors)
        world.handle.kill()
        await world.handle.exited()
        await world.start()
        await world.quiet()

        assert ["a"] == world.embedded
        assert {id_of("a")} == world.rows.keys()
