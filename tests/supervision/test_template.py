from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import ChildError, SpecError

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab


def _pool(lab: Lab, **options: Any) -> Supervisor:
    settings = {key: options.pop(key) for key in ("intensity",) if key in options}
    return lab.top(lab.spec("t", **options), strategy="simple_one_for_one", **settings)


class TestSimpleOneForOne:
    async def test_starts_empty(self, lab: Lab) -> None:
        """A template starts nothing by itself."""
        pool = await _pool(lab).start()

        assert (1, 0, 0, 0) == tuple((await pool.count_children()).values())
        await pool.stop(None)

    async def test_arguments(self, lab: Lab) -> None:
        """Each child is started with its own arguments, and restarted with them."""
        pool = await _pool(lab).start()
        await pool.start_child(("x",))
        await pool.start_child(("y",))
        lab.toys["t-x"].end("boom")
        await lab.saw("restarted", "t")

        assert ["start t-x", "start t-y", "end t-x boom", "start t-x"] == lab.log
        assert {"t(x)", "t(y)"} == {child.name for child in pool.snapshot().children}
        assert (1, 2, 0, 2) == tuple((await pool.count_children()).values())
        await pool.stop(None)

    async def test_by_handle(self, lab: Lab) -> None:
        """A child is terminated by its handle and forgotten."""
        pool = await _pool(lab).start()
        handle = (await pool.start_child(("x",))).handle
        await pool.terminate_child(handle)

        assert [] == await pool.which_children()
        assert "end t-x shutdown" == lab.log[-1]
        await pool.stop(None)

    async def test_not_found(self, lab: Lab) -> None:
        """A handle that is not its child's is refused, and its owner lives on."""
        pool = await _pool(lab).start()
        stranger: Any = await lab.make("stranger", {})
        with pytest.raises(ChildError) as refusal:
            await pool.terminate_child(stranger)

        assert "not_found" == refusal.value.reason
        assert not stranger.ended.done()
        await pool.stop(None)

    async def test_no_ids(self, lab: Lab) -> None:
        """Calls by id are refused in OTP's words, and so are specs."""
        pool = await _pool(lab).start()
        for call in (pool.terminate_child, pool.restart_child, pool.delete_child):
            with pytest.raises(ChildError, match="terminate by handle") as refusal:
                await call("t")
            assert "simple_one_for_one" == refusal.value.reason
        with pytest.raises(SpecError, match="simple_one_for_one"):
            await pool.start_child(lab.spec("u"))
        word: Any = "xyz"
        with pytest.raises(SpecError, match="give a tuple"):
            await pool.start_child(word)

        await pool.stop(None)

    async def test_all_at_once(self, lab: Lab) -> None:
        """Its children stop together, so that many slow ones take no longer than one."""
        pool = await _pool(lab, toy={"stubborn": True}, shutdown=0.02).start()
        for name in "xyz":
            await pool.start_child((name,))
        async with asyncio.timeout(5.0):
            await pool.stop(None)

        assert ["stop"] * 3 + ["kill"] * 3 == [
            line.split()[0] for line in lab.log if line.startswith(("stop", "kill"))
        ]

    async def test_transient(self, lab: Lab, quiet: Any) -> None:
        """A child that ended in order is forgotten, as nothing can start it by name."""
        pool = await _pool(lab, restart="transient").start()
        await pool.start_child(("x",))
        lab.toys["t-x"].end("normal")
        await quiet(pool)

        assert [] == await pool.which_children()
        await pool.stop(None)

    async def test_terminate_while_restarting(self, lab: Lab) -> None:
        """A child that cannot be restarted is given up by its old handle."""
        pool = await _pool(lab, intensity=1_000_000).start()
        handle = (await pool.start_child(("x",))).handle
        lab.failures["t-x"] = 1_000_000
        lab.toys["t-x"].end("boom")
        await lab.saw("start_error", "t", 3)
        await pool.terminate_child(handle)

        assert [] == await pool.which_children()
        await pool.stop(None)

    async def test_gives_up(self, lab: Lab, end: Any) -> None:
        """Too many restarts end the supervisor and all its children."""
        pool = await _pool(lab, intensity=0).start()
        for name in "xy":
            await pool.start_child((name,))
        lab.toys["t-x"].end("boom")

        assert "shutdown" == await end(pool)
        assert "end t-y shutdown" == lab.log[-1]

    async def test_killed_while_stopping(self, lab: Lab) -> None:
        """A kill cuts the common stop short."""
        pool = await _pool(lab, toy={"stubborn": True}, shutdown=60).start()
        for name in "xy":
            await pool.start_child((name,))
        with pytest.raises(TimeoutError):
            await pool.stop(0)
        pool.kill()

        assert "killed" == await pool.exited()
        assert 2 == len([line for line in lab.log if line.startswith("kill")])
