"""What files are compared by is kept over a restart."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.cache import Cache
from cortex_actors.testing import settled
from tests.flow.support import copied, follow, grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

NAMES = ("atlas-api",)


async def made(tree: Tree) -> int:
    """Return how many vectors the embedder made in this life."""
    found = asdict(await tree.parts.actors.cache.ask(Cache.describe))
    return int(found["embedded"])


@pytest.mark.slow
class TestCompared:
    async def test_restarted(self, tmp_path: Path, tmp_home: Path) -> None:
        """A daemon that was started again shows what files would get without the embedder."""
        roots = copied(tmp_path, *NAMES)
        async with grown(tmp_home) as tree:
            await follow(tree, *roots, within=60)
            before = await tree.cortex.resolve(everything=True, dry_run=True)
        async with grown(tmp_home) as tree:
            await settled(tree, 60)
            already = await made(tree)
            after = await tree.cortex.resolve(everything=True, dry_run=True)

            assert already == await made(tree)
        assert before["files"]
        assert before == after
