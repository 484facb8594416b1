"""What goes wrong in a simulated run, and when it stops going wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.simulated_loop import Simulation


class Weather:
    """Strikes by chance while it is bad; every fake asks it at each use."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._random = random.Random(f"weather {simulation.seed}")
        self.is_bad = False
        #: What is down until which second.
        self._until: dict[str, float] = {}
        #: Path of a file that nobody can handle.
        self.poison: str | None = None

    def calm(self) -> None:
        """Let nothing go wrong any more."""
        self.is_bad = False
        self._until.clear()
        self.poison = None

    def strikes(self, what: str, share: float) -> bool:
        """Tell whether something goes wrong now; it is written into the trace."""
        struck = self.is_bad and self._random.random() < share
        if struck:
            self._simulation.note(f"! {what}")
        return struck

    def spell(self, what: str, seconds: float) -> None:
        """Have something down for a while."""
        self._simulation.note(f"! {what} for {seconds:.1f} s")
        self._until[what] = self._simulation.clock.monotonic() + seconds

    def is_down(self, what: str) -> bool:
        """Tell whether something is down."""
        return self._simulation.clock.monotonic() < self._until.get(what, 0.0)

    def delay(self, usual: float) -> float:
        """Return the seconds that something takes: mostly little, now and then much more."""
        if self.is_bad and self._random.random() < 0.05:
            return usual * self._random.choice((10, 100, 1_000))
        return self._random.uniform(0.1, 1.0) * usual
