"""The shipped model in its own process: slow, real, and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.embedding.torch_provider import SentenceProvider
from cortex_actors.errors import EmbedderDown

if TYPE_CHECKING:
    from cortex_actors.embedding.provider import Provider

#: Seconds for one load on a slow, busy machine.
PATIENCE = 120

pytestmark = pytest.mark.slow


async def become(provider: Provider, state: ProviderState) -> None:
    """Wait until the provider is in a state."""
    async with asyncio.timeout(PATIENCE):
        while provider.state is not state:
            await asyncio.sleep(0.01)


class TestShippedModel:
    async def test_whole_life(self) -> None:
        """It loads offline, ranks a paraphrase first, counts long texts, heals after kill -9."""
        lines: list[str] = []
        provider = SentenceProvider("all-MiniLM-L6-v2", SystemClock(), on_line=lines.append)
        await provider.start()
        try:
            await become(provider, ProviderState.READY)
            await self._embeds(provider)
            await self._heals(provider)
        finally:
            await provider.close()

        assert [] == lines
        assert "torch" not in sys.modules
        assert "sentence_transformers" not in sys.modules

    async def _embeds(self, provider: SentenceProvider) -> None:
        rows = await provider.embed(
            [
                "Run the test suite before you push.",
                "Execute all tests prior to pushing your changes.",
                "The cafeteria serves soup on Tuesdays.",
                "word " * 400,
            ]
        )
        _, paraphrase, unrelated, _ = rows @ rows[0]

        assert (4, 384) == rows.shape
        assert np.allclose(1.0, np.linalg.norm(rows, axis=1), atol=1e-6)
        assert paraphrase > 0.5
        assert unrelated < 0.2
        assert (0, 1) == (provider.counters["restarts"], provider.counters["split"])

    async def _heals(self, provider: SentenceProvider) -> None:
        before = provider.pid
        assert before is not None
        pending = asyncio.create_task(provider.embed(["a long text " * 2_000] * 20))
        await asyncio.sleep(0.05)
        os.kill(before, signal.SIGKILL)
        with pytest.raises(EmbedderDown, match="SIGKILL"):
            await pending
        await become(provider, ProviderState.DOWN)
        await become(provider, ProviderState.READY)

        assert before != provider.pid
        assert (1, 384) == (await provider.embed(["well again"])).shape
        assert 1 == provider.counters["restarts"]
