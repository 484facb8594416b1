"""One embedder in a process of its own: `python -m benchmarks.embedders float|compiled FOLDER`.

Embeds a word and says so; then takes one JSON object a line (`op` and what it needs) and answers
with one: `bulk` and `pool` with the seconds, `one` with the seconds of each text, `size` with its
memory. The two kinds are never in one process, because each would pay for the other's libraries.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.runtime.names import NamedActor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: The pool as the settings have it: texts and seconds.
ITEMS, SECONDS = 20, 0.5

#: Texts that sentence-transformers is given at once.
BATCH = 32


class Embedder(Protocol):
    """What is measured."""

    async def bulk(self, texts: list[str]) -> None:
        """Embed them all in one call."""

    async def one(self, text: str) -> None:
        """Embed what a person waits for."""

    async def pool(self, texts: list[str]) -> None:
        """Embed them as the product does."""


class Float:
    """sentence-transformers as its users call it."""

    def __init__(self, folder: str) -> None:
        os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TQDM_DISABLE": "1"}
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        self._model = SentenceTransformer(folder, device="cpu", local_files_only=True)

    async def bulk(self, texts: list[str]) -> None:
        """Embed them all in one call, which sorts them by length itself."""
        self._model.encode(texts, batch_size=BATCH, show_progress_bar=False)

    async def one(self, text: str) -> None:
        """Embed one text."""
        await self.bulk([text])

    async def pool(self, texts: list[str]) -> None:
        """Embed them in calls of as many as a flush of the pool holds."""
        for begin in range(0, len(texts), ITEMS):
            await self.bulk(texts[begin : begin + ITEMS])


class Compiled:
    """The compiled provider, and the pool in front of it."""

    def __init__(self, folder: str, threads: int = 0, batch_tokens: int = 0) -> None:
        from cortex_actors.clock import SystemClock  # noqa: PLC0415 - after the time is taken
        from cortex_actors.embedding import manifest  # noqa: PLC0415
        from cortex_actors.embedding.compiled import (  # noqa: PLC0415
            BATCH_TOKENS,
            CompiledProvider,
        )

        self._clock = SystemClock()
        self.provider = CompiledProvider(
            Path(folder),
            manifest.read(Path(folder)),
            self._clock,
            threads=threads,
            batch_tokens=batch_tokens or BATCH_TOKENS,
        )
        self._embed: Callable[..., Awaitable[object]] | None = None

    async def start(self) -> None:
        """Load the model."""
        await self.provider.start()
        state = await self.provider.wait_settled()
        assert state == "ready", self.provider.reason

    async def bulk(self, texts: list[str]) -> None:
        """Embed them all in one request to the provider."""
        await self.provider.embed(texts)

    async def one(self, text: str) -> None:
        """Embed a person's question."""
        await self.provider.embed([text], urgent=True)

    async def pool(self, texts: list[str]) -> None:
        """Ask the pool for all of them."""
        if self._embed is None:
            await self._start_pool()
        assert self._embed is not None
        outcomes: Any = await self._embed(texts)
        assert all(not isinstance(each, Exception) for each in outcomes)

    async def _start_pool(self) -> None:
        from cortex_actors.embedding.pool import Pool  # noqa: PLC0415
        from cortex_actors.runtime.actor import start_actor  # noqa: PLC0415
        from cortex_actors.runtime.names import Names  # noqa: PLC0415

        names = Names()
        make = partial(
            Pool, self.provider, self._clock, items=ITEMS, seconds=SECONDS, limit=100_000
        )
        self._handle = await start_actor(names, "pool", make)
        self._embed = partial(NamedActor[Any]("pool", names).ask, Pool.embed)


async def serve(embedder: Embedder) -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        cpu, wall = time.process_time(), time.perf_counter()
        answer: dict[str, Any] = {}
        match request["op"]:
            case "bulk":
                await embedder.bulk(request["texts"])
            case "pool":
                await embedder.pool(request["texts"])
            case "one":
                answer["each"] = [await _timed(embedder, text) for text in request["texts"]]
            case "size":
                answer |= _memory()
        answer |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps(answer), flush=True)


async def _timed(embedder: Embedder, text: str) -> float:
    begun = time.perf_counter()
    await embedder.one(text)
    return time.perf_counter() - begun


def _memory() -> dict[str, float]:
    """Return what is resident now, and at most so far, in MB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        name: int(status[key].split()[0]) / 1_000
        for name, key in (("resident", "VmRSS"), ("peak", "VmHWM"))
    }


async def main(kind: str, folder: str) -> None:
    """Load, embed a word, say so, and serve."""
    embedder: Embedder
    if kind == "float":
        embedder = Float(folder)
    else:
        embedder = compiled = Compiled(folder)
        await compiled.start()
    await embedder.one("warm")
    print(json.dumps({"ready": True}), flush=True)
    await serve(embedder)
    os._exit(0)  # the pool's actor is not worth an orderly end


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
