from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervision import IGNORE

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestBranch:
    async def test_ignored(self, lab: Lab) -> None:
        """A branch with nothing to run says so instead of starting, and leaves nobody behind.

        Row: otp sup_start_ignore_init
        """
        branch = lab.level("branch", lab.spec("a"))

        async def nothing() -> Any:
            lab.top(lab.spec("a"), name="branch")
            return IGNORE

        object.__setattr__(branch, "start", nothing)
        top = await lab.top(branch).start()

        assert [("branch", None, "stopped", "supervisor")] == await top.which_children()
        assert [] == lab.log
        await top.stop(None)
        assert "shutdown" == await top.exited()


class TestChild:
    async def test_kept(self, lab: Lab) -> None:
        """An ignored child stays on the list as one that does not run, in its place.

        Row: otp sup_start_ignore_child
        """
        lab.ignored["a"] = 1
        top = await lab.top().start()

        assert (None, None) == await top.start_child(lab.spec("a"))
        await top.start_child(lab.spec("b"))
        assert [
            ("b", lab.toys["b"], "running", "worker"),
            ("a", None, "stopped", "worker"),
        ] == await top.which_children()
        assert (2, 1, 0, 2) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_temporary_at_the_start(self, lab: Lab) -> None:
        """An ignored temporary child of the list is forgotten, and the others run.

        Row: otp sup_start_ignore_temporary_child
        """
        lab.ignored["a"] = 1
        top = await lab.top(lab.spec("a", restart="temporary"), lab.spec("b")).start()

        assert [("b", lab.toys["b"], "running", "worker")] == await top.which_children()
        assert (1, 1, 0, 1) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_temporary_by_a_call(self, lab: Lab) -> None:
        """An ignored temporary child that a call starts is forgotten, too.

        Row: otp sup_start_ignore_temporary_child_start_child
        """
        lab.ignored["a"] = 1
        top = await lab.top().start()

        assert (None, None) == await top.start_child(lab.spec("a", restart="temporary"))
        await top.start_child(lab.spec("b", restart="temporary"))
        assert ["b"] == [child.id for child in await top.which_children()]
        assert (1, 1, 0, 1) == tuple((await top.count_children()).values())
        await top.stop(None)


class TestFromATemplate:
    @pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
    async def test_forgotten(self, lab: Lab, restart: str) -> None:
        """An ignored child of a template is not kept, and the supervisor stops without a word.

        Row: otp sup_start_ignore_temporary_child_start_child_simple
        Row: otp sup_start_ignore_permanent_child_start_child_simple
        """
        pool = await lab.pool(restart=restart).start()
        lab.ignored["t-x"] = 1

        assert (None, None) == await pool.start_child(("x",))
        assert (await pool.start_child(("y",))).handle is lab.toys["t-y"]
        assert [lab.toys["t-y"]] == [child.handle for child in await pool.which_children()]
        assert (1, 1, 0, 1) == tuple((await pool.count_children()).values())
        await pool.stop(None)
        assert "shutdown" == await pool.exited()
        assert [] == lab.told("shutdown_error")

    @pytest.mark.parametrize("restart", ["permanent", "transient"])
    async def test_in_a_restart(self, lab: Lab, quiet: Any, restart: str) -> None:
        """A child that has nothing to do any more when it is restarted disappears.

        Row: otp simple_one_for_one_restart_ignore
        """
        pool = await lab.pool(restart=restart, intensity=10).start()
        await pool.start_child(("x",))
        await _replaced(lab)
        lab.ignored["t-x"] = 1
        lab.toys["t-x"].end("killed")
        await quiet(pool)

        assert [] == await pool.which_children()
        await pool.stop(None)
        assert "shutdown" == await pool.exited()


async def _replaced(lab: Lab) -> None:
    """Kill the child and wait for its successor."""
    lab.toys["t-x"].end("killed")
    await lab.saw("restarted", "t")
