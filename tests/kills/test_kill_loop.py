"""kill -9 at random moments, under load, with an audit of what is left."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.kills.kill_loop import KillLoop, clean
from tests.kills.ledger_file import differences

if TYPE_CHECKING:
    from pathlib import Path

#: The seed of a run; CORTEX_KILLS_SEED repeats one.
SEED = int(os.environ.get("CORTEX_KILLS_SEED") or random.SystemRandom().randrange(10**6))

pytestmark = pytest.mark.slow


def survived(folder: Path, home: Path, *, kills: int, stops: int, every: int) -> KillLoop:
    """Return a home that was killed and stopped so many times, having looked at all of it."""
    loop = KillLoop(folder, home / "killed", SEED)
    try:
        loop.play(kills, stops, every=every)
    finally:
        print(loop.tally)  # noqa: T201 - what a run is worth, and what repeats a failure
    return loop


class TestKills:
    def test_nothing_is_lost(self, tmp_path: Path, tmp_home: Path) -> None:
        """After 30 kills everything acknowledged is there once, and the files are known."""
        loop = survived(tmp_path, tmp_home, kills=30, stops=3, every=3)

        assert [] == loop.tally.problems
        assert (0, 0) == (loop.tally.lost, loop.tally.doubled)
        assert loop.tally.landed >= 30
        assert [] == differences(clean(tmp_home / "clean", loop.roots), loop.content())

    @pytest.mark.soak
    def test_nothing_is_lost_at_length(self, tmp_path: Path, tmp_home: Path) -> None:
        """The same after 300 kills and 200 stops."""
        loop = survived(tmp_path, tmp_home, kills=300, stops=200, every=25)

        assert [] == loop.tally.problems
        assert (0, 0) == (loop.tally.lost, loop.tally.doubled)
        assert loop.tally.landed >= 300
        assert [] == differences(clean(tmp_home / "clean", loop.roots), loop.content())
