"""The comparison with Erlang finds faults: each one we have put in is caught."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING

import pytest

from tests.oracle import author, erlang, golden
from tests.oracle.mutants import ENGINE, MUTANTS, Mutant, load
from tests.oracle.replay import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.oracle.scenario import Scenario

#: Scenarios that Erlang plays when its traces in the repository let a fault pass.
MORE = 1000


@pytest.fixture(scope="module")
def known() -> list[tuple[Scenario, list[str]]]:
    """Return every trace of Erlang in the repository."""
    return [each for file in golden.FILES for each in golden.read(file)]


def _fresh() -> Iterator[tuple[Scenario, list[str]]]:
    """Yield new traces of Erlang, where it is installed."""
    if not erlang.is_here():
        return
    scenarios = author.generate(8, MORE)
    traces = erlang.traces(scenarios)
    for scenario in scenarios:
        if not erlang.hits_the_bug(traces[scenario.number]):
            yield scenario, traces[scenario.number]


class TestMutants:
    @pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
    def test_applies(self, mutant: Mutant) -> None:
        """The text a mutant replaces occurs once, so that it is the fault it says it is."""
        assert 1 == ENGINE.read_text(encoding="utf-8").count(mutant.old)

    @pytest.mark.soak
    @pytest.mark.slow
    @pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
    def test_is_caught(
        self,
        mutant: Mutant,
        known: list[tuple[Scenario, list[str]]],
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """A supervisor with this fault does not do what Erlang's does."""
        caplog.set_level(logging.CRITICAL + 1)
        engine = load(mutant, tmp_path)
        traces = itertools.chain(known, _fresh())

        assert any(replay(scenario, engine) != trace for scenario, trace in traces)
