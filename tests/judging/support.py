"""A chat completions endpoint that says what a test tells it, and a layer that asks it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cortex_actors.judging.chat import LanguageLayer
from cortex_actors.sections import JudgingSettings
from tests.endpoint.server import FakeServer, Reply, Request, document, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from cortex_actors.clock import Clock

#: What a comparison is answered with, unless told otherwise.
SAME = {"reason": "one claim", "relation": "same", "conflict": None, "confidence": 0.9}


def says(said: object, *, finish: str = "stop", **message: object) -> Reply:
    """Return a completion; what is no string is said as JSON."""
    text = said if isinstance(said, str) else json.dumps(said)
    choice = {"index": 0, "finish_reason": finish, "message": {"content": text, **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return document({"choices": [choice], "usage": usage})


def quotes(request: Request) -> dict[str, Any]:
    """Return what a request quotes."""
    found: dict[str, Any] = json.loads(request.body["messages"][1]["content"])
    return found


class FakeChat(FakeServer):
    """Says that any two claims are the same, until told otherwise by `script` or `rule`."""

    def __init__(self) -> None:
        super().__init__()
        self.rule: Callable[[Request], Reply] = lambda _: says(SAME)

    def answer(self, request: Request) -> Reply:
        return self.rule(request)


@asynccontextmanager
async def chatting() -> AsyncIterator[FakeChat]:
    """Give an endpoint that listens."""
    async with listening(FakeChat()) as chat:
        yield chat


def settings_for(chat: FakeChat, **settings: Any) -> JudgingSettings:
    """Return settings that lead to an endpoint, with an address given or the endpoint's own."""
    return JudgingSettings.model_validate({"model": "m", "base_url": chat.url, **settings})


@asynccontextmanager
async def layer_at(chat: FakeChat, clock: Clock, **settings: Any) -> AsyncIterator[LanguageLayer]:
    """Give a layer at work; its pauses have no jitter."""
    layer = LanguageLayer(settings_for(chat, **settings), clock, chance=lambda: 1.0)
    living = asyncio.create_task(layer.live())
    try:
        yield layer
    finally:
        living.cancel()
        await asyncio.wait({living})
