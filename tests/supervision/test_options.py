from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildError, SpecError, Started, Supervisor

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestMade:
    async def test_options(self, lab: Lab) -> None:
        """A supervisor keeps the options and specs it is made with; OTP's defaults fill the rest.

        Row: elixir supervisor init/2
        """
        spec = lab.spec("task", restart="temporary")
        plain = await lab.top(spec).start()
        given = await lab.top(spec, strategy="one_for_all", intensity=1, period=2).start()

        assert ("one_for_one", 1, 5.0) == (plain.strategy, plain.intensity, plain.period)
        assert ("one_for_all", 1, 2) == (given.strategy, given.intensity, given.period)
        for top in (plain, given):
            assert ["task"] == [child.id for child in await top.which_children()]
            assert "temporary" == (await top.get_childspec("task")).restart
            await top.stop(None)

    async def test_name(self, lab: Lab) -> None:
        """A supervisor goes by its name wherever it is seen, and cannot do without one.

        Row: elixir supervisor start_link/3 with local
        """
        top = await lab.top(lab.spec("a"), name="my_sup").start()
        made: Any = Supervisor
        with pytest.raises(TypeError, match="'name'"):
            made()
        with pytest.raises(ChildError, match="'my_sup'"):
            await top.terminate_child("b")

        assert ("my_sup", "my_sup") == (top.snapshot().name, lab.reports[0].supervisor)
        await top.delete_child(await _terminated(top, "a"))
        assert [] == await top.which_children()
        await top.stop(None)


class TestStartChild:
    async def test_spec(self, lab: Lab) -> None:
        """A spec is all it takes to start one more child, and what comes back is its handle.

        Row: elixir supervisor start_child/2: supports new child spec
        """
        top = await lab.top().start()
        started = await top.start_child(lab.spec("task"))

        assert Started(lab.toys["task"]) == started
        assert [("task", started.handle, "running", "worker")] == await top.which_children()
        await top.stop(None)

    async def test_after_a_bad_one(self, lab: Lab) -> None:
        """A valid spec starts a child also after others were refused.

        Row: elixir supervisor start_child/2: with valid child spec
        """
        top = await lab.top().start()
        garbage: Any = {"id": "task"}
        with pytest.raises(SpecError):
            await top.start_child(garbage)

        assert (await top.start_child(lab.spec("task"))).handle is lab.toys["task"]
        assert (1, 1, 0, 1) == tuple((await top.count_children()).values())
        await top.stop(None)


async def _terminated(top: Supervisor, name: str) -> str:
    """Terminate a child and return its name."""
    await top.terminate_child(name)
    return name
