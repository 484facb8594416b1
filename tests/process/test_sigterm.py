"""SIGTERM at any moment: exit 0, soon, and everything acknowledged is there."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.process.sigterm import KINDS, LIMIT, Stops

if TYPE_CHECKING:
    from pathlib import Path

#: The seed of a run; CORTEX_SIGTERM_SEED repeats one.
SEED = int(os.environ.get("CORTEX_SIGTERM_SEED") or random.SystemRandom().randrange(10**6))

pytestmark = pytest.mark.slow


def played(folder: Path, count: int) -> Stops:
    """Return so many stops that were played; prints what they came to."""
    stops = Stops(folder, SEED)
    try:
        stops.play(count)
    finally:
        print(stops.tally)  # noqa: T201 - what a run is worth, and what repeats a failure
    return stops


class TestSigterm:
    def test_any_moment(self, tmp_home: Path) -> None:
        """While it starts, migrates, drains or is flooded: 0 within ten seconds, nothing lost."""
        tally = played(tmp_home, 15).tally

        assert [] == tally.problems
        assert dict.fromkeys(KINDS, 3) == tally.stops
        assert (0, True) == (tally.lost, tally.longest < LIMIT)
        assert tally.acknowledged > 0

    @pytest.mark.soak
    def test_any_moment_at_length(self, tmp_home: Path) -> None:
        """The same two hundred times."""
        tally = played(tmp_home, 200).tally

        assert [] == tally.problems
        assert (0, 200) == (tally.lost, sum(tally.stops.values()))
