from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildError, SpecError, Supervisor

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestPlaceInTree:
    async def test_supervised(self, lab: Lab) -> None:
        """A dynamic supervisor is a child like any other, and has no children of its own yet.

        Row: elixir dynamic_supervisor can be supervised directly
        """
        top = await lab.top(lab.level("mid", strategy="dynamic")).start()
        mid: Any = (await top.which_children())[0].handle

        assert [] == await mid.which_children()
        assert ["dynamic"] == [node.strategy for node in top.snapshot().children]
        await top.stop(None)

    async def test_several(self, lab: Lab) -> None:
        """Several are told apart by the ids of their specs, which is all a spec needs to do so.

        Row: elixir dynamic_supervisor multiple supervisors can be supervised and identified \
with simple child spec
        """
        top = await lab.top(*[lab.level(name, strategy="dynamic") for name in "ab"]).start()
        third = (await top.start_child(lab.level("c", strategy="dynamic"))).handle
        levels: list[Any] = [child.handle for child in await top.which_children()]

        assert [[], [], []] == [await level.which_children() for level in levels]
        with pytest.raises(ChildError) as taken:
            await top.start_child(lab.level("c", strategy="dynamic"))
        assert ("already_started", third) == taken.value.reason
        await top.stop(None)

    async def test_name(self, lab: Lab, end: Any) -> None:
        """What registration is elsewhere, the name does here: task, picture and reports have it.

        Row: elixir dynamic_supervisor start_link/3: with registered process
        """
        top = await lab.top(name="pool", strategy="dynamic").start()
        await top.start_child(lab.spec("a"))

        assert "supervisor pool" in {task.get_name() for task in asyncio.all_tasks()}
        assert "pool" == top.snapshot().name
        assert ["pool"] == [report.supervisor for report in lab.reports]
        await top.stop(None)
        assert "shutdown" == await end(top)


class TestOptions:
    async def test_defaults(self, lab: Lab, end: Any) -> None:
        """The constructor's defaults, for Elixir's init: OTP's limit, any number, no arguments.

        Row: elixir dynamic_supervisor init/1: set default options
        """
        top = await Supervisor(name="top", strategy="dynamic", report=lab.report).start()
        for _ in range(50):
            await top.start_child(lab.spec("a"))

        assert (1, 5.0) == (top.intensity, top.period)
        assert {"start a"} == set(lab.log)
        assert (50, 50, 0, 50) == tuple((await top.count_children()).values())
        await lab.crash("a")
        lab.toys["a"].end("boom")
        assert "shutdown" == await end(top)

    @pytest.mark.parametrize(
        ("option", "word"),
        [
            ({"strategy": "unknown"}, "invalid_strategy"),
            ({"intensity": -1}, "invalid_intensity"),
            ({"period": 0}, "invalid_period"),
            ({"max_children": -1}, "invalid_max_children"),
            ({"auto_shutdown": "any_significant"}, "bad_combination"),
        ],
    )
    def test_refused(self, lab: Lab, option: dict[str, Any], word: str) -> None:
        """Options that make no sense are refused by the constructor, for Elixir's start_link.

        Row: elixir dynamic_supervisor start_link/3: with non-ok init
        """
        with pytest.raises(SpecError) as refusal:
            lab.top(**{"strategy": "dynamic", **option})

        assert (word, *option.values()) == refusal.value.reason

    def test_specs_at_the_start(self, lab: Lab) -> None:
        """Children come by calls alone."""
        with pytest.raises(SpecError, match="bad_start_spec: 1: give 0"):
            lab.top(lab.spec("a"), strategy="dynamic")

    @pytest.mark.parametrize("arguments", [-1, None, "ab", ["a"]])
    def test_arguments(self, lab: Lab, arguments: Any) -> None:
        """Extra arguments that are not a tuple are refused."""
        with pytest.raises(SpecError) as refusal:
            lab.top(strategy="dynamic", extra_arguments=arguments)

        assert ("invalid_extra_arguments", arguments) == refusal.value.reason
