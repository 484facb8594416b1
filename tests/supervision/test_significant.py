from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import SpecError

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

MODES = ("never", "any_significant", "all_significant")

#: How a child can end by itself.
ENDS = ("killed", "abnormal", "normal", "shutdown")


async def _family(lab: Lab, mode: str, restart: str) -> Supervisor:
    """Return a supervisor of the significant a and b and of c, which is not."""
    specs = [lab.spec(name, restart=restart, significant=name != "c") for name in "abc"]
    return await lab.top(*specs, auto_shutdown=mode, intensity=5).start()


@pytest.mark.parametrize("mode", MODES)
class TestInsignificant:
    async def test_temporary(self, lab: Lab, quiet: Any, mode: str) -> None:
        """No end of a temporary child that is not significant ends the supervisor, in no mode.

        Row: otp nonsignificant_temporary
        """
        top = await lab.top(auto_shutdown=mode).start()
        spec = lab.spec("a", restart="temporary")
        await top.start_child(spec)
        await top.terminate_child("a")
        for reason in ENDS:
            await top.start_child(spec)
            lab.toys["a"].end(reason)
            await quiet(top)
            assert [] == await top.which_children()

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_transient(self, lab: Lab, quiet: Any, mode: str) -> None:
        """Nor does an end of a transient one: a failure restarts it, an orderly end stops it.

        Row: otp nonsignificant_transient
        """
        top = await lab.top(lab.spec("a", restart="transient"), auto_shutdown=mode).start()
        await top.terminate_child("a")
        await quiet(top)
        await top.restart_child("a")
        for reason in ENDS:
            lab.time += 10
            lab.toys["a"].end(reason)
            await quiet(top)
            state = (await top.which_children())[0].state
            assert ("stopped" if reason in {"normal", "shutdown"} else "running") == state
            if state == "stopped":
                await top.restart_child("a")

        assert "running" == top.snapshot().state
        await top.stop(None)


class TestTemporary:
    async def test_terminated(self, lab: Lab, quiet: Any) -> None:
        """Terminating a significant temporary child by a call ends nobody else.

        Row: otp significant_temporary
        """
        top = await _family(lab, "any_significant", "temporary")
        await top.terminate_child("a")
        await quiet(top)

        assert ["c", "b"] == [child.id for child in await top.which_children()]
        await top.stop(None)

    @pytest.mark.parametrize("reason", ENDS)
    async def test_any(self, lab: Lab, end: Any, reason: str) -> None:
        """However the first significant temporary child ends, all end.

        Row: otp significant_temporary
        """
        top = await _family(lab, "any_significant", "temporary")
        lab.toys["a"].end(reason)

        assert "shutdown" == await end(top)
        assert ["stop c", "stop b"] == lab.lines("stop")

    @pytest.mark.parametrize("reason", ENDS)
    async def test_all(self, lab: Lab, end: Any, quiet: Any, reason: str) -> None:
        """When all must have ended, the last significant temporary child ends the rest.

        Row: otp significant_temporary
        """
        top = await _family(lab, "all_significant", "temporary")
        lab.toys["a"].end(reason)
        await quiet(top)
        assert 2 == (await top.count_children())["active"]
        lab.toys["b"].end(reason)

        assert "shutdown" == await end(top)
        assert ["stop c"] == lab.lines("stop")


