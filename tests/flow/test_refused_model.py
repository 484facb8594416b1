"""Wishes for models that cannot be: nothing has begun, and the daemon answers as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import CortexError, ModelMissing, UsageError
from cortex_actors.testing import eventually
from tests.flow.support import grown

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("to", "provider", "error", "mend"),
    [
        ("nope", "hashing", ModelMissing, "give a name such as hashing-v1-384"),
        ("hashing-v1-0", None, ModelMissing, "give a name such as hashing-v1-384"),
        ("hashing-v1-999999999", "hashing", ModelMissing, "give a name such as hashing-v1-384"),
        ("all-MiniLM-L6-v2", "magic", UsageError, "sentence-transformers, openai, hashing"),
        ("", None, ModelMissing, "or one of: all-MiniLM-L6-v2"),
        ("gpt-4", "openai", ModelMissing, "embedding.base_url"),
    ],
)
async def test_refused(
    tmp_home: Path, to: str, provider: str | None, error: type[CortexError], mend: str
) -> None:
    """A model that cannot be is refused with the mend before anything is written down."""
    async with grown(tmp_home) as tree:

        async def is_settled() -> bool:
            return (await tree.cortex.migration())["active"] is not None

        await eventually(is_settled)
        before = await tree.cortex.migration()
        with pytest.raises(error, match=mend):
            await tree.cortex.migrate(to, provider)
        found = await tree.cortex.migration()

        assert found["coming"] is None
        assert before["active"] == found["active"]
        assert [] == (await tree.cortex.recall("anything"))["hits"]
