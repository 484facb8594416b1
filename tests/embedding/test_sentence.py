from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding.factory import HashingProvider, make_provider
from cortex_actors.embedding.provider import PAUSES, ProviderState
from cortex_actors.embedding.torch_provider import SentenceProvider
from cortex_actors.errors import BadInput, EmbedderDown, EmbedderLoading, ModelMissing
from cortex_actors.sections import EmbeddingSettings
from tests.embedding.support import is_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.embedding.support import ManualClock

#: The process that stands in for torch.
FAKE = "tests.embedding.fake_child"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a model folder that promises two dimensions, whose process keeps the promise."""
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 2}))
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "behaviour").write_text("2")
    return tmp_path


@pytest.fixture
async def embedder(folder: Path, clock: ManualClock) -> AsyncIterator[SentenceProvider]:
    """Give a started provider whose process is a fake."""
    provider = SentenceProvider(str(folder), clock, timeout=10.0, child=FAKE)
    await provider.start()
    yield provider
    await provider.close()


async def settled(provider: SentenceProvider) -> ProviderState:
    """Wait, not for ever, until the state is not `loading`."""
    async with asyncio.timeout(20):
        return await provider.wait_settled()


async def mended(provider: SentenceProvider, clock: ManualClock) -> ProviderState:
    """Wait until a pause has begun, turn the clock to its end, and wait for the next life."""
    async with asyncio.timeout(20):
        pause = await clock.next_alarm()
        assert ProviderState.DOWN is provider.state
        await clock.advance(pause)
    return await settled(provider)


class TestLoading:
    async def test_at_once(self, embedder: SentenceProvider) -> None:
        """Starting returns at once, with everything known but the vectors."""
        assert ProviderState.LOADING is embedder.state
        assert 2 == embedder.dimension
        with pytest.raises(EmbedderLoading, match="cortex status"):
            await embedder.embed(["a"])

    async def test_ready(self, embedder: SentenceProvider) -> None:
        """Once it is ready, texts become unit rows."""
        assert ProviderState.READY is await settled(embedder)
        assert np.allclose([[0.6, 0.8]] * 2, await is_provider(embedder).embed(["a", "b"]))
        assert embedder.pid is not None

    async def test_twice(self, embedder: SentenceProvider) -> None:
        """Starting it again changes nothing."""
        await settled(embedder)
        before = embedder.pid
        await embedder.start()

        assert before == embedder.pid
        assert ProviderState.READY is embedder.state

    async def test_closed(self, embedder: SentenceProvider) -> None:
        """A closed provider embeds nothing until it is started again."""
        await settled(embedder)
        await embedder.close()
        with pytest.raises(EmbedderDown):
            await embedder.embed(["a"])
        await embedder.start()

        assert ProviderState.READY is await settled(embedder)


class TestMissing:
    async def test_model(self, tmp_path: Path, clock: ManualClock) -> None:
        """A model that is nowhere is a state with instructions; no process is started."""
        provider = SentenceProvider(str(tmp_path / "nowhere"), clock)
        await provider.start()

        assert ProviderState.MISSING is await settled(provider)
        with pytest.raises(ModelMissing, match="CORTEX_EMBEDDING__MODEL"):
            await provider.embed(["a"])

    @pytest.mark.parametrize(
        ("behaviour", "says"),
        [("no library", "pip install sentence-transformers"), ("3", "promise vectors of 2")],
    )
    async def test_hopeless(
        self, folder: Path, embedder: SentenceProvider, behaviour: str, says: str
    ) -> None:
        """What no further attempt can mend is missing and not down."""
        await embedder.close()
        (folder / "behaviour").write_text(behaviour)
        await embedder.start()

        assert ProviderState.MISSING is await settled(embedder)
        assert says in embedder.reason


class TestHealing:
    async def test_death(self, embedder: SentenceProvider, clock: ManualClock) -> None:
        """A text that kills the process fails with a typed error, and a new process comes."""
        await settled(embedder)
        with pytest.raises(EmbedderDown, match="SIGSEGV"):
            await embedder.embed(["die"])
        assert ProviderState.READY is await mended(embedder, clock)

        assert (1, 2) == (await embedder.embed(["a"])).shape
        assert 1 == embedder.counters["restarts"]

    async def test_hang(self, folder: Path, clock: ManualClock) -> None:
        """A process that does not answer in time is killed, because it would stay busy."""
        provider = SentenceProvider(str(folder), clock, timeout=0.05, child=FAKE)
        await provider.start()
        await settled(provider)
        with pytest.raises(EmbedderDown, match=r"0\.05 s.*request_timeout_s"):
            await provider.embed(["hang"])

        assert ProviderState.READY is await mended(provider, clock)
        await provider.close()

    async def test_backoff(
        self, folder: Path, embedder: SentenceProvider, clock: ManualClock
    ) -> None:
        """Pauses between attempts double up to a minute, and the reason is told meanwhile."""
        await embedder.close()
        (folder / "behaviour").write_text("broken")
        await embedder.start()
        pauses = []
        for _ in range(3):
            await settled(embedder)
            pauses.append(await clock.next_alarm())
            await mended(embedder, clock)

        assert [1.0, 2.0, 4.0] == pauses
        assert "weights cannot be read" in embedder.reason
        assert (60.0, 7) == (PAUSES[-1], len(PAUSES))

    async def test_long_life(self, embedder: SentenceProvider, clock: ManualClock) -> None:
        """A process that was ready for long has its earlier deaths forgotten."""
        for life, pause in ((0.0, 1.0), (0.0, 2.0), (61.0, 1.0)):
            await settled(embedder)
            await clock.advance(life)
            with pytest.raises(EmbedderDown):
                await embedder.embed(["die"])
            assert pause == await clock.next_alarm()
            await mended(embedder, clock)


class TestFailures:
    @pytest.mark.parametrize(
        ("text", "error"),
        [("type", BadInput), ("nan", BadInput), ("memory", EmbedderDown), ("few", EmbedderDown)],
    )
    async def test_whose_fault(
        self, embedder: SentenceProvider, text: str, error: type[Exception]
    ) -> None:
        """A text's fault is told from the model's, and the process survives both."""
        await settled(embedder)
        before = embedder.pid
        with pytest.raises(error) as caught:
            await embedder.embed([text])

        assert error is caught.type
        assert before == embedder.pid

    async def test_split(self, embedder: SentenceProvider) -> None:
        """Texts longer than the model reads at once are embedded and counted."""
        await settled(embedder)
        await embedder.embed(["short", "longer than nine"])

        assert 1 == embedder.counters["split"]


class TestChoose:
    async def test_hashing(self, clock: ManualClock) -> None:
        """The settings choose the provider."""
        chosen = make_provider(EmbeddingSettings(provider="hashing"), clock)

        assert isinstance(chosen, HashingProvider)
        assert ProviderState.READY is await is_provider(chosen).wait_settled()

    async def test_default(self, clock: ManualClock) -> None:
        """By default it is the shipped model, described before it is loaded."""
        chosen = make_provider(EmbeddingSettings(), clock)

        assert isinstance(chosen, SentenceProvider)
        assert ("all-MiniLM-L6-v2", 384, 256) == (
            chosen.model_id,
            chosen.dimension,
            chosen.max_tokens,
        )
