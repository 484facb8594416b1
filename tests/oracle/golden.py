"""Traces of Erlang, kept in files, so that ours can be compared where there is no Erlang.

`python -m tests.oracle.golden` (from the root, with Erlang installed) writes them anew. A file
holds scenarios, each a line `S` with the scenario followed by its trace.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle import author, erlang
from tests.oracle.scenario import Child, Flags, Scenario, dumps, levels, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Where they lie.
FOLDER = Path(__file__).parent / "golden"

#: What the scenarios to choose from are made of; any seed will do.
SEED = 25

#: How many scenarios there are to choose from, and characters of a file: six of them stay below
#: 400 KB together, with the one that is written by hand.
POOL = 3000
SIZE = 64_000

#: What a scenario is about, the rarest first.
KINDS = ("hanging", "timed", "dynamic", "significant", "nested", "flat")

#: Scenarios written by hand: the smallest form of one in which the two sides differed once.
REDUCED = (
    # The start fails beside a supervisor that is killed brutally. The trace ended before `aa` did:
    # Erlang answers while the children of `a` still end.
    Scenario(
        number=0,
        order="any",
        flags=Flags("one_for_one", 5, 1000, "never"),
        children=[
            Child(
                *("a", "permanent", "brutal_kill", "supervisor", False),
                below=(
                    Flags("one_for_one", 5, 1000, "never"),
                    [Child("aa", "permanent", 5000, "worker", False)],
                ),
            ),
            Child("b", "permanent", 5000, "worker", False),
        ],
        plans=[("fail", "b", 1)],
        steps=[],
    ),
)

#: Every file.
FILES = (*KINDS, "reduced")


def read(file: str) -> Iterator[tuple[Scenario, list[str]]]:
    """Yield the scenarios of a file with Erlang's traces."""
    text = (FOLDER / f"{file}.txt").read_text(encoding="ascii")
    _, *records = text.split("\nS ")
    for record in records:
        line, *trace = record.splitlines()
        yield loads(line), trace


def kind_of(scenario: Scenario) -> str:
    """Return what a scenario is about."""
    words = {step[0] for step in scenario.steps}
    supervisors = list(levels(scenario))
    if "hang" in words:
        return "hanging"
    if words & {"slow", "wait"}:
        return "timed"
    if any(flags.strategy == "simple_one_for_one" for _, flags, _ in supervisors):
        return "dynamic"
    if any(child.significant for _, _, children in supervisors for child in children):
        return "significant"
    return "flat" if len(supervisors) == 1 else "nested"


def main() -> None:
    """Write every file."""
    scenarios = author.generate(SEED, POOL)
    traces = erlang.traces(scenarios)
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        _write(kind, (each for each in scenarios if kind_of(each) == kind), traces)
    _write("reduced", REDUCED, erlang.traces(REDUCED))


def _write(file: str, scenarios: Iterable[Scenario], traces: dict[int, list[str]]) -> None:
    sound = (each for each in scenarios if not erlang.hits_the_bug(traces[each.number]))
    text = f"Made by Erlang/OTP {erlang.release()}; see golden.py.\n"
    text += "".join(_fill("\n".join([f"S {dumps(s)}", *traces[s.number], ""]) for s in sound))
    (FOLDER / f"{file}.txt").write_text(text, encoding="ascii")


def _fill(records: Iterable[str]) -> Iterator[str]:
    """Yield records while a file has room for them."""
    room = SIZE
    for record in records:
        room -= len(record)
        if room < 0:
            return
        yield record


if __name__ == "__main__":
    main()
