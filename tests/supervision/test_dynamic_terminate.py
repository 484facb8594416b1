from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, StartError
from tests.supervision.conftest import find_reason

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: More restarts than any test waits for.
FOREVER = 1_000_000


async def _dynamic(lab: Lab) -> Supervisor:
    return await lab.top(strategy="dynamic", intensity=FOREVER).start()


class TestTerminateChild:
    @pytest.mark.parametrize(("shutdown", "reason"), [(BRUTAL_KILL, "killed"), (1000, "shutdown")])
    async def test_forgotten(self, lab: Lab, shutdown: Any, reason: str) -> None:
        """A child that was terminated as its spec says is forgotten, and its handle nobody's.

        Row: elixir dynamic_supervisor terminate_child/2: terminates child with brutal kill
        Row: elixir dynamic_supervisor terminate_child/2: terminates child with integer shutdown
        """
        top = await _dynamic(lab)
        handle: Any = (await top.start_child(lab.spec("a", shutdown=shutdown))).handle
        await top.terminate_child(handle)

        assert reason == await handle.exited()
        assert "not_found" == await find_reason(top.terminate_child(handle))
        assert (0, 0, 0, 0) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_restarting(self, lab: Lab, quiet: Any) -> None:
        """A child that cannot be started again is given up by the handle it had last.

        Row: elixir dynamic_supervisor terminate_child/2: terminates restarting child
        """
        top = await _dynamic(lab)
        handle: Any = (await top.start_child(lab.spec("a"))).handle
        lab.failures["a"] = FOREVER
        handle.end("shutdown")
        await lab.saw("start_error", "a", 2)
        await top.terminate_child(handle)
        failed = len(lab.told("start_error"))
        await quiet(top)

        assert "not_found" == await find_reason(top.terminate_child(handle))
        assert (0, 0, 0, 0) == tuple((await top.count_children()).values())
        assert failed == len(lab.told("start_error"))
        await top.stop(None)

    async def test_one_of_a_kind(self, lab: Lab) -> None:
        """Of two children with one id the one whose handle is given is terminated."""
        top = await _dynamic(lab)
        handles = [(await top.start_child(lab.spec("a"))).handle for _ in range(2)]
        await top.terminate_child(handles[0])

        assert [handles[1]] == [child.handle for child in await top.which_children()]
        await top.stop(None)

    async def test_restarted(self, lab: Lab) -> None:
        """The handle a child had before it was restarted is nobody's."""
        top = await _dynamic(lab)
        old: Any = (await top.start_child(lab.spec("a"))).handle
        await lab.crash("a")

        assert "not_found" == await find_reason(top.terminate_child(old))
        assert "not_found" == await find_reason(top.get_childspec(old))
        assert 1 == (await top.count_children())["active"]
        await top.stop(None)

    async def test_just_ended(self, lab: Lab) -> None:
        """A child that ended a moment before is not started again."""
        top = await _dynamic(lab)
        handle: Any = (await top.start_child(lab.spec("a"))).handle
        handle.end("boom")
        await top.terminate_child(handle)

        assert [] == await top.which_children()
        assert ["start a"] == lab.lines("start")
        assert [("a", "boom")] == lab.told("exited")
        await top.stop(None)

    async def test_by_id(self, lab: Lab) -> None:
        """Calls by id are refused: an id may be that of many."""
        top = await _dynamic(lab)
        await top.start_child(lab.spec("a"))
        for call in (top.terminate_child, top.restart_child, top.delete_child):
            assert "dynamic" == await find_reason(call("a"))

        assert "not_found" == await find_reason(top.get_childspec("a"))
        await top.stop(None)

    async def test_caller_cancelled(self, lab: Lab) -> None:
        """A caller that is cancelled takes nothing back."""
        top = await _dynamic(lab)
        handle: Any = (await top.start_child(lab.spec("a"))).handle
        asking = asyncio.create_task(top.terminate_child(handle))
        asyncio.get_running_loop().call_soon(asking.cancel)
        await asyncio.wait({asking})

        assert [] == await top.which_children()
        assert "end a shutdown" == lab.log[-1]
        await top.stop(None)


class TestGetChildspec:
    async def test_while_restarting(self, lab: Lab) -> None:
        """The spec of a child that is being restarted is found by the handle it had last."""
        top = await _dynamic(lab)
        spec = lab.spec("a")
        handle: Any = (await top.start_child(spec)).handle
        lab.failures["a"] = FOREVER
        handle.end("boom")
        await lab.saw("start_error", "a", 2)

        assert spec == await top.get_childspec(handle)
        await top.stop(None)

    async def test_temporary(self, lab: Lab) -> None:
        """The spec of a temporary child is the one it came with, but for what starts it."""
        top = await _dynamic(lab)
        spec = lab.spec("a", restart="temporary", shutdown=7)
        handle: Any = (await top.start_child(spec)).handle
        known = await top.get_childspec(handle)

        assert ("a", "temporary", 7) == (known.id, known.restart, known.shutdown)
        assert spec.start is not known.start
        await top.stop(None)

    async def test_spent(self, lab: Lab) -> None:
        """A spec that has nothing to start any more fails when it is started."""
        top = await _dynamic(lab)
        handle: Any = (await top.start_child(lab.spec("a", restart="temporary"))).handle
        spent = await top.get_childspec(handle)
        try:
            with pytest.raises(StartError):
                await top.start_child(spent)
        finally:
            await top.stop(None)

    async def test_of_a_temporary_template(self, lab: Lab) -> None:
        """A temporary child of a template has the template's spec, as in OTP."""
        spec = lab.spec("t", restart="temporary")
        top = await lab.top(spec, strategy="simple_one_for_one").start()
        handle: Any = (await top.start_child(("x",))).handle
        known = await top.get_childspec(handle)
        await top.stop(None)

        assert spec == known

    async def test_template(self, lab: Lab) -> None:
        """The template itself is found by its id, as in OTP."""
        spec = lab.spec("t")
        top = await lab.top(spec, strategy="simple_one_for_one").start()
        try:
            assert spec == await top.get_childspec("t")
        finally:
            await top.stop(None)
