from __future__ import annotations

import gc
import logging
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.simulation.agents import Agents
from tests.simulation.simulated_loop import Simulation, simulate
from tests.simulation.stage import stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: One seed alone, for whoever repeats a failure.
ONLY = os.environ.get("CORTEX_SIM_SEED")

#: Seeds of one test, of a normal run and of a soak.
BLOCK, USUAL, SOAK = 3, 6, 1_000


def blocks(seeds: int) -> list[range]:
    """Return the seeds of a run, a block for each test."""
    if ONLY is not None:
        return [range(int(ONLY), int(ONLY) + 1)]
    return [range(first, first + BLOCK) for first in range(0, seeds, BLOCK)]


def play(seed: int, root: Path) -> Simulation:
    """Play one seed's story in a folder, and return what is left of it; raises `Broken`."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)

    async def main(simulation: Simulation) -> Simulation:
        await Agents(simulation, root).play()
        return simulation

    logging.disable(logging.CRITICAL)
    gc.disable()  # a third of the time of many short runs
    try:
        return simulate(main, seed=seed)
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
        shutil.rmtree(root, ignore_errors=True)


def play_all(seeds: range, folder: Path) -> None:
    """Play some seeds; a failure says how to repeat it."""
    for seed in seeds:
        try:
            play(seed, folder)
        except BaseException as error:
            error.add_note(f"repeat with: CORTEX_SIM_SEED={seed} pytest {__file__}")
            raise


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give the folder in which all simulations play."""
    with stage() as folder:
        yield folder


class TestAgents:
    @pytest.mark.slow
    @pytest.mark.parametrize("seeds", blocks(USUAL), ids=str)
    def test_promises_are_kept(self, seeds: range, folder: Path) -> None:
        """Whatever fails, what is kept is there once and not for others, the forgotten nowhere."""
        play_all(seeds, folder)

    @pytest.mark.soak
    @pytest.mark.parametrize("seeds", blocks(SOAK), ids=str)
    def test_promises_are_kept_at_length(self, seeds: range, folder: Path) -> None:
        """Many times as many seeds break no promise either."""
        play_all(seeds, folder)


class TestRepetition:
    @pytest.mark.slow
    def test_same(self, folder: Path) -> None:
        """A seed's run is the same when it is played again."""
        assert play(3, folder).trace == play(3, folder).trace
