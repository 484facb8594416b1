"""The way round: what is brought into files is not learned from them, and comes to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.testing import settled
from tests.flow.downward import AGREED, held, organised, standing, theirs, touched
from tests.flow.support import SAMPLES, copied, follow, grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

#: Cycles of a normal run, and of a soak.
FEW, MANY = 5, 100

#: After so many cycles nothing may change any more.
STILL = 2


async def cycle(tree: Tree, *roots: Path) -> None:
    """Resolve every project, read every file again, weigh everything, distil everything."""
    for root in roots:
        await tree.cortex.resolve(str(root))
    await tree.cortex.scan()
    await organised(tree)


async def goes_round(folder: Path, home: Path, cycles: int, *, auto: bool) -> None:
    """Let so many cycles pass over all samples, and see that the later ones change nothing."""
    roots = copied(folder, *sorted(path.name for path in SAMPLES.iterdir()))
    before = held(*roots)
    async with grown(home, **AGREED) as tree:
        await follow(tree, *roots)
        for root in roots if auto else ():
            await tree.cortex.set_auto(str(root), on=True)
        for _ in range(STILL):
            await cycle(tree, *roots)
        still = await standing(tree), touched(*roots)
        for number in range(STILL, cycles):
            await cycle(tree, *roots)
            assert still == (await standing(tree), touched(*roots)), f"cycle {number + 1}"
        await settled(tree)

    after = held(*roots)
    assert before == theirs(after)
    assert {name for name in after if before[name] != after[name]}


class TestFixpoint:
    @pytest.mark.slow
    async def test_comes_to_rest(self, tmp_path: Path, tmp_home: Path) -> None:
        """From the third cycle on no row, no rank, no byte and no time of a file changes."""
        await goes_round(tmp_path, tmp_home, FEW, auto=True)

    @pytest.mark.soak
    @pytest.mark.parametrize("auto", [False, True])
    async def test_at_length(self, tmp_path: Path, tmp_home: Path, auto: bool) -> None:
        """The same after a hundred cycles, whether projects ask for it once or for good."""
        await goes_round(tmp_path, tmp_home, MANY, auto=auto)
