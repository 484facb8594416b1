from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, ChildSpec, SpecError, StartError, Supervisor

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


def _broken(error: Exception | None = None, answer: object = None) -> ChildSpec:
    """Return the spec of a child that raises, or returns what cannot be supervised."""

    async def start(*_args: object) -> Any:
        if error is not None:
            raise error
        return answer

    return ChildSpec("broken", start)


class TestBranch:
    async def test_garbage(self) -> None:
        """Garbage where specs should be is refused by name when a supervisor is made (our `init`).

        Row: otp sup_start_error_return
        Row: otp sup_start_map_faulty_specs
        """
        garbage: Any = ["invalid"]
        with pytest.raises(SpecError) as refusal:
            Supervisor(garbage, name="top")

        assert ("invalid_child_spec", "invalid") == refusal.value.reason

    async def test_raises(self, lab: Lab) -> None:
        """What the making of a branch raises ends its start, with the error and its traceback.

        Row: otp sup_start_fail
        """
        error = RuntimeError("fail")
        top = lab.top(lab.spec("a"), _broken(error))
        with pytest.raises(StartError) as failure:
            await top.start()

        reason: Any = failure.value.reason
        assert ("shutdown", ("failed_to_start_child", "broken", error)) == reason
        assert "start" == _innermost(reason[1][2])
        assert reason == await top.exited()
        assert [] == [toy for toy in lab.toys.values() if not toy.ended.done()]

    async def test_brutal_branch(self, lab: Lab) -> None:
        """A failed start kills a branch with brutal_kill and raises after its children ended."""
        # OTP waits for the branch only: its children end by their links, perhaps after the answer.
        branch = replace(lab.level("a", lab.spec("aa")), shutdown=BRUTAL_KILL)
        with pytest.raises(StartError):
            await lab.top(branch, _broken(RuntimeError("fail"))).start()

        assert ["start aa", "kill aa", "end aa killed"] == lab.log
        assert [("aa", "killed"), ("a", "killed")] == lab.told("exited")


class TestCall:
    @pytest.mark.parametrize("answer", [None, "error_reason", 7, ("error", "reason")])
    async def test_returns_nonsense(self, lab: Lab, answer: object) -> None:
        """A start function that returns no handle has failed, and its child is not added.

        Row: otp sup_start_child_returns_error
        """
        top = await lab.top().start()
        error = RuntimeError("reason")
        for spec in (_broken(error), _broken(answer=answer)):
            with pytest.raises(StartError) as failure:
                await top.start_child(spec)
            assert "broken" == failure.value.child
            assert [] == await top.which_children()

        found = answer[0] if isinstance(answer, tuple) else answer
        assert ("bad_return_value", found) == failure.value.reason
        await top.stop(None)

    async def test_restart_by_hand(self, lab: Lab) -> None:
        """A child that cannot be started by hand keeps its spec and does not run.

        Row: otp sup_start_restart_child_returns_error
        """
        top = await lab.top(lab.spec("a"), intensity=2).start()
        await top.terminate_child("a")
        lab.failures["a"] = 1
        with pytest.raises(StartError) as failure:
            await top.restart_child("a")

        assert isinstance(failure.value.reason, OSError)
        assert [("a", None, "stopped", "worker")] == await top.which_children()
        assert (await top.restart_child("a")).handle is lab.toys["a"]
        await top.stop(None)

    @pytest.mark.parametrize("answer", [None, "error_reason"])
    async def test_from_a_template(self, lab: Lab, answer: object) -> None:
        """A child of a template that does not start is not kept, and the caller has the reason.

        Row: otp sup_start_child_returns_error_simple
        """
        error = None if answer else RuntimeError("reason")
        pool = await lab.top(_broken(error, answer), strategy="simple_one_for_one").start()
        with pytest.raises(StartError) as failure:
            await pool.start_child(("x",))

        assert (error or ("bad_return_value", answer)) == failure.value.reason
        assert [] == await pool.which_children()
        await pool.stop(None)

    async def test_already_started(self, lab: Lab) -> None:
        """That something runs elsewhere under the name is passed on as the start function says it.

        Row: otp already_started_outside_supervisor
        """
        other = await lab.make("other", {})
        taken = StartError("the name is taken", ("already_started", other))
        top = await lab.top().start()
        with pytest.raises(StartError, match="the name is taken") as failure:
            await top.start_child(_broken(taken))

        assert ("already_started", other) == failure.value.reason
        assert [] == await top.which_children()
        assert not lab.toys["other"].ended.done()
        await top.stop(None)


def _innermost(error: BaseException) -> str:
    """Return the name of the function that raised it."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else step.tb_frame.f_code.co_name
