from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, NotRunningError

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestOrder:
    async def test_reverse(self, lab: Lab) -> None:
        """Children stop in reverse, each after the one before has ended."""
        top = await lab.top(lab.spec("a"), lab.spec("b")).start()
        await top.stop(None)

        assert ["stop b", "end b shutdown", "stop a", "end a shutdown"] == lab.log[2:]
        assert "shutdown" == await top.exited()

    async def test_after_what_came_before(self, lab: Lab) -> None:
        """A stop waits for its turn behind the calls made before it."""
        top = await lab.top(lab.spec("a")).start()
        added = asyncio.create_task(top.start_child(lab.spec("b")))
        stopping = asyncio.create_task(top.stop(None))
        await asyncio.wait({added, stopping})

        assert added.result().handle is lab.toys["b"]
        assert ["stop b", "stop a"] == [line for line in lab.log if line.startswith("stop")]

    async def test_twice(self, lab: Lab) -> None:
        """Stopping what has stopped is no error."""
        top = await lab.top(lab.spec("a")).start()
        await top.stop(None)
        await top.stop(1.0)

        assert 1 == lab.log.count("stop a")

    async def test_calls_behind_it(self, lab: Lab) -> None:
        """A call behind the stop is refused and not left to wait."""
        top = await lab.top(lab.spec("a")).start()
        stopping = asyncio.create_task(top.stop(None))
        asking = asyncio.create_task(top.which_children())
        await asyncio.wait({stopping, asking})

        assert isinstance(asking.exception(), NotRunningError)

    async def test_ends_by_itself_meanwhile(self, lab: Lab) -> None:
        """A child that ends by itself before its turn is not asked, and keeps its reason."""
        top = await lab.top(lab.spec("a"), lab.spec("b", restart="transient")).start()
        stopping = asyncio.create_task(top.stop(None))
        lab.toys["a"].end("boom")
        lab.toys["b"].end("normal")
        await stopping

        assert "stop a" not in lab.log
        assert [("b", "normal"), ("a", "boom")] == lab.told("exited")
        assert [("a", "boom")] == lab.told("shutdown_error")


class TestTimeout:
    async def test_passed_on(self, lab: Lab) -> None:
        """Each child is given its own time to stop, and infinity is none at all."""
        specs = [lab.spec("a"), lab.spec("b", shutdown=2), lab.spec("c", shutdown=math.inf)]
        top = await lab.top(*specs).start()
        await top.stop(None)

        assert {"a": 5.0, "b": 2.0, "c": None} == lab.timeouts

    @pytest.mark.parametrize("seconds", [0, 0.01])
    async def test_late_child_is_killed(self, lab: Lab, seconds: float) -> None:
        """A child that does not stop in its time is killed and reported; the others stop."""
        late = lab.spec("b", toy={"stubborn": True}, shutdown=seconds)
        top = await lab.top(lab.spec("a"), late).start()
        await top.stop(None)

        assert ["kill b", "end b killed", "stop a", "end a shutdown"] == lab.log[-4:]
        assert [("b", "killed")] == lab.told("shutdown_error")

    async def test_infinity_waits(self, lab: Lab) -> None:
        """With infinity a child is waited for until it ends."""
        patient = lab.spec("a", toy={"stubborn": True}, shutdown=math.inf)
        top = await lab.top(patient).start()
        with pytest.raises(TimeoutError, match="'top' did not stop in 0.01 s"):
            await top.stop(0.01)

        assert "stopping" == top.snapshot().children[0].state
        lab.toys["a"].end("shutdown")
        await top.stop(None)
        assert [] == lab.told("shutdown_error")

    async def test_brutal_kill(self, lab: Lab) -> None:
        """A child with brutal_kill is never asked, and its being killed is in order."""
        top = await lab.top(lab.spec("a", shutdown=BRUTAL_KILL)).start()
        await top.stop(None)

        assert ["kill a", "end a killed"] == lab.log[1:]
        assert [] == lab.told("shutdown_error")

    async def test_stop_that_lingers(self, lab: Lab) -> None:
        """A `stop` that does not return after the child has ended is cut off."""
        top = await lab.top(lab.spec("a", toy={"lingers": True}, shutdown=math.inf)).start()
        await top.stop(None)

        assert [("a", "shutdown")] == lab.told("exited")

    async def test_stop_that_raises(self, lab: Lab) -> None:
        """A child whose `stop` fails is killed, and the failure is reported."""
        error = OSError("pipe")
        top = await lab.top(lab.spec("a", toy={"stop_error": error})).start()
        await top.stop(None)

        assert [("a", error), ("a", "killed")] == lab.told("shutdown_error")


