from __future__ import annotations

import asyncio
import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, NotRunningError

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab

#: How a child can end by itself.
REASONS = ("normal", "shutdown", ("shutdown", "test"), "other")

RESTARTS = ("temporary", "transient", "permanent")


class TestPatience:
    async def test_infinity(self, lab: Lab) -> None:
        """A worker and a supervisor may both have for ever to stop, and end with shutdown.

        Row: otp sup_stop_infinity
        """
        top = await lab.top().start()
        for name, kind in (("a", "supervisor"), ("b", "worker")):
            await top.start_child(lab.spec(name, shutdown=math.inf, type=kind))
        await top.stop(None)

        assert [("b", "shutdown"), ("a", "shutdown")] == lab.told("exited")
        assert {"a": None, "b": None} == lab.timeouts

    async def test_late(self, lab: Lab) -> None:
        """A busy child is killed when its time is over; its sibling ends with shutdown.

        Row: otp sup_stop_timeout
        """
        top = await lab.top().start()
        await top.start_child(lab.spec("a", shutdown=1))
        await top.start_child(lab.spec("b", shutdown=0.001, toy={"stubborn": True}))
        await top.stop(None)

        assert [("b", "killed"), ("a", "shutdown")] == lab.told("exited")
        assert "shutdown" == await top.exited()

    async def test_late_from_a_template(self, lab: Lab) -> None:
        """A busy child of a template is killed, the others and the supervisor end with shutdown.

        Row: otp sup_stop_timeout_dynamic
        """
        pool = await lab.pool(restart="temporary", shutdown=0.001).start()
        lab.manners["t-y"] = {"stubborn": True}
        for name in "xy":
            await pool.start_child((name,))
        await pool.stop(None)

        assert "shutdown" == await pool.exited()
        assert ["end t-x shutdown", "end t-y killed"] == lab.lines("end")

    async def test_brutal(self, lab: Lab) -> None:
        """A child with brutal_kill is killed unasked; its sibling is asked.

        Row: otp sup_stop_brutal_kill
        """
        top = await lab.top().start()
        await top.start_child(lab.spec("a", shutdown=1))
        await top.start_child(lab.spec("b", shutdown=BRUTAL_KILL))
        await top.stop(None)

        assert ["kill b", "end b killed", "stop a", "end a shutdown"] == lab.log[2:]

    async def test_brutal_from_a_template(self, lab: Lab) -> None:
        """Ten children with brutal_kill are all killed, none of them asked.

        Row: otp sup_stop_brutal_kill_dynamic
        """
        pool = await lab.pool(restart="temporary", shutdown=BRUTAL_KILL).start()
        for n in range(10):
            await pool.start_child((str(n),))
        await pool.stop(None)

        assert "shutdown" == await pool.exited()
        assert {f"end t-{n} killed" for n in range(10)} == set(lab.lines("end"))
        assert [] == lab.lines("stop")
        assert [] == lab.told("shutdown_error")


class TestRace:
    async def test_ended_before_their_turn(self, lab: Lab) -> None:
        """Children that end by themselves while others stop keep their reasons; the stop goes on.

        Row: otp sup_stop_race
        """
        crowd = {f"{r} {n}": (r, REASONS[n]) for r, n in itertools.product(RESTARTS, range(4))}
        top = await lab.top(lab.spec("first", restart="temporary")).start()
        for name, (restart, _) in crowd.items():
            await top.start_child(lab.spec(name, restart=restart))
        slow = lab.spec("slow", restart="temporary", shutdown=math.inf, toy={"stubborn": True})
        await top.start_child(slow)
        stopping = asyncio.create_task(top.stop(None))
        await lab.noted("stop slow")
        for name, (_, reason) in crowd.items():
            lab.toys[name].end(reason)
        lab.toys["slow"].end("shutdown")
        await stopping

        reasons = {name: reason for name, (_, reason) in crowd.items()}
        ends = {**reasons, "slow": "shutdown", "first": "shutdown"}
        assert ends == dict(lab.told("exited"))
        assert ["stop slow", "stop first"] == lab.lines("stop")
        assert "shutdown" == await top.exited()

    @pytest.mark.parametrize("restart", RESTARTS)
    async def test_other_reasons_from_a_template(self, lab: Lab, restart: str) -> None:
        """Children of a template that answer a stop with other reasons keep them; all ends well.

        Row: otp sup_stop_non_shutdown_exit_dynamic
        """
        pool = await lab.pool(restart=restart).start()
        for n, reason in enumerate(REASONS):
            lab.manners[f"t-{n}"] = {"stop_reason": reason}
            await pool.start_child((str(n),))
        await pool.stop(None)

        assert "shutdown" == await pool.exited()
        assert set(REASONS) == {reason for _, reason in lab.told("exited")}
        assert [f"end t-{n} {reason}" for n, reason in enumerate(REASONS)] == lab.lines("end")
        # A permanent child may say nothing but shutdown; of the others, a failure is told.
        told = REASONS[:1] + REASONS[2:] if restart == "permanent" else REASONS[3:]
        assert list(told) == [reason for _, reason in lab.told("shutdown_error")]


