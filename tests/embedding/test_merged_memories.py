"""What is merged with the real vectors of the default model, and what never is."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiled import CompiledProvider
from tests.memory.remembering import Remembering
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.storage.embeddings import Matrix

REDIS, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"

#: Facts that have nothing to do with one another, and some that have a little.
FACTS = (
    "The parser is written in Rust",
    "Anna prefers tea in the morning",
    "Deploys wait for a green build on main",
    "The Monday pottery class is full",
    "Postgres runs on port 5432 in staging",
    "The cache is cleared every night",
)


class Real:
    """The compiled model as the archivist asks for it."""

    def __init__(self, provider: CompiledProvider) -> None:
        self._provider = provider

    async def __call__(self, texts: Sequence[str], **_how: object) -> Matrix:
        """Return one row for each text."""
        return await self._provider.embed(texts)


@pytest.fixture
async def there(tmp_path: Path, compiled_model: Path) -> AsyncIterator[Remembering]:
    """Give an archivist with the real model and no judge but the rules."""
    provider = CompiledProvider(compiled_model, manifest.read(compiled_model), SystemClock())
    await provider.start()
    await provider.wait_settled()
    try:
        async with opened(tmp_path) as office:
            yield await Remembering(office, Real(provider)).begin()  # type: ignore[arg-type]
    finally:
        await provider.close()


@pytest.mark.slow
class TestReal:
    async def test_unrelated(self, there: Remembering) -> None:
        """Unrelated facts are never merged, and two wordings are, with all of them there (M-14)."""
        for each in (*FACTS, REDIS):
            assert "saved" == (await there.say(each)).state

        found = await there.say(AGAIN)
        assert "merged" == found.state
        assert {*FACTS, REDIS} == {*(await there.active()).values()}

    async def test_opposite(self, there: Remembering) -> None:
        """The labelled contradictions that lie nearest are never merged."""
        for number, (one, other) in enumerate(_opposites()):
            say = partial(there.say, agent=f"A{number}")
            await say(one)

            assert "saved" == (await say(other)).state


def _opposites() -> list[tuple[str, str]]:
    """Return contradictions: the nearest real ones where they are, else some of our own."""
    file = Path(os.environ.get("CORTEX_TEST_DATA") or "/nowhere") / "pairs.jsonl"
    if not file.exists():
        return [
            ("The system has two queues", "The system has three queues"),
            ("Never commit to main", "Always commit to main"),
        ]
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    against = [each for each in rows if each["label"] == "contradiction"]
    nearest = sorted(against, key=lambda each: -float(each["minilm_cos"]))[:6]
    return [(each["a"]["text"], each["b"]["text"]) for each in nearest]
