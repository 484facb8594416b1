"""The real index in its real child process."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.errors import CortexError, IndexDown
from cortex_actors.runtime.supervised import start_actor
from cortex_actors.storage import indexing
from cortex_actors.storage.indexer import Indexer
from cortex_actors.storage.journal import LedgerJournal
from cortex_actors.storage.search import Search
from cortex_actors.storage.vectors import Vectors
from cortex_actors.testing import PATIENCE, eventually
from supervision import ChildSpec, Supervisor
from tests.storage.support import HARBOR, MODEL, Store, id_of, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cortex_actors.storage.indexing import Matrix

pytestmark = pytest.mark.slow

HERE = "/projects/atlas/CLAUDE.md"
INSIGHTS = "cortex_insights"

#: Texts and their vectors.
TEXTS = {"x": (1, 0, 0), "xy": (1, 1, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


class Branch:
    """The storage branch below a ledger: vectors and indexer, supervised as in the tree."""

    def __init__(self, store: Store, model: str = MODEL) -> None:
        self.store = store
        self.model = model
        self.lines: list[str] = []
        self.embedded: list[str] = []
        names = store.names
        self.query = names.method("vectors", Vectors.query, timeout=PATIENCE)
        self.put = names.method("vectors", Vectors.put, timeout=PATIENCE)
        self.drop = names.method("vectors", Vectors.drop, timeout=PATIENCE)
        self.generation = names.method("vectors", Vectors.generation, timeout=PATIENCE)
        self.search = Search(store.records, self.query, model)
        makes = {"vectors": self._vectors, "indexer": self._indexer}
        specs = [ChildSpec(name, partial(start_actor, names, name, makes[name])) for name in makes]
        self.supervisor = Supervisor(specs, name="storage", strategy="rest_for_one", intensity=3)

    @property
    def folder(self) -> Path:
        """Where generations lie."""
        return self.store.home.index

    def folders(self) -> list[str]:
        """Return the generations that have a folder."""
        return sorted(path.name.rpartition("-")[0] for path in self.folder.glob("gen-*"))

    async def ready(self) -> int:
        """Wait until the index holds everything; return its generation."""

        async def told() -> bool:
            try:
                await self.generation()
            except CortexError:
                return False
            self.store.clock.advance(1)
            return not await self.store.read(indexing.pending)

        await eventually(told, 40)
        return await self.generation()

    async def ids(self, *vector: float, limit: int = 10) -> list[str]:
        """Return the nearest ids that the index itself knows."""
        return [each for each, _ in await self.query(INSIGHTS, unit(*vector), limit)]

    async def _embed(self, texts: Sequence[str]) -> Matrix:
        """Note what is embedded: in these tests everything has a vector."""
        self.embedded += texts
        return np.stack([unit(1, 2, 3) for _ in texts])

    def _vectors(self) -> Vectors:
        """Return the actor that owns the child."""
        self.actor = Vectors(
            self.folder,
            self.store.records,
            settings=self.store.settings,
            model=self.model,
            clock=SystemClock(),
            on_line=self.lines.append,
        )
        return self.actor

    def _indexer(self) -> Indexer:
        """Return the actor that tells the index."""
        store = self.store
        return Indexer(
            store.records,
            Bus(LedgerJournal(store.records, store.clock), store.clock),
            clock=store.clock,
            settings=store.settings,
            model=self.model,
            embed=self._embed,
            index=self,
        )


@asynccontextmanager
async def running(store: Store, model: str = MODEL) -> AsyncIterator[Branch]:
    """Run the branch."""
    branch = Branch(store, model)
    await branch.supervisor.start()
    try:
        yield branch
    finally:
        await branch.supervisor.stop(20)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a ledger that knows four insights and their vectors."""
    async with opened(tmp_path) as store:
        await store.says(HERE, *TEXTS)
        await store.embed(**dict(TEXTS.items()))
        yield store


class TestIndex:
    async def test_life(self, store: Store) -> None:
        """It is told what the ledger knows, finds it, forgets it, and reads its own writes."""
        async with running(store) as branch:
            early = await branch.search.insights(unit(1, 0, 0), limit=1)
            generation = await branch.ready()
            near = await branch.query(INSIGHTS, unit(1, 0, 0), 2)
            await store.says("/projects/harbor/CLAUDE.md", "new", project=HARBOR)
            await store.embed(new=(1, 0.1, 0))
            await store.says(HERE, "xy", "y", "z")
            hits = await branch.search.insights(unit(1, 0.1, 0), limit=2)
            await branch.ready()
            ids = await branch.ids(1, 0.1, 0)

        assert ["x"] == [hit.text for hit in early]
        assert 1 == generation
        assert [id_of("x"), id_of("xy")] == [each for each, _ in near]
        assert pytest.approx([1.0, 0.5**0.5], abs=1e-5) == [cosine for _, cosine in near]
        assert ["new", "xy"] == [hit.text for hit in hits]
        assert id_of("new") == ids[0]
        assert id_of("x") not in ids
        assert [] == branch.embedded

    async def test_unknown_ids_and_empty_collections(self, store: Store) -> None:
        """Dropping what is not there and asking where nothing is are fine."""
        async with running(store) as branch:
            await branch.ready()
            await branch.drop("cortex_village", ["nobody"])
            found = await branch.query("cortex_village", unit(1, 0, 0), 5)

        assert [] == found

    async def test_comes_back_as_it_was(self, store: Store) -> None:
        """After a stop the same generation is opened and is told nothing again."""
        async with running(store) as branch:
            await branch.ready()
        async with running(store) as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert 1 == generation
        assert {id_of(text) for text in TEXTS} == set(ids)


