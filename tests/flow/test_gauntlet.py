"""However a file is changed, what it says in the end is known, and soon."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from typing import TYPE_CHECKING

import pytest
import watchfiles.main
from watchfiles._rust_notify import RustNotify

from cortex_actors.domain.project import hash_file
from cortex_actors.storage import projects
from cortex_actors.testing import eventually, settled
from tests.flow.support import grown
from tests.watching.gauntlet import Gauntlet, forgetful

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cortex_actors.tree import Tree

#: Seconds within which what a file says in the end is known, with the sweeps of a usual home.
BAR = 6.0

#: Edits of the whole run, and how many are made between two looks at the ledger.
EDITS, BATCH = 1_000, 25

#: Seconds that a loaded machine may take.
PATIENCE = 30.0


@pytest.fixture
def seed() -> int:
    """Return what decides this run; every failure names it."""
    return int(os.environ.get("CORTEX_GAUNTLET_SEED", random.randrange(1 << 32)))


async def missing(tree: Tree, gauntlet: Gauntlet) -> list[str]:
    """Return the files of which something else is known than what they say now."""
    known = await tree.parts.records.read(
        lambda connection: projects.load_files_in(connection, str(gauntlet.root))
    )
    return [
        path
        for path, text in gauntlet.final.items()
        if path not in known or known[path].sha256 != hash_file(text)
    ]


async def caught_up(tree: Tree, gauntlet: Gauntlet, seed: int) -> None:
    """Return once everything that files say is known."""

    async def none_missing() -> bool:
        return not await missing(tree, gauntlet)

    try:
        await eventually(none_missing, PATIENCE)
    except TimeoutError:
        left = await missing(tree, gauntlet)
        pytest.fail(f"missed: {left}; repeat with CORTEX_GAUNTLET_SEED={seed}")


def quokkas(texts: Iterable[str]) -> set[str]:
    """Return the numbers of the rules in some texts."""
    return {number for text in texts for number in re.findall(r"quokka (\d+)", text)}


@pytest.mark.slow
async def test_share(tmp_path: Path, tmp_home: Path, seed: int) -> None:
    """Every way to change a file, and some more at random, is noticed: none of them is missed."""
    (tmp_path / "p").mkdir()
    gauntlet = Gauntlet(tmp_path / "p", random.Random(seed))
    async with grown(tmp_home, watching={"sweep_s": 0.3}) as tree:
        await tree.cortex.add_project(str(gauntlet.root))
        await caught_up(tree, gauntlet, seed)
        await asyncio.to_thread(gauntlet.each)
        for _ in range(20):
            await asyncio.to_thread(gauntlet.edit)
        await caught_up(tree, gauntlet, seed)
        await settled(tree, PATIENCE)
        found = await tree.cortex.insights(limit=100_000)

    said = quokkas(text.decode() for text in gauntlet.final.values())
    known = quokkas(each["content"] for each in found["insights"])
    assert said == known, f"repeat with CORTEX_GAUNTLET_SEED={seed}"


@pytest.mark.soak
async def test_whole(
    tmp_path: Path, tmp_home: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand edits, with a queue that overflows: each final text is known in six seconds."""
    monkeypatch.setattr(watchfiles.main, "RustNotify", forgetful(RustNotify))
    (tmp_path / "p").mkdir()
    gauntlet = Gauntlet(tmp_path / "p", random.Random(seed), files=40)
    took = []
    async with grown(tmp_home, watching={"sweep_s": 5.0}) as tree:
        await tree.cortex.add_project(str(gauntlet.root))
        await caught_up(tree, gauntlet, seed)
        for _ in range(EDITS // BATCH):
            for _ in range(BATCH):
                await asyncio.to_thread(gauntlet.edit)
            ended = time.monotonic()
            await caught_up(tree, gauntlet, seed)
            took.append(round(time.monotonic() - ended, 2))

    assert [] == [seconds for seconds in took if seconds > BAR], f"CORTEX_GAUNTLET_SEED={seed}"