class TestByHand:
    async def test_each_its_way(self, lab: Lab) -> None:
        """`stop` ends each child by its own setting, the supervisor with shutdown (OTP: normal).

        Row: otp sup_stop_manual
        """
        top = await lab.top().start()
        await top.start_child(lab.spec("a", shutdown=BRUTAL_KILL))
        await top.start_child(lab.spec("b", shutdown=1))
        await top.start_child(lab.spec("c", shutdown=0.001, toy={"stubborn": True}))
        await top.stop()

        assert [("c", "killed"), ("b", "shutdown"), ("a", "killed")] == lab.told("exited")
        assert "shutdown" == await top.exited()

    async def test_caller_gives_up(self, lab: Lab, end: Any) -> None:
        """A `stop` that takes too long fails for its caller; the supervisor stops all the same.

        Row: otp sup_stop_manual_timeout
        """
        top = await lab.top().start()
        await top.start_child(lab.spec("a", shutdown=math.inf, toy={"stubborn": True}))
        await top.start_child(lab.spec("b", shutdown=1))
        with pytest.raises(TimeoutError):
            await top.stop(0.001)
        await lab.noted("stop a")
        lab.toys["a"].end("shutdown")

        assert "shutdown" == await end(top)
        assert [("b", "shutdown"), ("a", "shutdown")] == lab.told("exited")


class TestDeafChild:
    async def test_abandoned(self, lab: Lab) -> None:
        """A child that swallows its cancellation is given up after the grace, and nobody hangs.

        Row: otp child_unlink
        """
        go = asyncio.Event()
        deaf = _Deaf(go)
        spec = lab.spec("a", shutdown=0.001)
        object.__setattr__(spec, "start", deaf.start)
        top = await lab.top(spec, lab.spec("b")).start()
        await top.terminate_child("a")

        assert [("a", "abandoned")] == lab.told("shutdown_error")
        assert ["running", "stopped"] == [child.state for child in await top.which_children()]
        await top.stop(None)
        assert "shutdown" == await top.exited()
        go.set()
        await deaf.exited()


class TestOrder:
    async def test_of_a_rest_and_of_all(self, lab: Lab) -> None:
        """Children start as listed and stop in reverse, in a partial restart as at the end.

        Row: otp order_of_children
        """
        names = ["ch7", "ch3", "ch10", "ch2", "ch5"]
        top = await lab.top(*map(lab.spec, names), strategy="rest_for_one").start()
        begun = lab.lines("start")
        lab.log.clear()
        lab.toys["ch10"].end("abnormal")
        await lab.saw("restarted", "ch5")
        again, over = lab.lines("start"), lab.lines("stop")
        lab.log.clear()
        await top.stop(None)

        assert [f"start {name}" for name in names] == begun
        assert ["stop ch5", "stop ch2"] == over
        assert [f"start {name}" for name in names[2:]] == again
        assert [f"stop {name}" for name in reversed(names)] == lab.lines("stop")


class _Deaf:
    """A child around a task that goes on when it is cancelled, until it may go."""

    def __init__(self, go: asyncio.Event) -> None:
        self.go = go
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> _Deaf:
        self.task = asyncio.create_task(self._work())
        return self

    async def _work(self) -> None:
        while not self.go.is_set():
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                continue

    async def stop(self, timeout: float | None) -> None:
        self.kill()
        await self.exited()

    def kill(self) -> None:
        assert self.task is not None
        self.task.cancel()

    async def exited(self) -> object:
        assert self.task is not None
        await asyncio.wait({self.task})
        return "normal"


class TestCallsAtTheEnd:
    async def test_all_are_answered(self, lab: Lab) -> None:
        """Calls made around a stop are answered or refused, whatever has been answered already."""
        for _ in range(20):
            top = await lab.top().start()
            calls = [asyncio.create_task(top.count_children())]
            stop = asyncio.create_task(top.stop(None))
            calls += [asyncio.create_task(top.count_children()) for _ in range(3)]
            async with asyncio.timeout(5):
                answers = await asyncio.gather(*calls, return_exceptions=True)
                await stop

            assert {"specs": 0, "active": 0, "supervisors": 0, "workers": 0} == answers[0]
            assert all(isinstance(each, dict | NotRunningError) for each in answers)
            assert "shutdown" == await top.exited()
