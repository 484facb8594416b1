"""Erlang's own supervisor says what is right: live where it is installed, else from its traces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.oracle import author, erlang, golden
from tests.oracle.quiet import QuietLoop, StuckError
from tests.oracle.replay import replay
from tests.oracle.scenario import Scenario, dumps, levels, loads, term
from tests.oracle.verdict import Difference, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

# Read when the module is, because no test sees the variables of the user's environment.
#: What the scenarios are made of, and how many there are.
SEED = int(os.environ.get("CORTEX_ORACLE_SEED", "1998"))
COUNT = int(os.environ.get("CORTEX_ORACLE_COUNT", "1000"))

#: How many there are in `make soak`.
SOAK = int(os.environ.get("CORTEX_ORACLE_COUNT", "3000"))

#: Of a hundred scenarios, how many may meet the fault of OTP 25 before we compare too little.
EXCLUDED = 3


@pytest.fixture
def otp() -> None:
    """Skip where there is no Erlang, except on a machine that is there to test everything."""
    if erlang.is_here():
        return
    reason = "Erlang is not installed: `apt-get install erlang-base` brings what is needed"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _compare(seed: int, count: int) -> None:
    """Fail with the first scenarios that end differently, and with what repeats them."""
    verdict = judge(author.generate(seed, count))
    repeat = f"CORTEX_ORACLE_SEED={seed} CORTEX_ORACLE_COUNT={count}"
    print(  # noqa: T201 - shown when the test fails, and with `-rP`
        f"{repeat}: {verdict.lines} lines by Erlang, {len(verdict.differences)} scenarios differ, "
        f"{verdict.excluded} are left out because OTP 25 errs"
    )
    shown = "\n\n".join(map(str, verdict.differences[:3]))

    assert not verdict.differences, f"repeat with {repeat}\n{shown}"
    assert verdict.excluded <= count * EXCLUDED / 100 + 1


class TestErlang:
    @pytest.mark.slow
    def test_agrees(self, otp: None) -> None:
        """Whatever happens to a tree, ours does what Erlang's does, and in the same order."""
        _compare(SEED, COUNT)

    @pytest.mark.slow
    def test_agrees_on_reduced(self, otp: None) -> None:
        """Ours does what Erlang does in every life that was once seen to differ."""
        verdict = judge(golden.REDUCED)

        assert not verdict.differences, "\n\n".join(map(str, verdict.differences))
        assert not verdict.excluded

    @pytest.mark.soak
    @pytest.mark.slow
    def test_agrees_at_length(self, otp: None) -> None:
        """That holds for three times as many other lives, too."""
        _compare(SEED + 1, SOAK)


class TestGolden:
    @pytest.mark.slow
    @pytest.mark.parametrize("file", golden.FILES)
    def test_agrees(self, file: str) -> None:
        """Ours does what Erlang did when the traces in the repository were made."""
        found = [Difference(each, trace, replay(each)) for each, trace in golden.read(file)]
        bad = [each for each in found if each.erlang != each.ours]

        assert found
        assert not bad, "\n\n".join(map(str, bad[:3]))

    @pytest.mark.parametrize("file", golden.FILES)
    def test_ends(self, file: str) -> None:
        """A trace goes on until every process that it starts has ended."""
        for scenario, trace in golden.read(file):
            lives = {
                mark: [line.split()[1:3] for line in trace if line[:2] == mark]
                for mark in ("+ ", "- ")
            }
            assert sorted(lives["+ "]) == sorted(lives["- "]), dumps(scenario)

    def test_reduced(self) -> None:
        """The traces in the repository have every scenario that was written by hand."""
        assert list(golden.REDUCED) == [scenario for scenario, _ in golden.read("reduced")]

    def test_small(self) -> None:
        """All traces together stay below 400 KB."""
        assert sum(path.stat().st_size for path in golden.FOLDER.iterdir()) < 400_000

    def test_complete(self) -> None:
        """Every strategy, option and step is in a trace, and every kind of outcome."""
        scenarios, lines = [], set[str]()
        for kind in golden.KINDS:
            for scenario, trace in golden.read(kind):
                scenarios.append(scenario)
                lines.update(" ".join(line.split()[:3]) for line in trace)

        assert set() == _OPTIONS - {word for each in scenarios for word in _options(each)}
        assert set() == _ANSWERS - lines


class TestDynamic:
    @pytest.mark.slow
    def test_agrees(self) -> None:
        """While all children have the same spec, dynamic is another word for simple_one_for_one."""
        found = []
        for scenario in author.generate(SEED, COUNT):
            if _has_pool(scenario):
                simple = replay(scenario)
                found.append(Difference(scenario, simple, replay(scenario, dynamic=True)))
        # A template is refused when the supervisor starts, a spec when its child does.
        bad = [each for each in found if each.erlang != each.ours and _begins(each.erlang)]

        assert len(found) > COUNT / 10
        assert not bad, f"CORTEX_ORACLE_SEED={SEED}\n" + "\n\n".join(map(str, bad[:3]))


class TestScenarios:
    def test_repeat(self) -> None:
        """A seed always gives the same scenarios, each of which needs nothing but its number."""
        assert author.generate(3, 20)[:10] == author.generate(3, 10)
        assert author.generate(3, 10) != author.generate(4, 10)

    def test_round_trip(self) -> None:
        """A scenario comes back from its line as it was."""
        for scenario in author.generate(5, 100):
            assert scenario == loads(dumps(scenario))

    def test_terms(self) -> None:
        """Erlang is given tuples, lists, booleans and atoms."""
        assert "{a,[1,{shutdown,x}],true}" == term(("a", [1, ("shutdown", "x")], True))


class TestReplay:
    def test_deadlock(self) -> None:
        """A replay in which everybody waits for somebody ends with an error."""
        loop = QuietLoop()
        try:
            with pytest.raises(StuckError, match="every task waits"):
                loop.run_until_complete(loop.create_future())
        finally:
            loop.close()

    def test_circle(self) -> None:
        """A replay that never ends, ends with an error."""
        loop = QuietLoop()

        def again() -> None:
            loop.call_later(1, again)

        again()
        try:
            with pytest.raises(StuckError, match="circles"):
                loop.run_forever()
        finally:
            loop.close()


#: What the traces must contain: flags, options of children, steps.
_OPTIONS = set(
    "one_for_one one_for_all rest_for_one simple_one_for_one never any_significant all_significant "
    "permanent transient temporary brutal_kill infinity worker supervisor exact any "
    "exit stop burst hang slow wait fail ignore start_child start_dynamic by_pid terminate_child "
    "restart_child delete_child get_childspec".split()
)

_ANSWERS = {
    "= ok",
    "= ok pid",
    "= ok undefined",
    "= gone",
    "= nobody",
    *(
        f"= error {word}"
        for word in "already_started already_present running not_found nope bad_combination "
        "simple_one_for_one failed_to_start start_spec".split()
    ),
}


def _options(scenario: Scenario) -> Iterator[object]:
    """Yield every word that a scenario uses."""
    yield scenario.order
    yield from (step[0] for step in scenario.steps)
    for _, flags, children in levels(scenario):
        yield from flags
        for child in children:
            yield from child[1:4]


def _has_pool(scenario: Scenario) -> bool:
    return any(flags.strategy == "simple_one_for_one" for _, flags, _ in levels(scenario))


def _begins(trace: list[str]) -> bool:
    return not trace[0].startswith("= error start_spec")