class TestReason:
    @pytest.mark.parametrize("reason", ["normal", ("shutdown", "done")])
    async def test_orderly(self, lab: Lab, reason: object) -> None:
        """Other orderly reasons are in order, except from a permanent child."""
        manners = {"stop_reason": reason}
        specs = [lab.spec("a", toy=manners), lab.spec("b", toy=manners, restart="transient")]
        top = await lab.top(*specs).start()
        await top.stop(None)

        assert [("a", reason)] == lab.told("shutdown_error")

    async def test_failure(self, lab: Lab) -> None:
        """A child that fails while it stops is reported and delays nothing."""
        top = await lab.top(lab.spec("a", toy={"stop_reason": "boom"}, restart="temporary")).start()
        await top.stop(None)

        assert [("a", "boom")] == lab.told("shutdown_error")


class TestKill:
    async def test_children_first(self, lab: Lab) -> None:
        """A killed supervisor kills its children, asks none, and ends after them."""
        top = await lab.top(lab.spec("a"), lab.spec("b")).start()
        top.kill()
        top.kill()

        assert "killed" == await top.exited()
        assert {"kill a", "end a killed", "kill b", "end b killed"} == set(lab.log[2:])
        assert [] == lab.told("shutdown_error")

    async def test_cancelled(self, lab: Lab) -> None:
        """A supervisor whose task is cancelled from outside ends as if it were killed."""
        top = await lab.top(lab.spec("a")).start()
        next(t for t in asyncio.all_tasks() if "supervisor top" == t.get_name()).cancel()

        assert "killed" == await top.exited()
        assert "end a killed" == lab.log[-1]

    async def test_in_an_orderly_stop(self, lab: Lab) -> None:
        """A kill cuts an orderly stop short."""
        patient = lab.spec("b", toy={"stubborn": True}, shutdown=math.inf)
        top = await lab.top(lab.spec("a"), patient).start()
        with pytest.raises(TimeoutError):
            await top.stop(0)
        top.kill()

        assert "killed" == await top.exited()
        assert {"a", "b"} == {child for child, reason in lab.told("exited") if reason == "killed"}

    async def test_in_a_call(self, lab: Lab) -> None:
        """A caller whose supervisor is killed is told, and the start under way is ended."""
        lab.gates["a"] = asyncio.Event()
        top = await lab.top().start()
        asking = asyncio.create_task(top.start_child(lab.spec("a")))
        asyncio.get_running_loop().call_later(0.001, top.kill)
        await asyncio.wait({asking})

        assert isinstance(asking.exception(), NotRunningError)
        assert "killed" == await top.exited()

    async def test_in_a_restart(self, lab: Lab) -> None:
        """A kill while a child is being restarted ends the attempt and reports no second end."""
        top = await lab.top(lab.spec("a")).start()
        lab.gates["a"] = asyncio.Event()
        lab.toys["a"].end("boom")
        await lab.saw("exited", "a")
        top.kill()

        assert "killed" == await top.exited()
        assert [("a", "boom")] == lab.told("exited")

    async def test_kill_that_raises(self, lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
        """A `kill` that fails is logged and costs the other children nothing."""
        broken = lab.spec("b", toy={"kill_error": OSError("pipe")})
        top = await lab.top(lab.spec("a"), broken).start()
        top.kill()
        await top.exited()

        assert "end a killed" in lab.log
        assert [("b", "abandoned")] == lab.told("shutdown_error")
        assert "pipe" in caplog.text


class TestAbandoned:
    async def test_in_a_stop(self, lab: Lab) -> None:
        """A child that survives its kill is abandoned after the grace, and that is said."""
        immortal = lab.spec("b", toy={"stubborn": True, "immortal": True}, shutdown=0)
        top = await lab.top(lab.spec("a"), immortal).start()
        await top.stop(None)

        assert [("b", "abandoned")] == lab.told("shutdown_error")
        assert [("a", "shutdown")] == lab.told("exited")

    async def test_in_a_kill(self, lab: Lab) -> None:
        """A killed supervisor does not wait for ever either."""
        top = await lab.top(lab.spec("a", toy={"immortal": True})).start()
        top.kill()

        assert "killed" == await top.exited()
        assert [("a", "abandoned")] == lab.told("shutdown_error")

    async def test_a_terminated_child(self, lab: Lab) -> None:
        """An abandoned child can be started anew; its late end is no news."""
        spec = lab.spec("a", toy={"immortal": True}, shutdown=BRUTAL_KILL)
        top = await lab.top(spec).start()
        old = lab.toys["a"]
        await top.terminate_child("a")
        await top.restart_child("a")
        old.end("boom")

        assert 1 == (await top.count_children())["active"]
        assert 0 == top.snapshot().children[0].restarts
        top.kill()
        await top.exited()

    async def test_a_start(self, lab: Lab) -> None:
        """A start that survives its cancellation is abandoned, and what it gives is killed."""
        go, began = asyncio.Event(), asyncio.Event()
        top = await lab.top().start()
        asking = asyncio.create_task(top.start_child(_deaf(lab, go, began)))
        await began.wait()
        top.kill()
        await asyncio.wait({asking})

        assert "killed" == await top.exited()
        assert [("a", "abandoned")] == lab.told("shutdown_error")
        left = [task for task in asyncio.all_tasks() if "top: start a" == task.get_name()]
        go.set()
        await asyncio.wait(left)
        assert "killed" == await lab.toys["a"].exited()

    async def test_a_start_that_ends_late(self, lab: Lab) -> None:
        """What a cancelled start gives all the same is killed and waited for."""
        go, began = asyncio.Event(), asyncio.Event()
        top = await lab.top(grace=5.0).start()
        asking = asyncio.create_task(top.start_child(_deaf(lab, go, began)))
        await began.wait()
        top.kill()
        asyncio.get_running_loop().call_later(0.002, go.set)
        await asyncio.wait({asking})

        assert "killed" == await top.exited()
        assert [("a", "killed")] == lab.told("exited")


class TestOwnFault:
    async def test_children_end(self, lab: Lab, end: Any, caplog: pytest.LogCaptureFixture) -> None:
        """A supervisor that fails by a bug of its own kills its children and says what it was."""
        top = await lab.top(lab.spec("a"), lab.spec("b"), now=lambda: 1 // 0).start()
        lab.toys["a"].end("boom")

        assert isinstance(await end(top), ZeroDivisionError)
        assert "end b killed" == lab.log[-1]
        assert "by a fault of its own" in caplog.text


def _deaf(lab: Lab, go: asyncio.Event, began: asyncio.Event) -> Any:
    """Return the spec of a child whose start says that it began, and hears no cancellation."""
    spec = lab.spec("a")

    async def start() -> Any:
        began.set()
        waiting = asyncio.ensure_future(go.wait())
        while not waiting.done():
            try:
                await asyncio.wait({waiting})
            except asyncio.CancelledError:
                continue
        return await lab.make("a", {})

    object.__setattr__(spec, "start", start)
    return spec
