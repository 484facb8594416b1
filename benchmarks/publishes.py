"""Durable publishes beside their floor, round by round."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.durable import Durable
from benchmarks.floor import Floor
from benchmarks.said import HEARD, UNHEARD

if TYPE_CHECKING:
    from collections.abc import Callable

#: Publishes that are in flight together.
MANY: Final = 64

#: Events of one turn: some hundredths of a second, so that what else the machine does hits floor
#: and product alike.
ALONE, TOGETHER = 100, 20 * MANY


@dataclass(slots=True)
class Row:
    """Publishes of one kind."""

    topic: str
    at_once: int
    times: int
    #: Events a second, of each round: the product's and the floor's.
    rates: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    #: Seconds of every publish, of all rounds.
    took: list[float] = field(default_factory=list)
    #: CPU seconds of an event, of each round: the product's and the floor's.
    spent: list[float] = field(default_factory=list)
    floor_spent: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What is measured, in words."""
        heard = "one consumer" if self.topic == HEARD else "no consumer"
        return f"{self.at_once} in flight, {heard}"

    @property
    def ratios(self) -> list[float]:
        """The product's share of the floor, round by round."""
        return [rate / floor for rate, floor in zip(self.rates, self.floors, strict=True)]

    def measure(self, floor: Floor, durable: Durable, runner: asyncio.Runner) -> None:
        """Run one round: floor, product, floor."""

        def bare() -> list[float]:
            return floor.write(self.topic, self.times, self.at_once)

        def ours() -> list[float]:
            return runner.run(durable.publish(self.topic, self.times, self.at_once))

        before, _, _ = self._timed(bare)
        rate, spent, took = self._timed(ours)
        after, floor_spent, _ = self._timed(bare)
        self.rates.append(rate)
        self.spent.append(spent)
        self.floor_spent.append(floor_spent)
        self.floors.append(2 * before * after / (before + after))
        self.took += took

    def _timed(self, run: Callable[[], list[float]]) -> tuple[float, float, list[float]]:
        """Return how many events a second that was, what one cost, and the seconds of each."""
        begun, spent = time.perf_counter(), time.process_time()
        took = run()
        spent = time.process_time() - spent
        return self.times / (time.perf_counter() - begun), spent / self.times, took


def compare(*, rounds: int, share: float) -> list[Row]:
    """Measure every kind in so many rounds, each with a share of the usual number of events."""
    rows = [
        Row(topic, at_once, max(1, round(times * share / at_once)) * at_once)
        for at_once, times in ((1, ALONE), (MANY, TOGETHER))
        for topic in (UNHEARD, HEARD)
    ]
    with tempfile.TemporaryDirectory(prefix="cx-") as folder, asyncio.Runner() as runner:
        floor, durable = Floor(Path(folder)), Durable(Path(folder))
        runner.run(durable.start())
        for _ in range(rounds):
            for row in rows:
                row.measure(floor, durable, runner)
        runner.run(durable.stop())
        floor.close()
    return rows
