from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildSpec

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab


class Large:
    """Something large that a child is started with."""


def _spec(lab: Lab, name: str, large: Large, restart: Any) -> ChildSpec:
    """Return the spec of a child whose start function holds something large."""

    async def start() -> Any:
        assert isinstance(large, Large)
        return await lab.make(name, {})

    return ChildSpec(name, start, restart=restart)


async def _start(top: Supervisor, lab: Lab, restart: str) -> weakref.ref[Large]:
    """Start a child with something large, and return whether anybody still has that."""
    large = Large()
    # The spec of a dynamic child is its own; a template's children have their arguments.
    if top.strategy == "simple_one_for_one":
        await top.start_child((large,))
    else:
        await top.start_child(_spec(lab, restart, large, restart))
    return weakref.ref(large)


def _top(lab: Lab, strategy: str, restart: str) -> Supervisor:
    """Return a supervisor; the start function of its template forgets what it is given."""

    async def start(_large: Large) -> Any:
        return await lab.make("t", {})

    template: Any = [ChildSpec("t", start, restart=restart)] if "simple" in strategy else []  # type: ignore[arg-type]
    return lab.top(*template, strategy=strategy)


class TestStartParameters:
    @pytest.mark.parametrize(
        "strategy", ["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one", "dynamic"]
    )
    @pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
    async def test_of_the_living(self, lab: Lab, strategy: str, restart: str) -> None:
        """What a temporary child was started with is let go at once, as nothing needs it again.

        Row: otp do_not_save_start_parameters_for_temporary_children
        """
        top = await _top(lab, strategy, restart).start()
        large = await _start(top, lab, restart)
        await top.count_children()
        gc.collect()

        assert (restart == "temporary") == (large() is None)
        assert 1 == (await top.count_children())["active"]
        await top.stop(None)

    async def test_after_a_death(self, lab: Lab, quiet: Any) -> None:
        """That stays so after the first child of a template has died.

        Row: otp simple_one_for_one_corruption
        """
        top = await _top(lab, "simple_one_for_one", "temporary").start()
        first = await _start(top, lab, "temporary")
        lab.toys["t"].end("abnormal")
        await quiet(top)
        second = await _start(top, lab, "temporary")
        await top.count_children()
        gc.collect()

        assert (None, None) == (first(), second())
        assert 1 == (await top.count_children())["active"]
        await top.stop(None)

    async def test_of_the_last_call(self, lab: Lab) -> None:
        """Not even the last call leaves a trace of what it was given."""
        top = await _top(lab, "one_for_one", "temporary").start()
        large = await _start(top, lab, "temporary")
        gc.collect()
        kept = large()
        await top.stop(None)

        assert kept is None

    async def test_of_the_ended(self, lab: Lab, quiet: Any) -> None:
        """Nothing of a thousand temporary children that came and went is left."""
        top = await lab.top(report=None).start()
        toys = []
        for n in range(1000):
            await top.start_child(lab.spec(f"c{n}", restart="temporary"))
            toys.append(weakref.ref(lab.toys.pop(f"c{n}")))
            ended = toys[-1]()
            assert ended is not None
            ended.end("normal")
            del ended
        await quiet(top)
        gc.collect()

        assert [] == [toy for toy in toys if toy() is not None]
        assert (0, 0, 0, 0) == tuple((await top.count_children()).values())
        await top.stop(None)
