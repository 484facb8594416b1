from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestLimit:
    async def test_defaults(self, lab: Lab) -> None:
        """One restart in five seconds is the default."""
        top = lab.top()

        assert (1, 5.0) == (top.intensity, top.period)

    async def test_reached(self, lab: Lab) -> None:
        """As many restarts as the intensity are allowed."""
        top = await lab.top(lab.spec("a"), intensity=3).start()
        await lab.crash("a", times=3)

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_exceeded(self, lab: Lab, end: Any) -> None:
        """One more ends the supervisor with the reason shutdown."""
        top = await lab.top(lab.spec("a"), intensity=2).start()
        await lab.crash("a", times=2)
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)
        assert [("a", "reached_max_restart_intensity")] == lab.told("gave_up")

    async def test_zero(self, lab: Lab, end: Any) -> None:
        """With intensity 0 the first end is one too many."""
        top = await lab.top(lab.spec("a"), intensity=0).start()
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)

    async def test_siblings_stop_in_reverse(self, lab: Lab, end: Any) -> None:
        """A supervisor that gives up stops its other children, the last one first."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), lab.spec("c"), intensity=0).start()
        lab.toys["b"].end("boom")
        await end(top)

        assert ["stop c", "end c shutdown", "stop a", "end a shutdown"] == lab.log[4:]

    async def test_all_children_together(self, lab: Lab, end: Any) -> None:
        """Restarts are counted for all children together."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), intensity=1).start()
        await lab.crash("a")
        lab.toys["b"].end("boom")

        assert "shutdown" == await end(top)


class TestPeriod:
    async def test_at_its_edge(self, lab: Lab, end: Any) -> None:
        """A restart exactly one period ago still counts."""
        top = await lab.top(lab.spec("a"), intensity=1, period=5.0).start()
        await lab.crash("a")
        lab.time += 5.0
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)

    async def test_beyond(self, lab: Lab) -> None:
        """Restarts further apart than the period never add up.

        Row: otp multiple_restarts
        """
        top = await lab.top(lab.spec("a"), intensity=1, period=5.0).start()
        for _ in range(5):
            lab.time += 5.01
            await lab.crash("a")

        assert "running" == top.snapshot().state
        await top.stop(None)


class TestWhatCounts:
    async def test_failed_attempts(self, lab: Lab, end: Any) -> None:
        """An attempt that fails counts like one that succeeds.

        Row: otp one_for_one_escalation
        """
        top = await lab.top(lab.spec("a"), lab.spec("b"), intensity=3).start()
        lab.failures["a"] = 99
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)
        assert 3 == len(lab.told("start_error"))
        assert "end b shutdown" == lab.log[-1]

    @pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
    async def test_failed_groups(self, lab: Lab, end: Any, strategy: str) -> None:
        """A group that cannot be restarted makes its supervisor give up.

        Row: otp one_for_all_escalation
        Row: otp rest_for_one_escalation
        """
        top = await lab.top(
            lab.spec("a"), lab.spec("b"), lab.spec("c"), strategy=strategy, intensity=3
        ).start()
        lab.failures["b"] = 99
        lab.toys["a"].end("boom")

        assert "shutdown" == await end(top)
        assert [("b", "reached_max_restart_intensity")] == lab.told("gave_up")
        assert all(toy.ended.done() for toy in lab.toys.values())

    async def test_calls(self, lab: Lab) -> None:
        """Terminating and starting by hand is no restart."""
        top = await lab.top(lab.spec("a"), intensity=0).start()
        for _ in range(3):
            await top.terminate_child("a")
            await top.restart_child("a")

        assert 0 == top.snapshot().children[0].restarts
        await top.stop(None)

    async def test_no_restart(self, lab: Lab, quiet: Any) -> None:
        """The end of a child that is not to be restarted does not count."""
        specs = [lab.spec(name, restart="temporary") for name in "abc"]
        top = await lab.top(*specs, intensity=0).start()
        for name in "abc":
            lab.toys[name].end("boom")
        await quiet(top)

        assert "running" == top.snapshot().state
        await top.stop(None)
