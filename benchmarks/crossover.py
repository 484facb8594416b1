"""Where one way to find the nearest becomes cheaper than another, among them what the planner uses.

Comparing with all rows in memory against asking the index, by the number of rows; and gathering the
rows that pass a filter against comparing with all, by the share that passes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.storage.search import dense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.world import World
    from cortex_actors.storage.embeddings import Matrix

#: Shares of the rows that pass a filter.
SHARES = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)

#: Times each is measured.
TIMES = 15

#: Neighbours asked of the index, as a search asks.
ASKED = 70


@dataclass(slots=True)
class Crossover:
    """Milliseconds, medians of one run."""

    #: Rows -> comparing with all of them, asking the index.
    exact: dict[int, float] = field(default_factory=dict)
    index: dict[int, float] = field(default_factory=dict)
    #: Share -> gathering, comparing with all and leaving out; of so many rows.
    rows: int = 0
    gather: dict[float, float] = field(default_factory=dict)
    full: dict[float, float] = field(default_factory=dict)

    @property
    def index_from(self) -> int | None:
        """Rows from which the index is cheaper, between two that were measured."""
        counts = sorted(self.exact.keys() & self.index.keys())
        for one, two in pairwise(counts):
            here, there = self.index[one] - self.exact[one], self.index[two] - self.exact[two]
            if here > 0 >= there:
                return round(one + (two - one) * here / (here - there))
        return None

    @property
    def subset_share(self) -> float:
        """The largest share at which gathering was cheaper."""
        cheaper = [each for each in self.gather if self.gather[each] < self.full[each]]
        return max(cheaper, default=0.0)


def gathered(rows: Matrix, vector: Matrix, chance: np.random.Generator, into: Crossover) -> None:
    """Measure both ways through a filter, by its share."""
    into.rows = len(rows)
    for share in SHARES:
        wanted = np.zeros(len(rows), np.bool_)
        wanted[chance.permutation(len(rows))[: int(share * len(rows))]] = True
        places = np.flatnonzero(wanted)
        into.gather[share] = _median(partial(dense.gather_cosines, rows, vector, places))
        into.full[share] = _median(partial(_full, rows, vector, places))


async def asked(world: World, into: Crossover) -> None:
    """Measure comparing with all rows against asking the index."""
    count = len(world.rows)
    vectors = [world.question()[1] for _ in range(TIMES)]
    rows = world.rows
    into.exact[count] = _median(lambda: rows @ vectors[0])
    took = []
    for vector in vectors:
        begun = time.perf_counter()
        await world.neighbours(["cortex_village"], vector, ASKED)
        took.append(time.perf_counter() - begun)
    into.index[count] = _ms(took)


def _full(rows: Matrix, vector: Matrix, places: NDArray[np.intp]) -> Matrix:
    """Return the cosines of some rows, of all that there are."""
    every: Matrix = rows @ vector
    return every[places]


def _median(work: Callable[[], object]) -> float:
    """Return the milliseconds that something takes."""
    took = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return _ms(took)


def _ms(seconds: Sequence[float]) -> float:
    """Return the median in milliseconds."""
    return round(float(np.median(seconds)) * 1_000, 3)
