"""An embeddings endpoint on a real socket of this machine, that does what a test tells it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding.openai import OpenAIProvider
from cortex_actors.embedding.provider import ProviderState
from cortex_actors.sections import EmbeddingSettings
from cortex_actors.testing import eventually
from tests.endpoint.server import FakeServer, Reply, Request, document, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors


def good(texts: Sequence[str], dimension: int = 4) -> Reply:
    """Return the answer with a vector for each text, as `rows` has them, the last one first."""
    data = [
        {"object": "embedding", "index": i, "embedding": row}
        for i, row in enumerate(rows(texts, dimension).tolist())
    ]
    tokens = sum(len(text.split()) for text in texts)
    return document({"data": data[::-1], "model": "m", "usage": {"prompt_tokens": tokens}})


def rows(texts: Sequence[str], dimension: int = 4) -> Vectors:
    """Return vectors that are not of length 1 and different for different lengths of texts."""
    found = np.ones((len(texts), dimension), dtype=np.float32)
    found[:, 0] = [len(text) for text in texts]
    return found


def units(texts: Sequence[str], dimension: int = 4) -> Vectors:
    """Return `rows` scaled to length 1."""
    found = rows(texts, dimension)
    scaled: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return scaled


class FakeEndpoint(FakeServer):
    """Serves embeddings until told otherwise: `script` holds the next answers, then `rule` does."""

    def __init__(self) -> None:
        super().__init__()
        self.rule: Callable[[list[str]], Reply] = good

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request so far."""
        return [list(request.body["input"]) for request in self.requests]

    def answer(self, request: Request) -> Reply:
        return self.rule(list(request.body["input"]))


@asynccontextmanager
async def serving() -> AsyncIterator[FakeEndpoint]:
    """Give an endpoint that listens."""
    async with listening(FakeEndpoint()) as endpoint:
        yield endpoint


@asynccontextmanager
async def provided(
    endpoint: FakeEndpoint, clock: Clock, *, expected: int = 0, **settings: str | float
) -> AsyncIterator[OpenAIProvider]:
    """Give a provider of that endpoint that has begun to look at it; pauses have no jitter."""
    given = {"provider": "openai", "model": "m", **settings}
    if "base_url" not in given:
        given["base_url"] = endpoint.url
    provider = OpenAIProvider(
        "m",
        clock,
        settings=EmbeddingSettings.model_validate(given),
        dimension=expected,
        chance=lambda: 1.0,
    )
    await provider.start()
    try:
        yield provider
    finally:
        await provider.close()


async def recovered(provider: OpenAIProvider) -> None:
    """Wait until a provider is ready again."""
    await eventually(lambda: provider.state is ProviderState.READY)