class TestTransient:
    @pytest.mark.parametrize("mode", MODES[1:])
    async def test_restarted(self, lab: Lab, quiet: Any, mode: str) -> None:
        """Terminated, killed or crashed, a significant transient child ends nobody else.

        Row: otp significant_transient
        """
        top = await _family(lab, mode, "transient")
        await top.terminate_child("a")
        await quiet(top)
        await top.restart_child("a")
        await lab.crash("a", "killed")
        await lab.crash("a", "abnormal")

        assert 3 == (await top.count_children())["active"]
        assert [] == lab.lines("stop")[1:]
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["normal", "shutdown", ("shutdown", "done")])
    async def test_any(self, lab: Lab, end: Any, reason: object) -> None:
        """The orderly end of a significant transient child ends all.

        Row: otp significant_transient
        """
        top = await _family(lab, "any_significant", "transient")
        lab.toys["a"].end(reason)

        assert "shutdown" == await end(top)
        assert ["stop c", "stop b"] == lab.lines("stop")

    async def test_all(self, lab: Lab, end: Any, quiet: Any) -> None:
        """When all must have ended, a crash in between does not count as an end.

        Row: otp significant_transient
        """
        top = await _family(lab, "all_significant", "transient")
        lab.toys["a"].end("normal")
        await quiet(top)
        await lab.crash("b")
        assert 2 == (await top.count_children())["active"]
        lab.toys["b"].end("normal")

        assert "shutdown" == await end(top)
        assert ["stop c"] == lab.lines("stop")

    async def test_all_but_one_that_restarts(self, lab: Lab, quiet: Any) -> None:
        """A significant child that is being restarted has not ended."""
        specs = [lab.spec(name, restart="transient", significant=True) for name in "ab"]
        top = await lab.top(*specs, auto_shutdown="all_significant", intensity=1_000_000).start()
        lab.failures["a"] = 1_000_000
        lab.toys["a"].end("boom")
        await lab.saw("start_error", "a", 2)
        lab.toys["b"].end("normal")
        await lab.saw("exited", "b")
        await quiet(top)

        assert ["stopped", "restarting"] == [child.state for child in await top.which_children()]
        await top.stop(None)


class TestTemplate:
    async def test_refused(self, lab: Lab) -> None:
        """A supervisor of a template does not end by itself, and is not made to.

        Row: otp significant_simple
        """
        for mode in MODES[1:]:
            with pytest.raises(SpecError, match="bad_combination"):
                lab.top(lab.spec("a"), strategy="simple_one_for_one", auto_shutdown=mode)

        pool = lab.top(lab.spec("a"), strategy="simple_one_for_one", auto_shutdown="never")
        await (await pool.start()).stop(None)
        assert "shutdown" == await pool.exited()


class TestBystander:
    @pytest.mark.parametrize("mode", MODES[1:])
    @pytest.mark.parametrize("restart", ["transient", "temporary"])
    @pytest.mark.parametrize(
        "plan", [("one_for_one", ""), ("one_for_all", "ca"), ("rest_for_one", "c")]
    )
    async def test_stopped(
        self, lab: Lab, *, mode: str, restart: str, plan: tuple[str, str]
    ) -> None:
        """Significant children that a strategy stops with a crashed sibling end nobody else.

        Row: otp significant_bystander
        """
        specs = [
            lab.spec("a", restart=restart, significant=True),
            lab.spec("b", restart="transient"),
            lab.spec("c", restart=restart, significant=True),
        ]
        top = await lab.top(*specs, strategy=plan[0], auto_shutdown=mode, intensity=5).start()
        await lab.crash("b", "killed")
        await top.count_children()

        assert [f"stop {name}" for name in plan[1]] == lab.lines("stop")
        assert "running" == top.snapshot().state
        await top.stop(None)


class TestEscalation:
    @pytest.mark.parametrize("mode", MODES[1:])
    async def test_of_a_significant_branch(self, lab: Lab, end: Any, mode: str) -> None:
        """A significant branch that ended itself ends the level above.

        Row: otp significant_escalation
        """
        top = await lab.top(
            lab.spec("x"), _branch(lab, mode, outer=True), auto_shutdown=mode
        ).start()
        lab.toys["a"].end("normal")

        assert "shutdown" == await end(top)
        assert "end x shutdown" == lab.log[-1]

    @pytest.mark.parametrize("mode", MODES[1:])
    async def test_of_another_branch(self, lab: Lab, quiet: Any, mode: str) -> None:
        """A branch that is not significant ends itself and nobody else.

        Row: otp significant_escalation
        """
        branch = _branch(lab, mode, outer=False)
        top = await lab.top(lab.spec("x"), branch, auto_shutdown=mode).start()
        lab.toys["a"].end("normal")
        await lab.saw("exited", "branch")
        await quiet(top)

        assert [("a", "normal"), ("branch", "shutdown")] == lab.told("exited")
        assert ["stopped", "running"] == [child.state for child in await top.which_children()]
        await top.stop(None)


def _branch(lab: Lab, mode: str, *, outer: bool) -> Any:
    """Return a transient branch, significant or not, with one significant child."""
    child = lab.spec("a", restart="transient", significant=True)
    return lab.level("branch", child, auto_shutdown=mode, restart="transient", significant=outer)
