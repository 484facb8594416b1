from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.supervision.conftest import find_reason
from tests.supervision.waiting import EXACT, Waits, fall, family

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab


def _states(top: Supervisor) -> list[str]:
    return [child.state for child in top.snapshot().children]


class TestCalls:
    async def test_while_it_waits(self, lab: Lab, waits: Waits) -> None:
        """A child whose restart waits is listed and refused as one in a restart loop."""
        top = await family(lab, waits)
        await fall(lab, waits)

        assert ("b", None, "restarting", "worker") == (await top.which_children())[1]
        assert (3, 2, 0, 3) == tuple((await top.count_children()).values())
        assert "restarting" == await find_reason(top.restart_child("b"))
        assert "restarting" == await find_reason(top.delete_child("b"))
        assert "already_present" == await find_reason(top.start_child(lab.spec("b")))
        assert EXACT is (await top.get_childspec("b")).backoff
        await top.stop(None)

    async def test_terminated(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """Terminating the child ends its wait, and nothing starts it afterwards."""
        top = await family(lab, waits)
        await fall(lab, waits)
        await top.terminate_child("b")
        waits.wake()
        await quiet(top)

        assert ["running", "stopped", "running"] == _states(top)
        assert (1, 1) == (waits.cancelled, lab.log.count("start b"))
        await top.restart_child("b")
        await top.stop(None)

    async def test_started_by_hand(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A wait that ended in the moment before does not restart a child that runs again."""
        top = await family(lab, waits)
        await fall(lab, waits)
        waits.wake()
        await asyncio.gather(top.terminate_child("b"), top.restart_child("b"))
        await quiet(top)

        assert 2 == lab.log.count("start b")
        await top.stop(None)

    async def test_late_wait(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A wait that ends late does not cut the next one short."""
        top = await family(lab, waits)
        waits.lingers.clear()
        await fall(lab, waits)
        await top.terminate_child("b")
        await top.restart_child("b")
        await fall(lab, waits)
        waits.lingers.set()
        await quiet(top)

        assert ["running", "restarting", "running"] == _states(top)
        assert 2 == lab.log.count("start b")
        await top.stop(None)

    async def test_stop(self, lab: Lab, waits: Waits) -> None:
        """A stop does not wait for a wait."""
        top = await family(lab, waits)
        await fall(lab, waits)
        await top.stop(None)

        assert "shutdown" == await top.exited()
        assert (["stop c", "stop a"], 1) == (lab.lines("stop"), waits.cancelled)

    async def test_kill(self, lab: Lab, waits: Waits) -> None:
        """A supervisor that is killed meanwhile leaves no wait behind."""
        top = await family(lab, waits)
        await fall(lab, waits)
        top.kill()

        assert "killed" == await top.exited()
        assert 1 == waits.cancelled
        assert not [task for task in asyncio.all_tasks() if "wait" in task.get_name()]


class TestGroups:
    @pytest.mark.parametrize(
        ("strategy", "stopped"),
        [("one_for_all", ["stop c", "stop a"]), ("rest_for_one", ["stop c"])],
    )
    async def test_siblings(
        self, lab: Lab, waits: Waits, strategy: str, stopped: list[str]
    ) -> None:
        """The siblings run until the attempt is made, and are stopped and started with it."""
        top = await family(lab, waits, strategy=strategy)
        await fall(lab, waits)
        await top.count_children()
        assert ([], ["running", "restarting", "running"]) == (lab.lines("stop"), _states(top))
        waits.wake()
        await lab.saw("restarted", "c")

        assert stopped == lab.lines("stop")
        assert ["running"] * 3 == _states(top)
        await top.stop(None)

    @pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
    async def test_failed_sibling(self, lab: Lab, waits: Waits, strategy: str) -> None:
        """A child that cannot start in its group's restart waits for the next attempt, too."""
        top = await family(lab, waits, strategy=strategy)
        lab.failures["b"] = 1
        lab.toys["a"].end("boom")
        await waits.begun(1)
        await top.count_children()
        assert ["running", "restarting", "stopped"] == _states(top)
        waits.wake()
        await lab.saw("restarted", "c")

        assert ["running"] * 3 == _states(top)
        await top.stop(None)

    async def test_overtaken(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A restart of all that comes first ends the wait, whose attempt is then not made."""
        top = await family(lab, waits, strategy="one_for_all")
        await fall(lab, waits)
        lab.toys["a"].end("boom")
        await lab.saw("restarted", "c")
        waits.wake()
        await quiet(top)

        assert (["running"] * 3, 1) == (_states(top), waits.cancelled)
        assert 2 == lab.log.count("start b")
        await top.stop(None)


class TestNameless:
    @pytest.mark.parametrize("strategy", ["simple_one_for_one", "dynamic"])
    async def test_by_its_last_handle(self, lab: Lab, waits: Waits, strategy: str) -> None:
        """A child without an id is terminated by the handle it had before it waited."""
        spec = lab.spec("b", backoff=EXACT)
        template = [spec] if strategy != "dynamic" else []
        pool = await lab.top(*template, strategy=strategy, sleep=waits.sleep).start()
        handle = (await pool.start_child(() if template else spec)).handle
        await fall(lab, waits)
        assert [("b", None, "restarting", "worker")] == await pool.which_children()
        await pool.terminate_child(handle)

        assert ([], 1) == (await pool.which_children(), waits.cancelled)
        await pool.stop(None)
