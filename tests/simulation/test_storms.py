from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.simulation import scenario
from tests.simulation.scenario import FIRST_LONG, play
from tests.simulation.service import WRITING
from tests.simulation.stage import stage

if TYPE_CHECKING:
    from collections.abc import Iterator

#: One seed alone, for whoever repeats a failure.
ONLY = os.environ.get("CORTEX_SIM_SEED")

#: Seeds of one test, of a normal run and of a soak.
BLOCK, USUAL, SOAK = 20, FIRST_LONG, 3_000

ROOT = Path(__file__).parent.parent.parent

#: Prints what a seed's run did, step by step, as one number.
DIGEST = """
import sys
from pathlib import Path
from tests.simulation.test_storms import digest
print(digest(int(sys.argv[1]), Path(sys.argv[2])))
"""


def blocks(seeds: int) -> list[range]:
    """Return the seeds of a run, a block for each test."""
    if ONLY is not None:
        return [range(int(ONLY), int(ONLY) + 1)]
    return [range(first, first + BLOCK) for first in range(0, seeds, BLOCK)]


def digest(seed: int, folder: Path) -> str:
    """Return a hash of everything that happened in a seed's run."""
    trace = play(seed, folder).trace
    return hashlib.sha256(repr(trace).encode()).hexdigest()


def weather_all(seeds: range, folder: Path) -> None:
    """Play some seeds; a failure says how to repeat it."""
    for seed in seeds:
        try:
            play(seed, folder)
        except BaseException as error:
            error.add_note(f"repeat with: CORTEX_SIM_SEED={seed} pytest tests/simulation")
            if folder.name != "0":
                error.add_note(f"(its folder was {folder}: another run had the first one)")
            raise


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give the folder in which all simulations play."""
    with stage() as folder:
        yield folder


class TestFairWeather:
    @pytest.mark.slow
    def test_learns(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run in which nothing goes wrong ends with the insights that storms are held against."""
        monkeypatch.setattr(scenario, "SHORT", (0,))
        trace = play(3, folder).trace

        assert [] == [what for _, what in trace if what.startswith("!")]


class TestStorms:
    @pytest.mark.slow
    @pytest.mark.parametrize("seeds", blocks(USUAL), ids=str)
    def test_promises_are_kept(self, seeds: range, folder: Path) -> None:
        """Whatever crashes, hangs, jumps or loses power, the tree keeps every promise."""
        weather_all(seeds, folder)

    @pytest.mark.soak
    @pytest.mark.parametrize("seeds", blocks(SOAK), ids=str)
    def test_promises_are_kept_at_length(self, seeds: range, folder: Path) -> None:
        """Ten times as many seeds break no promise either."""
        weather_all(seeds, folder)


class TestRepetition:
    @pytest.mark.slow
    def test_in_this_process(self, folder: Path) -> None:
        """A seed's run is the same when it is played again, and another's is not."""
        first, again, other = (digest(seed, folder) for seed in (WRITING, WRITING, 2))

        assert first == again
        assert first != other

    @pytest.mark.slow
    def test_in_another_process(self, folder: Path) -> None:
        """A seed's run is the same in every process, whatever its strings hash to."""
        here = digest(2 * WRITING, folder)
        there = [
            subprocess.run(
                [sys.executable, "-c", DIGEST, str(2 * WRITING), folder],
                env={**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": str(ROOT)},
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for salt in ("1", "2")
        ]

        assert [here, here] == there
