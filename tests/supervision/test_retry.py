from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildError

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
