from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import NotRunningError
from tests.supervision.conftest import find_reason

if TYPE_CHECKING:
    from supervision import ChildSpec, Supervisor
    from tests.supervision.conftest import Lab


async def _counts(top: Supervisor) -> tuple[int, ...]:
    return tuple((await top.count_children()).values())


async def _line(top: Supervisor, name: str) -> tuple[object, ...]:
    """Return the one line of `which_children` for a child: OTP's which_child."""
    (line,) = [child for child in await top.which_children() if child.id == name]
    return tuple(line)


def _with_info(lab: Lab) -> ChildSpec:
    """Return the spec of a child whose start function says something besides."""
    spec = lab.spec("a")

    async def start(*args: str) -> Any:
        return await lab.make("-".join(["a", *args]), {}), "extra"

    object.__setattr__(spec, "start", start)
    return spec


class TestById:
    async def test_life_cycle(self, lab: Lab) -> None:
        """Through every call of its life the lists agree, and what does not fit is refused.

        Row: otp child_adm
        """
        spec = lab.spec("a")
        top = await lab.top(spec).start()
        assert ("already_started", lab.toys["a"]) == await find_reason(top.start_child(spec))
        assert "not_found" == await find_reason(top.terminate_child("b"))
        await top.terminate_child("a")
        assert (1, 0, 0, 1) == await _counts(top)
        await top.terminate_child("a")
        assert "already_present" == await find_reason(top.start_child(spec))

        handle = (await top.restart_child("a")).handle
        assert [("a", handle, "running", "worker")] == await top.which_children()
        assert (1, 1, 0, 1) == await _counts(top)
        assert "running" == await find_reason(top.restart_child("a"))
        assert "running" == await find_reason(top.delete_child("a"))
        assert "not_found" == await find_reason(top.restart_child("b"))
        assert "not_found" == await find_reason(top.delete_child("b"))
        await top.terminate_child("a")
        await top.delete_child("a")
        assert "not_found" == await find_reason(top.restart_child("a"))
        assert [] == await top.which_children()
        assert (0, 0, 0, 0) == await _counts(top)

        handle = (await top.start_child(spec)).handle
        assert "not_found" == await find_reason(top.terminate_child(handle))
        assert [("a", handle, "running", "worker")] == await top.which_children()
        await top.stop(None)

    async def test_nobody_there(self, lab: Lab) -> None:
        """Every call to a supervisor that has ended says that nobody is there.

        Row: otp child_adm
        """
        top = await lab.top(lab.spec("a")).start()
        await top.stop(None)
        calls = (
            *(call("a") for call in (top.terminate_child, top.restart_child, top.delete_child)),
            *(top.start_child(lab.spec("b")), top.get_childspec("a")),
            *(top.which_children(), top.count_children()),
        )
        for call in calls:
            with pytest.raises(NotRunningError) as gone:
                await call
            assert "noproc" == gone.value.reason

    async def test_lines(self, lab: Lab) -> None:
        """The list, and each child's line of it, follow starts, terminations and deletions.

        Row: otp which_children
        """
        top = await lab.top().start()
        assert [] == await top.which_children()
        await top.start_child(lab.spec("a"))
        await top.start_child(lab.spec("b", type="supervisor"))
        first = ("a", lab.toys["a"], "running", "worker")
        assert first == await _line(top, "a")
        assert ("b", lab.toys["b"], "running", "supervisor") == await _line(top, "b")
        assert ["b", "a"] == [child.id for child in await top.which_children()]

        await top.terminate_child("b")
        assert ("b", None, "stopped", "supervisor") == await _line(top, "b")
        await top.delete_child("b")
        assert [first] == await top.which_children()
        assert "not_found" == await find_reason(top.get_childspec("b"))
        await top.terminate_child("a")
        await top.delete_child("a")
        assert [] == await top.which_children()
        await top.stop(None)

    async def test_just_ended(self, lab: Lab) -> None:
        """A child that has ended is not active, even before the supervisor has dealt with it."""
        lab.gates["b"] = asyncio.Event()
        top = await lab.top(lab.spec("a")).start()
        adding = asyncio.create_task(top.start_child(lab.spec("b", restart="temporary")))
        counting = asyncio.create_task(_counts(top))
        asyncio.get_running_loop().call_soon(lab.toys["a"].end, "boom")
        await lab.noted("end a boom")
        watcher = next(task for task in asyncio.all_tasks() if task.get_name() == "top: watch a")
        await asyncio.wait({watcher})
        lab.gates["b"].set()
        await adding

        assert (2, 1, 0, 2) == await counting
        await top.stop(None)

    async def test_life_of_one(self, lab: Lab) -> None:
        """A child is added, listed, counted, protected while it runs, started anew and forgotten.

        Row: elixir supervisor child life cycle
        """
        top = await lab.top().start()
        assert ([], (0, 0, 0, 0)) == (await top.which_children(), await _counts(top))
        handle = (await top.start_child(lab.spec("a"))).handle
        assert [("a", handle, "running", "worker")] == await top.which_children()
        assert (1, 1, 0, 1) == await _counts(top)
        assert "running" == await find_reason(top.delete_child("a"))
        await top.terminate_child("a")
        assert (await top.restart_child("a")).handle not in (None, handle)
        await top.terminate_child("a")
        await top.delete_child("a")

        assert [] == await top.which_children()
        await top.stop(None)


