"""What was remembered is recalled from the moment `remember` returns, indexed or not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import IndexDown
from cortex_actors.memory.custodian import Custodian
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.testing import eventually
from tests.flow.support import grown

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


async def _no_turns(_self: Indexer) -> None:
    """Embed nothing and tell the index nothing."""


async def query(*_: object, **__: object) -> dict[str, list[tuple[str, float]]]:
    """Be an index that does not answer."""
    raise IndexDown("held back")


class TestReadYourWrites:
    async def test_index_held_back(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever was told that something is saved finds it, among many who remember as well."""
        monkeypatch.setattr(Indexer, "_live", _no_turns)
        monkeypatch.setattr(Vectors, "query", query)
        async with grown(tmp_home) as tree:

            async def one(number: int) -> bool:
                kept = await tree.cortex.remember(f"word{number} is the password", merge=False)
                found = await tree.cortex.search(f"word{number}", limit=3)
                return bool(kept["id"] in [hit["id"] for hit in found["hits"]])

            assert all(await asyncio.gather(*(one(number) for number in range(8))))
            assert await tree.parts.records.read(pending.count_pending)

    async def test_what_replaced_it(self, tmp_home: Path) -> None:
        """What was replaced is found no more, but as of before."""
        async with grown(tmp_home) as tree:
            cortex = tree.cortex
            old = (await cortex.remember("the port is 5432", type="dialogue"))["id"]
            before = tree.parts.cortex._call.clock.now()
            new = (await cortex.remember("the port is 5433", type="dialogue", supersedes=[old]))[
                "id"
            ]
            now = [hit["id"] for hit in (await cortex.search("port"))["hits"]]
            then = [hit["id"] for hit in (await cortex.search("port", as_of=before))["hits"]]

            assert ([new], [old]) == (now, then)

    async def test_counts_as_read(self, tmp_home: Path) -> None:
        """What was in an answer was read, and says so next time; without a trace it was not."""
        async with grown(tmp_home) as tree:
            cortex = tree.cortex
            await cortex.remember("the zebra is called Z")
            await cortex.search("zebra", track=False)
            await cortex.search("zebra")

            async def count() -> bool:
                (hit,) = (await cortex.search("zebra", track=False))["hits"]
                return bool(1 == hit["extra"]["access_count"])

            await tree.parts.actors.custodian.ask(Custodian.flush)
            await eventually(count)
