"""What an actor, the bus and the control socket cost, as ratios in one run.

The unit is a message of `asyncio.Queue` ping-pong: two tasks, two queues, two messages a round
trip. Every row is measured in interleaved rounds, the best per CPU second counts, and a goal
compares two rows of the same run; so a busy machine changes the figures and hardly the ratios.
Publishing over the socket counts the daemon's CPU, as what one publish costs the daemon, and with
its client in a row of its own. The daemon is a real one, which also logs each event.
Exits 1 when a goal is missed. Run it from the root: `python -m benchmarks.actors`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks import hops, wire

if TYPE_CHECKING:
    from collections.abc import Callable

#: Rounds unless told otherwise; the best of each row counts.
ROUNDS = 6

#: Microseconds that 99 of 100 publishes over the socket must stay below.
P99_GOAL = 250.0

UNIT, FLOOR, PYKKA = "asyncio.Queue ping-pong", "queue plus future", "pykka ThreadingActor ask"
TELL, ASK, SOCKET = "tell", "ask", "socket publish, acked"
FAN_OUT = "topic to 10 actors"


@dataclass(frozen=True, slots=True)
class Goal:
    """A row is at least so many times another one."""

    row: str
    against: str
    ratio: float


GOALS = (
    Goal(TELL, UNIT, 3.0),
    Goal(ASK, FLOOR, 0.6),
    Goal(ASK, PYKKA, 1.6),
    Goal(FAN_OUT, UNIT, 2.2),
    Goal(SOCKET, UNIT, 0.10),
)


@dataclass(slots=True)
class Row:
    """One thing that is measured: how many of it are done in a CPU second."""

    name: str
    #: Does it, and returns how often.
    run: Callable[[], int]
    #: CPU seconds spent so far by whoever takes part.
    spent: Callable[[], float] = time.process_time
    #: Turns in one round; several short ones for what other processes can disturb.
    turns: int = 1
    rates: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The best round, per CPU second."""
        return max(self.rates)

    def measure(self) -> None:
        """Run one round."""
        gc.collect()
        gc.disable()
        for _ in range(self.turns):
            before = self.spent()
            done = self.run()
            self.rates.append(done / (self.spent() - before))
        gc.enable()


def rows(server: wire.Server) -> list[Row]:
    """Return everything that is measured, in the order of the table."""
    return [
        Row(UNIT, hops.ping_pong),
        Row(FLOOR, hops.queue_and_future),
        Row(PYKKA, hops.pykka_ask),
        Row(TELL, hops.tell),
        Row("tell_async", hops.tell_async),
        Row("tell from a thread", hops.tell_from_a_thread),
        Row(ASK, hops.ask),
        Row("ask_async, 5 s at most", hops.ask_async),
        Row("names.method", hops.ask_by_name),
        Row("topic to 1 actor", lambda: hops.topic(1)),
        Row(FAN_OUT, lambda: hops.topic(10)),
        Row("topic to 100 actors", lambda: hops.topic(100)),
        Row(SOCKET, server.publish, server.spent, turns=5),
        Row("... with its client", server.publish, server.spent_by_both, turns=5),
    ]


def show(measured: list[Row], p99: float | None) -> bool:
    """Print the table and the goals; say whether all that were measured are met."""
    best = {row.name: row.best for row in measured}
    print(f"{'':28s}{'per CPU second':>16s}{'x ping-pong':>14s}")
    for name, rate in best.items():
        print(f"{name:28s}{rate:16,.0f}{rate / best[UNIT]:14.3f}")
    met = True
    for goal in GOALS:
        if goal.row in best and goal.against in best:
            ratio = best[goal.row] / best[goal.against]
            met &= _tell(
                ratio >= goal.ratio, f"{goal.row} = {ratio:.3f} x {goal.against}", goal.ratio
            )
    if p99 is not None:
        met &= _tell(p99 < P99_GOAL, f"{SOCKET}: 99 % within {p99:.0f} us", P99_GOAL)
    return met


def _tell(met: bool, what: str, goal: float) -> bool:  # noqa: FBT001 - the fact that is told
    """Print how a goal did, and return it."""
    print(f"{'met   ' if met else 'MISSED'} {what} (goal: {goal:g})")
    return met


def main() -> int:
    """Measure, print, and say whether the goals were met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="measure rows with this word, and the unit")
    options = parser.parse_args()
    with wire.Server() as server:
        measured = [row for row in rows(server) if options.only in row.name or row.name == UNIT]
        if any(row.run == server.publish for row in measured):
            server.start()
        for _ in range(options.rounds):
            for row in measured:
                row.measure()
        return 0 if show(measured, server.p99()) else 1


if __name__ == "__main__":
    sys.exit(main())
