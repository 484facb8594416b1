"""The verb `model`: what a running daemon says of the model that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.testing import eventually
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk


@pytest.fixture
async def cortex(tmp_home: Path) -> AsyncIterator[FrontDesk]:
    """Give the verbs of a tree whose vectors are hashed."""
    async with grown(tmp_home) as tree:
        yield tree.cortex


class TestModel:
    async def test_answers(self, cortex: FrontDesk) -> None:
        """It names the space, how the embedder is, and why there is no compiled form."""
        found = await cortex.model()

        assert ("hashing-v1-384", "hashing", "hashing") == (
            found["id"],
            found["provider"],
            found["form"],
        )
        assert "ready" == found["embedder"]["state"]
        assert found["compiled"] is None
        assert "only models of sentence-transformers are compiled" == found["why"]

    async def test_under_way(self, cortex: FrontDesk) -> None:
        """What the migrator is at comes with it."""

        async def settled() -> bool:
            return bool((await cortex.model())["migration"]["active"])

        await eventually(settled)
        found = (await cortex.model())["migration"]
        assert ("idle", None) == (found["state"], found["coming"])
