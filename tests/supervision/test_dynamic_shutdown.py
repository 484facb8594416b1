from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, StartError

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab


async def _three(lab: Lab, **options: Any) -> Supervisor:
    top = await lab.top(strategy="dynamic").start()
    for name in "abc":
        await top.start_child(lab.spec(name, **options))
    return top


def _each(reason: object) -> set[tuple[str, object]]:
    return {(name, reason) for name in "abc"}


class TestTerminate:
    async def test_brutal_kill(self, lab: Lab) -> None:
        """Children with brutal_kill are killed and not asked.

        Row: elixir dynamic_supervisor terminate/2: terminates children with brutal kill
        """
        top = await _three(lab, shutdown=BRUTAL_KILL)
        await top.stop(None)

        assert _each("killed") == set(lab.told("exited"))
        assert [] == lab.lines("stop")
        assert [] == lab.told("shutdown_error")

    @pytest.mark.parametrize("seconds", [math.inf, 1000])
    async def test_asked(self, lab: Lab, seconds: float) -> None:
        """Children that are given time, or all the time there is, are asked and end in order.

        Row: elixir dynamic_supervisor terminate/2: terminates children with infinity shutdown
        Row: elixir dynamic_supervisor terminate/2: terminates children with integer shutdown
        """
        top = await _three(lab, shutdown=seconds)
        await top.stop(None)

        assert _each("shutdown") == set(lab.told("exited"))
        assert dict.fromkeys("abc", None if seconds == math.inf else seconds) == lab.timeouts
        assert [] == lab.lines("kill")
        assert [] == lab.told("shutdown_error")

    @pytest.mark.parametrize("seconds", [math.inf, 1000])
    @pytest.mark.parametrize("reason", [("shutdown", "oops"), "oops"])
    async def test_own_reason(self, lab: Lab, seconds: float, reason: object) -> None:
        """Children that answer with a reason of their own keep it, and nobody is started again.

        Row: elixir dynamic_supervisor terminate/2: terminates children with infinity shutdown \
and abnormal reason
        Row: elixir dynamic_supervisor terminate/2: terminates children with integer shutdown \
and abnormal reason
        """
        top = await _three(lab, shutdown=seconds, toy={"stop_reason": reason})
        await top.stop(None)

        assert _each(reason) == set(lab.told("exited"))
        assert 3 == len(lab.lines("start"))
        assert "shutdown" == await top.exited()

    async def test_expired(self, lab: Lab) -> None:
        """The child whose time has passed is killed, and costs the others nothing.

        Row: elixir dynamic_supervisor terminate/2: terminates children with expired integer \
shutdown
        """
        lab.manners["b"] = {"stubborn": True}
        top = await _three(lab, shutdown=0.01)
        await top.stop(None)

        assert [("a", "shutdown"), ("c", "shutdown"), ("b", "killed")] == lab.told("exited")
        assert [("b", "killed")] == lab.told("shutdown_error")
        assert ["kill b"] == lab.lines("kill")

    async def test_permanent_and_normal(self, lab: Lab) -> None:
        """A permanent child that answers "normal" is not restarted, but that is reported.

        Row: elixir dynamic_supervisor terminate/2: terminates children with permanent restart \
and normal reason
        """
        top = await _three(lab, shutdown=math.inf, toy={"stop_reason": "normal"})
        await top.stop(None)

        assert _each("normal") == set(lab.told("exited")) == set(lab.told("shutdown_error"))
        assert 3 == len(lab.lines("start"))

    async def test_mixed(self, lab: Lab) -> None:
        """Each child is stopped as its own spec says.

        Row: elixir dynamic_supervisor terminate/2: terminates with mixed children
        """
        top = await lab.top(strategy="dynamic").start()
        await top.start_child(lab.spec("a", shutdown=math.inf))
        await top.start_child(lab.spec("b", shutdown=BRUTAL_KILL))
        await top.stop(None)

        assert {("a", "shutdown"), ("b", "killed")} == set(lab.told("exited"))
        assert [] == lab.told("shutdown_error")

    async def test_at_once(self, lab: Lab) -> None:
        """All are asked before any has ended, so many slow ones take no longer than one."""
        top = await _three(lab, toy={"stubborn": True}, shutdown=math.inf)
        stopping = asyncio.create_task(top.stop(None))
        for name in "abc":
            await lab.noted(f"stop {name}")

        assert [] == lab.lines("end")
        for name in "abc":
            lab.toys[name].end("shutdown")
        await stopping

    async def test_restarting(self, lab: Lab) -> None:
        """A child that is being restarted is not waited for."""
        top = await lab.top(strategy="dynamic", intensity=1_000_000).start()
        for name in "ab":
            await top.start_child(lab.spec(name))
        lab.failures["a"] = 1_000_000
        lab.toys["a"].end("boom")
        await lab.saw("start_error", "a", 2)
        await top.stop(None)

        assert [("a", "boom"), ("b", "shutdown")] == lab.told("exited")
        assert "shutdown" == await top.exited()

    async def test_kill(self, lab: Lab) -> None:
        """A kill in the middle of it ends whoever still runs, and reports each end once."""
        lab.manners["b"] = {"stubborn": True}
        top = await _three(lab, shutdown=math.inf)
        stopping = asyncio.create_task(top.stop(None))
        await lab.noted("stop b")
        await lab.saw("exited", "c")
        top.kill()
        await stopping

        assert [("a", "shutdown"), ("b", "killed"), ("c", "shutdown")] == sorted(
            lab.told("exited"), key=str
        )
        assert "killed" == await top.exited()


class TestKill:
    async def test_in_a_start(self, lab: Lab) -> None:
        """A kill while a child is being added ends its start, and the children that run."""
        top = await _three(lab)
        lab.gates["d"] = asyncio.Event()
        adding = asyncio.create_task(top.start_child(lab.spec("d")))
        asyncio.get_running_loop().call_soon(top.kill)
        await asyncio.wait({adding})

        assert "noproc" == getattr(adding.exception(), "reason", None)
        assert _each("killed") == set(lab.told("exited"))

    async def test_before_its_first_step(self, lab: Lab) -> None:
        """A supervisor that is killed before it does anything still answers its callers."""
        top = lab.top(strategy="dynamic")
        starting = asyncio.create_task(top.start())
        asking = asyncio.create_task(top.which_children())
        asyncio.get_running_loop().call_soon(top.kill)
        await asyncio.wait({starting, asking}, timeout=0.05)
        answered, state = asking.done(), top.snapshot().state
        asking.cancel()
        await asyncio.wait({asking})

        assert isinstance(starting.exception(), StartError)
        assert (True, "stopped") == (answered, state)

    async def test_picture(self, lab: Lab) -> None:
        """No child of a supervisor that was killed is pictured as running."""
        top = await _three(lab)
        top.kill()
        await top.exited()

        assert {"running"} != {child.state for child in top.snapshot().children}
