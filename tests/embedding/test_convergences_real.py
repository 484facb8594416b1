"""What converges with the real vectors of the default model, and what never does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiled import CompiledProvider
from cortex_actors.rules.convergence import Voice, find_groups, find_opposition
from cortex_actors.storage.search.matrix import cosine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from cortex_actors.rules.convergence import ConvergenceResult

pytestmark = pytest.mark.slow

#: The threshold of the settings.
THRESHOLD = 0.7

#: What agents say of dependencies: three say the same, one the opposite.
PINNED = (
    "We should always pin dependency versions in requirements.txt.",
    "Pin every dependency to an exact version in requirements.txt.",
    "Dependencies ought to be pinned to exact versions in requirements.txt.",
)
NEVER = "Never pin dependency versions in requirements.txt."
SPACES = ("Use four spaces for indentation, never tabs.", "Indent with spaces, not tabs.")
WEATHER = "The weather in Lisbon is lovely this week."


@pytest.fixture
async def provider(compiled_model: Path) -> AsyncIterator[CompiledProvider]:
    """Give the compiled default model."""
    found = CompiledProvider(compiled_model, manifest.read(compiled_model), SystemClock())
    await found.start()
    await found.wait_settled()
    yield found
    await found.close()


async def compared(provider: CompiledProvider, texts: Sequence[str]) -> ConvergenceResult:
    """Compare what agents say, each of another one."""
    rows = await provider.embed(list(texts))
    voices = [Voice(str(n), f"AGENT{n}", text) for n, text in enumerate(texts)]
    return find_groups(
        voices, lambda one, other: cosine(rows[one], rows[other]), threshold=THRESHOLD
    )


class TestSentences:
    async def test_groups(self, provider: CompiledProvider) -> None:
        """Two are a harmony, three a consensus, and the opposite of both is in neither."""
        found = await compared(provider, [*PINNED, NEVER, *SPACES, WEATHER])

        assert [("CONSENSUS", PINNED), ("HARMONY", SPACES)] == [
            (str(group.kind), tuple(voice.text for voice in group.voices)) for group in found.groups
        ]
        assert {NEVER} == {pair.right.text for pair in found.apart}

    async def test_one_question(self, provider: CompiledProvider) -> None:
        """Both sides of a question are nearer to each other than the two that agree [N-18]."""
        texts = [PINNED[0], NEVER, PINNED[1]]
        rows = await provider.embed(texts)
        found = await compared(provider, texts)

        assert cosine(rows[0], rows[1]) > cosine(rows[0], rows[2]) >= THRESHOLD
        assert [("AGENT0", "AGENT2")] == [group.agents for group in found.groups]

    async def test_labelled(self, provider: CompiledProvider) -> None:
        """Of real statements that people labelled, nothing that contradicts is taken for one."""
        if "CORTEX_TEST_DATA" not in os.environ:
            pytest.skip("the labelled pairs are not here: set CORTEX_TEST_DATA")
        file = Path(os.environ["CORTEX_TEST_DATA"]) / "pairs.jsonl"
        pairs = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        texts = list(dict.fromkeys(pair[side]["text"] for pair in pairs for side in "ab"))
        rows = dict(zip(texts, await provider.embed(texts), strict=True))
        met: dict[str, int] = {}
        for pair in pairs:
            left, right = (pair[side]["text"] for side in "ab")
            near = cosine(rows[left], rows[right])
            if near >= THRESHOLD and find_opposition(left, right, near) is None:
                met[pair["label"]] = met.get(pair["label"], 0) + 1

        assert {"duplicate"} == set(met), met
        assert met["duplicate"] >= 15
