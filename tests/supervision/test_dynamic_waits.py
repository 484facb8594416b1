from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import Backoff, ChildError
from tests.supervision.waiting import Waits

if TYPE_CHECKING:
    from supervision import Supervisor
    from tests.supervision.conftest import Lab

#: More restarts than any test waits for.
FOREVER = 1_000_000

#: A wait in round numbers: 1, 2, 4, 8 seconds.
BACKOFF = Backoff(min=1.0, max=8.0, jitter=0.0)


class Sluggish(Waits):
    """A sleep that takes its time to end when it is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.roused = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait to be woken, and then for some more."""
        try:
            await super().sleep(seconds)
        finally:
            await self.roused.wait()


async def _waiting(lab: Lab, waits: Waits, **options: Any) -> tuple[Supervisor, Any]:
    """Return a supervisor whose child a waits for its restart, and the handle a had."""
    settings: dict[str, Any] = {"strategy": "dynamic", "intensity": FOREVER, **options}
    top = await lab.top(sleep=waits.sleep, **settings).start()
    handle: Any = (await top.start_child(lab.spec("a", backoff=BACKOFF))).handle
    handle.end("boom")
    await waits.begun(1)
    return top, handle


class TestWait:
    async def test_longer_each_time(self, lab: Lab, waits: Waits) -> None:
        """Each failure in a row, at the start or later, doubles the wait, up to the longest."""
        top, _ = await _waiting(lab, waits)
        lab.failures["a"] = 2
        for times in range(2, 4):
            waits.wake()
            await waits.begun(times)
        waits.wake()
        await lab.saw("restarted", "a")
        for times in range(4, 6):
            lab.toys["a"].end("boom")
            await waits.begun(times)
            waits.wake()
            await lab.saw("restarted", "a", times - 2)

        assert [1.0, 2.0, 4.0, 8.0, 8.0] == waits.seconds
        await top.stop(None)

    async def test_first_again(self, lab: Lab, waits: Waits) -> None:
        """A life that was long enough makes the next failure the first again."""
        top, _ = await _waiting(lab, waits)
        waits.wake()
        await lab.saw("restarted", "a")
        lab.time += 8.0
        lab.toys["a"].end("boom")
        await waits.begun(2)

        assert [1.0, 1.0] == waits.seconds
        await top.stop(None)

    async def test_life_ended_by_a_call(self, lab: Lab, waits: Waits) -> None:
        """A life that was long enough counts, too, when it is ended and begun again by hand."""
        top = await lab.top(lab.spec("a", backoff=BACKOFF), sleep=waits.sleep).start()
        lab.toys["a"].end("boom")
        await waits.begun(1)
        waits.wake()
        await lab.saw("restarted", "a")
        lab.time += 8.0
        await top.terminate_child("a")
        await top.restart_child("a")
        lab.toys["a"].end("boom")
        await waits.begun(2)
        await top.stop(None)

        assert [1.0, 1.0] == waits.seconds

    async def test_life_ended_by_a_sibling(self, lab: Lab, waits: Waits) -> None:
        """A life that was long enough counts, too, when the restart of a group has ended it."""
        specs = [lab.spec("b"), lab.spec("a", backoff=BACKOFF)]
        options: Any = {"strategy": "one_for_all", "intensity": FOREVER}
        top = await lab.top(*specs, sleep=waits.sleep, **options).start()
        lab.toys["a"].end("boom")
        await waits.begun(1)
        waits.wake()
        await lab.saw("restarted", "a")
        lab.time += 8.0
        lab.failures["a"] = 1
        lab.toys["b"].end("boom")
        await waits.begun(2)
        await top.stop(None)

        assert [1.0, 1.0] == waits.seconds

    async def test_others_meanwhile(self, lab: Lab, waits: Waits) -> None:
        """A child that waits keeps nobody else waiting, and is listed as restarting."""
        top, _ = await _waiting(lab, waits)
        await top.start_child(lab.spec("b"))
        await lab.crash("b")

        assert ["running", "restarting"] == [c.state for c in await top.which_children()]
        assert (2, 1, 0, 2) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_nothing_to_run(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A child that has nothing to do after its wait is forgotten."""
        top, _ = await _waiting(lab, waits)
        lab.ignored["a"] = 1
        waits.wake()
        await quiet(top)

        assert [] == await top.which_children()
        assert (0, 0, 0, 0) == tuple((await top.count_children()).values())
        await top.stop(None)

    async def test_orderly_end(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A transient child that ends in order waits for nothing: it is forgotten."""
        top = await lab.top(strategy="dynamic", sleep=waits.sleep).start()
        await top.start_child(lab.spec("a", restart="transient", backoff=BACKOFF))
        lab.toys["a"].end("normal")
        await quiet(top)

        assert [] == await top.which_children()
        assert [] == waits.seconds
        await top.stop(None)

    async def test_first_start(self, lab: Lab, waits: Waits) -> None:
        """A child that does not start at all is not tried again."""
        top = await lab.top(strategy="dynamic", sleep=waits.sleep).start()
        lab.failures["a"] = 1
        with pytest.raises(Exception, match="would not start"):
            await top.start_child(lab.spec("a", backoff=BACKOFF))

        assert [] == waits.seconds
        assert [] == await top.which_children()
        await top.stop(None)


class TestEndOfAWait:
    async def test_terminated(self, lab: Lab, waits: Waits) -> None:
        """A child that waits is given up by the handle it had last, and so is its wait."""
        top, handle = await _waiting(lab, waits)
        await top.terminate_child(handle)

        assert [] == await top.which_children()
        with pytest.raises(ChildError, match="not_found"):
            await top.terminate_child(handle)
        assert 1 == waits.cancelled
        await top.stop(None)

    async def test_terminated_too_late(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A wait that is over when its child is terminated starts it no more."""
        top, handle = await _waiting(lab, waits)
        giving_up = asyncio.create_task(top.terminate_child(handle))
        waits.wake()
        await giving_up
        await quiet(top)

        assert ["start a"] == lab.lines("start")
        assert [] == await top.which_children()
        await top.stop(None)

    async def test_over_too_late(self, lab: Lab, quiet: Any) -> None:
        """A wait that was given up does not shorten the next one when it is over at last."""
        waits = Sluggish()
        top = await lab.top(lab.spec("a", backoff=BACKOFF), sleep=waits.sleep).start()
        lab.toys["a"].end("boom")
        await waits.begun(1)
        await top.terminate_child("a")
        await top.restart_child("a")
        lab.toys["a"].end("boom")
        await waits.begun(2)
        waits.roused.set()
        await quiet(top)

        assert ["start a", "start a"] == lab.lines("start")
        assert "restarting" == top.snapshot().children[0].state
        await top.stop(None)

    async def test_stopped(self, lab: Lab, waits: Waits) -> None:
        """A supervisor whose child waits stops at once."""
        top, _ = await _waiting(lab, waits)
        await top.stop(1.0)

        assert "shutdown" == await top.exited()
        assert ["start a"] == lab.lines("start")
        assert 1 == waits.cancelled

    async def test_killed(self, lab: Lab, waits: Waits) -> None:
        """A supervisor that is killed while a child waits reports no second end of it."""
        top, _ = await _waiting(lab, waits)
        top.kill()

        assert "killed" == await top.exited()
        assert [("a", "boom")] == lab.told("exited")
        assert 1 == waits.cancelled

    async def test_killed_too_late(self, lab: Lab, waits: Waits) -> None:
        """A wait that is over in the moment of the kill starts nothing."""
        top, _ = await _waiting(lab, waits)
        waits.wake()
        top.kill()

        assert "killed" == await top.exited()
        assert ["start a"] == lab.lines("start")

    async def test_escalated(self, lab: Lab, waits: Waits, end: Any) -> None:
        """A child that waits is given up when another's failures end the supervisor."""
        top, _ = await _waiting(lab, waits, intensity=0)
        await top.start_child(lab.spec("b"))
        lab.toys["b"].end("boom")

        assert "shutdown" == await end(top)
        assert [("b", "reached_max_restart_intensity")] == lab.told("gave_up")
        assert ["start a", "start b"] == lab.lines("start")
        assert 1 == waits.cancelled

    async def test_one_too_many(self, lab: Lab, waits: Waits, end: Any) -> None:
        """A restart counts when it is made, so one too many ends the supervisor after its wait."""
        top, _ = await _waiting(lab, waits, intensity=0)
        assert "running" == top.snapshot().state
        waits.wake()

        assert "shutdown" == await end(top)
        assert ["start a"] == lab.lines("start")
