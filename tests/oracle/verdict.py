"""Compares what Erlang did with what we did."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from tests.oracle import erlang
from tests.oracle.replay import replay
from tests.oracle.scenario import Scenario, dumps

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Difference:
    """One scenario in which we do not do what Erlang did."""

    scenario: Scenario
    erlang: list[str]
    ours: list[str]

    def __str__(self) -> str:
        """Return the scenario and both traces side by side, up to a little after they part."""
        rows, after = [dumps(self.scenario)], 0
        for left, right in zip_longest(self.erlang, self.ours, fillvalue=""):
            after += left != right or after > 0
            rows.append(f"{' ' if left == right else '!'} {left:<50} | {right}")
            if after > 5:
                break
        return "\n".join(rows)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of some scenarios."""

    differences: list[Difference]
    #: Scenarios in which OTP 25 itself is wrong (`erlang.hits_the_bug`): not compared.
    excluded: int
    lines: int


def judge(scenarios: Sequence[Scenario]) -> Verdict:
    """Play scenarios on both sides; a difference must show itself twice.

    The second time Erlang plays the scenario alone, since its side runs in real time: what a
    machine under load did to a time limit is nobody's fault.
    """
    traces = erlang.traces(scenarios)
    sound = [each for each in scenarios if not erlang.hits_the_bug(traces[each.number])]
    doubtful = [each for each in sound if replay(each) != traces[each.number]]
    again = erlang.traces(doubtful, width=1) if doubtful else {}
    found = [Difference(each, again[each.number], replay(each)) for each in doubtful]
    return Verdict(
        [each for each in found if each.erlang != each.ours],
        len(scenarios) - len(sound),
        sum(map(len, traces.values())),
    )
