"""The real index in its real child process."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.errors import CortexError, IndexDown
from cortex_actors.storage import embeddings
from cortex_actors.testing import eventually
from tests.process.branch import INSIGHTS, running
from tests.storage.support import Store, id_of, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.slow

HERE = "/projects/atlas/CLAUDE.md"

#: Texts and their vectors.
TEXTS = {"x": (1, 0, 0), "xy": (1, 1, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a ledger that knows four insights and their vectors."""
    async with opened(tmp_path) as store:
        await store.says(HERE, *TEXTS)
        await store.embed(**dict(TEXTS.items()))
        yield store


class TestKill:
    async def test_child(self, store: Store) -> None:
        """A killed child comes back, nobody is restarted, and questions are answered meanwhile."""
        async with running(store) as branch:
            await branch.ready()
            assert branch.pid is not None
            os.kill(branch.pid, signal.SIGKILL)
            await eventually(lambda: 1 == branch.info.deaths)
            meanwhile = await branch.answer(unit(0, 0, 1), 1)
            with pytest.raises(CortexError):
                await branch.put(INSIGHTS, ["a"], np.stack([unit(1, 0, 0)]))
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert ([id_of("z")], False) == meanwhile
        assert (1, []) == (generation, branch.restarts)
        assert {id_of(text) for text in TEXTS} == set(ids)

    async def test_not_open_yet(self, store: Store) -> None:
        """A question before the index is open is refused at once, not delayed."""
        async with running(store) as branch:
            with pytest.raises(IndexDown, match="does not answer yet"):
                await branch.query(INSIGHTS, unit(1, 0, 0), 1)


class TestGenerations:
    @pytest.mark.parametrize("damage", ["garbage", "lost"])
    async def test_given_up(self, store: Store, damage: str) -> None:
        """A folder that does not open, or has lost what it was told, is given up for a new one."""
        async with running(store) as branch:
            await branch.ready()
        (folder,) = store.home.index.glob("gen-1-*")
        if damage == "garbage":
            (folder / "chroma.sqlite3").write_bytes(b"garbage" * 1_000)
        else:
            shutil.rmtree(folder)
        async with running(store) as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)
            await eventually(lambda: ["gen-2"] == branch.folders())

        assert 2 == generation
        assert {id_of(text) for text in TEXTS} == set(ids)
        assert [] == branch.embedded

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
                hits, _ = await branch.answer(unit(1, 0, 0), 5)
                await eventually(lambda: ["gen-1"] == branch.folders())

        assert 1 == generation
        assert [id_of("new")] == hits

    async def test_nowhere_to_be(self, store: Store) -> None:
        """An index that cannot be made ends nothing: it opens as soon as it can."""
        store.home.index.write_text("in the way")
        async with running(store) as branch:
            await eventually(lambda: bool(branch.info.reason))
            meanwhile = await branch.answer(unit(0, 0, 1), 1)
            store.home.index.unlink()
            await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert ([id_of("z")], False) == meanwhile
        assert {id_of(text) for text in TEXTS} == set(ids)

    async def test_taken(self, store: Store) -> None:
        """A folder that another process still has open is waited for, and not given up."""
        async with running(store) as branch:
            await branch.ready()
        (folder,) = store.home.index.glob("gen-1-*")
        taken = os.open(folder, os.O_RDONLY)
        fcntl.flock(taken, fcntl.LOCK_EX)
        async with running(store) as branch:
            await eventually(lambda: bool(branch.info.reason))
            reason = branch.info.reason
            os.close(taken)
            generation = await branch.ready()

        assert f"another process still has {folder} open" in reason
        assert 1 == generation

    async def test_another_model(self, store: Store) -> None:
        """Vectors of another model, of another length, start a new generation."""
        async with running(store) as branch:
            await branch.ready()
        longer = {
            row[0]: np.ones(5, np.float32) / np.sqrt(np.float32(5))
            for row in await store.rows("SELECT text_hash FROM insights")
        }
        await store.write(lambda c: embeddings.keep_vectors(c, "other/5", longer))  # type: ignore[arg-type]
        async with running(store, "other/5") as branch:
            generation = await branch.ready()
            ids = await branch.ids(1, 1, 1, 1, 1)

        assert 2 == generation
        assert 4 == len(ids)
