from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildError
from tests.supervision.conftest import find_reason

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: More failures than any test waits for.
FOREVER = 1_000_000


async def _loop(lab: Lab, **options: Any) -> Supervisor:
    """Return a supervisor whose child `b` of a, b and c cannot be restarted."""
    specs = [lab.spec(name) for name in "abc"]
    top = await lab.top(*specs, intensity=FOREVER, **options).start()
    lab.failures["b"] = FOREVER
    lab.toys["b"].end("boom")
    await lab.saw("start_error", "b", 3)
    return top


async def _loop_again(lab: Lab, top: Supervisor) -> None:
    """Start `b` by hand and let it crash into another endless loop."""
    lab.failures["b"] = 0
    await top.restart_child("b")
    failed = len(lab.told("start_error"))
    lab.failures["b"] = FOREVER
    lab.toys["b"].end("boom")
    await lab.saw("start_error", "b", failed + 3)


def _states(top: Supervisor) -> list[str]:
    return [child.state for child in top.snapshot().children]


class TestRestartLoop:
    async def test_answers(self, lab: Lab) -> None:
        """A supervisor that cannot restart a child still answers, and says `restarting`."""
        top = await _loop(lab)

        assert ["running", "restarting", "running"] == [
            child.state for child in await top.which_children()
        ]
        assert (3, 2, 0, 3) == tuple((await top.count_children()).values())
        await top.stop(None)

    @pytest.mark.parametrize("call", ["restart_child", "delete_child"])
    async def test_refusals(self, lab: Lab, call: str) -> None:
        """A child that is being restarted is neither started by hand nor forgotten."""
        top = await _loop(lab)
        with pytest.raises(ChildError) as refusal:
            await getattr(top, call)("b")

        assert "restarting" == refusal.value.reason
        await top.stop(None)

    async def test_already_present(self, lab: Lab) -> None:
        """Its id is taken meanwhile."""
        top = await _loop(lab)
        with pytest.raises(ChildError) as refusal:
            await top.start_child(lab.spec("b"))

        assert "already_present" == refusal.value.reason
        await top.stop(None)

    async def test_terminated(self, lab: Lab, quiet: Any) -> None:
        """Terminating the child ends the loop."""
        top = await _loop(lab)
        await top.terminate_child("b")
        failed = len(lab.told("start_error"))
        await quiet(top)

        assert failed == len(lab.told("start_error"))
        assert ["running", "stopped", "running"] == _states(top)
        await top.stop(None)

    async def test_stop(self, lab: Lab, end: Any) -> None:
        """A stop gets its turn."""
        top = await _loop(lab)
        await top.stop(None)

        assert "shutdown" == await end(top)

    async def test_by_id(self, lab: Lab, end: Any) -> None:
        """In an endless loop the calls answer, terminating ends it, and the next does not hang it.

        Row: otp hanging_restart_loop
        """
        top = await _loop(lab)
        for call in (top.restart_child, top.delete_child):
            assert "restarting" == await find_reason(call("b"))
        assert "already_present" == await find_reason(top.start_child(lab.spec("b")))
        assert ("b", None, "restarting", "worker") == (await top.which_children())[1]
        assert (3, 2, 0, 3) == tuple((await top.count_children()).values())
        await top.terminate_child("b")
        assert ("b", None, "stopped", "worker") == (await top.which_children())[1]

        await _loop_again(lab, top)
        await top.stop(None)
        assert "shutdown" == await end(top)
        assert ["boom"] * 2 == [reason for child, reason in lab.told("exited") if child == "b"]

    async def test_of_the_rest(self, lab: Lab, end: Any) -> None:
        """The same holds where those started after it stay stopped in the meantime.

        Row: otp hanging_restart_loop_rest_for_one
        """
        top = await _loop(lab, strategy="rest_for_one")
        for call in (top.restart_child, top.delete_child):
            assert "restarting" == await find_reason(call("b"))
        assert "already_present" == await find_reason(top.start_child(lab.spec("b")))
        assert ["stopped", "restarting", "running"] == [c.state for c in await top.which_children()]
        assert (3, 1, 0, 3) == tuple((await top.count_children()).values())
        await top.terminate_child("b")
        assert ["stopped", "stopped", "running"] == [c.state for c in await top.which_children()]

        await _loop_again(lab, top)
        await top.stop(None)
        assert "shutdown" == await end(top)

    async def test_of_a_template(self, lab: Lab, end: Any) -> None:
        """The same holds for a child of a template, which is terminated by its last handle.

        Row: otp hanging_restart_loop_simple
        """
        pool = await lab.pool(intensity=FOREVER).start()
        for _ in range(2):
            lab.failures["t-x"] = 0
            handle = (await pool.start_child(("x",))).handle
            failed = len(lab.told("start_error"))
            lab.failures["t-x"] = FOREVER
            lab.toys["t-x"].end("boom")
            await lab.saw("start_error", "t", failed + 3)
            for call in (pool.restart_child, pool.delete_child):
                assert "simple_one_for_one" == await find_reason(call("t"))
            assert [("t", None, "restarting", "worker")] == await pool.which_children()
            assert (1, 0, 0, 1) == tuple((await pool.count_children()).values())
            await pool.terminate_child(handle)
            assert [] == await pool.which_children()
        lab.failures["t-x"] = 0
        await pool.start_child(("x",))
        lab.failures["t-x"] = FOREVER
        lab.toys["t-x"].end("boom")
        await pool.stop(None)

        assert "shutdown" == await end(pool)

    async def test_succeeds_at_last(self, lab: Lab) -> None:
        """The first attempt that succeeds ends the loop."""
        top = await _loop(lab)
        lab.failures["b"] = 0
        await lab.saw("restarted", "b")

        assert ["running"] * 3 == _states(top)
        await top.stop(None)

    async def test_rest_for_one(self, lab: Lab) -> None:
        """Those after it stay stopped meanwhile, those before it run."""
        top = await _loop(lab, strategy="rest_for_one")

        assert ["c", "b", "a"] == [child.id for child in await top.which_children()]
        assert "running" == _states(top)[0]
        assert "stopped" == _states(top)[2]
        await top.stop(None)

    async def test_one_for_all(self, lab: Lab) -> None:
        """When the first of a group cannot start, none of the others runs meanwhile."""
        top = await lab.top(
            *[lab.spec(name) for name in "abc"], strategy="one_for_all", intensity=FOREVER
        ).start()
        lab.failures["a"] = FOREVER
        lab.toys["b"].end("boom")
        await lab.saw("start_error", "a", 3)

        assert 0 == (await top.count_children())["active"]
        assert ["stopped", "stopped"] == _states(top)[1:]
        await top.stop(None)

    async def test_stale_retry(self, lab: Lab, quiet: Any) -> None:
        """A retry that is still in the mailbox does not touch a child that runs again."""
        top = await _loop(lab)
        await top.terminate_child("b")
        lab.failures["b"] = 0
        await top.restart_child("b")
        await quiet(top)

        assert 2 == lab.log.count("start b")
        await top.stop(None)
