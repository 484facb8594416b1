"""Whatever was named first, and however often: the principles are the same."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.pipeline import principles
from tests.pipeline.distilling import EASY, Guild
from tests.pipeline.histories import ids, statements
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from cortex_actors.sections import ReconciliationSettings

#: Repeats one life.
SEED = int(os.environ.get("CORTEX_ORDER_SEED") or random.SystemRandom().randrange(10**6))

#: Files, and orders of one life, in a run and in a long one.
FILES, ORDERS = 5, 3

#: From the seed of a life to that of the one in its place.
NEXT = 1_000

#: Insights stay apart until they are nearly word for word the same, so that principles are near.
APART = EASY.model_copy(update={"cluster": 0.97, "judged": 1.0})


async def lived(guild: Guild, dice: random.Random, settings: ReconciliationSettings) -> list[str]:
    """Let files say what chance has them say, compare all of it, and return who was named."""
    guild.settings = guild.world.settings = settings
    guild.world.plant(dice)
    await guild.open()
    for number in range(FILES):
        texts = dice.sample(statements(), 10)
        await guild.say(*texts, by=[number % 3], name=f"{number}/CLAUDE.md")
    found = await guild.world.reconcile(full=True, weigh=True)
    return sorted({*found.weighed.candidates, *ids(*dice.sample(statements(), 5))})


async def named(guild: Guild, dice: random.Random, names: Sequence[str]) -> dict[str, Any]:
    """Name insights in some order, some of them twice, in some groups; return what came of it."""
    some = [*names, *dice.sample(names, len(names) // 3)]
    dice.shuffle(some)
    while some:
        size = dice.randint(1, 4)
        await guild.name(*some[:size])
        some = some[size:]
        if dice.random() < 0.2:
            await guild.everything()
    return await guild.state()


async def differences(folder: Path, seed: int, orders: int) -> list[str]:
    """Return in what the principles of one life depend on the order.

    A life that promotes nothing is not one of those: another one takes its place.
    """
    expected: dict[str, Any] = {}
    seed -= NEXT
    while not expected:
        seed += NEXT
        settings = random.Random(seed).choice((EASY, APART))
        async with opened(folder / f"all {seed}") as office:
            guild = Guild(office, folder / "projects")
            names = await lived(guild, random.Random(seed), settings)
            await guild.everything()
            expected = await guild.state()
            guild.world.close()
    dice, wrong = random.Random(seed), []
    for number in range(orders):
        async with opened(folder / str(number)) as office:
            guild = Guild(office, folder / "projects")
            assert names == await lived(guild, random.Random(seed), settings)
            if _plain(expected) != _plain(await named(guild, dice, names)):
                wrong.append(f"order {number} of seed {seed} ends otherwise")
            await guild.everything()
            if expected != await guild.state():
                wrong.append(f"order {number} of seed {seed} is ranked otherwise")
            guild.world.close()
    return wrong


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without the ranks: who is linked later ranks who is there."""
    return {name: (*row[:7], *row[8:]) for name, row in state.items()}


class TestOrder:
    @pytest.mark.slow
    async def test_named(self, tmp_path: Path) -> None:
        """Naming insights one by one, in any order, ends as looking at everything at once does."""
        assert [] == await differences(tmp_path, SEED, ORDERS)

    @pytest.mark.soak
    @pytest.mark.parametrize("round_", range(100))
    async def test_many(self, tmp_path: Path, round_: int) -> None:
        """So do a hundred other lives."""
        assert [] == await differences(tmp_path, SEED + round_, ORDERS)


class TestHistory:
    @pytest.mark.slow
    async def test_traceable(self, tmp_path: Path) -> None:
        """Whatever files and persons do, each principle comes of insights, wholly and once."""
        dice = random.Random(SEED)
        async with opened(tmp_path / "life") as office:
            guild = Guild(office, tmp_path, APART)
            guild.world.plant(dice)
            await guild.open()
            for _ in range(12):
                texts = dice.sample(statements(), dice.randint(0, 12))
                await guild.say(*texts, by=[dice.randrange(3)], name=dice.choice(("A.md", "B.md")))
                if dice.random() < 0.7:
                    await guild.reconcile()
                if dice.random() < 0.2:
                    await guild.world.decide(dice)
            await guild.reconcile(weigh=True)
            await guild.everything()
            before = await guild.state()
            await guild.everything()
            owed = await office.read(
                lambda c: principles.load_derivations(c, principles.list_ids(c))
            )
            assert before == await guild.state(), f"seed {SEED}"
            assert set(before) == owed.keys(), f"seed {SEED}"
            for some in owed.values():
                assert 1.0 == pytest.approx(sum(each.weight for each in some)), f"seed {SEED}"
            guild.world.close()
