"""The rounds of one remembering, whose words are kept in them, and what the last one is for."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.rules.merging import Prefer
from cortex_actors.testing import temporary_cortex
from tests.memory.remembering import Planted, Remembering
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

REDIS, AGAIN, THIRD = (
    "Redis listens on port 6379 by default",
    "Redis by default listens on port 6379",
    "By default Redis listens on port 6379",
)
OPPOSITE = "Redis does not listen on port 6379 by default"

#: Longer than a summary that a model writes.
PORTS = " ".join(f"The service number {each} listens on port {6_000 + each}." for each in range(20))
MORE = f"{PORTS} All of them speak TLS."

AT = {
    REDIS: (1, 0.1),
    AGAIN: (1, 0),
    THIRD: (1, 0.05),
    OPPOSITE: (1, 0.3),
    PORTS: (1, 0),
    MORE: (1, 0.05),
}


@asynccontextmanager
async def archivist(path: Path, **settings: Any) -> AsyncIterator[Remembering]:
    """Give an archivist with these settings that knows nothing yet."""
    async with opened(path) as office:
        yield await Remembering(office, Planted(AT), **settings).begin()


class TestMost:
    async def test_one(self, tmp_path: Path) -> None:
        """With one merge at most the second one is left for whoever says it next."""
        async with archivist(tmp_path, max_rounds=1) as there:
            planted = {await there.plant(AGAIN), await there.plant(THIRD)}
            found = await there.say(REDIS)

            assert 1 == len(planted & set(found.merged)) == len(found.merged)
            assert (2, 4) == await there.counts()

    async def test_none(self, tmp_path: Path) -> None:
        """With no merge at all what contradicts is found all the same."""
        async with archivist(tmp_path, max_rounds=0) as there:
            await there.plant(AGAIN)
            opposite = await there.plant(OPPOSITE)
            found = await there.say(REDIS)

            assert ("saved", [opposite]) == (found.state, [each for each, _ in found.conflicts])

    async def test_last(self, tmp_path: Path) -> None:
        """What the last merge came to is compared with what else there is, too."""
        async with archivist(tmp_path, max_rounds=1, top_k=1) as there:
            opposite = await there.plant(OPPOSITE)
            await there.plant(REDIS)
            found = await there.say(AGAIN)

            assert ("merged", [opposite]) == (found.state, [each for each, _ in found.conflicts])


class TestLong:
    async def test_merged(self, tmp_path: Path) -> None:
        """A text of many sentences becomes one with another that says all of it."""
        async with archivist(tmp_path) as there:
            await there.say(PORTS)
            found = await there.say(MORE)

            assert ("merged", {found.id: MORE}) == (found.state, await there.active())


class TestPrefer:
    @pytest.mark.parametrize(("prefer", "kept"), [(Prefer.A, AGAIN), (Prefer.B, REDIS)])
    async def test_asked(self, tmp_path: Path, prefer: Prefer, kept: str) -> None:
        """Of two that say the same the words stay that are preferred: the new, or the known."""
        async with archivist(tmp_path) as there:
            await there.say(REDIS)
            found = await there.say(AGAIN, prefer=prefer)

            assert {found.id: kept} == await there.active()

    @pytest.mark.slow
    @pytest.mark.parametrize(("prefer", "kept"), [("a", AGAIN), ("b", REDIS)])
    async def test_set(self, prefer: str, kept: str) -> None:
        """Where a wish does not say whose words count, the settings do."""
        async with temporary_cortex(memory={"prefer": prefer}) as tree:
            await tree.cortex.remember(REDIS)
            found = await tree.cortex.remember(AGAIN)

            assert kept == (await tree.cortex.memory(found["id"]))["content"]