class TestKill:
    async def test_child(self, store: Store) -> None:
        """A killed child comes back through the supervisor; questions are answered meanwhile."""
        async with running(store) as branch:
            await branch.ready()
            child = branch.actor._child
            assert child is not None
            os.kill(child.pid, signal.SIGKILL)
            await child.exited()
            meanwhile = await branch.search.insights(unit(0, 0, 1), limit=1)
            with pytest.raises(CortexError):
                await branch.put(INSIGHTS, ["a"], np.stack([unit(1, 0, 0)]))
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert ["z"] == [hit.text for hit in meanwhile]
        assert 1 == generation
        assert {id_of(text) for text in TEXTS} == set(ids)

    async def test_not_open_yet(self, store: Store) -> None:
        """A question before the index is open is refused at once, not delayed."""
        async with running(store) as branch:
            with pytest.raises(IndexDown, match="does not answer yet"):
                await branch.query(INSIGHTS, unit(1, 0, 0), 1)


class TestGenerations:
    @pytest.mark.parametrize("damage", ["garbage", "lost", "emptied"])
    async def test_given_up(self, store: Store, damage: str) -> None:
        """A folder that does not open, or has lost what it was told, is given up for a new one."""
        async with running(store) as branch:
            await branch.ready()
        (folder,) = store.home.index.glob("gen-1-*")
        if damage == "garbage":
            (folder / "chroma.sqlite3").write_bytes(b"garbage" * 1_000)
        else:
            shutil.rmtree(folder)
            if damage == "emptied":
                folder.mkdir()
        async with running(store) as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)
            await eventually(lambda: ["gen-2"] == branch.folders())

        assert 2 == generation
        assert {id_of(text) for text in TEXTS} == set(ids)
        assert [] == branch.embedded

    async def test_lost_behind_others(self, store: Store) -> None:
        """What is lost is missed even if the index holds as much that it was not yet told."""
        async with running(store) as branch:
            await branch.ready()
            await branch.drop(INSIGHTS, [id_of("x")])
            await branch.put(INSIGHTS, [id_of("new")], np.stack([unit(1, 1, 1)]))
        await store.says(HERE, *TEXTS, "new")
        await store.embed(new=(1, 1, 1))
        async with running(store) as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert 2 == generation
        assert {id_of(text) for text in (*TEXTS, "new")} == set(ids)

    async def test_another_ledger(self, tmp_path: Path) -> None:
        """An index that was built for another ledger is not used, whatever its number."""
        async with opened(tmp_path) as store:
            await store.says(HERE, *TEXTS)
            await store.embed(**dict(TEXTS.items()))
            async with running(store) as branch:
                await branch.ready()
            home = store.home
        for path in home.root.glob("cortex.db*"):
            path.unlink()
        async with opened(tmp_path) as store:
            await store.says(HERE, "new")
            await store.embed(new=(1, 0, 0))
            async with running(store) as branch:
                generation = await branch.ready()
                hits = await branch.search.insights(unit(1, 0, 0), limit=5)
                await eventually(lambda: ["gen-1"] == branch.folders())

        assert 1 == generation
        assert ["new"] == [hit.text for hit in hits]

    async def test_nowhere_to_be(self, store: Store) -> None:
        """An index that cannot be made ends nothing: it opens as soon as it can."""
        store.home.index.write_text("in the way")
        async with running(store) as branch:
            await eventually(lambda: bool(branch.actor._reason))
            meanwhile = await branch.search.insights(unit(0, 0, 1), limit=1)
            store.home.index.unlink()
            await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert ["z"] == [hit.text for hit in meanwhile]
        assert {id_of(text) for text in TEXTS} == set(ids)

    async def test_another_model(self, store: Store) -> None:
        """Vectors of another model, of another length, start a new generation."""
        async with running(store) as branch:
            await branch.ready()
        longer = {
            row[0]: np.ones(5, np.float32) / np.sqrt(np.float32(5))
            for row in await store.rows("SELECT text_hash FROM insights")
        }
        await store.write(lambda c: indexing.keep_vectors(c, "other/5", longer))  # type: ignore[arg-type]
        async with running(store, "other/5") as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 1, 1, 1, 1)

        assert 2 == generation
        assert 4 == len(ids)
