"""Deterministic simulation: a whole program in one process, in virtual time, from one seed.

`simulate(main, seed=7)` runs `main` on a `SimulatedLoop` and repeats the run, step by step, when it
is called with that seed again. What `main` is handed makes clocks and chance for the program under
test; what is outside of it (disks, processes, networks) it brings along as fakes. The idea is
FoundationDB's. docs/simulation.md says how to use it.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.clock import SECOND
from cortex_actors.simulated_loop import SimulatedLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

T = TypeVar("T")

#: Where a clock's time begins unless told otherwise: some day in 2026, in UTC microseconds.
EPOCH = 1_767_225_600 * SECOND

#: Lines of the trace that a failure shows.
TOLD = 50

#: Seconds between two looks at a condition.
LOOK = 0.1


class SimulatedClock:
    """A loop's own time as a `Clock`; its wall clock can jump, as real ones do."""

    def __init__(self, loop: SimulatedLoop, at: int = EPOCH) -> None:
        """Show a wall-clock time (UTC microseconds) at the loop's second 0."""
        self._loop = loop
        self._start = at

    def now(self) -> int:
        """Return the wall-clock time in UTC microseconds."""
        return self._start + round(self._loop.time() * SECOND)

    def monotonic(self) -> float:
        """Return the seconds since the loop was made."""
        return self._loop.time()

    def jump(self, seconds: float) -> None:
        """Set the wall clock by so much, as a person or NTP would; nobody wakes."""
        self._start += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        """Return after that many virtual seconds."""
        await asyncio.sleep(seconds)


class Simulation:
    """What a simulated program is handed: the time, chance, and a place to write down what it did.

    `random` decides for the scenario alone, so that drawing from it once more changes nothing in
    the order of steps; the loop has its own, and so has whatever reads `os.urandom` or `random`.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        """Belong to a loop."""
        self.loop = loop
        self.seed = loop.seed
        self.clock = SimulatedClock(loop)
        self.random = random.Random(f"scenario {loop.seed}")  # noqa: S311 - can be repeated

    @property
    def trace(self) -> list[tuple[float, str]]:
        """Everything that happened: (seconds, what), in order."""
        return self.loop.trace

    def note(self, what: str) -> None:
        """Write a line into the trace."""
        self.loop.note(what)

    async def until(
        self, condition: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float
    ) -> None:
        """Return once a condition holds; raises `TimeoutError` after so many virtual seconds."""
        async with asyncio.timeout(within):
            while True:
                held = condition()
                if (held if isinstance(held, bool) else await held) is True:
                    return
                await self.clock.sleep(LOOK)


def simulate(
    main: Callable[[Simulation], Coroutine[object, object, T]],
    *,
    seed: int,
    late: float | None = None,
) -> T:
    """Run `main` to its end and return what it returned; the same seed is the same run.

    While it runs, `random` and `os.urandom` (so `uuid4` and `secrets`, too) give what the seed
    says. `late` is the share of tasks' steps that are late (0: asyncio's own order). Raises
    what `main` raised, with the seed and the last lines of the trace in its notes; `Standstill`
    when nothing can ever happen again; `NotSimulated` when it reached for something real.
    """
    loop = SimulatedLoop(seed) if late is None else SimulatedLoop(seed, late=late)
    with _chance(seed), asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            result = runner.run(_honest(main(Simulation(loop)), loop))
        except BaseException as error:
            last = told(loop.trace)
            error.add_note(f"simulated with seed {seed}; the last that happened:\n{last}")
            raise
    return result


async def _honest(main: Coroutine[object, object, T], loop: SimulatedLoop) -> T:
    """Return what a program returns, unless it has reached for something real."""
    result = await main
    if loop.refusal is not None:
        raise loop.refusal
    return result


def told(trace: list[tuple[float, str]], lines: int = TOLD) -> str:
    """Return the end of a trace as text, repeats of a line as one."""
    found: list[tuple[float, str, int]] = []
    for at, what in reversed(trace):
        if found and found[-1][1] == what:
            found[-1] = (at, what, found[-1][2] + 1)
        elif len(found) == lines:
            break
        else:
            found.append((at, what, 1))
    return "\n".join(
        f"  {at:12.6f}  {what}{f'  (x {times})' if times > 1 else ''}"
        for at, what, times in reversed(found)
    )


@contextmanager
def _chance(seed: int) -> Iterator[None]:
    """Make the process's sources of chance a seed's, and give them back."""
    ours = random.Random(f"chance {seed}")  # noqa: S311 - can be repeated
    before, urandom = random.getstate(), os.urandom
    random.seed(f"random {seed}")
    os.urandom = random._urandom = ours.randbytes  # type: ignore[attr-defined]  # noqa: SLF001
    try:
        yield
    finally:
        os.urandom = random._urandom = urandom  # type: ignore[attr-defined]  # noqa: SLF001
        random.setstate(before)
