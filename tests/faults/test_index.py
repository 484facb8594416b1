"""What happens to the vector index hurts nobody else: kills, damaged files, disks and servers."""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks import index_faults
from cortex_actors.testing import eventually
from tests.contract.chromaserver import serving
from tests.faults.ground import fill, mounted, remount
from tests.process.branch import Branch, running
from tests.storage.support import Store, id_of, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

HERE = "/projects/atlas/CLAUDE.md"

#: Texts and their vectors.
TEXTS = {"x": (1, 0, 0), "xy": (1, 1, 0), "y": (0, 1, 0), "z": (0, 0, 1)}

#: The short run: a death at the worst moment, a damage that Chroma does not notice, and one that
#: keeps it from opening. Kills and garbage in use: tests/process/test_vectors.py.
FEW = ("killed while it opens", "flipped data_level0.bin", "emptied index_metadata.pickle")

#: Rounds of the long run.
MANY = 300


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a ledger that knows four insights and their vectors."""
    async with opened(tmp_path) as store:
        await store.says(HERE, *TEXTS)
        await store.embed(**dict(TEXTS.items()))
        yield store


async def hurt(folder: Path, kinds: list[str], rows: int) -> index_faults.Figures:
    """Hurt an index in those ways; print what came of it, and what repeats it."""
    seed = secrets.randbelow(10**6)
    print(f"seed: {seed}")  # noqa: T201 - what repeats a failure
    figures = await index_faults.hurt(folder, kinds, rows=rows, seed=seed)
    index_faults.tell(figures)
    return figures


class TestChaos:
    async def test_each_kind(self, tmp_path: Path) -> None:
        """Kills and damaged files in use: no wrong answer, no restart of an actor, always whole."""
        figures = await hurt(tmp_path, list(FEW), index_faults.SYNCED + 100)

        assert (0, 0) == (figures.wrong, figures.actor_restarts)
        assert len(FEW) == sum(map(len, figures.healed.values()))
        assert figures.child_deaths >= len(FEW)
        assert min(figures.by_index, figures.exactly) > 0

    @pytest.mark.soak
    async def test_at_length(self, tmp_path: Path) -> None:
        """Every kind of harm to every file, and as many kills, again and again: the same."""
        figures = await hurt(tmp_path, index_faults.kinds(MANY), 2 * index_faults.SYNCED)

        assert (0, 0) == (figures.wrong, figures.actor_restarts)
        assert MANY == sum(map(len, figures.healed.values()))


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Let nobody write to a folder: root has to be kept out by the disk, others by its mode."""
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    with mounted(folder, 64):
        remount(folder, "ro")
        yield


class TestDisk:
    async def test_without_permission(self, store: Store) -> None:
        """Where it may not write there is no index, and a reason; it is made when it may."""
        store.home.index.mkdir()
        with ExitStack() as locked:
            locked.enter_context(unwritable(store.home.index))
            async with running(store) as branch:
                await _away(branch)
                answer, reason = await branch.answer(unit(0, 0, 1), 1), branch.info.reason
                locked.close()
                await branch.ready()

                assert ([id_of("z")], False) == answer
                assert str(store.home.index) in reason
                assert [] == branch.restarts

    async def test_full(self, tmp_path: Path) -> None:
        """On a full disk questions are answered exactly; with room again the index is whole."""
        (tmp_path / "index").mkdir()
        with mounted(tmp_path / "index", 8):
            async with opened(tmp_path) as store:
                await _much(store, 400)
                async with running(store) as branch:
                    await branch.ready()
                    room = fill(store.home.index)
                    await _much(store, 1_500)
                    await eventually(lambda: _gave_up(branch), 60)
                    vector = unit(*range(1, 385))
                    found, exact = await branch.answer(vector), await branch.exact(vector)
                    room.unlink()
                    await branch.ready()
                    verdict = await branch.verify()

                    assert found[0] == exact
                    assert [] == branch.restarts
                    assert verdict.ok, verdict.text


class TestServer:
    async def test_away(self, store: Store, tmp_path: Path) -> None:
        """A server that is away costs no generation: a reason meanwhile, and then it goes on."""
        with serving(tmp_path / "chroma") as server:
            how: dict[str, Any] = {"index": "server", "index_url": server.url}
            async with running(store, index_timeout_s=5, **how) as branch:
                await branch.ready()
                names = server.collections()
                server.stop()
                missed = await branch.answer(unit(0, 0, 1), 1)
                await _away(branch)
                reason = branch.info.reason
                server.start()
                generation = await branch.ready()
                found = await branch.answer(unit(0, 0, 1), 1)

                assert ([id_of("z")], False) == missed
                assert "Chroma server" in reason
                assert 1 == generation
                assert ([id_of("z")], True) == found
                assert names == server.collections()

    async def test_refused(self, store: Store) -> None:
        """An address that vectors would cross a network to in the clear is never asked."""
        how: dict[str, Any] = {"index": "server", "index_url": "http://192.0.2.1:8000"}
        async with running(store, **how) as branch:
            await _away(branch)

            assert "in the clear" in branch.info.reason
            assert [] == branch.restarts


def _gave_up(branch: Branch) -> bool:
    """Let the indexer look again, and tell whether a generation was given up."""
    branch.store.clock.advance(1)
    return branch.info.given_up > 0


async def _away(branch: Branch) -> None:
    """Wait until there is no index and a reason for it."""
    await eventually(lambda: "away" == branch.info.state and bool(branch.info.reason), 60)


async def _much(store: Store, count: int) -> None:
    """Let a file say so much, in long vectors."""
    chance = np.random.default_rng(count)
    texts = [f"text {number}" for number in range(count)]
    await store.says(HERE, *texts)
    await store.embed(**{text: chance.standard_normal(384).tolist() for text in texts})
