from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import Backoff, ChildError, StartError

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: More restarts than any test waits for.
FOREVER = 1_000_000


async def _dynamic(lab: Lab, most: float, **options: Any) -> Supervisor:
    settings: dict[str, Any] = {"strategy": "dynamic", "intensity": FOREVER, **options}
    return await lab.top(max_children=most, **settings).start()


async def _is_full(top: Supervisor, lab: Lab) -> bool:
    with pytest.raises(ChildError, match="terminate one first, or allow more") as refusal:
        await top.start_child(lab.spec("more"))
    return "max_children" == refusal.value.reason and "start more" not in lab.log


class TestMaxChildren:
    async def test_none(self, lab: Lab) -> None:
        """With room for none, none is started.

        Row: elixir dynamic_supervisor start_child/2: with max_children
        """
        top = await _dynamic(lab, 0)

        assert await _is_full(top, lab)
        assert [] == await top.which_children()
        await top.stop(None)

    async def test_restart_fails(self, lab: Lab) -> None:
        """A child that cannot be started again keeps its place meanwhile.

        Row: elixir dynamic_supervisor start_child/2: restarting on init children counted in \
max_children
        """
        top = await _dynamic(lab, 1)
        await top.start_child(lab.spec("a"))
        lab.failures["a"] = FOREVER
        lab.toys["a"].end("shutdown")
        await lab.saw("start_error", "a", 2)

        assert (1, 0, 0, 1) == tuple((await top.count_children()).values())
        assert await _is_full(top, lab)
        await top.stop(None)

    async def test_restarted(self, lab: Lab) -> None:
        """A child that was started again has one place and not two.

        Row: elixir dynamic_supervisor start_child/2: restarting on exit children counted in \
max_children
        """
        top = await _dynamic(lab, 1)
        await top.start_child(lab.spec("a"))
        await lab.crash("a", "shutdown", times=3)

        assert (1, 1, 0, 1) == tuple((await top.count_children()).values())
        assert await _is_full(top, lab)
        await top.stop(None)

    async def test_waiting(self, lab: Lab) -> None:
        """A child that waits for its restart keeps its place."""
        top = await _dynamic(lab, 1)
        await top.start_child(lab.spec("a", backoff=Backoff()))
        lab.toys["a"].end("boom")
        await lab.saw("exited", "a")

        assert await _is_full(top, lab)
        await top.stop(None)

    async def test_room_again(self, lab: Lab, quiet: Any) -> None:
        """A place is free again when its child has ended or is terminated, or did not start."""
        top = await _dynamic(lab, 1)
        lab.failures["a"] = 1
        with pytest.raises(StartError):
            await top.start_child(lab.spec("a"))
        lab.ignored["a"] = 1
        await top.start_child(lab.spec("a"))
        await top.start_child(lab.spec("b", restart="temporary"))
        lab.toys["b"].end("boom")
        await quiet(top)
        handle = (await top.start_child(lab.spec("c"))).handle
        await top.terminate_child(handle)
        await top.start_child(lab.spec("d"))

        assert await _is_full(top, lab)
        await top.stop(None)

    async def test_template(self, lab: Lab) -> None:
        """A supervisor of children from one template has as much room and no more."""
        options: Any = {"strategy": "simple_one_for_one", "max_children": 2}
        top = await lab.top(lab.spec("t"), **options).start()
        for name in "xy":
            await top.start_child((name,))
        with pytest.raises(ChildError) as refusal:
            await top.start_child(("z",))

        assert "max_children" == refusal.value.reason
        await top.stop(None)

    async def test_at_the_same_time(self, lab: Lab) -> None:
        """Callers that ask at the same time do not get more than there is room for."""
        top = await _dynamic(lab, 2)
        asking = [asyncio.create_task(top.start_child(lab.spec("a"))) for _ in range(5)]
        await asyncio.wait(asking)

        assert 3 == sum(isinstance(task.exception(), ChildError) for task in asking)
        assert 2 == lab.log.count("start a")
        await top.stop(None)

    async def test_unlimited(self, lab: Lab) -> None:
        """Infinity is no limit."""
        top = await _dynamic(lab, math.inf)
        for _ in range(20):
            await top.start_child(lab.spec("a"))

        assert 20 == (await top.count_children())["active"]
        await top.stop(None)

    async def test_given_at_the_start(self, lab: Lab) -> None:
        """A supervisor with more children at its start than it may have refuses its options."""
        with pytest.raises(ValueError, match="max_children"):
            lab.top(*[lab.spec(name) for name in "abc"], max_children=1)
