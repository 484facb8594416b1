from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from cortex_actors.embedding.factory import OFF_LOOP_LETTERS, HashingProvider
from cortex_actors.errors import BadInput

#: Prints a vector's bytes, in a process of its own.
_PROGRAM = """
import asyncio
from cortex_actors.embedding.factory import HashingProvider
rows = asyncio.run(HashingProvider().embed(["Use tabs, naïvely."]))
print(rows.tobytes().hex())
"""


class TestVectors:
    @pytest.mark.parametrize("dimension", [256, 384])
    async def test_shape(self, dimension: int) -> None:
        """There is one row of length 1 for every text, even one without words."""
        rows = await HashingProvider(dimension).embed(["a rule", "", "!?", "two\nlines", "东京"])

        assert (5, dimension) == rows.shape
        assert np.float32 == rows.dtype
        assert np.allclose(1.0, np.linalg.norm(rows, axis=1))

    async def test_none(self) -> None:
        """No texts give no rows, of the right width."""
        assert (0, 384) == (await HashingProvider().embed([])).shape

    async def test_refused(self) -> None:
        """It refuses what a model would refuse."""
        with pytest.raises(BadInput):
            await HashingProvider().embed(["\udfff"])


class TestLikeness:
    async def test_order(self) -> None:
        """The more two texts share, the nearer they are; unrelated ones are near a right angle."""
        rows = await HashingProvider().embed(
            [
                "Use tabs for indentation in Go files.",
                "In Go files, use tabs for indentation!",
                "Indent with tabs.",
                "The database password rotates every month.",
            ]
        )
        same, near, far = rows[1:] @ rows[0]

        assert same > 0.8
        assert same > near > far
        assert abs(far) < 0.15

    async def test_case(self) -> None:
        """Case and punctuation change nothing."""
        rows = await HashingProvider().embed(["Use TABS.", "use tabs"])

        assert np.array_equal(rows[0], rows[1])


class TestSameEverywhere:
    async def test_other_process(self) -> None:
        """A process with another hash seed makes the same vector to the last bit."""
        ours = await HashingProvider().embed(["Use tabs, naïvely."])
        theirs = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": "4711"},
            capture_output=True,
            check=True,
            text=True,
        )

        assert ours.tobytes().hex() == theirs.stdout.strip()

    async def test_large_batch(self) -> None:
        """A large batch leaves the loop for a thread and gives the same rows."""
        provider = HashingProvider()
        text = "word " * (OFF_LOOP_LETTERS // 4)
        before = threading.active_count()
        rows = await provider.embed([text, "small"])

        assert np.array_equal((await provider.embed(["small"]))[0], rows[1])
        assert before < threading.active_count()
        await provider.close()

    async def test_wide(self) -> None:
        """A batch of wide rows leaves the loop, too, however short its texts are."""
        provider = HashingProvider(8_192)
        before = threading.active_count()
        await provider.embed(["x"])
        assert before == threading.active_count()
        await provider.embed(["x", "y"])

        assert before < threading.active_count()
        await provider.close()

    async def test_together(self) -> None:
        """Callers at the same time do not disturb one another."""
        provider = HashingProvider()
        texts = [f"{'rule ' * OFF_LOOP_LETTERS}{i}" for i in range(3)]
        both = await asyncio.gather(*(provider.embed([text]) for text in texts))
        alone = [await HashingProvider().embed(["x"])]

        assert 3 == len(both)
        assert (1, 384) == alone[0].shape
        await provider.close()
