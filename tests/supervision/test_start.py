from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import IGNORE, ChildSpec, NotRunningError, StartError, Supervisor

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestOrder:
    async def test_in_order(self, lab: Lab) -> None:
        """Children start in the order of the list."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), lab.spec("c")).start()

        assert ["start a", "start b", "start c"] == lab.log
        await top.stop(None)

    async def test_one_after_another(self, lab: Lab) -> None:
        """A child starts when the one before it runs, and not earlier."""
        lab.gates["a"] = asyncio.Event()
        top = lab.top(lab.spec("a"), lab.spec("b"))
        starting = asyncio.create_task(top.start())
        lab.gates["b"] = asyncio.Event()
        lab.gates["a"].set()
        await lab.saw("started", "a")

        assert ["start a"] == lab.log
        assert "starting" == top.snapshot().state
        lab.gates["b"].set()
        await starting
        await top.stop(None)

    async def test_no_children(self, lab: Lab) -> None:
        """A supervisor without children starts and stops.

        Row: otp sup_start_normal
        """
        top = await lab.top().start()
        await top.stop(None)

        assert "shutdown" == await top.exited()

    async def test_twice(self, lab: Lab) -> None:
        """A supervisor starts once in its life."""
        top = await lab.top().start()
        with pytest.raises(StartError) as refusal:
            await top.start()

        assert "already_started" == refusal.value.reason
        await top.stop(None)


class TestFailure:
    async def test_undone_in_reverse(self, lab: Lab) -> None:
        """A child that does not start takes those before it down again, the last one first."""
        lab.failures["c"] = 1
        with pytest.raises(StartError):
            await lab.top(lab.spec("a"), lab.spec("b"), lab.spec("c"), lab.spec("d")).start()

        assert ["stop b", "end b shutdown", "stop a", "end a shutdown"] == lab.log[2:]

    async def test_reason(self, lab: Lab) -> None:
        """The error says which child it was and why, in OTP's words and in ours."""
        lab.failures["a"] = 1
        top = lab.top(lab.spec("a"))
        with pytest.raises(StartError, match="'top'.*'a'.*OSError: a would not start") as failure:
            await top.start()

        reason: Any = failure.value.reason
        assert ("shutdown", "failed_to_start_child", "a") == (reason[0], *reason[1][:2])
        assert isinstance(reason[1][2], OSError)
        assert reason == await top.exited()

    async def test_deep(self, lab: Lab) -> None:
        """A failure deep in the tree names every level on its way up.

        Row: otp faulty_application_shutdown
        """
        lab.failures["leaf"] = 1
        branch = lab.level("branch", lab.spec("leaf"))
        with pytest.raises(StartError, match="'top'.*'branch'.*'leaf'.*would not start") as failure:
            await lab.top(branch).start()

        reason: Any = failure.value.reason
        assert "branch" == reason[1][1]
        assert ("failed_to_start_child", "leaf") == reason[1][2][1][:2]

    async def test_returns_nonsense(self) -> None:
        """A start function that returns nothing to supervise has failed."""

        async def start() -> Any:
            return None

        with pytest.raises(StartError, match="return a Handle or IGNORE"):
            await Supervisor([ChildSpec("a", start)], name="top").start()

    async def test_cancels_itself(self) -> None:
        """A start function that is cancelled from within has failed; its supervisor has not."""

        async def start() -> Any:
            raise asyncio.CancelledError

        with pytest.raises(StartError, match="CancelledError"):
            await Supervisor([ChildSpec("a", start)], name="top").start()

    async def test_caller_cancelled(self, lab: Lab) -> None:
        """Cancelling a start ends what it had begun."""
        lab.gates["b"] = asyncio.Event()
        top = lab.top(lab.spec("a"), lab.spec("b"))
        starting = asyncio.create_task(top.start())
        await lab.saw("started", "a")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

        assert ["start a", "kill a", "end a killed"] == lab.log
        assert "killed" == await top.exited()

    async def test_killed_meanwhile(self, lab: Lab) -> None:
        """Killing a supervisor that starts is a failed start for who started it."""
        lab.gates["a"] = asyncio.Event()
        top = lab.top(lab.spec("a"))
        starting = asyncio.create_task(top.start())
        later = asyncio.create_task(lab.saw("started", "a"))
        asyncio.get_running_loop().call_soon(top.kill)
        with pytest.raises(StartError, match="ended in its start"):
            await starting
        later.cancel()


class TestIgnored:
    async def test_kept(self, lab: Lab) -> None:
        """A child that has nothing to do is kept as stopped and can be started later."""
        lab.ignored["a"] = 1
        top = await lab.top(lab.spec("a")).start()

        assert [("a", None, "stopped", "worker")] == await top.which_children()
        assert lab.toys == {}
        assert (await top.restart_child("a")).handle is lab.toys["a"]
        await top.stop(None)

    async def test_info(self, lab: Lab) -> None:
        """What a start function says beside the handle goes to who starts it by a call."""

        async def start() -> Any:
            return await lab.make("a", {}), "port 80"

        async def nothing() -> Any:
            return IGNORE, "not today"

        top = await lab.top().start()

        assert (lab.toys.get("a"), "not today") == await top.start_child(ChildSpec("b", nothing))
        assert "port 80" == (await top.start_child(ChildSpec("a", start))).info
        await top.stop(None)


class TestNotRunning:
    async def test_never_started(self, lab: Lab) -> None:
        """A supervisor that was never started answers nothing and has nothing to end."""
        top = lab.top(lab.spec("a"))
        top.kill()
        await top.stop(None)

        with pytest.raises(NotRunningError):
            await top.exited()
        with pytest.raises(NotRunningError):
            await top.which_children()
        assert ["stopped", "stopped"] == [top.snapshot().state, top.snapshot().children[0].state]

    async def test_ended(self, lab: Lab) -> None:
        """A supervisor that has ended says so to every caller."""
        top = await lab.top().start()
        await top.stop(None)

        with pytest.raises(NotRunningError) as gone:
            await top.count_children()
        assert "noproc" == gone.value.reason
