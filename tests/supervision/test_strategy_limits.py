from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab


async def _handles(top: Supervisor) -> list[object]:
    """Return the handles of the children in the order of their start."""
    return [child.handle for child in reversed(await top.which_children())]


async def _counts(top: Supervisor) -> tuple[int, ...]:
    return tuple((await top.count_children()).values())


class TestOneForOne:
    async def test_third(self, lab: Lab, end: Any) -> None:
        """Only the crashed child is replaced, and with intensity 2 the third crash is too many.

        Row: otp one_for_one
        """
        top = await lab.top(lab.spec("a"), lab.spec("b"), intensity=2).start()
        a, b = await _handles(top)
        await lab.crash("a")
        again = await _handles(top)
        assert b is again[1]
        assert a is not again[0]
        assert (2, 2, 0, 2) == await _counts(top)
        await lab.crash("b")
        lab.toys["b"].end("abnormal")

        assert "shutdown" == await end(top)


class TestOneForAll:
    async def test_third(self, lab: Lab, end: Any) -> None:
        """No child survives a restart of all, which counts once; the third is too many.

        Row: otp one_for_all
        """
        top = await lab.top(
            lab.spec("a"), lab.spec("b"), strategy="one_for_all", intensity=2
        ).start()
        old = await _handles(top)
        lab.toys["a"].end("abnormal")
        await lab.saw("restarted", "b")
        assert not set(old) & set(await _handles(top))
        assert (2, 2, 0, 2) == await _counts(top)
        lab.toys["b"].end("abnormal")
        await lab.saw("restarted", "b", 2)
        lab.toys["b"].end("abnormal")

        assert "shutdown" == await end(top)


class TestRestForOne:
    async def test_third(self, lab: Lab, end: Any) -> None:
        """Only those started after it go with the crashed child; the third crash is too many.

        Row: otp rest_for_one
        """
        specs = [lab.spec(name) for name in "abc"]
        top = await lab.top(*specs, strategy="rest_for_one", intensity=2).start()
        old = await _handles(top)
        lab.toys["b"].end("abnormal")
        await lab.saw("restarted", "c")
        assert [old[0]] == [handle for handle in await _handles(top) if handle in old]
        assert (3, 3, 0, 3) == await _counts(top)
        await lab.crash("c")
        lab.toys["b"].end("abnormal")

        assert "shutdown" == await end(top)


class TestTemplate:
    async def test_third(self, lab: Lab, end: Any) -> None:
        """Only the crashed child of a template is replaced; the third crash is too many.

        Row: otp simple_one_for_one
        """
        pool = await lab.pool(intensity=2).start()
        for name in "xy":
            await pool.start_child((name,))
        x, y = lab.toys["t-x"], lab.toys["t-y"]
        x.end("abnormal")
        await lab.saw("restarted", "t")
        assert {lab.toys["t-x"], y} == set(await _handles(pool))
        assert x is not lab.toys["t-x"]
        assert (1, 2, 0, 2) == await _counts(pool)
        y.end("abnormal")
        await lab.saw("restarted", "t", 2)
        lab.toys["t-x"].end("abnormal")

        assert "shutdown" == await end(pool)

    async def test_escalates(self, lab: Lab, end: Any) -> None:
        """A child of a template that cannot be restarted takes its supervisor and siblings down.

        Row: otp simple_one_for_one_escalation
        """
        pool = await lab.pool(intensity=4).start()
        for name in "xy":
            await pool.start_child((name,))
        lab.failures["t-x"] = 99
        lab.toys["t-x"].end("abnormal")

        assert "shutdown" == await end(pool)
        assert 4 == len(lab.told("start_error"))
        assert "end t-y shutdown" == lab.log[-1]

    async def test_stops_at_once(self, lab: Lab) -> None:
        """Children of a template have one common time to stop: all are asked before any has ended.

        Row: otp simple_one_for_one_shutdown
        """

        def release() -> None:
            for name in ("t-x", "t-y"):
                lab.toys[name].end("shutdown")

        pool = await lab.pool(shutdown=0.01, toy={"stubborn": True}).start()
        lab.manners["t-z"] = {"asked": release}
        for name in "xyz":
            await pool.start_child((name,))
        await pool.stop(None)

        assert ["stop t-x", "stop t-y", "stop t-z"] == lab.log[3:6]
        assert ["end t-x shutdown", "end t-y shutdown", "end t-z killed"] == lab.lines("end")
        assert "shutdown" == await pool.exited()


class TestTemporaryBystander:
    @pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
    async def test_gone(self, lab: Lab, quiet: Any, strategy: str) -> None:
        """A temporary child that is stopped with a crashed one is gone, and counts for nothing.

        Row: otp temporary_bystander
        """
        specs = [lab.spec("a"), lab.spec("b", restart="temporary")]
        top = await lab.top(*specs, strategy=strategy, intensity=1).start()
        await lab.crash("a", "normal")
        await quiet(top)

        assert ["a"] == [child.id for child in await top.which_children()]
        assert ["start a", "start b", "start a"] == lab.lines("start")
        assert "running" == top.snapshot().state
        await top.stop(None)


class TestSpecsOfTheEnded:
    @pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
    @pytest.mark.parametrize("how", ["killed", "normal", "abnormal", "supervisor"])
    async def test_kept(self, lab: Lab, quiet: Any, strategy: str, how: str) -> None:
        """The spec of a temporary child is gone with it, however it ends; others keep theirs.

        Row: otp do_not_save_child_specs_for_temporary_children
        """
        top = await lab.top(strategy=strategy, intensity=9).start()
        for name, restart in (("p", "permanent"), ("t", "transient"), ("x", "temporary")):
            await top.start_child(lab.spec(name, restart=restart))
            if how == "supervisor":
                await top.terminate_child(name)
            else:
                lab.toys[name].end(how)
            await quiet(top)

        states = {child.id: child.state for child in await top.which_children()}
        over = {"supervisor": ("stopped", "stopped"), "normal": ("running", "stopped")}
        permanent, transient = over.get(how, ("running", "running"))
        assert {"p": permanent, "t": transient} == states
        await top.start_child(lab.spec("x", restart="temporary"))
        await top.stop(None)