class TestByHandle:
    async def test_life_cycle(self, lab: Lab) -> None:
        """Children of a template come, are listed and go by handle, a stranger's is not found.

        Row: otp child_adm_simple
        """
        pool = await lab.pool().start()
        assert ([], (1, 0, 0, 0)) == (await pool.which_children(), await _counts(pool))
        x = (await pool.start_child(("x",))).handle
        assert [("t", x, "running", "worker")] == await pool.which_children()
        assert (1, 1, 0, 1) == await _counts(pool)
        y = (await pool.start_child(("y",))).handle
        assert {x, y} == {child.handle for child in await pool.which_children()}
        assert (1, 2, 0, 2) == await _counts(pool)

        for call in (pool.terminate_child, pool.restart_child, pool.delete_child):
            assert "simple_one_for_one" == await find_reason(call("t"))
        assert (1, 2, 0, 2) == await _counts(pool)
        await pool.terminate_child(x)
        assert [y] == [child.handle for child in await pool.which_children()]
        stranger: Any = await lab.make("stranger", {})
        assert "not_found" == await find_reason(pool.terminate_child(stranger))
        assert not stranger.ended.done()
        assert (1, 1, 0, 1) == await _counts(pool)
        await pool.stop(None)

    async def test_ended(self, lab: Lab) -> None:
        """Terminating what has ended already is no error, as for a child with an id.

        Row: otp child_adm_simple
        """
        pool = await lab.pool().start()
        handle = (await pool.start_child(("x",))).handle
        await pool.start_child(("y",))
        await pool.terminate_child(handle)
        await pool.terminate_child(handle)

        assert [lab.toys["t-y"]] == [child.handle for child in await pool.which_children()]
        await pool.stop(None)

    async def test_lines(self, lab: Lab, quiet: Any) -> None:
        """The list of a template's children follows them by handle, and nothing by their id.

        Row: otp which_children_simple_one_for_one
        """
        pool = await lab.pool(restart="temporary").start()
        assert [] == await pool.which_children()
        handles = [(await pool.start_child((name,))).handle for name in "xyz"]
        assert [("t", handle, "running", "worker") for handle in reversed(handles)] == (
            await pool.which_children()
        )
        assert "t" == (await pool.get_childspec(handles[0])).id
        await pool.terminate_child(handles[1])
        lab.toys["t-z"].end("boom")
        await quiet(pool)

        assert [("t", handles[0], "running", "worker")] == await pool.which_children()
        assert "not_found" == await find_reason(pool.get_childspec(handles[1]))
        assert "simple_one_for_one" == await find_reason(pool.terminate_child("t"))
        await pool.stop(None)


class TestInfo:
    async def test_by_id(self, lab: Lab) -> None:
        """What a start function says besides goes to who calls, and to nobody else.

        Row: otp extra_return
        """
        spec = _with_info(lab)
        top = await lab.top(spec).start()
        assert [("a", lab.toys["a"], "running", "worker")] == await top.which_children()
        await top.terminate_child("a")
        assert (await top.restart_child("a")) == (lab.toys["a"], "extra")
        await top.terminate_child("a")
        await top.delete_child("a")
        old = await top.start_child(spec)
        await lab.crash("a", "abnormal")

        assert (lab.toys["a"], "extra") != old == (old.handle, "extra")
        assert [("a", lab.toys["a"], "running", "worker")] == await top.which_children()
        assert (1, 1, 0, 1) == await _counts(top)
        await top.stop(None)

    async def test_of_a_template(self, lab: Lab, end: Any) -> None:
        """A template may say something besides, too; its children are restarted like others.

        Row: otp simple_one_for_one_extra
        """
        pool = lab.top(_with_info(lab), strategy="simple_one_for_one", intensity=2)
        await pool.start()
        for name in "xy":
            assert "extra" == (await pool.start_child((name,))).info
        y = lab.toys["a-y"]
        lab.toys["a-x"].end("abnormal")
        await lab.saw("restarted", "a")
        assert {lab.toys["a-x"], y} == {child.handle for child in await pool.which_children()}
        assert (1, 2, 0, 2) == await _counts(pool)
        y.end("abnormal")
        await lab.saw("restarted", "a", 2)
        lab.toys["a-x"].end("abnormal")

        assert "shutdown" == await end(pool)
