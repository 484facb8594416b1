"""Reconciling change by change leads where reconciling everything at once leads."""

from __future__ import annotations

import os
import random
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.histories import World, statements
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.pipeline.support import Office

#: Histories of one run and of a long one, and changes of each.
FEW, MANY, CHANGES = 2, 400, 25

#: Where statements stand, and in which part of a project they hold: texts move between these.
HEADINGS, SCOPES = ("", "Rules", "Legacy"), ("", "docs")

#: Repeats one history.
SEED = os.environ.get("CORTEX_HISTORY_SEED")


@pytest.fixture
async def world(office: Office) -> AsyncIterator[World]:
    """Give an empty world."""
    found = World(office)
    yield found
    found.close()


async def live(world: World, folder: Path, dice: random.Random) -> None:
    """Let files change at random, reconcile now and then, and let persons decide."""
    projects = [await world.office.follow(folder / name) for name in ("atlas", "harbor")]
    world.plant(dice)
    late: list[str] = []
    for _ in range(CHANGES):
        project, name = dice.choice(projects), dice.choice(("CLAUDE.md", "CLAUDE.local.md", "A.md"))
        texts = dice.sample(statements(), dice.randint(0, 8))
        embedded = dice.random() < 0.5
        places = [(dice.choice(HEADINGS), dice.choice(SCOPES)) for _ in texts]
        await world.write(project, name, texts, embedded=embedded, places=places)
        late += [] if embedded else texts
        if dice.random() < 0.1:
            await world.vanish(project, name)
        if dice.random() < 0.7:
            found = await world.look(weigh=dice.random() < 0.2)
            if dice.random() < 0.3:
                # A file that is read between the look and the commit.
                await world.write(project, "B.md", dice.sample(statements(), 3))
            await world.office.write(found.write)
        if dice.random() < 0.2:
            await world.decide(dice)
        if late and dice.random() < 0.3:
            await world.office.write(partial(world.embed, texts=late))
            late = []
    await world.reconcile(weigh=True)


async def compared(world: World, folder: Path, seed: int) -> None:
    """Live a history and compare where it led with where a full run leads."""
    await live(world, folder, random.Random(seed))
    before = await world.state()
    await world.reconcile(full=True, weigh=True)
    after = await world.state()
    for part, found in before.items():
        assert found == after[part], f"{part} differs: CORTEX_HISTORY_SEED={seed}"


async def histories(folder: Path, count: int) -> None:
    """Live so many histories, each with a ledger of its own."""
    for seed in seeds(count):
        async with opened(folder / str(seed)) as office:
            world = World(office)
            try:
                await compared(world, folder / str(seed), seed)
            finally:
                world.close()


def seeds(count: int) -> list[int]:
    """Return seeds nobody has tried, or the one that is to be tried again."""
    return [int(SEED)] if SEED else [random.randrange(2**32) for _ in range(count)]


class TestFullRebuild:
    @pytest.mark.slow
    async def test_same(self, tmp_path: Path) -> None:
        """A history of changes, late vectors and decisions ends as a full rebuild does."""
        await histories(tmp_path, FEW)

    @pytest.mark.soak
    async def test_many(self, tmp_path: Path) -> None:
        """So do hundreds of histories."""
        await histories(tmp_path, MANY)

    @pytest.mark.slow
    async def test_something_happens(self, world: World, tmp_path: Path) -> None:
        """Such a history has merges, contradictions of all states, clusters and slots in it."""
        dice = random.Random(7)
        world.plant(dice)
        project = await world.office.follow(tmp_path / "atlas")
        await world.write(project, "CLAUDE.md", statements())
        found = await world.reconcile()
        await world.decide(dice)
        state = await world.state()

        assert found.counts["merged"]
        assert found.detected
        assert state["decided"]
        assert state["slots"]
        assert {"active", "contradicted", "superseded"} <= {s for s, _ in state["stands"].values()}
