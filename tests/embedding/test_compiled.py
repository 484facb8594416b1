from __future__ import annotations

import asyncio
import gc
import random
import shutil
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiled import CompiledProvider
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.errors import EmbedderDown, EmbedderLoading, ModelMissing
from cortex_actors.service import Heartbeat
from cortex_actors.testing import eventually
from tests.embedding.long_texts import long_texts
from tests.embedding.real_child import TEXTS
from tests.embedding.support import is_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.embedding.support import ManualClock

pytestmark = pytest.mark.slow

#: Two dozen windows: some tenths of a second of work for two threads.
LONG = long_texts()[2:5]

#: Some of the calibration texts.
SOME = TEXTS[::2]

#: Embeds in a process of its own and prints which large libraries that took.
PROGRAM = """
import asyncio, sys
from pathlib import Path
from cortex_actors.clock import SystemClock
from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiled import CompiledProvider

async def main(folder):
    provider = CompiledProvider(folder, manifest.read(folder), SystemClock())
    await provider.start()
    await provider.wait_settled()
    rows = await provider.embed(["a text"], urgent=True)
    await provider.close()
    heavy = {"torch", "transformers", "sentence_transformers", "onnx"} & set(sys.modules)
    print(rows.shape, sorted(heavy))

asyncio.run(main(Path(sys.argv[1])))
"""


def made(folder: Path, *, threads: int = 2) -> CompiledProvider:
    """Return a provider over a folder."""
    return CompiledProvider(folder, manifest.read(folder), SystemClock(), threads=threads)


async def settled(provider: CompiledProvider) -> ProviderState:
    """Wait, not for ever, until the state is not `loading`."""
    async with asyncio.timeout(30):
        return await provider.wait_settled()


@pytest.fixture
async def embedder(compiled_model: Path) -> AsyncIterator[CompiledProvider]:
    """Give a provider that is ready."""
    provider = made(compiled_model)
    await provider.start()
    assert ProviderState.READY is await settled(provider)
    yield provider
    await provider.close()


class TestLoading:
    async def test_life(self, compiled_model: Path) -> None:
        """Starting returns at once; closing ends the threads and gives the model back."""
        provider = made(compiled_model)
        await provider.start()
        assert (ProviderState.LOADING, 384) == (provider.state, provider.dimension)
        with pytest.raises(EmbedderLoading):
            await provider.embed(["a"])
        assert ProviderState.READY is await settled(provider)
        await provider.start()
        assert any(each.name.startswith("embedder") for each in threading.enumerate())
        assert (1, 384) == (await is_provider(provider).embed(["a"])).shape
        model = weakref.ref(provider._runner)
        await provider.close()
        gc.collect()

        assert model() is None
        await eventually(
            lambda: not any(each.name.startswith("embedder") for each in threading.enumerate())
        )
        with pytest.raises(EmbedderDown):
            await provider.embed(["a"])

    async def test_damaged(self, compiled_model: Path, tmp_path: Path) -> None:
        """A file that is not what its manifest says is missing, with the mend named."""
        folder = tmp_path / compiled_model.name
        shutil.copytree(compiled_model, folder)
        provider = made(folder)
        with (folder / manifest.ONNX).open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"?")
        await provider.start()

        assert ProviderState.MISSING is await settled(provider)
        with pytest.raises(ModelMissing, match="cortex model prepare"):
            await provider.embed(["a"])
        shutil.copy(compiled_model / manifest.ONNX, folder)
        await provider.start()
        assert ProviderState.READY is await settled(provider)
        await provider.close()

    async def test_again(self, compiled_model: Path, tmp_path: Path, clock: ManualClock) -> None:
        """What cannot be loaded for another reason is tried again after a pause."""
        folder = tmp_path / compiled_model.name
        shutil.copytree(compiled_model, folder)
        found = manifest.read(folder)
        (folder / manifest.ONNX).write_bytes(b"no graph")
        strange = manifest.hash_file(folder / manifest.ONNX)
        manifest.write(folder, replace(found, hashes={**found.hashes, manifest.ONNX: strange}))
        provider = CompiledProvider(folder, found, clock, threads=1)
        await provider.start()
        assert ProviderState.DOWN is await settled(provider)
        assert "cannot be loaded" in provider.reason
        manifest.write(folder, found)
        shutil.copy(compiled_model / manifest.ONNX, folder)
        await clock.advance(await clock.next_alarm())

        assert ProviderState.READY is await settled(provider)
        assert 1 == provider.counters["restarts"]
        await provider.close()

    def test_alone(self, compiled_model: Path) -> None:
        """A process that embeds with it imports neither torch nor what is built on torch."""
        command = [sys.executable, "-c", PROGRAM, str(compiled_model)]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)

        assert "(1, 384) []\n" == done.stdout, done.stderr


class TestVectors:
    async def test_same_twice(self, embedder: CompiledProvider) -> None:
        """A text has the same row, to the last bit of a number, whatever it is embedded with."""
        alone = np.concatenate([await embedder.embed([text], urgent=True) for text in SOME])
        order = random.Random(3).sample(range(len(SOME)), len(SOME))
        mixed = await embedder.embed([SOME[number] for number in order])

        assert np.abs(alone[order] - mixed).max() < 2e-7
        assert np.allclose(1.0, np.linalg.norm(mixed, axis=1), atol=1e-6)

    async def test_long(self, embedder: CompiledProvider, compiled_once: Path) -> None:
        """Texts of 300 to 5,000 tokens are read to their end, as the float provider reads them."""
        texts = long_texts()
        rows = await embedder.embed(texts)
        ends = await embedder.embed([" ".join(text.split()[:100]) for text in texts])
        counters = embedder.counters

        assert (
            np.einsum("ij,ij->i", np.load(compiled_once / "extras" / "long.npy"), rows).min() > 0.98
        )
        assert np.einsum("ij,ij->i", rows, ends).max() < 0.98
        assert len(texts) == counters["split"]
        assert counters["tokens"] > 12_000

    async def test_nothing(self, embedder: CompiledProvider) -> None:
        """No texts are no rows, and an empty text is a text."""
        assert (0, 384) == (await embedder.embed([])).shape
        assert (1, 384) == (await embedder.embed([""])).shape


class TestQueue:
    async def test_question_first(self, embedder: CompiledProvider) -> None:
        """A question is answered long before the bulk that came before it, and is not slowed."""
        bulk = asyncio.create_task(embedder.embed(LONG))
        await eventually(lambda: embedder.counters["waiting"] > 12)
        await embedder.embed(["How do I run the tests?"], urgent=True)

        assert embedder.counters["waiting"] > 3
        assert not bulk.done()
        assert (3, 384) == (await bulk).shape

    async def test_cancelled(self, embedder: CompiledProvider) -> None:
        """What nobody waits for any more is not computed."""
        bulk = asyncio.create_task(embedder.embed(LONG))
        await eventually(lambda: embedder.counters["waiting"] > 12)
        bulk.cancel()
        await asyncio.wait({bulk})

        assert 0 == embedder.counters["waiting"]
        assert (1, 384) == (await embedder.embed(["next"])).shape
        assert 0 == embedder.counters["split"]

    async def test_loop(self, embedder: CompiledProvider) -> None:
        """The loop goes on while a batch is computed: nine beats in ten are 50 ms late at most."""
        heart = Heartbeat(SystemClock(), most=0.01)
        bulk = asyncio.create_task(embedder.embed(LONG))
        late = []
        while not bulk.done():
            late.append(await heart.beat())

        assert (3, 384) == (await bulk).shape
        assert 50.0 > np.quantile(late, 0.9)
