from __future__ import annotations

from cortex_actors.judging.judge import RUNS, Budget


class TestGranted:
    def test_shared(self) -> None:
        """What one ask of a run has used is missing in the next."""
        budget = Budget(5, 60)

        assert [3, 2, 0] == [budget.grant("run", 3) for _ in range(3)]

    def test_runs(self) -> None:
        """Each run has a budget of its own, and so has each ask without a name."""
        budget = Budget(2, 60)
        budget.grant("one", 2)

        assert 2 == budget.grant("other", 2)
        assert [2, 2] == [budget.grant("", 3), budget.grant("", 3)]

    def test_none(self) -> None:
        """A budget of nothing grants nothing."""
        assert 0 == Budget(0, 60).grant("", 1)

    def test_forgets(self) -> None:
        """Only runs that were not asked for in a long while are forgotten."""
        budget = Budget(1, 60)
        budget.grant("old", 1)
        for number in range(RUNS):
            budget.grant("kept", 1)
            budget.grant(f"run {number}", 1)

        assert 0 == budget.grant("kept", 1)
        assert 1 == budget.grant("old", 1)


class TestUntil:
    def test_once(self) -> None:
        """A run's seconds begin with its first question, and are not given again."""
        budget = Budget(1, 60)

        assert [70.0, 70.0] == [budget.get_deadline("run", at) for at in (10.0, 50.0)]
        assert 110.0 == budget.get_deadline("other", 50.0)

    def test_nameless(self) -> None:
        """Who asks without a name has all of the seconds each time."""
        budget = Budget(1, 60)

        assert [70.0, 110.0] == [budget.get_deadline("", at) for at in (10.0, 50.0)]
