"""What the ledger costs: durable publishes, a backlog after a pause, recovery after `kill -9`.

Publishes are compared with a floor in the same run: bare `sqlite3` that writes the same rows with
the same fsyncs. Each round measures the floor, the product and the floor again; the round's ratio
is that of the product to the mean of the two, and the median round counts. So a busy machine
changes the figures more than the ratios. Exits 1 when a goal is missed.
Run it from the root: `python -m benchmarks.ledger`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.backlog import replay
from benchmarks.publishes import compare
from benchmarks.recovery import recover
from benchmarks.wire import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.backlog import Replay

#: Rounds of publishes unless told otherwise.
ROUNDS = 30

#: Share of the floor's rate that the median round reaches at least.
FLOOR_GOAL = 0.7

#: Seconds within which 99 of 100 recoveries have acknowledged a publish.
RECOVERY_GOAL = 3.0

#: Times the cost of an event that it may cost with ten times as many waiting.
GROWTH_GOAL = 1.3


def publishes(*, quick: bool, rounds: int = ROUNDS) -> bool:
    """Measure publishes beside their floor; say whether the goals are met."""
    print(f"{'durable publishes':30s}{'a second':>10s}{'floor':>10s}{'ratio':>7s}", end="")
    print(f"{'(min-max)':>13s}{'p50 ms':>9s}{'p99 ms':>9s}{'CPU us':>9s}{'floor':>8s}")
    met = True
    for row in compare(rounds=2 if quick else rounds, share=0.1 if quick else 1.0):
        ratio = statistics.median(row.ratios)
        p50, p99 = _percentiles(row.took)
        ours, bare = (statistics.median(each) * 1e6 for each in (row.spent, row.floor_spent))
        print(
            f"{row.name:30s}{statistics.median(row.rates):10,.0f}"
            f"{statistics.median(row.floors):10,.0f}{ratio:7.2f}"
            f"{min(row.ratios):7.2f}-{max(row.ratios):.2f}"
            f"{p50 * 1e3:10.2f}{p99 * 1e3:9.2f}{ours:9.0f}{bare:8.0f}"
        )
        met &= _tell(f"{row.name}: {ratio:.2f} x floor", FLOOR_GOAL, is_met=ratio >= FLOOR_GOAL)
    return met


def over_the_socket(*, quick: bool) -> bool:
    """Measure one durable publish at a time over the control socket; there is no goal."""
    with Server(transient=False) as server:
        server.start()
        for _ in range(1 if quick else 5):
            server.publish()
        p50, p99 = server.percentiles()
    print(f"... over the control socket, {p50 * 1e3:.2f} ms (p50), {p99 * 1e3:.2f} ms (p99)")
    return True


def backlog(*, quick: bool) -> bool:
    """Measure a consumer that comes back; say whether many cost no more each than few."""
    few, many, front = (50, 200, 25) if quick else (10_000, 100_000, 1_000)
    found: list[Replay] = []
    for waiting in (few, many):
        for keys in (waiting, 1):
            one = asyncio.run(replay(waiting, keys=keys, front=front))
            print(
                f"{waiting:,} waiting, {keys:,} keys: {one.seconds:.1f} s, {one.rate:,.0f} events/s"
                f" in {one.runs:,} runs, the first ones {one.first * 1e3:.2f} ms each"
            )
            found.append(one)
    growth = found[2].first / found[0].first
    what = f"an event costs {growth:.2f} x with ten times as many waiting"
    return _tell(what, GROWTH_GOAL, is_met=quick or growth <= GROWTH_GOAL)


def recovery(*, quick: bool) -> bool:
    """Measure how soon a killed daemon is back; say whether the goal is met."""
    rows, kills = (100, 1) if quick else (50_000, 20)
    empty, full = recover(0, kills), recover(rows, kills)
    for name, one in (("an empty ledger", empty), (f"{rows:,} memories and insights", full)):
        for what, took in (("answers status", one.status), ("acknowledges", one.publish)):
            print(
                f"kill -9, {name}: {what} after {statistics.median(took):.2f} s (p50), "
                f"{max(took):.2f} s (worst of {kills})"
            )
        cpu = f"{statistics.median(one.spent):.2f} s of CPU until then"
        print(f"  {cpu}; {len(one.said):,} publishes acknowledged, {one.lost} lost")
    worst = max(full.publish)
    met = _tell(f"back after {worst:.2f} s", RECOVERY_GOAL, is_met=worst <= RECOVERY_GOAL)
    return met and not (empty.lost or full.lost)


#: Word -> what it measures.
PARTS: dict[str, Callable[..., bool]] = {
    "publishes": publishes,
    "socket": over_the_socket,
    "backlog": backlog,
    "recovery": recovery,
}


def _percentiles(took: Sequence[float]) -> tuple[float, float]:
    """Return what half of them and 99 of 100 stayed below."""
    ordered = sorted(took)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]


def _tell(what: str, goal: float, *, is_met: bool) -> bool:
    """Print how a goal did, and return it."""
    print(f"{'met   ' if is_met else 'MISSED'} {what} (goal: {goal:g})")
    return is_met


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the goals were met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="measure this part")
    parser.add_argument("--quick", action="store_true", help="some seconds; figures mean nothing")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of publishes")
    options = parser.parse_args(words)
    parts: dict[str, Callable[..., bool]]
    parts = {**PARTS, "publishes": partial(publishes, rounds=options.rounds)}
    met = [parts[name](quick=options.quick) for name in options.only or PARTS]
    return 0 if all(met) or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
